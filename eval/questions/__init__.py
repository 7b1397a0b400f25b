"""Questions about made films: typed answers with evidence, and no hint of the answer in the words.

``drafts`` looks up facts and drafts questions; ``locate_count``, ``order_cause`` and ``summary_multihop`` do so by type.
``phrasing`` words them, ``generator`` chooses among them and writes the dataset, ``priors`` guesses without looking at the film.
"""

from eval.questions.generator import MAKERS, add_questions, questions_of

__all__ = ["MAKERS", "add_questions", "questions_of"]
