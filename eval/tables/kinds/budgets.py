"""Accuracy against what it costs: every arm at every budget, and votes of several seeds at the cost of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from eval.tables.kinds.main import cells_of
from eval.tables.kinds.votes import votes_of
from eval.tables.measuring import count, mean, money_cell, share, tokens, tokens_cell
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


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the curve: an arm at a budget, with so many voters. ``behind`` are the keys of its samples."""

    setting: Setting
    arm: str
    voters: int
    rows: Sequence[SampleRow]
    behind: tuple[str, ...]


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
    return sorted(found, key=lambda point: (point.setting.dataset, point.setting.world, point.arm, _mean_tokens(point)))


def curve_table(study: Study) -> Table:
    """The points of the accuracy-cost curve of every arm."""
    points = points_of(study)
    rows = [Row(cells=tuple(_cells(point, points, study.seed)), samples=point.behind) for point in points]
    return study.table(
        "curve",
        "Accuracy against cost",
        _CURVE,
        rows,
        note="Each point is an arm at a budget. Votes are computed from the recorded episodes of several seeds: the answer that "
        "most give, ties broken by chance, at the summed cost. Arms are compared at equal spend, along the curve: a point above "
        "another one that costs more is the better one. Only the primary point was named before.",
    )


def _cells(point: Point, points: Sequence[Point], seed: int) -> Iterator[Cell]:
    setting = point.setting
    for value in (setting.dataset, setting.world, point.arm, setting.budget):
        yield Cell(value=value)
    yield count(point.voters)
    yield count(len(point.rows))
    yield count(len(videos(point.rows)))
    yield tokens_cell(point.rows)
    yield money_cell(point.rows)
    yield replace(share(point.rows, seed=seed), samples=point.behind)
    yield _front(point, points)


def _front(point: Point, points: Sequence[Point]) -> Cell:
    rivals = [
        other
        for other in points
        if (other.setting.dataset, other.setting.world) == (point.setting.dataset, point.setting.world)
    ]
    own = _mean_tokens(point)
    if not point.rows or own == float("inf"):
        return blank("no tokens are known")
    better = [
        other
        for other in rivals
        if (_accuracy(other) >= _accuracy(point) and _mean_tokens(other) < own)
        or (_accuracy(other) > _accuracy(point) and _mean_tokens(other) <= own)
    ]
    return Cell(value=not better)


def _accuracy(point: Point) -> float:
    return sum(row.correct for row in point.rows) / len(point.rows) if point.rows else -1.0


def _mean_tokens(point: Point) -> float:
    cell = mean(point.rows, tokens)
    return float(cell.value) if isinstance(cell.value, int | float) else float("inf")
