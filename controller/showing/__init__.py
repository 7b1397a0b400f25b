"""Episodes in a terminal."""
