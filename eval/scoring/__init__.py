"""Scores of answers, by the type of the question."""
