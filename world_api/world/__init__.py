"""The stored world: tables, files, the manifest, and views of it behind a causal cut."""
