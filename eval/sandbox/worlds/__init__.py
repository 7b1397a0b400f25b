"""Worlds of any length without a video: rows as a builder would write them, for measuring and for tests of scale."""

from eval.sandbox.worlds.writing import Plan, write_world

__all__ = ["Plan", "write_world"]
