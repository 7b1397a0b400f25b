"""Tables as text, LaTeX and CSV."""
