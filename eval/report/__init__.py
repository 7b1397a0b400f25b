"""A run as one HTML file, and its tables as LaTeX and CSV."""
