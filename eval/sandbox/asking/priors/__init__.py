"""What can be answered without looking: chance, the most frequent answer, and a prior learned from the words of other films."""

from eval.sandbox.asking.priors.chance import Constant, chance_of
from eval.sandbox.asking.priors.learned import TextPrior
from eval.sandbox.asking.priors.measuring import PriorLine, measure_priors

__all__ = ["Constant", "PriorLine", "TextPrior", "chance_of", "measure_priors"]
