"""A prior that learns from the words of questions and options alone, to see whether they give answers away.

Logistic models over hashed features: of options, for choices (which of them; McFadden's conditional logit) and orders (which
comes first); of questions, for numbers. Stretches are guessed as the constant guess does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.datasets.items import Item
from eval.sandbox.asking.priors.chance import Constant
from eval.sandbox.asking.priors.features import PLACES, of_option, of_question

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_STEPS, _RATE, _DECAY = 80, 0.05, 3e-3
_MOST_COUNTED = 13


class TextPrior:
    """Learned from questions with their answers; guesses at others. Deterministic."""

    def __init__(self, items: Sequence[Item], durations: dict[str, float]) -> None:
        self._constant = Constant(items, durations)
        self._choices = _fitted([_choice_case(item) for item in items if item.question.kind == "choice"])
        self._orders = _fitted([case for item in items if item.question.kind == "order" for case in _order_cases(item)])
        self._counts = _fitted([_count_case(item) for item in items if item.question.kind == "count"])

    def guess(self, item: Item) -> Any:
        """The likeliest answer by the words."""
        question = item.question
        if question.kind == "choice":
            rows = [of_option(item, number) for number in range(len(question.options))]
            return question.letters[int(np.argmax([self._choices[row].sum() for row in rows]))]
        if question.kind == "order":
            scores = [self._orders[of_option(item, number)].sum() for number in range(len(question.options))]
            return [question.letters[place] for place in np.argsort(-np.array(scores), kind="stable")]
        if question.kind == "count":
            return int(np.argmax([self._counts[row].sum() for row in _count_rows(item)]))
        return self._constant.guess(item)


#: The features of each alternative, and which of them is right.
_Case = tuple[list[list[int]], int]


def _choice_case(item: Item) -> _Case:
    rows = [of_option(item, number) for number in range(len(item.question.options))]
    return rows, item.question.letters.index(item.answer)


def _order_cases(item: Item) -> list[_Case]:
    """Of each two options, which comes first."""
    places = [item.question.letters.index(letter) for letter in item.answer]
    rows = {place: of_option(item, place) for place in places}
    pairs = [(places[one], places[two]) for one in range(len(places)) for two in range(one + 1, len(places))]
    return [([rows[first], rows[second]], 0) for first, second in pairs]


def _count_rows(item: Item) -> list[list[int]]:
    """One row of features for each number: those of the question, moved by the number."""
    shown = of_question(item)
    return [[(place + 7919 * (number + 1)) % PLACES for place in shown] for number in range(_MOST_COUNTED)]


def _count_case(item: Item) -> _Case:
    return _count_rows(item), min(int(item.answer), _MOST_COUNTED - 1)


def _fitted(cases: Sequence[_Case]) -> Floats:
    """The weights, by full-batch gradient ascent with Adam and weight decay."""
    weights = np.zeros(PLACES)
    if not cases:
        return weights
    features = np.array([place for rows, _ in cases for row in rows for place in row], dtype=np.int64)
    lengths = np.array([len(row) for rows, _ in cases for row in rows], dtype=np.int64)
    row_of: Whole = np.repeat(np.arange(len(lengths)), lengths)
    case_of: Whole = np.repeat(np.arange(len(cases)), [len(rows) for rows, _ in cases])
    is_right = np.array([number == right for rows, right in cases for number in range(len(rows))], dtype=np.float64)
    mean, spread = np.zeros(PLACES), np.zeros(PLACES)
    for step in range(1, _STEPS + 1):
        scores = np.bincount(row_of, weights=weights[features], minlength=len(lengths)).astype(np.float64)
        error = is_right - _softmax(scores, case_of, len(cases))
        gradient = np.bincount(features, weights=error[row_of], minlength=PLACES) / len(cases) - _DECAY * weights
        mean = 0.9 * mean + 0.1 * gradient
        spread = 0.999 * spread + 0.001 * gradient**2
        weights = weights + _RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def _softmax(scores: Floats, case_of: Whole, cases: int) -> Floats:
    """Probabilities within each case."""
    highest = np.full(cases, -np.inf)
    np.maximum.at(highest, case_of, scores)
    raised = np.exp(scores - highest[case_of])
    found: Floats = raised / np.bincount(case_of, weights=raised, minlength=cases)[case_of]
    return found
