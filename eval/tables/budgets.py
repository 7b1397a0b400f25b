"""Accuracy against cost: every arm at every budget, votes of several seeds, arms against the baseline at equal cost.

Votes (self-consistency) are computed from recorded episodes, at the cost of all voters. The winner is one of the
recorded answers, so its score is known already. Equal answers vote for each other; of intervals, the one that overlaps
most with the others wins. Ties are broken at random, with a fixed seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby

from controller.answers import InvalidAnswer, span_of
from controller.episode import Account
from eval.scoring.kinds import interval_overlap
from eval.tables.cells import POINTS, SEED, Values, interval, marked, money_cell, share, tokens_cell, value_cell
from eval.tables.rows import SampleRow, Setting
from eval.tables.study import Group, Line, Rows, Study, grouped, keys, videos, words
from eval.tables.table import CellsByKey, Figure, Figures, Table, TableCell, Value, blank, figure
from world_api.core.canonical import canonical_json


def _votes_of(group: Group) -> Iterator[tuple[int, list[SampleRow], list[SampleRow]]]:
    """Yield for 2, 3, ... voters: their number, the voted result for each question, and the samples of all voters.

    The n voters are the samples of the n lowest seeds. Only questions with a sample of each of these seeds count.
    """
    seeds = sorted({row.seed for row in group.rows})
    questions = grouped(group.rows, lambda row: row.item)
    for number in range(2, len(seeds) + 1):
        held = [[row for row in rows if row.seed in seeds[:number]] for rows in questions.values()]
        voting = [sorted(rows, key=lambda row: row.seed) for rows in held if len(rows) == number]
        votes = [_vote(rows, seed=f"{SEED} {rows[0].item} {number}") for rows in voting]
        yield number, votes, [row for rows in voting for row in rows]


def _vote(voters: Sequence[SampleRow], *, seed: str) -> SampleRow:
    """Return the result of a vote on one question as a sample: the winner's outcome at the summed cost of all voters.

    Its money is None if the cost of any voter is unknown.
    """
    known = [spent for row in voters if (spent := row.spent()) is not None]
    whole = sum(known, Account())
    if len(known) < len(voters) or any(spent.money is None for spent in known):
        whole = replace(whole, money=None)
    return replace(winner(voters, seed=seed), spend={"logical": {"total": whole}} if known else {})


def winner(voters: Sequence[SampleRow], *, seed: str) -> SampleRow:
    """Return a sample with the answer that most voters support; one without an answer only if no voter has one.

    ``seed`` breaks ties. Equal answers support each other; intervals do by their overlap.
    """
    held = [row for row in voters if row.value is not None and row.outcome != "failed"]
    if not held:
        return voters[0]
    support = [sum(_agreement(row, other) for other in held) for row in held]
    best = [row for row, votes in zip(held, support, strict=True) if votes >= max(support) - 1e-9]
    answers = sorted(grouped(best, _answer))
    drawn = random.Random(seed).choice(answers)  # noqa: S311 - breaking ties, not keeping secrets
    return next(row for row in best if _answer(row) == drawn)


def _agreement(one: SampleRow, other: SampleRow) -> float:
    if one.kind == "interval":
        with suppress(InvalidAnswer):
            return interval_overlap(span_of(one.value), span_of(other.value))
    return float(_answer(one) == _answer(other))


def _answer(row: SampleRow) -> str:
    """Return an answer as text to compare; strings without case, extra spaces and final full stops."""
    if isinstance(row.value, str):
        return " ".join(row.value.casefold().split()).rstrip(".。 ")
    return canonical_json(row.value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """A point of the accuracy-cost curve: an arm at a budget, with a number of voters (1: no vote).

    ``samples`` are the keys of all samples that voted; ``tokens`` is the mean per question, infinite if unknown.
    """

    setting: Setting
    arm: str
    voters: int
    rows: Rows
    samples: tuple[str, ...]
    tokens: float
    accuracy: float

    @property
    def is_known(self) -> bool:
        """Whether the number of tokens is known."""
        return self.tokens < math.inf

    @property
    def name(self) -> str:
        """The arm and its budget, with the number of votes if there are several."""
        return f"{self.arm} {self.setting.budget}" + (f", {self.voters} votes" if self.voters > 1 else "")

    @property
    def scope(self) -> tuple[str, str]:
        """Dataset and world: only points that share both are compared."""
        return self.setting.dataset, self.setting.world


def points_of(study: Study) -> list[Point]:
    """Return the points of all curves, ordered by dataset, world, arm and tokens."""
    found = []
    for group in study.groups():
        for voters, rows, behind in [(1, group.rows, group.rows), *_votes_of(group)]:
            spent = tokens_cell(rows).number
            point = Point(
                setting=group.setting,
                arm=group.arm,
                voters=voters,
                rows=rows,
                samples=keys(behind),
                tokens=math.inf if spent is None else spent,
                accuracy=_share(rows) if rows else -1.0,  # votes without voters are below all others
            )
            found.append(point)
    return sorted(found, key=lambda point: (*point.scope, point.arm, point.tokens, point.voters > 1))


def curve_table(study: Study) -> Table:
    """Return the table of the points of every arm's accuracy-cost curve."""
    points = points_of(study)
    figures: Figures[Point] = (
        *words("dataset", "world", "arm", "budget"),
        figure("voters", "count", title="votes", about="seeds that vote on one answer; 1: none"),
        figure("n", "count", lambda point: len(point.rows)),
        figure("videos", "count", lambda point: len(videos(point.rows)), aside=True),
        figure("tokens", "tokens", lambda point: tokens_cell(point.rows),
               about="a question, logical; of votes those of all voters"),
        figure("money", "money", lambda point: money_cell(point.rows), title="USD", about="a question, logical"),
        figure("accuracy", "share",
               lambda point: replace(share(point.rows), samples=point.samples)),
        figure("front", "yes_no", lambda point: value_cell(_is_on_front(point, points), "no tokens are known"),
               title="on the front", about="no point of this world is as right for fewer tokens"),
    )  # fmt: skip
    return study.table("curve", figures, points, of=study.rows)


