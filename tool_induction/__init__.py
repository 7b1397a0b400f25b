"""High-level tools: documents that a model writes, compiled, priced, frozen and run on the world API."""
