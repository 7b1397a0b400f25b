"""Benchmarks: scripts that measure this project against its peers and limits, each runnable alone."""