def _is_on_front(point: Point, points: Sequence[Point]) -> bool | None:
    """Whether the point is on the Pareto front of its dataset and world; None if its tokens are unknown.

    It is not if another point is as accurate for fewer tokens, or more accurate for no more tokens.
    """
    if not point.is_known:
        return None
    others = [other for other in points if other.scope == point.scope]
    as_right = any(other.tokens < point.tokens and other.accuracy >= point.accuracy for other in others)
    return not as_right and not any(
        other.tokens <= point.tokens and other.accuracy > point.accuracy for other in others
    )


#: The difference on each question, and the samples it comes from.
_Differences = dict[str, tuple[float, tuple[SampleRow, ...]]]
_OUTSIDE = "the baseline never spends so much, or so little"


def _spending_figures(tokens_about: str, against_about: str, *rival: Figure[Line]) -> Figures[Line]:
    return (
        *words("dataset", "world", "arm", "budget"),
        figure("tokens", "tokens", about=tokens_about),
        figure("against", "text", about=against_about),
        *rival,
        figure("questions", "count"),
        figure("videos", "count", aside=True),
        figure("difference", "points"),
    )


def _spending(
    point: Point,
    samples: Sequence[str],
    parts: Sequence[_Differences],
    *,
    why: str,
    mark: str = "",
    **cells: TableCell | Value,
) -> Line:
    """Return a table row: how much more often an arm is right than the baseline at a comparable cost.

    ``parts`` are the differences by question, one for each budget; the mean is over the questions that all parts have.
    If there is no such question, the cell is blank with the reason ``why``. ``mark`` is a remark on the difference,
    ``samples`` are the keys of all samples behind the row, ``cells`` further cells.
    """
    values = Values()
    for item in parts[0] if parts else ():
        if all(item in part for part in parts):
            behind = [row for part in parts for row in part[item][1]]
            values.add(sum(part[item][0] for part in parts) / len(parts), behind[0], *behind[1:])
    difference = interval(values, within=POINTS, why=why)
    own: CellsByKey = {
        **asdict(point.setting),
        "arm": point.arm,
        "tokens": tokens_cell(point.rows),
        "questions": len(values.numbers),
        "videos": len(set(values.clusters)),
        "difference": replace(marked(difference, mark) if mark else difference, samples=None),
    }
    return Line(behind=tuple(samples), cells={**own, **cells})


