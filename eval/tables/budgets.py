"""Accuracy against cost: every arm at every budget, votes of several seeds, and arms against the baseline at equal spend.

Votes (self-consistency) are computed from recorded episodes, at the cost of all of them. The winner is one of the recorded answers, so
that nothing is scored anew. Equal answers vote for each other; of intervals the one that overlaps most with the others wins. Ties are
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

from eval.tables.accuracy import cells_of
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
from eval.tables.comparisons import baseline_of
from eval.tables.rows import SampleRow, Spend
from eval.tables.study import Setting, Study, grouped, keys, videos
from eval.tables.table import Cell, Column, Row, Table, blank
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
    for setting, arm, own in cells_of(study.rows):
        seeds = sorted({row.seed for row in own})
        questions = grouped(own, lambda row: row.item)
        for number in range(2, len(seeds) + 1):
            chosen = set(seeds[:number])
            yield setting, arm, number, list(_votes(questions, chosen, study.seed))


def _votes(questions: Mapping[str, Sequence[SampleRow]], seeds: set[int], seed: int) -> Iterator[Vote]:
    """The votes on all questions that each of the seeds was asked."""
    for item, rows in questions.items():
        voters = sorted((row for row in rows if row.seed in seeds), key=lambda row: row.seed)
        if len(voters) == len(seeds):
            yield Vote(winner=winner(voters, seed=f"{seed} {item} {len(voters)}"), voters=tuple(voters))


def winner(voters: Sequence[SampleRow], *, seed: str) -> SampleRow:
    """The sample whose answer wins; one without an answer only where nobody has any."""
    held = [row for row in voters if row.value is not None and row.outcome != "failed"]
    if not held:
        return voters[0]
    support = [sum(_agreement(row, other) for other in held) for row in held]
    best = [row for row, votes in zip(held, support, strict=True) if votes >= max(support) - 1e-9]
    answers = sorted(grouped(best, _answer))
    drawn = random.Random(seed).choice(answers)  # noqa: S311 - breaking ties, not keeping secrets
    return next(row for row in best if _answer(row) == drawn)


def _agreement(one: SampleRow, other: SampleRow) -> float:
    first, second = _stretch(one.value), _stretch(other.value)
    if one.kind == "interval" and first is not None and second is not None:
        return overlap(first, second)
    return float(_answer(one) == _answer(other))


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Intersection over union of two stretches; equal moments agree."""
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


def _stretch(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, dict):
        return None
    ends = value.get("start_time"), value.get("end_time")
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _sum_if_all_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


