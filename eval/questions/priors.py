"""Accuracy of blind guesses: chance, the most frequent answer, and a prior learned from questions of other films."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from controller.answers import is_abstention
from eval.datasets.items import Item
from eval.datasets.loading import load_dataset
from eval.questions.generator import questions_of
from eval.questions.pairs import NAMED, PAIR
from eval.sandbox.facts import read_facts
from eval.sandbox.films import FilmFiles
from eval.sandbox.stories import tell
from eval.scoring.scorers import score_value
from eval.statistics import mean_interval
from world_api.core.faults import EvalFault
from world_api.core.vocabulary import content_words, words

#: A guessed interval is a part of the film: the number of equal steps at which it may begin or end.
_GRID = 24


def chance_of(item: Item) -> float | None:
    """Return the probability that a random answer is right: an option of a choice, an order; None for other kinds."""
    options = len(item.question.options)
    if item.question.kind == "choice":
        return 1 / options
    return 1 / math.factorial(options) if item.question.kind == "order" else None


def _group_of(item: Item) -> str:
    """Return the key of a question's group: template, kind and number of options. A group has one constant guess."""
    return f"{item.template} {item.question.kind} {len(item.question.options)}"


class Constant:
    """For each group of ``items`` (``_group_of``) the one guess that is best for all its questions; of intervals a part of a film."""

    def __init__(self, items: Sequence[Item], durations: Mapping[str, float]) -> None:
        self._groups: dict[str, list[Item]] = {}
        for item in items:
            self._groups.setdefault(_group_of(item), []).append(item)
        self._durations = durations
        self._guesses = {name: _best(group, durations) for name, group in self._groups.items()}

    def guess(self, item: Item) -> Any:
        """Return the guess for an item's group; without such a group, "A", the given order, 1 or the first tenth."""
        unseen = {"choice": "A", "order": list(item.question.letters), "count": 1, "interval": (0.0, 0.1)}
        found = self._guesses.get(_group_of(item), unseen.get(item.question.kind, ""))
        return _part_of(item, found, self._durations) if item.question.kind == "interval" else found

    def drawn(self, item: Item) -> float | None:
        """Return the probability that a random answer is right, of a count one of the group's different answers; None if undefined."""
        if item.question.kind != "count":
            return chance_of(item)
        numbers = {other.answer for other in self._groups.get(_group_of(item), ())}
        return 1 / len(numbers) if numbers else None


def _part_of(item: Item, part: tuple[float, float], durations: Mapping[str, float]) -> dict[str, float]:
    """Return the interval in seconds of a part (start and end, 0 to 1) of an item's film."""
    length = durations.get(item.video_id, 0.0)
    return {"start_time": part[0] * length, "end_time": part[1] * length}


def _best(items: Sequence[Item], durations: Mapping[str, float]) -> Any:
    kind = items[0].question.kind
    if kind != "interval":
        answers = Counter(tuple(item.answer) if kind == "order" else item.answer for item in items)
        best = max(sorted(answers, key=str), key=lambda answer: answers[answer])
        return list(best) if kind == "order" else best
    parts = combinations([number / _GRID for number in range(_GRID + 1)], 2)
    return max(
        parts, key=lambda part: sum(score_value(item, _part_of(item, part, durations), None).score for item in items)
    )


#: The number of features that words are hashed to.
FEATURES = 1 << 15
_CLOCK = re.compile(r"\d{1,6}(?::\d{2}){0,2}")


def _hashed(texts: Iterable[str]) -> list[int]:
    return [crc32(text.encode()) % FEATURES for text in set(texts)]


def _of_question(item: Item) -> Iterator[str]:
    """Yield the features of a question: its template, its words, and pairs of neighbouring words."""
    said = words(item.question.text)
    yield f"t {item.template}"
    for word in said:
        yield f"w {word}"
        yield f"tw {item.template} {word}"
    for one, other in pairwise(said):
        yield f"p {one} {other}"


