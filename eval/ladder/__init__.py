"""The oracle ladder: single operations answered from the truth, the rest from what was perceived, to see where accuracy is lost."""

from eval.runs.worlds import open_ladder, operations_on

__all__ = ["open_ladder", "operations_on"]
