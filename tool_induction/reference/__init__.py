"""The pages of docs/ that are made from the language itself: its reference, its diagnostics, what recordings come to."""
