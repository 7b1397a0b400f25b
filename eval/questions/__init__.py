"""Questions about made films, out of their facts: with typed answers, evidence, and no hint of the answer in the words."""

from eval.questions.answer_checker import Problem, check_items
from eval.questions.generator import CHINESE_SHARE, MAKERS, content_of, questions_of

__all__ = ["CHINESE_SHARE", "MAKERS", "Problem", "check_items", "content_of", "questions_of"]
