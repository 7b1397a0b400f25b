"""Questions about made films: typed answers with evidence, and no hint of the answer in the words.

``drafts`` looks up facts and drafts questions; ``locate_count``, ``order_cause`` and ``summary_multihop`` do so by type.
``phrasing`` words them, ``generator`` chooses among them and writes the dataset, ``priors`` guesses without looking at the film.
"""

from eval.questions.drafts import facts_within, windows_of
from eval.questions.generator import CHINESE_SHARE, MAKERS, add_questions, questions_of
from eval.questions.phrasing import Unsayable, Wording, wording
from eval.questions.priors import Constant, TextPrior, chance_of, measure_priors

__all__ = [
    "CHINESE_SHARE", "MAKERS", "Constant", "TextPrior", "Unsayable", "Wording", "add_questions", "chance_of",
    "facts_within", "measure_priors", "questions_of", "windows_of", "wording",
]  # fmt: skip
