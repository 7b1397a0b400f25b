"""From episodes to tables: one row a sample, and what is made of rows."""
