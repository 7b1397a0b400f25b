"""Experiments: generated films with exact truth, datasets, runs, scores and reports."""
