"""The scorers of each kind of answer."""
