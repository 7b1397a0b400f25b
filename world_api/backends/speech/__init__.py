"""Adapters for speech: voice activity and recognition. Only what is chosen is imported."""
