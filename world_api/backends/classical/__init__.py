"""Adapters that need no download and no GPU."""
