"""Perception by one OpenAI-compatible endpoint: a model that takes pictures, and one that embeds texts."""
