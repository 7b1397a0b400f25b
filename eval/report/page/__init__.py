"""The page itself: a template, a style sheet, a script, and blocks of packed data, all in one file."""