def matched_table(study: Study) -> Table:
    """Return the table of every arm at every budget against the baseline's cheapest budget or vote that costs no less."""
    about = "the point of the baseline: budget, and votes where there are any"
    return study.table(
        "matched",
        _spending_figures("a question, logical", about, figure("tokens_against", "tokens", title="tokens of it")),
        [_matched(point, rivals) for point, rivals in _rivals(study)],
        of=study.rows,
    )


def _matched(point: Point, rivals: Sequence[Point]) -> Line:
    dear = [other for other in rivals if other.tokens >= point.tokens]
    rival = dear[0] if dear else rivals[-1]
    return _spending(
        point,
        (*point.samples, *rival.samples),
        [_differences(point, [(1.0, rival)])],
        why="no question in common",
        mark="" if dear else "the baseline never spends as much",
        against=rival.name,
        tokens_against=replace(tokens_cell(rival.rows), samples=rival.samples),
    )


def _rivals(study: Study) -> Iterator[tuple[Point, list[Point]]]:
    """Yield each point without votes of an arm besides the baseline, with the baseline's points of its scope, by tokens."""
    points = [point for point in points_of(study) if point.is_known and point.tokens > 0]
    baseline = study.baseline_in(study.rows)
    theirs = sorted((point for point in points if point.arm == baseline), key=lambda point: point.tokens)
    for point in points:
        rivals = [other for other in theirs if other.scope == point.scope]
        if rivals and point.arm != baseline and point.voters == 1:
            yield point, rivals


def along_table(study: Study) -> Table:
    """Return the table of every arm against the baseline at the same spend, at each budget and over all budgets."""
    by_arm = groupby(_rivals(study), key=lambda pair: (pair[0].scope, pair[0].arm))
    about = "the points of the baseline on both sides, and what share of each"
    return study.table(
        "along",
        _spending_figures("a question, logical; the baseline spends as much", about),
        [line for _, found in by_arm for line in _along(list(found))],
        of=study.rows,
    )


def _along(found: Sequence[tuple[Point, list[Point]]]) -> list[Line]:
    """Return the row with the mean over an arm's budgets, then a row for each budget."""
    lines: list[Line] = []
    parts: list[_Differences] = []
    within: list[str] = []
    for point, rivals in found:
        mixed = mixture(point.tokens, rivals)
        samples = (*point.samples, *(key for _, rival in mixed for key in rival.samples))
        outside = "the baseline never spends so " + ("little" if point.tokens < rivals[0].tokens else "much")
        own, against, why = [], blank(outside), outside
        if mixed:
            own, why = [_differences(point, mixed)], "no question in common"
            against = TableCell(value=" and ".join(f"{100 * part:.0f} % {rival.name}" for part, rival in mixed))
            within += samples
        parts += own
        lines.append(_spending(point, samples, own, why=why, against=against))
    against = TableCell(value=f"{len(parts)} of {len(found)} budgets") if parts else blank(_OUTSIDE)
    whole = _spending(found[0][0], tuple(dict.fromkeys(within)), parts, why=_OUTSIDE, against=against)
    return [replace(whole, cells={**whole.cells, "budget": "all", "tokens": blank("of several budgets")}), *lines]


def mixture(spend: float, points: Sequence[Point]) -> list[tuple[float, Point]]:
    """Return one or two points with shares (sum 1) whose mean cost is ``spend`` tokens; empty if out of range."""
    low = max((point for point in points if point.tokens <= spend), key=lambda point: point.tokens, default=None)
    high = min((point for point in points if point.tokens >= spend), key=lambda point: point.tokens, default=None)
    if low is None or high is None:
        return []
    if low.tokens == high.tokens:
        return [(1.0, low)]
    share = (high.tokens - spend) / (high.tokens - low.tokens)
    return [(share, low), (1 - share, high)]


def _differences(point: Point, mixed: Sequence[tuple[float, Point]]) -> _Differences:
    """Return, for each question that all points have, the point's accuracy less the mixture's, and the samples used."""
    theirs = [(part, grouped(rival.rows, lambda row: row.item)) for part, rival in mixed]
    found: _Differences = {}
    for item, own in grouped(point.rows, lambda row: row.item).items():
        if all(item in held for _, held in theirs):
            less = sum(part * _share(held[item]) for part, held in theirs)
            found[item] = _share(own) - less, (*own, *(row for _, held in theirs for row in held[item]))
    return found


def _share(rows: Rows) -> float:
    return sum(row.correct for row in rows) / len(rows)
