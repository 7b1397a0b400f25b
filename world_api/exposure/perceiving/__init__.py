"""Choosing a model that looks on the command line: options, what it will send, and whether that is agreed to."""