def _of_option(item: Item, number: int) -> Iterator[str]:
    """Yield the features of an option: words and index, combined with template and question, and its ranks.

    Its ranks among the options are by the number of the question's words in it, its length, its similarity to the other
    options, and the number in it.
    """
    options = item.question.options
    own = content_words(options[number])
    question = content_words(item.question.text)
    template = item.template or ""
    yield f"at {number}"
    yield f"at {template} {number} of {len(options)}"
    for word in own:
        yield f"o {word}"
        yield f"to {template} {word}"
        for other in question:
            yield f"qo {other} {word}"
    yield f"first {template} {own[0] if own else ''}"
    words_of = [set(content_words(option)) for option in options]
    numbers = [_number_in(option) for option in options]
    # Generated wrong options are often similar to the right one: they share words with it.
    likeness = [sum(len(one & other) for other in words_of) - len(one) for one in words_of]
    overlaps = [len(one & set(question)) for one in words_of]
    ranked = [("overlap", overlaps), ("length", [len(option) for option in options]), ("likeness", likeness)]
    if min(numbers) >= 0:
        ranked.append(("number", numbers))
    for name, values in ranked:
        rank = sum(value > values[number] for value in values)
        yield f"{name} {rank}"
        yield f"{name} {template} {rank}"
        if values.count(values[number]) == 1:
            yield f"{name} alone {rank}"
            yield f"{name} alone {template} {rank}"


def _number_in(option: str) -> int:
    """Return the first number in an option, -1 without one; a clock time is converted to seconds."""
    if (clock := _CLOCK.search(option)) is None:
        return -1
    return reduce(lambda found, part: found * 60 + int(part), clock.group().split(":"), 0)


Floats = NDArray[np.float64]

_STEPS, _RATE, _DECAY = 80, 0.05, 3e-3
_MOST_COUNTED = 13


class TextPrior:
    """Weights of words, fitted to questions with answers, that guess the answers of other questions. Deterministic."""

    def __init__(self, items: Sequence[Item], durations: Mapping[str, float]) -> None:
        cases: dict[str, list[_Case]] = {}
        for _, kind, is_so, rows in _of_pairs(items):
            cases.setdefault(kind, []).append((rows, is_so))
        self._pairs = {kind: _fitted(own) for kind, own in cases.items()}
        items = _typed(items)
        self._constant = Constant(items, durations)
        self._weights = {
            kind: _fitted([case for item in items if item.question.kind == kind for case in _cases(item)])
            for kind in ("choice", "order", "count")
        }

    def guess(self, item: Item) -> Any:
        """Return the most probable choice, order or count given the words of the question; else the constant guess of its group."""
        question = item.question
        if question.kind not in self._weights:
            return self._constant.guess(item)
        scores = np.array([self._weights[question.kind][row].sum() for row in _rows(item)])
        if question.kind == "order":
            return [question.letters[place] for place in np.argsort(-scores, kind="stable")]
        best = int(np.argmax(scores))
        return question.letters[best] if question.kind == "choice" else best

    def pairs(self, items: Sequence[Item]) -> Iterator[tuple[Item, str, bool]]:
        """Yield the questions of pairs, the kind of pair, and whether words show which of the two has no answer."""
        for item, kind, is_so, rows in _of_pairs(items):
            weights = self._pairs.get(kind, np.zeros(FEATURES))
            answered, unanswered = (float(weights[row].sum()) for row in rows)
            yield item, kind, (unanswered > answered) == is_so


def _typed(items: Sequence[Item]) -> list[Item]:
    """Return the questions with an answer of their type."""
    return [item for item in items if not is_abstention(item.question, item.answer)]


def _of_pairs(items: Sequence[Item]) -> Iterator[tuple[Item, str, bool, list[list[int]]]]:
    """Yield the questions of pairs: kind of pair, whether it is the one without an answer, features of "no" and "yes".

    ``absence``: of a minimal pair one is about something absent. ``naming``: of questions that name a person by name some
    have no answer. Features are the words of the question, and how many of these each option repeats.
    """
    by_id = {item.id: item for item in items}
    found = [(item, "naming", item.labels[NAMED] == "unknown") for item in items if NAMED in item.labels]
    for twin in items:
        if (original := by_id.get(str(twin.labels.get(PAIR)))) is not None:
            found += [(original, "absence", False), (twin, "absence", True)]
    for item, kind, is_so in found:
        asked = set(content_words(item.question.text))
        overlaps = sorted(len(asked & set(content_words(option))) for option in item.question.options)
        features = _hashed([*_of_question(item), f"overlaps {item.template} {overlaps}"])
        yield item, kind, is_so, [features, [(place + 7919) % FEATURES for place in features]]


