"""Experiments: films with exact truth, and what is measured on them."""