_CURVE = (
    Column(key="dataset", title="dataset"),
    Column(key="world", title="world"),
    Column(key="arm", title="arm"),
    Column(key="budget", title="budget"),
    Column(key="voters", title="votes", kind="count", about="seeds that vote on one answer; 1: none"),
    Column(key="n", title="n", kind="count"),
    Column(key="videos", title="videos", kind="count", aside=True),
    Column(key="tokens", title="tokens", kind="tokens", about="a question, logical; of votes those of all voters"),
    Column(key="money", title="USD", kind="money", about="a question, logical"),
    Column(key="accuracy", title="accuracy", kind="share"),
    Column(
        key="front", title="on the front", kind="yes_no", about="no point of this world is as right for fewer tokens"
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """A point of the curve: an arm at a budget, with so many voters. ``behind`` are the keys of its samples."""

    setting: Setting
    arm: str
    voters: int
    rows: Sequence[SampleRow]
    behind: tuple[str, ...]

    @cached_property
    def tokens(self) -> float:
        """Mean tokens a question; infinite where none are known."""
        cell = mean(self.rows, tokens)
        return float(cell.value) if isinstance(cell.value, int | float) else math.inf

    @cached_property
    def accuracy(self) -> float:
        """The share that is right; below all others where there is no sample."""
        return sum(row.correct for row in self.rows) / len(self.rows) if self.rows else -1.0

    @property
    def is_known(self) -> bool:
        """Whether it is known where it lies."""
        return bool(self.rows) and self.tokens < math.inf

    @property
    def name(self) -> str:
        """The arm, its budget, and votes where there are any."""
        return f"{self.arm} {self.setting.budget}" + (f", {self.voters} votes" if self.voters > 1 else "")

    @property
    def world(self) -> tuple[str, str]:
        """Points of one world are on one curve sheet."""
        return self.setting.dataset, self.setting.world


def points_of(study: Study) -> list[Point]:
    """The points of all curves, each arm by itself: budgets in their order, then votes."""
    found = [
        Point(setting=setting, arm=arm, voters=1, rows=own, behind=keys(own))
        for setting, arm, own in cells_of(study.rows)
    ]
    for setting, arm, number, votes in votes_of(study):
        behind = keys(row for vote in votes for row in vote.voters)
        rows = [vote.row() for vote in votes]
        found.append(Point(setting=setting, arm=arm, voters=number, rows=rows, behind=behind))
    return sorted(found, key=lambda point: (point.setting.dataset, point.setting.world, point.arm, point.tokens))


def curve_table(study: Study) -> Table:
    """The points of the accuracy-cost curve of every arm."""
    points = points_of(study)
    front = _on_front(points)
    rows = [
        Row(cells=tuple(_curve_cells(point, front.get(point), study.seed)), samples=point.behind) for point in points
    ]
    return study.table(
        "curve",
        "Accuracy against cost",
        _CURVE,
        rows,
        note="Each point is an arm at a budget. Votes are computed from the recorded episodes of several seeds: the answer that "
        "most give, ties broken by chance, at the summed cost. Arms are compared at equal spend, along the curve: a point above "
        "another one that costs more is the better one. Only the primary point was named before.",
    )


def _curve_cells(point: Point, on_front: bool | None, seed: int) -> Iterator[Cell]:
    setting = point.setting
    for value in (setting.dataset, setting.world, point.arm, setting.budget):
        yield Cell(value=value)
    yield count(point.voters)
    yield count(len(point.rows))
    yield count(len(videos(point.rows)))
    yield tokens_cell(point.rows)
    yield money_cell(point.rows)
    yield replace(share(point.rows, seed=seed), samples=point.behind)
    yield value_cell(on_front, "no tokens are known")


def _on_front(points: Sequence[Point]) -> dict[Point, bool]:
    """Of each point with known tokens whether no other one of its world is as right for fewer, or more right for no more."""
    found: dict[Point, bool] = {}
    for own in _known(points).values():
        best = -math.inf
        for _, alike in groupby(sorted(own, key=lambda point: point.tokens), key=lambda point: point.tokens):
            held = list(alike)
            most = max(point.accuracy for point in held)
            found.update({point: point.accuracy == most > best for point in held})
            best = max(best, most)
    return found


def _known(points: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    """The points with known tokens, by dataset and world."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        if point.is_known:
            found.setdefault(point.world, []).append(point)
    return found


_MATCHED = (
    Column(key="dataset", title="dataset"),
    Column(key="world", title="world"),
    Column(key="arm", title="arm"),
    Column(key="budget", title="budget"),
    Column(key="tokens", title="tokens", kind="tokens", about="a question, logical"),
    Column(key="against", title="against", about="the point of the baseline: budget, and votes where there are any"),
    Column(key="tokens_against", title="tokens of it", kind="tokens"),
    Column(key="questions", title="questions", kind="count"),
    Column(key="videos", title="videos", kind="count", aside=True),
    Column(key="difference", title="difference", kind="points"),
)


def matched_table(study: Study) -> Table:
    """Every arm at every budget against the baseline at no less spend: another budget of it, or votes."""
    rows = []
    for point, rivals in _rivals(study):
        dear = [other for other in rivals if other.tokens >= point.tokens]
        rival = dear[0] if dear else rivals[-1]
        behind = (*point.behind, *rival.behind)
        rows.append(Row(cells=tuple(_against(point, rival, cheaper=not dear, seed=study.seed)), samples=behind))
    return study.table(
        "matched",
        "Arms against the baseline at no less spend",
        _MATCHED,
        rows,
        note="For each point of an arm the cheapest point of the baseline that spends as much or more: a larger budget, or votes of "
        "several seeds. Where none does, the dearest one, and it is said. Paired by question; intervals (95 %) over videos."
        if rows
        else "No arm and baseline with known tokens share a world.",
    )


def _rivals(study: Study) -> Iterator[tuple[Point, list[Point]]]:
    """Every point of an arm, votes left aside, and the points of the baseline in its world, the cheapest first."""
    points = [point for point in points_of(study) if point.is_known and point.tokens > 0]
    baseline = baseline_of(study.rows, study.baseline)
    theirs: dict[tuple[str, str], list[Point]] = {}
    for point in sorted(points, key=lambda point: point.tokens):
        if point.arm == baseline:
            theirs.setdefault(point.world, []).append(point)
    for point in points:
        if point.arm != baseline and point.voters == 1 and point.world in theirs:
            yield point, theirs[point.world]


def _against(point: Point, rival: Point, *, cheaper: bool, seed: int) -> Iterator[Cell]:
    values = _summed([_differences(point, [(1.0, rival)])])
    found = interval(values, seed=seed, within=POINTS, why="no question in common")
    for value in (point.setting.dataset, point.setting.world, point.arm, point.setting.budget):
        yield Cell(value=value)
    yield tokens_cell(point.rows)
    yield Cell(value=rival.name)
    yield replace(tokens_cell(rival.rows), samples=rival.behind)
    yield count(len(values.numbers))
    yield count(len(set(values.clusters)))
    yield replace(marked(found, "the baseline never spends as much") if cheaper else found, samples=None)


_ALONG = (
    Column(key="dataset", title="dataset"),
    Column(key="world", title="world"),
    Column(key="arm", title="arm"),
    Column(
        key="budget",
        title="budget",
        about="all: the mean over the budgets of the arm that lie within the baseline's spend",
    ),
    Column(key="tokens", title="tokens", kind="tokens", about="a question, logical; the baseline spends as much"),
    Column(key="against", title="against", about="the points of the baseline on both sides, and what share of each"),
    Column(key="questions", title="questions", kind="count"),
    Column(key="videos", title="videos", kind="count", aside=True),
    Column(key="difference", title="difference", kind="points"),
)
_ALL = "all"

#: Of each question the difference, and the samples it comes from.
_Differences = dict[str, tuple[float, tuple[SampleRow, ...]]]


def along_table(study: Study) -> Table:
    """Every arm against the baseline at the same spend, at each of its budgets and along the whole curve."""
    rows = []
    for (_, _, arm), found in _by_arm(study).items():
        parts: list[Row] = []
        behind: list[str] = []
        within: list[_Differences] = []
        for point, rivals in found:
            mixed = mixture(point.tokens, rivals)
            own = (*point.behind, *(key for _, rival in mixed for key in rival.behind))
            parts.append(Row(cells=tuple(_at(point, mixed, rivals, study.seed)), samples=own))
            if mixed:
                within.append(_differences(point, mixed))
                behind += own
        first = found[0][0]
        values = _summed(within)
        cells = (
            *(Cell(value=value) for value in (*first.world, arm, _ALL)),
            blank("of several budgets"),
            Cell(value=f"{len(within)} of {len(found)} budgets") if within else blank(_OUTSIDE),
            count(len(values.numbers)),
            count(len(set(values.clusters))),
            replace(interval(values, seed=study.seed, within=POINTS, why=_OUTSIDE), samples=None),
        )
        rows += [Row(cells=cells, samples=tuple(dict.fromkeys(behind))), *parts]
    return study.table(
        "along",
        "Along the curve: arms against the baseline at the same spend",
        _ALONG,
        rows,
        note="At each budget of an arm the baseline at exactly its mean tokens: a mixture of the two points of the baseline (budgets, "
        "votes) next to it, each asked for such a share of the questions that the mean is the same; so its accuracy lies on the "
        "line between them. Paired by question; the first row of an arm is the mean over its budgets, on the questions that all "
        "have; intervals (95 %) over videos. Nothing is said beyond the baseline's spend. Only the primary point was named before."
        if rows
        else "No arm and baseline with known tokens share a world.",
    )


_OUTSIDE = "the baseline never spends so much, or so little"


def _by_arm(study: Study) -> dict[tuple[str, str, str], list[tuple[Point, list[Point]]]]:
    found: dict[tuple[str, str, str], list[tuple[Point, list[Point]]]] = {}
    for point, rivals in _rivals(study):
        found.setdefault((*point.world, point.arm), []).append((point, rivals))
    return found


def mixture(spend: float, points: Sequence[Point]) -> list[tuple[float, Point]]:
    """The shares of two points that spend so much together, of one where it spends just that; nothing outside their range."""
    below = [point for point in points if point.tokens <= spend]
    above = [point for point in points if point.tokens >= spend]
    if not below or not above:
        return []
    low, high = max(below, key=lambda point: point.tokens), min(above, key=lambda point: point.tokens)
    if low.tokens == high.tokens:
        return [(1.0, low)]
    share = (high.tokens - spend) / (high.tokens - low.tokens)
    return [(share, low), (1 - share, high)]


def _at(point: Point, mixed: Sequence[tuple[float, Point]], rivals: Sequence[Point], seed: int) -> Iterator[Cell]:
    values = _summed([_differences(point, mixed)] if mixed else [])
    outside = "the baseline never spends so " + ("little" if point.tokens < rivals[0].tokens else "much")
    for value in (*point.world, point.arm, point.setting.budget):
        yield Cell(value=value)
    yield tokens_cell(point.rows)
    yield (
        Cell(value=" and ".join(f"{100 * share:.0f} % {rival.name}" for share, rival in mixed))
        if mixed
        else blank(outside)
    )
    yield count(len(values.numbers))
    yield count(len(set(values.clusters)))
    yield replace(
        interval(values, seed=seed, within=POINTS, why="no question in common" if mixed else outside), samples=None
    )


def _differences(point: Point, mixed: Sequence[tuple[float, Point]]) -> _Differences:
    """The accuracy of a point less that of a mixture, of each question that all of them have."""
    theirs = [(part, grouped(rival.rows, lambda row: row.item)) for part, rival in mixed]
    found: _Differences = {}
    for item, own in grouped(point.rows, lambda row: row.item).items():
        if all(item in held for _, held in theirs):
            less = sum(part * _share(held[item]) for part, held in theirs)
            found[item] = _share(own) - less, (*own, *(row for _, held in theirs for row in held[item]))
    return found


def _summed(parts: Sequence[_Differences]) -> Values:
    """The mean difference of each question that all parts have."""
    values = Values()
    for item in parts[0] if parts else ():
        if all(item in part for part in parts):
            behind = [row for part in parts for row in part[item][1]]
            values.add(sum(part[item][0] for part in parts) / len(parts), behind[0], *behind[1:])
    return values


def _share(rows: Sequence[SampleRow]) -> float:
    return sum(map(correct, rows)) / len(rows)