#: The features of each alternative, and which of them is right.
_Case = tuple[list[list[int]], int]


def _rows(item: Item) -> list[list[int]]:
    """Return the features (indices of weights) of each option; for a count, of the question with each number."""
    if item.question.kind == "count":
        features = _hashed(_of_question(item))
        return [[(place + 7919 * (number + 1)) % FEATURES for place in features] for number in range(_MOST_COUNTED)]
    return [_hashed(_of_option(item, number)) for number in range(len(item.question.options))]


def _cases(item: Item) -> list[_Case]:
    """Return training cases: one of all alternatives; for an order one of each pair, whose earlier option is right."""
    rows, letters = _rows(item), item.question.letters
    if item.question.kind == "count":
        return [(rows, min(int(item.answer), _MOST_COUNTED - 1))]
    if item.question.kind == "choice":
        return [(rows, letters.index(item.answer))]
    in_order = [rows[letters.index(letter)] for letter in item.answer]
    return [([first, second], 0) for first, second in combinations(in_order, 2)]


def _fitted(cases: Sequence[_Case]) -> Floats:
    """Return one weight per feature: of a softmax over each case, fitted by full-batch Adam with weight decay."""
    weights = np.zeros(FEATURES)
    if not cases:
        return weights
    rows = [row for alternatives, _ in cases for row in alternatives]
    features = np.array([place for row in rows for place in row], dtype=np.int64)
    row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    case_of = np.repeat(np.arange(len(cases)), [len(alternatives) for alternatives, _ in cases])
    is_right = np.array([number == right for alternatives, right in cases for number in range(len(alternatives))])
    mean, spread = np.zeros(FEATURES), np.zeros(FEATURES)
    for step in range(1, _STEPS + 1):
        scores = np.bincount(row_of, weights=weights[features], minlength=len(rows)).astype(np.float64)
        highest = np.full(len(cases), -np.inf)
        np.maximum.at(highest, case_of, scores)
        raised = np.exp(scores - highest[case_of])
        error = is_right - raised / np.bincount(case_of, weights=raised, minlength=len(cases))[case_of]
        gradient = np.bincount(features, weights=error[row_of], minlength=FEATURES) / len(cases) - _DECAY * weights
        mean = 0.9 * mean + 0.1 * gradient
        spread = 0.999 * spread + 0.001 * gradient**2
        weights = weights + _RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


