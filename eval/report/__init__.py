"""The report of a run: one HTML file, and its tables as LaTeX and CSV."""
