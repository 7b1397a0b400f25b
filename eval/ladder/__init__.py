"""The oracle ladder: single operations answered from the truth, the rest from what was perceived, to see where accuracy is lost."""

from eval.ladder.oracle import open_ladder, operations_on
from eval.ladder.rungs import Loss, Rung, ladder_of

__all__ = ["Loss", "Rung", "ladder_of", "open_ladder", "operations_on"]
