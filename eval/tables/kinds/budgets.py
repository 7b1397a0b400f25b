"""Accuracy against what it costs: every arm at every budget, and votes of several seeds at the cost of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from eval.tables.kinds.main import cells_of
from eval.tables.kinds.votes import votes_of
from eval.tables.measuring import (
    count,
    mean,
    money_cell,
    share,
    tokens,
    tokens_cell,
)
from eval.tables.rows import SampleRow
from eval.tables.study import Setting, Study, keys, videos
from eval.tables.table import Cell, Column, Row, Table, blank

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
        return bool(self.rows) and 0 < self.tokens < math.inf

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
    rows = [Row(cells=tuple(_cells(point, front.get(point), study.seed)), samples=point.behind) for point in points]
    return study.table(
        "curve",
        "Accuracy against cost",
        _CURVE,
        rows,
        note="Each point is an arm at a budget. Votes are computed from the recorded episodes of several seeds: the answer that "
        "most give, ties broken by chance, at the summed cost. Arms are compared at equal spend, along the curve: a point above "
        "another one that costs more is the better one. Only the primary point was named before.",
    )


def _cells(point: Point, on_front: bool | None, seed: int) -> Iterator[Cell]:
    setting = point.setting
    for value in (setting.dataset, setting.world, point.arm, setting.budget):
        yield Cell(value=value)
    yield count(point.voters)
    yield count(len(point.rows))
    yield count(len(videos(point.rows)))
    yield tokens_cell(point.rows)
    yield money_cell(point.rows)
    yield replace(share(point.rows, seed=seed), samples=point.behind)
    yield Cell(value=on_front) if on_front is not None else blank("no tokens are known")


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
