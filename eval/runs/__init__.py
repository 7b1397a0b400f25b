"""Experiments: what is run, where it is kept, how it goes on after a break."""
