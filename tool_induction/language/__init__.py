"""The language: expressions, types, documents, diagnostics, limits."""
