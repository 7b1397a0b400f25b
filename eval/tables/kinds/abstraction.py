"""What may be credited to abstraction: the gain of ``hier`` over everything that is not abstraction, all of it together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eval.statistics.interval import FEW_CLUSTERS
from eval.tables.kinds.comparing import clustered_p
from eval.tables.kinds.main import PLACE, place_cells
from eval.tables.measuring import POINTS, correct, count, interval, is_sure, tokens
from eval.tables.pairing import Pairs, concerns, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import Study, grouped, keys, libraries_are_real, setting_of
from eval.tables.table import Cell, Column, Row, Table, blank

#: Each control, and what it gives without abstraction.
CONTROLS = {
    "flat": "the operations alone",
    "flat+domain": "the domain's text",
    "hints": "advice that cannot be called",
    "flat+compose": "programs without a library",
}
_LEVEL = 0.05
_COLUMNS = (
    *PLACE,
    Column(key="pairs", title="pairs", kind="count", about="with the control that has fewest"),
    Column(key="videos", title="videos", kind="count"),
    *(
        Column(key=f"minus {name}", title=f"less {name}", kind="points", about=about)
        for name, about in CONTROLS.items()
    ),
    Column(key="abstraction", title="less the best", kind="points", about="the smallest of the differences"),
    Column(key="p", title="p", kind="p", about="the greatest of the clustered p values: all must be beaten"),
    Column(
        key="beaten", title="beaten", kind="count", about="controls whose interval lies below the arm, at a p of 0.05"
    ),
    Column(key="claim", title="all beaten", kind="yes_no"),
    Column(key="tokens_difference", title="tokens, less the best", kind="change", about="logical, a sample"),
    Column(key="concerns", title="also differs", aside=True),
)


def abstraction_table(study: Study) -> Table:
    """Every arm of ``hier`` with a real library against the four controls of its setting."""
    rows, about = [], []
    for setting, within in grouped(study.rows, setting_of).items():
        arms = grouped(within, lambda row: row.arm)
        for arm, own in arms.items():
            if own[0].system == "hier" and libraries_are_real(own[0]):
                pairs = {name: pairs_of(own, rival) for name, rival in _controls(own[0], arms)}
                paired = {row.sample: row for item in pairs.values() for row in item.rows}
                cells = (*place_cells(setting, arm), *_cells(pairs, study.seed))
                rows.append(Row(cells=cells, samples=keys(paired.values())))
                about += list(paired.values())
    return study.table(
        "abstraction",
        "What abstraction may claim",
        _COLUMNS,
        rows,
        of=list({row.sample: row for row in about}.values()),
        note="Abstraction is credited only for what hier gains over all four controls together. The composite is the smallest "
        "of the four differences; its interval runs from the smallest lower end to the smallest upper end, so that it lies above "
        "zero only if each does. All must be beaten, so no adjustment for their number is due (an intersection-union test). A "
        f"control that was not run leaves the claim open, and so do fewer than {FEW_CLUSTERS} videos.",
    )


def _controls(row: SampleRow, arms: Mapping[str, Sequence[SampleRow]]) -> Iterator[tuple[str, Sequence[SampleRow]]]:
    """The arm of each control: with hints of the same library; the one whose name is shortest where there are several."""
    for name in CONTROLS:
        found = [own for own in arms.values() if own[0].system == name]
        if name == "hints":
            found = [own for own in found if own[0].library_hash == row.library_hash]
        if found:
            yield name, min(found, key=lambda own: (len(own[0].arm), own[0].arm))


def _cells(pairs: Mapping[str, Pairs], seed: int) -> Iterator[Cell]:
    held = {name: item for name, item in pairs.items() if item.pairs}
    differences = {name: interval(item.differences(correct), seed=seed, within=POINTS) for name, item in held.items()}
    missing = [name for name in CONTROLS if name not in held]
    why = "not run: " + ", ".join(missing) if missing else ""
    clusters = [cell.clusters or 0 for cell in differences.values()]
    yield count(min((len(item.pairs) for item in held.values()), default=0))
    yield count(min(clusters, default=0))
    for name in CONTROLS:
        yield differences.get(name, blank("no pairs" if name in pairs else "not run"))
    yield _composite(differences, why)
    lost = any(float(cell.value or 0.0) <= 0 for cell in differences.values())
    yield _greatest_p(held, why or ("a control is as good" if lost else ""), seed)
    beaten = {name: is_sure(cell) and _p(held[name], seed) <= _LEVEL for name, cell in differences.items()}
    yield count(sum(beaten.values()))
    few = any((cell.clusters or 0) < FEW_CLUSTERS for cell in differences.values())
    unknown = why or (f"fewer than {FEW_CLUSTERS} videos" if few and not lost else "")
    yield blank(unknown) if unknown else Cell(value=all(beaten.values()))
    yield _of_best(held, differences, why, seed)
    found = dict.fromkeys(f"{name}: {what}" for name, item in held.items() for what in concerns(item))
    yield Cell(value="; ".join(found))


def _p(pairs: Pairs, seed: int) -> float:
    p = clustered_p(pairs.differences(correct), seed)
    return 1.0 if p is None else p


def _composite(differences: Mapping[str, Cell], why: str) -> Cell:
    if why:
        return blank(why)
    cells = list(differences.values())
    values = [float(cell.value) for cell in cells if isinstance(cell.value, int | float)]
    lows, highs = (
        [cell.low for cell in cells if cell.low is not None],
        [cell.high for cell in cells if cell.high is not None],
    )
    whole = len(lows) == len(highs) == len(cells)
    return Cell(
        value=min(values),
        low=min(lows) if whole else None,
        high=min(highs) if whole else None,
        n=min(cell.n or 0 for cell in cells),
        clusters=min(cell.clusters or 0 for cell in cells),
        mark="; ".join(dict.fromkeys(cell.mark for cell in cells if cell.mark)),
    )


def _greatest_p(held: Mapping[str, Pairs], why: str, seed: int) -> Cell:
    values = [clustered_p(item.differences(correct), seed) for item in held.values()]
    known = [p for p in values if p is not None]
    if why or len(known) < len(values) or not known:
        return blank(why or "fewer than two videos")
    return Cell(value=max(known))


def _of_best(held: Mapping[str, Pairs], differences: Mapping[str, Cell], why: str, seed: int) -> Cell:
    """The difference in tokens to the control that does best."""
    if why:
        return blank(why)
    best = min(differences, key=lambda name: float(differences[name].value or 0.0))
    return interval(held[best].differences(tokens), seed=seed, why="no pair with episodes")
