"""What single steps do: loops, aggregates, what a product inherits; and the scope they do it in."""
