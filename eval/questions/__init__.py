"""Questions about made films, out of their facts: with typed answers, evidence, and no hint of the answer in the words.

``film_index`` looks up the facts, ``locate_count``, ``order_cause`` and ``summary_multihop`` draft questions by type, ``phrasing``
words them, ``generator`` chooses; ``answer_checker`` answers each a second time, ``priors`` guesses blindly, ``dataset`` writes files.
"""

from eval.questions.answer_checker import Problem, check_items
from eval.questions.dataset import add_questions
from eval.questions.generator import CHINESE_SHARE, MAKERS, content_of, questions_of
from eval.questions.priors import Constant, PriorLine, TextPrior, chance_of, measure_priors

__all__ = [
    "CHINESE_SHARE", "MAKERS", "Constant", "PriorLine", "Problem", "TextPrior", "add_questions", "chance_of", "check_items",
    "content_of", "measure_priors", "questions_of",
]  # fmt: skip
