"""Scoring: whether an answer is right, by kind of question and by the dataset's protocol.

A *scorer* compares an answer with the accepted ones and returns a ``Score``; a protocol names the scorer of each kind of question.
Open answers are put to a *judge* (a chat model), whose agreement with labels of people can be measured. Cited evidence is scored by
its overlap with the true intervals. Other packages add scorers by an entry point (``scorers``).
"""

from eval.scoring.judge import JudgeCounts, ModelJudge, PublishedWording, WordsJudge, answer_judge, same_family
from eval.scoring.kinds import evidence_score, measures_of
from eval.scoring.labels import (
    GivenAnswer,
    LabelledPair,
    LengthBias,
    answer_key,
    arms_beside,
    draw_to_label,
    measure_agreement,
    merged,
    of_these,
    own_pairs,
    pairs_text,
    read_pairs,
    shipped_pairs,
    write_to_label,
)
from eval.scoring.score import AnswerJudge, AnswerVerdict, Context, Score, Scorer
from eval.scoring.scorers import AnswerToScore, check_protocol, score_all, score_value, scorer_named, scorer_names

__all__ = [
    "AnswerJudge", "AnswerToScore", "AnswerVerdict", "Context", "GivenAnswer", "JudgeCounts", "LabelledPair",
    "LengthBias", "ModelJudge", "PublishedWording", "Score", "Scorer", "WordsJudge", "answer_judge", "answer_key",
    "arms_beside", "check_protocol", "draw_to_label", "evidence_score", "measure_agreement", "measures_of", "merged",
    "of_these", "own_pairs", "pairs_text", "read_pairs", "same_family", "score_all", "score_value", "scorer_named",
    "scorer_names", "shipped_pairs", "write_to_label",
]  # fmt: skip
