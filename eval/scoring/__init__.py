"""Scoring: what is right, by kind of question and by a dataset's protocol; the judge of open answers; cited evidence."""
