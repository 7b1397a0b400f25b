"""Charts from tables: a chart takes its figures from its table, so that the two can never disagree."""
