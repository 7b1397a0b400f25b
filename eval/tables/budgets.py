"""Accuracy against cost: every arm at every budget, votes of several seeds, and arms against the baseline at equal spend.

Votes (self-consistency) are computed from recorded episodes, at the cost of all of them. The winner is one of the recorded answers, so
that nothing is scored again. Equal answers vote for each other; of intervals the one that overlaps most with the others wins. Ties are
broken by chance, seeded.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from eval.tables.cells import (
    POINTS,
    Values,
    correct,
    count,
    interval,
    marked,
    mean,
    money,
    money_cell,
    share,
    tokens,
    tokens_cell,
    value_cell,
)
from eval.tables.rows import SampleRow, Spend
from eval.tables.study import Rows, Setting, Study, baseline_of, grouped, keys, videos, words
from eval.tables.table import Cell, Figure, Figures, Table, blank, figure
from world_api.core.canonical import canonical_json


@dataclass(frozen=True, kw_only=True)
class Vote:
    """One question's vote of some seeds: the sample that won, at the tokens and money of all that voted."""

    winner: SampleRow
    voters: tuple[SampleRow, ...]

    def row(self) -> SampleRow:
        """The vote as a sample of its own: the winner's outcome at the cost of all voters."""
        spends = [row.spent() for row in self.voters]
        known = [spent for spent in spends if spent is not None]
        whole = Spend(
            tokens_in=sum(spent.tokens_in for spent in known),
            tokens_out=sum(spent.tokens_out for spent in known),
            money=_sum_if_all_known([money(row) for row in self.voters]),
            estimated=any(spent.estimated for spent in known),
            is_least=any(spent.is_least for spent in known),
        )
        return replace(self.winner, spend={"logical": {"total": whole}} if known else {})


def votes_of(study: Study) -> Iterator[tuple[Setting, str, int, list[Vote]]]:
    """Votes of 2, 3, ... seeds of each arm: the first seeds, in their order, so that more voters hold all the fewer had."""
    for group in study.groups():
        seeds = sorted({row.seed for row in group.rows})
        questions = grouped(group.rows, lambda row: row.item)
        for number in range(2, len(seeds) + 1):
            chosen = set(seeds[:number])
            yield group.setting, group.arm, number, list(_votes(questions, chosen, study.seed))


def _votes(questions: Mapping[str, Sequence[SampleRow]], seeds: set[int], seed: int) -> Iterator[Vote]:
    """The votes on all questions that each of the seeds was asked."""
    for item, rows in questions.items():
        voters = sorted((row for row in rows if row.seed in seeds), key=lambda row: row.seed)
        if len(voters) == len(seeds):
            yield Vote(winner=winner(voters, seed=f"{seed} {item} {len(voters)}"), voters=tuple(voters))


def winner(voters: Sequence[SampleRow], *, seed: str) -> SampleRow:
    """The sample whose answer wins; one without an answer only if none has any."""
    held = [row for row in voters if row.value is not None and row.outcome != "failed"]
    if not held:
        return voters[0]
    support = [sum(_agreement(row, other) for other in held) for row in held]
    best = [row for row, votes in zip(held, support, strict=True) if votes >= max(support) - 1e-9]
    answers = sorted(grouped(best, _answer))
    drawn = random.Random(seed).choice(answers)  # noqa: S311 - breaking ties, not keeping secrets
    return next(row for row in best if _answer(row) == drawn)


