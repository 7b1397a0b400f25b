"""The oracle ladder: accuracy with one operation at a time answered from the truth, and what is lost where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from eval.ladder.rungs import ladder_of
from eval.tables.cells import POINTS, correct, count, interval, share, value_cell
from eval.tables.comparisons import baseline_of, clustered_p
from eval.tables.pairing import pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import Study, grouped, keys, videos
from eval.tables.table import Cell, Column, Row, Table, blank
from world_api.core.faults import EvalFault

#: The worlds that are the truth, whole or for one operation.
ORACLE = "oracle"
_ONE = ORACLE + ":"

_COLUMNS = (
    Column(key="dataset", title="dataset"),
    Column(key="budget", title="budget"),
    Column(key="arm", title="arm"),
    Column(key="world", title="answered from the truth"),
    Column(key="n", title="n", kind="count"),
    Column(key="videos", title="videos", kind="count", aside=True),
    Column(key="accuracy", title="accuracy", kind="share"),
    Column(key="pairs", title="pairs", kind="count", aside=True),
    Column(key="gain", title="gain", kind="points", about="over the worlds that are built from pixels, paired"),
    Column(key="p_clustered", title="p, clustered", kind="p"),
)
_NOTHING, _ALL = "nothing", "everything"


def ladder_table(study: Study) -> Table:
    """Each arm on worlds from pixels, with one operation from the truth, and on worlds from the truth."""
    rows, about = [], []
    places = grouped(study.rows, lambda row: (row.dataset, row.budget, row.arm))
    for (dataset, budget, arm), own in places.items():
        worlds = grouped(own, lambda row: row.world)
        built = [world for world in worlds if world != ORACLE and not world.startswith(_ONE)]
        for world in built:
            steps = _steps(worlds, world, several=len(built) > 1)
            if len(steps) < 2:
                continue
            for name, rung in steps.items():
                head = tuple(Cell(value=value) for value in (dataset, budget, arm, name))
                rows.append(Row(cells=(*head, *_cells(rung, worlds[world], study.seed)), samples=keys(rung)))
                about += rung
    note = "Paired differences over videos (95 %). What one operation from the truth gains is lost to the perception or retrieval "
    note += "of that operation; what is still wrong with everything from the truth is lost to tools and controller. Gains of "
    note += "single operations need not add up."
    if not rows:
        note = "No arm ran both on worlds from pixels and with operations answered from the truth."
    return study.table("ladder", "The oracle ladder", _COLUMNS, rows, of=about, note=note)


def _steps(worlds: Mapping[str, list[SampleRow]], built: str, *, several: bool) -> dict[str, list[SampleRow]]:
    """The rungs above one kind of built worlds, by what is answered from the truth."""
    label = f"{_NOTHING} ({built})" if several else _NOTHING
    single = {world.removeprefix(_ONE): rows for world, rows in sorted(worlds.items()) if world.startswith(_ONE)}
    whole = {_ALL: worlds[ORACLE]} if ORACLE in worlds else {}
    return {label: worlds[built], **single, **whole}


def _cells(rung: Sequence[SampleRow], built: Sequence[SampleRow], seed: int) -> Iterator[Cell]:
    yield count(len(rung))
    yield count(len(videos(rung)))
    yield share(rung, seed=seed)
    if rung is built:
        yield blank("it is what the others are compared with")
        yield blank("it is what the others are compared with")
        yield blank("it is what the others are compared with")
        return
    pairs = pairs_of(rung, built, across=("world",))
    values = pairs.differences(correct)
    p = clustered_p(values, seed)
    yield count(len(pairs.pairs))
    yield interval(values, seed=seed, within=POINTS, why="no pairs")
    yield value_cell(p, "fewer than two videos")


_LOSSES = (
    Column(key="dataset", title="dataset"),
    Column(key="budget", title="budget"),
    Column(key="arm", title="arm"),
    Column(key="reference", title="reference", about="the arm whose errors on true worlds are the controller's"),
    Column(key="part", title="lost in", about="an operation, operations together, tools, or the controller"),
    Column(key="questions", title="questions", kind="count", about="asked on every rung, times seeds"),
    Column(key="lost", title="lost", kind="points"),
)


def losses_table(study: Study) -> Table:
    """What each arm gets wrong, split into operations (perception and retrieval), tools and controller."""
    rows, about = [], []
    for (dataset, budget), own in grouped(study.rows, lambda row: (row.dataset, row.budget)).items():
        reference = baseline_of(own, study.baseline)
        built = [
            world for world in dict.fromkeys(row.world for row in own) if world != ORACLE and not world.startswith(_ONE)
        ]
        for arm, world in product(grouped(own, lambda row: row.arm), built):
            if reference is None:
                continue
            try:
                rungs, losses = ladder_of(own, arm=arm, reference=reference, built=world, seed=study.seed)
            except EvalFault:  # no ladder: this arm did not run on worlds of both kinds, or the reference did not
                continue
            behind = [row for row in own if row.arm in (arm, reference)]
            for loss in losses:
                head = tuple(
                    Cell(value=value) for value in (dataset, budget, arm, reference, _part(loss.part, loss.step))
                )
                lost = loss.lost
                figure = Cell(
                    value=lost.estimate,
                    low=lost.low,
                    high=lost.high,
                    n=lost.rows,
                    clusters=lost.clusters,
                    mark=lost.note,
                )
                rows.append(Row(cells=(*head, count(rungs[0].questions), figure), samples=keys(behind)))
            about += behind
    return study.table(
        "losses",
        "Where accuracy is lost",
        _LOSSES,
        rows,
        of=about,
        note="Shares of all questions; with what the arm gets right on worlds from pixels they make 100 %. An operation: gained "
        "where it alone is answered from the truth. Together: gained by all operations beyond the sum of these. Tools: what the "
        "reference gets right more where all is true; below 0 the tools help. Controller: what the reference gets wrong even so."
        if rows
        else "No arm ran on worlds from pixels and on worlds from the truth beside a reference.",
    )


def _part(part: str, step: str) -> str:
    return step if part == "operation" else "operations together" if part == "together" else part
