"""Arms compared at equal spend."""
