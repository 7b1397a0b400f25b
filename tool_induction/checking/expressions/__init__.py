"""The type of an expression, and the expression with everything implicit written out."""