def _agreement(one: SampleRow, other: SampleRow) -> float:
    first, second = _ends(one.value), _ends(other.value)
    if one.kind == "interval" and first is not None and second is not None:
        return overlap(first, second)
    return float(_answer(one) == _answer(other))


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Intersection over union of two intervals; equal moments agree."""
    if one == other:
        return 1.0
    shared = min(one[1], other[1]) - max(one[0], other[0])
    whole = max(one[1], other[1]) - min(one[0], other[0])
    return max(0.0, shared) / whole if whole > 0 else 0.0


def _answer(row: SampleRow) -> str:
    """An answer as it votes: words without case, spacing and a last full stop."""
    if isinstance(row.value, str):
        return " ".join(row.value.casefold().split()).rstrip(".。 ")
    return canonical_json(row.value)


def _ends(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, dict):
        return None
    ends = value.get("start_time"), value.get("end_time")
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _sum_if_all_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """A point of the curve: an arm at a budget, with a number of voters; ``samples`` are the keys behind it.

    ``front`` says whether no other point of its world is as right for fewer tokens; None without known tokens.
    """

    setting: Setting
    arm: str
    voters: int
    rows: Rows
    samples: tuple[str, ...]
    seed: int

    @cached_property
    def tokens(self) -> float:
        """Mean tokens a question; infinite if none are known."""
        found = mean(self.rows, tokens).number
        return math.inf if found is None else found

    @cached_property
    def accuracy(self) -> float:
        """The share that is right; below all others without samples."""
        return sum(row.correct for row in self.rows) / len(self.rows) if self.rows else -1.0

    @property
    def is_known(self) -> bool:
        """Whether its tokens are known."""
        return bool(self.rows) and self.tokens < math.inf

    @property
    def name(self) -> str:
        """The arm, its budget, and votes if there are any."""
        return f"{self.arm} {self.setting.budget}" + (f", {self.voters} votes" if self.voters > 1 else "")

    @property
    def scope(self) -> tuple[str, str]:
        """Points of one dataset and world are compared."""
        return self.setting.dataset, self.setting.world


def points_of(study: Study) -> list[Point]:
    """The points of all curves, each arm by itself: budgets in their order, then votes."""
    found = [
        Point(setting=group.setting, arm=group.arm, voters=1, rows=group.rows, samples=group.samples, seed=study.seed)
        for group in study.groups()
    ]
    for setting, arm, number, votes in votes_of(study):
        behind = keys(row for vote in votes for row in vote.voters)
        rows = [vote.row() for vote in votes]
        found.append(Point(setting=setting, arm=arm, voters=number, rows=rows, samples=behind, seed=study.seed))
    return sorted(found, key=lambda point: (*point.scope, point.arm, point.tokens))


def curve_table(study: Study) -> Table:
    """The points of the accuracy-cost curve of every arm."""
    points = points_of(study)
    front = _on_front(points)
    figures: Figures[Point] = (
        *words("dataset", "world", "arm", "budget"),
        figure("voters", "count", lambda point: count(point.voters), title="votes",
               about="seeds that vote on one answer; 1: none"),
        figure("n", "count", lambda point: count(len(point.rows))),
        figure("videos", "count", lambda point: count(len(videos(point.rows))), aside=True),
        figure("tokens", "tokens", lambda point: tokens_cell(point.rows),
               about="a question, logical; of votes those of all voters"),
        figure("money", "money", lambda point: money_cell(point.rows), title="USD", about="a question, logical"),
        figure("accuracy", "share",
               lambda point: replace(share(point.rows, seed=study.seed), samples=point.samples)),
        figure("front", "yes_no", lambda point: value_cell(front.get(point), "no tokens are known"),
               title="on the front", about="no point of this world is as right for fewer tokens"),
    )  # fmt: skip
    return study.table(
        "curve",
        "Accuracy against cost",
        figures,
        points,
        of=study.rows,
        note="Each point is an arm at a budget. Votes are computed from the recorded episodes of several seeds: the answer that "
        "most give, ties broken by chance, at the summed cost. Arms are compared at equal spend, along the curve: a point above "
        "another one that costs more is the better one. Only the primary point was named before.",
    )


def _on_front(points: Sequence[Point]) -> dict[Point, bool]:
    """For each point with known tokens whether no other one of its world is as right for fewer, or more right for no more."""
    worlds: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        if point.is_known:
            worlds.setdefault(point.scope, []).append(point)
    found: dict[Point, bool] = {}
    for own in worlds.values():
        best = -math.inf
        for _, alike in groupby(sorted(own, key=lambda point: point.tokens), key=lambda point: point.tokens):
            held = list(alike)
            most = max(point.accuracy for point in held)
            found.update({point: point.accuracy == most > best for point in held})
            best = max(best, most)
    return found


#: The difference on each question, and the samples it comes from.
_Differences = dict[str, tuple[float, tuple[SampleRow, ...]]]
_NO_WORLD = "No arm and baseline with known tokens share a world."
_OUTSIDE = "the baseline never spends so much, or so little"


@dataclass(frozen=True, kw_only=True)
class _Spending:
    """An arm at a budget, or over several (``point`` None), less the baseline at some spend.

    ``against`` and ``difference`` are cells, blank if they cannot be made; ``parts`` are the differences that are averaged.
    """

    scope: tuple[str, str]
    arm: str
    budget: str
    samples: tuple[str, ...]
    point: Point | None
    against: Cell
    parts: Sequence[_Differences]
    why: str
    seed: int
    rival: Point | None = None
    mark: str = ""
    rows: Rows = ()

    @cached_property
    def values(self) -> Values:
        """The mean difference on each question that all parts have."""
        values = Values()
        for item in self.parts[0] if self.parts else ():
            if all(item in part for part in self.parts):
                behind = [row for part in self.parts for row in part[item][1]]
                values.add(sum(part[item][0] for part in self.parts) / len(self.parts), behind[0], *behind[1:])
        return values

    def difference(self) -> Cell:
        found = interval(self.values, seed=self.seed, within=POINTS, why=self.why)
        return replace(marked(found, self.mark) if self.mark else found, samples=None)


def _spending_figures(tokens_about: str, against_about: str, *rival: Figure[_Spending]) -> Figures[_Spending]:
    return (
        figure("dataset", "text", lambda own: Cell(value=own.scope[0])),
        figure("world", "text", lambda own: Cell(value=own.scope[1])),
        *words("arm", "budget"),
        figure("tokens", "tokens",
               lambda own: tokens_cell(own.point.rows) if own.point else blank("of several budgets"),
               about=tokens_about),
        figure("against", "text", lambda own: own.against, about=against_about),
        *rival,
        figure("questions", "count", lambda own: count(len(own.values.numbers))),
        figure("videos", "count", lambda own: count(len(set(own.values.clusters))), aside=True),
        figure("difference", "points", _Spending.difference),
    )  # fmt: skip


def matched_table(study: Study) -> Table:
    """Every arm at every budget against the baseline at no less spend: another budget of it, or votes."""
    rival: Figure[_Spending] = figure(
        "tokens_against",
        "tokens",
        lambda own: replace(tokens_cell(own.rival.rows), samples=own.rival.samples) if own.rival else Cell(),
        title="tokens of it",
    )
    about = "the point of the baseline: budget, and votes where there are any"
    return study.table(
        "matched",
        "Arms against the baseline at no less spend",
        _spending_figures("a question, logical", about, rival),
        [_matched(point, rivals) for point, rivals in _rivals(study)],
        of=study.rows,
        note="For each point of an arm the cheapest point of the baseline that spends as much or more: a larger budget, or votes of "
        "several seeds. Where none does, the dearest one, and it is said. Paired by question; intervals (95 %) over videos.",
        empty=_NO_WORLD,
    )


def _matched(point: Point, rivals: Sequence[Point]) -> _Spending:
    dear = [other for other in rivals if other.tokens >= point.tokens]
    rival = dear[0] if dear else rivals[-1]
    return _Spending(
        scope=point.scope,
        arm=point.arm,
        budget=point.setting.budget,
        samples=(*point.samples, *rival.samples),
        point=point,
        against=Cell(value=rival.name),
        parts=[_differences(point, [(1.0, rival)])],
        why="no question in common",
        seed=point.seed,
        rival=rival,
        mark="" if dear else "the baseline never spends as much",
    )


def _rivals(study: Study) -> Iterator[tuple[Point, list[Point]]]:
    """Every point of an arm, without votes, and the points of the baseline in its world, the cheapest first."""
    points = [point for point in points_of(study) if point.is_known and point.tokens > 0]
    baseline = baseline_of(study.rows, study.baseline)
    theirs: dict[tuple[str, str], list[Point]] = {}
    for point in sorted(points, key=lambda point: point.tokens):
        if point.arm == baseline:
            theirs.setdefault(point.scope, []).append(point)
    for point in points:
        if point.arm != baseline and point.voters == 1 and point.scope in theirs:
            yield point, theirs[point.scope]


def along_table(study: Study) -> Table:
    """Every arm against the baseline at the same spend, at each of its budgets and along the whole curve."""
    by_arm: dict[tuple[tuple[str, str], str], list[tuple[Point, list[Point]]]] = {}
    for point, rivals in _rivals(study):
        by_arm.setdefault((point.scope, point.arm), []).append((point, rivals))
    about = "the points of the baseline on both sides, and what share of each"
    return study.table(
        "along",
        "Along the curve: arms against the baseline at the same spend",
        _spending_figures("a question, logical; the baseline spends as much", about),
        [row for found in by_arm.values() for row in _along(found)],
        of=study.rows,
        note="At each budget of an arm the baseline at exactly its mean tokens: a mixture of the two points of the baseline (budgets, "
        "votes) next to it, each asked for such a share of the questions that the mean is the same; so its accuracy is on the "
        "line between them. Paired by question; the first row of an arm is the mean over its budgets, on the questions that all "
        "have; intervals (95 %) over videos. Nothing is said beyond the baseline's spend. Only the primary point was named before.",
        empty=_NO_WORLD,
    )


def _along(found: Sequence[tuple[Point, list[Point]]]) -> list[_Spending]:
    """The mean over the budgets of an arm, then each of its budgets."""
    parts = []
    for point, rivals in found:
        mixed = mixture(point.tokens, rivals)
        outside = "the baseline never spends so " + ("little" if point.tokens < rivals[0].tokens else "much")
        shares = " and ".join(f"{100 * part:.0f} % {rival.name}" for part, rival in mixed)
        parts.append(
            _Spending(
                scope=point.scope,
                arm=point.arm,
                budget=point.setting.budget,
                samples=(*point.samples, *(key for _, rival in mixed for key in rival.samples)),
                point=point,
                against=Cell(value=shares) if mixed else blank(outside),
                parts=[_differences(point, mixed)] if mixed else [],
                why="no question in common" if mixed else outside,
                seed=point.seed,
            )
        )
    within = [part for part in parts if part.parts]
    whole = replace(
        parts[0],
        budget="all",
        samples=tuple(dict.fromkeys(key for part in within for key in part.samples)),
        point=None,
        against=Cell(value=f"{len(within)} of {len(found)} budgets") if within else blank(_OUTSIDE),
        parts=[differences for part in within for differences in part.parts],
        why=_OUTSIDE,
    )
    return [whole, *parts]


def mixture(spend: float, points: Sequence[Point]) -> list[tuple[float, Point]]:
    """The shares of two points that spend so much together, of one that spends just that; nothing outside their range."""
    below = [point for point in points if point.tokens <= spend]
    above = [point for point in points if point.tokens >= spend]
    if not below or not above:
        return []
    low, high = max(below, key=lambda point: point.tokens), min(above, key=lambda point: point.tokens)
    if low.tokens == high.tokens:
        return [(1.0, low)]
    share = (high.tokens - spend) / (high.tokens - low.tokens)
    return [(share, low), (1 - share, high)]


def _differences(point: Point, mixed: Sequence[tuple[float, Point]]) -> _Differences:
    """The accuracy of a point less that of a mixture, on each question that all of them have."""
    theirs = [(part, grouped(rival.rows, lambda row: row.item)) for part, rival in mixed]
    found: _Differences = {}
    for item, own in grouped(point.rows, lambda row: row.item).items():
        if all(item in held for _, held in theirs):
            less = sum(part * _share(held[item]) for part, held in theirs)
            found[item] = _share(own) - less, (*own, *(row for _, held in theirs for row in held[item]))
    return found


def _share(rows: Rows) -> float:
    return sum(map(correct, rows)) / len(rows)
