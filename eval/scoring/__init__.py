"""Scoring: whether an answer is right, by kind of question and by the dataset's protocol.

A *scorer* compares an answer with the accepted ones and returns a ``Score``; a protocol names the scorer of each kind
of question. Open answers are sent to a *judge* (a chat model); ``eval.scoring.labels`` measures its agreement with
labels of people. Cited evidence is scored by its overlap with the true intervals. Other packages add scorers by an
entry point (``scorers``).
"""

from eval.scoring.judge import JudgeCounts, ModelJudge, PublishedWording, WordsJudge, answer_judge, same_family
from eval.scoring.kinds import AnswerJudge, AnswerVerdict, Context, Score, Scorer, evidence_iou, measures_of
from eval.scoring.labels import LabelledPair, answer_key, measure_agreement, read_pairs, shipped_pairs
from eval.scoring.scorers import (
    AnswerToScore,
    check_protocol,
    score_all,
    score_value,
    scorer_named,
    scorer_names,
    stance_of,
)

__all__ = [
    "AnswerJudge", "AnswerToScore", "AnswerVerdict", "Context", "JudgeCounts", "LabelledPair", "ModelJudge",
    "PublishedWording", "Score", "Scorer", "WordsJudge", "answer_judge", "answer_key", "check_protocol", "evidence_iou",
    "measure_agreement", "measures_of", "read_pairs", "same_family", "score_all", "score_value", "scorer_named",
    "scorer_names", "shipped_pairs", "stance_of",
]  # fmt: skip
