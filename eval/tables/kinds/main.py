"""Accuracy and cost of every arm: in all, and by what the questions are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from eval.tables.measuring import Measure, count, mean, money_cell, score, share, tokens_cell, word
from eval.tables.rows import SampleRow
from eval.tables.study import Setting, Study, grouped, keys, setting_of, videos
from eval.tables.table import Cell, Column, Row, Table

PLACE = (
    Column(key="dataset", title="dataset"),
    Column(key="world", title="world", about="how the worlds were made"),
    Column(key="budget", title="budget"),
    Column(key="arm", title="arm"),
)
_MAIN = (
    *PLACE,
    Column(key="library", title="library", aside=True),
    Column(key="n", title="n", kind="count", about="samples: questions times seeds", aside=True),
    Column(key="videos", title="videos", kind="count"),
    Column(key="failed", title="failed", kind="count", about="samples without an answer; they count as wrong"),
    Column(key="accuracy", title="accuracy", kind="share"),
    Column(key="score", title="score", kind="share", about="the finer score of each kind of question, 0 to 1"),
    Column(key="tokens", title="tokens", kind="tokens", about="a sample, logical: as if nothing were cached"),
    Column(key="money", title="USD", kind="money", about="a sample, logical"),
    Column(key="rounds", title="rounds", kind="number"),
    Column(key="calls", title="calls", kind="number", about="tool calls that the model made and that ran"),
    Column(key="inner_calls", title="inside", kind="number", about="operations called by tools", aside=True),
    Column(
        key="malformed", title="malformed", kind="number", about="replies and calls that could not be used", aside=True
    ),
    Column(key="empty", title="empty", kind="number", about="calls that found nothing", aside=True),
    Column(
        key="evidence_iou",
        title="evidence IoU",
        kind="number",
        about="of the stretches cited with the true ones",
        aside=True,
    ),
    Column(key="seconds", title="seconds", kind="seconds", about="wall time", aside=True),
)
_COUNTS: dict[str, Measure] = {
    "rounds": lambda row: float(row.rounds) if row.spend else None,
    "calls": lambda row: float(row.calls) if row.spend else None,
    "inner_calls": lambda row: float(row.inner_calls) if row.spend else None,
    "malformed": lambda row: float(row.malformed) if row.spend else None,
    "empty": lambda row: float(row.empty) if row.spend else None,
}


def main_table(study: Study) -> Table:
    """Accuracy, score and cost of each arm, in each world and budget."""
    rows = [
        Row(cells=(*place_cells(setting, arm), *_figures(own, study.seed)), samples=keys(own))
        for setting, arm, own in cells_of(study.rows)
    ]
    return study.table(
        "main",
        "Accuracy and cost of every arm",
        _MAIN,
        rows,
        note="Intervals (95 %) are bootstrapped over videos. Samples without an answer count as wrong. Tokens and money are "
        "logical: controller, perception and judge together, as if nothing were cached. Costs are means over the samples "
        "that have an episode. These figures alone compare no arms; the paired tables do.",
    )


def _figures(own: Sequence[SampleRow], seed: int) -> Iterator[Cell]:
    yield word(own[0].library, "no library")
    yield count(len(own))
    yield count(len(videos(own)))
    failed = [row for row in own if row.outcome == "failed"]
    yield count(len(failed), failed)
    yield share(own, seed=seed)
    yield share(own, seed=seed, measure=score)
    yield tokens_cell(own)
    yield money_cell(own)
    for measure in _COUNTS.values():
        yield mean(own, measure, why="no episodes")
    yield mean(own, lambda row: row.evidence_iou, why="no question with known stretches")
    yield mean(own, lambda row: row.seconds, why="no times were recorded")


_PARTS = ("controller", "perception", "judge")
_COSTS = (
    *PLACE,
    *(
        Column(
            key=f"{way}_{name}",
            title=f"{title}, {way}",
            kind="money" if name == "money" else "tokens",
            aside=name in _PARTS,
        )
        for way in ("logical", "physical")
        for name, title in (
            ("tokens_in", "tokens in"),
            ("tokens_out", "tokens out"),
            ("cached", "of it cached"),
            *((part, f"tokens of {part}") for part in _PARTS),
            ("money", "USD"),
        )
        if not (way == "logical" and name == "cached")
    ),
)


def costs_table(study: Study) -> Table:
    """What a sample of each arm costs, logically and physically, by what it goes to."""
    rows = [
        Row(cells=(*place_cells(setting, arm), *_costs(own)), samples=keys(own))
        for setting, arm, own in cells_of(study.rows)
    ]
    return study.table(
        "costs",
        "What a sample costs",
        _COSTS,
        rows,
        note="Logical: each distinct request once, as if no cache existed; arms are compared by it. Physical: what was really "
        "asked and paid. Induction of libraries and building of worlds are in neither; see the table of break-even.",
    )


def _costs(own: Sequence[SampleRow]) -> Iterator[Cell]:
    for way in ("logical", "physical"):
        for name in ("tokens_in", "tokens_out", "cached"):
            if not (way == "logical" and name == "cached"):
                yield tokens_cell(own, way=way, of=name)
        for part in _PARTS:
            yield tokens_cell(own, way=way, part=part)
        yield money_cell(own, way=way)


def by_table(study: Study, name: str, title: str, key: Callable[[SampleRow], str | None], note: str) -> Table:
    """Accuracy of each arm by something that the questions are told apart by."""
    values = sorted({value for row in study.rows if (value := key(row)) is not None})
    unknown = sum(key(row) is None for row in study.rows)
    columns = (*PLACE, *(Column(key=f"{name[3:]}:{value}", title=value, kind="share") for value in values))
    rows = []
    for setting, arm, own in cells_of(study.rows):
        parts = grouped(own, key)
        cells = (_part(parts.get(value, []), study.seed) for value in values)
        rows.append(Row(cells=(*place_cells(setting, arm), *cells), samples=keys(own)))
    return study.table(
        name, title, columns, rows if values else (), note=note, left_out={"without " + name[3:]: unknown}
    )


def _part(own: Sequence[SampleRow], seed: int) -> Cell:
    return replace(share(own, seed=seed), samples=keys(own))


def by_tables(study: Study) -> list[Table]:
    """Accuracy by task domain, by kind of question, by what the videos are about."""
    said = "Accuracy with its interval over videos; a blank says why it is one."
    return [
        by_table(study, "by_domain", "Accuracy by task domain", lambda row: row.domain, said),
        by_table(study, "by_kind", "Accuracy by kind of question", lambda row: row.kind, said),
        by_table(study, "by_content", "Accuracy by content of the video", lambda row: row.content, said),
    ]


def cells_of(rows: Sequence[SampleRow]) -> Iterator[tuple[Setting, str, list[SampleRow]]]:
    """The samples of each arm in each setting, all seeds together."""
    for setting, within in grouped(rows, setting_of).items():
        for arm, own in grouped(within, lambda row: row.arm).items():
            yield setting, arm, own


def place_cells(setting: Setting, arm: str) -> tuple[Cell, ...]:
    """Where a row stands in the design."""
    return tuple(Cell(value=value) for value in (setting.dataset, setting.world, setting.budget, arm))
