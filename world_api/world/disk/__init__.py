"""The world on disk: tables, files, hashes, the manifest, locks."""
