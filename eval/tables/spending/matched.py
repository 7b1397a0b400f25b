"""Arms against the baseline at equal spend: at its next dearer point, and at the same spend between two of its points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eval.tables.kinds.budgets import Point, points_of
from eval.tables.kinds.comparing import baseline_of
from eval.tables.measuring import POINTS, Values, correct, count, interval, marked, tokens_cell
from eval.tables.rows import SampleRow
from eval.tables.study import Study, grouped
from eval.tables.table import Cell, Column, Row, Table, blank

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
    points = [point for point in points_of(study) if point.is_known]
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
