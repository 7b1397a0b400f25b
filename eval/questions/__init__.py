"""Questions about made films: typed answers with evidence, and no hint of the answer in the words.

``drafts`` looks up facts and drafts questions; ``locate_count``, ``order_cause`` and ``summary_multihop`` do so by type.
``phrasing`` words them, ``generator`` chooses among them and writes the dataset. ``answer_checker`` finds each answer a second
time along another way, ``priors`` guesses without looking at the film.
"""

from eval.questions.answer_checker import Problem, check_items
from eval.questions.generator import CHINESE_SHARE, MAKERS, add_questions, content_of, questions_of
from eval.questions.phrasing import Unsayable, Wording, wording
from eval.questions.priors import Constant, PriorLine, TextPrior, chance_of, measure_priors

__all__ = [
    "CHINESE_SHARE", "MAKERS", "Constant", "PriorLine", "Problem", "TextPrior", "Unsayable", "Wording",
    "add_questions", "chance_of", "check_items", "content_of", "measure_priors", "questions_of", "wording",
]  # fmt: skip
