"""Sessions: a view of a world with an overlay for what the caller writes."""
