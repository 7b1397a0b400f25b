"""Cells computed from samples: means and shares with intervals, and paired differences; or a blank with the reason.

Intervals are bootstrapped over videos (``eval.statistics``); the seeds of a question are repetitions within
its video. If libraries are treated as random draws, the bootstrap resamples videos, libraries and seeds (crossed).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from eval.statistics import Interval, mean_interval, sign_flip
from eval.tables.rows import SampleRow
from eval.tables.study import Rows, cluster, keys
from eval.tables.table import TableCell, Value, blank

Measure = Callable[[SampleRow], float | None]
Bounds = tuple[float, float]

SEED = 1  #: for all resampling
NO_SAMPLES = "no samples"
SHARE: Bounds = (0.0, 1.0)
POINTS: Bounds = (-1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Values:
    """Numbers with the video (``clusters``), seed and library of each; ``samples``: keys of all samples behind them."""

    numbers: list[float] = field(default_factory=list)
    clusters: list[tuple[str, str]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)

    def add(self, number: float, row: SampleRow, *others: SampleRow) -> None:
        """Add a number computed from one or several samples; the first one gives video, seed and library."""
        self.numbers.append(number)
        self.clusters.append(cluster(row))
        self.seeds.append(row.seed)
        self.libraries.append(row.library or "")
        self.samples.extend((row.sample, *(other.sample for other in others)))

    @property
    def are_drawn(self) -> bool:
        """Whether the numbers come from several libraries, which are then random draws like the videos."""
        return len(set(self.libraries)) > 1

    @property
    def clustered_p(self) -> float | None:
        """The p value of a sign-flip test over videos; None with fewer than two videos."""
        return sign_flip(self.numbers, self.clusters, seed=SEED) if len(set(self.clusters)) > 1 else None


def correct(row: SampleRow) -> float:
    """Return 1.0 if the answer is right, else 0.0."""
    return float(row.correct)


def score(row: SampleRow) -> float:
    """Return the score from 0 to 1, which may give partial credit."""
    return row.score


def tokens(row: SampleRow) -> float | None:
    """Return the sample's logical tokens (as if nothing were cached); None without an episode."""
    spent = row.spent()
    return float(spent.tokens) if spent is not None else None


def money(row: SampleRow) -> float | None:
    """Return the sample's logical cost in USD; None without an episode or a price."""
    spent = row.spent()
    return spent.money if spent is not None else None


def share(rows: Rows, *, measure: Measure = correct) -> TableCell:
    """Return the mean of a measure between 0 and 1, with its interval."""
    return mean(rows, measure, within=SHARE)


def mean(rows: Rows, measure: Measure, *, why: str = NO_SAMPLES, within: Bounds | None = None) -> TableCell:
    """Return the mean of a measure where it is not None, with an interval if ``within`` (its bounds) is given.

    The cell is blank, with the reason ``why``, if no sample has the measure.
    """
    values = Values()
    for row in rows:
        if (value := measure(row)) is not None:
            values.add(value, row)
    known = len(values.numbers)
    if not known:
        return blank(why if rows else NO_SAMPLES)
    if within is None:
        cell = TableCell(value=sum(values.numbers) / known, n=known, clusters=len(set(values.clusters)))
    else:
        cell = interval(values, within=within)
    return replace(cell, samples=tuple(values.samples) if known < len(rows) else None)


def interval(
    values: Values,
    *,
    within: Bounds | None = None,
    why: str = NO_SAMPLES,
    crossed: bool = False,
    also: Sequence[Sequence[str]] = (),
) -> TableCell:
    """Return the mean of numbers with its interval, which is cut to ``within``; a blank with ``why`` if there are none.

    ``crossed``: seeds, libraries and the labels in ``also`` are resampled too, as random draws like the videos.
    """
    if not values.numbers:
        return blank(why)
    labels: list[Sequence[Hashable]] = [values.seeds, values.libraries] if crossed else []
    draws = [own for own in (*labels, *also) if len(set(own)) > 1]
    found = mean_interval(values.numbers, values.clusters, seed=SEED, crossed=draws, within=within)
    return replace(interval_cell(found), samples=tuple(dict.fromkeys(values.samples)))


def interval_cell(found: Interval) -> TableCell:
    """Return an estimate with its interval as a cell."""
    low, high = found.low, found.high
    return TableCell(value=found.estimate, low=low, high=high, n=found.rows, clusters=found.clusters, mark=found.note)


def money_cell(rows: Rows, *, way: str = "logical") -> TableCell:
    """Return the mean cost in USD, with the remark ``at least`` if some cost is not included.

    ``way``: ``logical`` or ``physical``.
    """
    spends = [row.spent(way) for row in rows]
    cell = mean(rows, lambda row: None if (spent := row.spent(way)) is None else spent.money, why="no price is known")
    least = any(spent.is_least or spent.money is None for spent in spends if spent is not None)
    return marked(cell, "at least") if cell.value is not None and least else cell


def tokens_cell(rows: Rows, *, way: str = "logical", part: str = "total", of: str = "tokens") -> TableCell:
    """Return the mean number of tokens, with the remark ``estimated`` if a server did not count them.

    ``way``: ``logical`` or ``physical``; ``part``: such as ``judge``; ``of``: the attribute of the account to average.
    """

    def measure(row: SampleRow) -> float | None:
        spent = row.spent(way, part)
        return None if spent is None else float(getattr(spent, of))

    cell = mean(rows, measure, why="no episodes")
    guessed = any(spent.estimated for row in rows if (spent := row.spent(way, part)) is not None)
    return marked(cell, "estimated") if cell.value is not None and guessed else cell


def marked(cell: TableCell, mark: str) -> TableCell:
    """Return the cell with a remark added."""
    return replace(cell, mark=f"{cell.mark}; {mark}" if cell.mark else mark)


def count(number: int, rows: Iterable[SampleRow]) -> TableCell:
    """Return a whole number as a cell, with the keys of the samples behind it."""
    return TableCell(value=number, samples=tuple(dict.fromkeys(keys(rows))))


def counted(rows: Sequence[SampleRow]) -> TableCell:
    """Return the number of these samples as a cell, with their keys."""
    return count(len(rows), rows)


def value_cell(value: Value, why: str = "") -> TableCell:
    """Return a value as a cell, or a blank with the reason if it is None."""
    return TableCell(value=value) if value is not None else blank(why)
