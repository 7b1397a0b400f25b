"""Asking the model: what it is told, what it answers, and what was answered before."""
