"""Tracks that belong together: those that go on over the join of two clips, and those that look alike."""
