"""The stored world: tables and files, the manifest, the causal cut, sessions with their overlay."""