@dataclass(frozen=True, kw_only=True)
class PriorLine:
    """Accuracies (0 to 1) of blind guesses on a group of questions (``domain``, ``kind``, ``type``; empty for all).

    ``chance``: a random option, order, or number of the template's answers; for intervals the best constant guess.
    ``constant``: the best constant guess for each template. ``learned``: the prior fitted to words. The last two use
    other films. ``low`` and ``high``: the 95 % interval of ``learned``, by film; None for a single film. ``over``,
    ``over_low`` and ``over_high``: ``learned`` minus ``chance`` and its interval.
    """

    domain: str
    kind: str
    type: str
    questions: int
    films: int
    chance: float
    constant: float
    learned: float
    low: float | None
    high: float | None
    over: float
    over_low: float | None
    over_high: float | None

    def record(self) -> dict[str, Any]:
        """Return the JSON form, with numbers rounded to four digits."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def measure_priors(items: Sequence[Item], durations: Mapping[str, float], *, others: Sequence[Item]) -> list[PriorLine]:
    """Return accuracies of blind guesses on ``items``, by domain, kind and type; the guesses are fitted to ``others``.

    Groups: all; each domain, kind; each domain with a kind or type. ``durations``: seconds of all films, by video id.
    The types ``absence`` and ``naming`` are guesses which questions of pairs have no answer (see ``_of_pairs``); other
    groups hold the questions with an answer of their type.
    """
    constant, learned = Constant(_typed(others), durations), TextPrior(others, durations)
    groups: dict[tuple[str, str, str], list[tuple[str, float, float, float]]] = {}  #: by domain, kind and type
    for item, type_, is_right in learned.pairs(items):
        for domain in {item.domain or "", ""}:
            groups.setdefault((domain, "", type_), []).append((item.video_id, 0.5, 0.5, float(is_right)))
    for item in _typed(items):
        fixed = float(score_value(item, constant.guess(item), None).correct)
        drawn = constant.drawn(item)
        read = float(score_value(item, learned.guess(item), None).correct)
        row = (item.video_id, fixed if drawn is None else drawn, fixed, read)
        domain, kind, type_ = item.domain or "", item.question.kind, (item.template or "").partition("/")[0]
        for group in {(domain, kind, ""), (domain, "", type_), (domain, "", ""), ("", kind, ""), ("", "", "")}:
            groups.setdefault(group, []).append(row)
    return [_line(group, groups[group]) for group in sorted(groups, key=lambda group: (not group[0], group))]


def _line(group: tuple[str, str, str], rows: Sequence[tuple[str, float, float, float]]) -> PriorLine:
    films, chance, constant, learned = (list(column) for column in zip(*rows, strict=True))
    right = mean_interval(learned, films, seed=1, within=(0, 1), draws=2000)
    gains = [one - other for one, other in zip(learned, chance, strict=True)]
    over = mean_interval(gains, films, seed=1, within=(-1, 1), draws=2000)
    return PriorLine(
        domain=group[0],
        kind=group[1],
        type=group[2],
        questions=len(rows),
        films=len(set(films)),
        chance=sum(chance) / len(rows),
        constant=sum(constant) / len(rows),
        learned=right.estimate,
        low=right.low,
        high=right.high,
        over=over.estimate,
        over_low=over.low,
        over_high=over.high,
    )


#: The first seed of stories to fit priors to; films are unlikely to have such large seeds.
_FIRST_SEED = 700_000_000
_LONGEST = 20.0  #: minutes of such a story


def prior_of_folder(
    folder: Path, *, films: int, progress: Callable[[float, float], object] = lambda done, whole: None
) -> list[PriorLine]:
    """Return accuracies of blind guesses on the questions of a folder that ``sandbox make`` wrote.

    The guesses are fitted to ``films`` other stories of each split, about as long as the folder's films; no video is
    made of these, and each takes a fraction of a second; ``progress`` is called with their number so far and in all.
    Raises EvalFault: ``nothing_to_compare``: there are no questions of a split; the faults of reading the dataset and
    the facts.
    """
    items = [item for item in load_dataset(folder).items if item.split is not None]
    if not items:
        hint = "videoworld sandbox make --out FOLDER"
        raise EvalFault("nothing_to_compare", f"{folder} has no questions of a split", hint=hint)
    names = {item.video_id for item in items}
    durations = {name: read_facts(FilmFiles.of(folder, name).facts).duration for name in names}
    minutes = min(_LONGEST, max(1.0, sum(durations.values()) / len(durations) / 60))
    others: list[Item] = []
    splits = sorted({item.split for item in items if item.split is not None})
    for place, split in enumerate(splits):
        for number in range(_FIRST_SEED, _FIRST_SEED + films):
            facts = tell(number, minutes, split=split).facts
            if facts.film not in durations:
                durations[facts.film] = facts.duration
                others += questions_of(facts, seed=number, split=split)
            progress(place * films + number - _FIRST_SEED + 1, len(splits) * films)
    return measure_priors(items, durations, others=others)


def table_of(lines: list[PriorLine]) -> str:
    """Return a table for a terminal, with a row for each of ``lines`` and accuracies in percent."""
    rows = [
        f"{'domain':20} {'kind or type':18} {'n':>5}  {'chance':>6}  {'constant':>8}  {'learned':>7}  interval (95 %)   over chance"
    ]
    for line in lines:
        interval = "one film" if line.low is None or line.high is None else f"{line.low:6.1%} - {line.high:6.1%}"
        rows.append(
            f"{line.domain or 'all':20} {line.kind or line.type or 'all':18} {line.questions:5}  {line.chance:6.1%}  "
            f"{line.constant:8.1%}  {line.learned:7.1%}  {interval:17} {line.over:+6.1%}"
        )
    return "\n".join(rows)
