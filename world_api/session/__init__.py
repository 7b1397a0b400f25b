"""Sessions on a view: what the caller writes, commits, and what a vision model is asked."""
