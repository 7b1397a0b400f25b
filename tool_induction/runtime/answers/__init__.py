"""Answers of operations: asked for, looked at, remembered."""
