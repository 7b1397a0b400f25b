"""Questions about generated films: typed answers with evidence, worded so that they contain no hint of the answer.

``drafts`` looks up facts and drafts questions; ``locate_count``, ``order_cause`` and ``summary_multihop`` draft those
of each type. ``phrasing`` words them, ``generator`` selects them and writes the dataset, ``priors`` guesses without the
film.
"""

from eval.questions.generator import MAKERS, add_questions, questions_of

__all__ = ["MAKERS", "add_questions", "questions_of"]
