"""The world as arrays: what follows from all rows, and how far a causal cut leaves it as it is."""
