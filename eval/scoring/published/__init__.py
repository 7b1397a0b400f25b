"""Scoring as others published it, written anew from their definitions."""
