"""Intervals, tests and power, clustered by video."""
