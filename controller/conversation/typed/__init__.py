"""Answers in the type of their question: what is asked for, what is taken, and what is read from words."""
