"""What the tool language costs: ``python -m benchmarks.tools``."""
