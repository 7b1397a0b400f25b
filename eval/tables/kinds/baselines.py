"""What our figures must be read beside: what language alone gives, and what others have published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eval.tables.kinds.main import cells_of
from eval.tables.measuring import count, share, word
from eval.tables.study import Study, keys
from eval.tables.table import Cell, Column, Row, Table, blank

_COLUMNS = (
    Column(key="dataset", title="dataset"),
    Column(key="kind", title="kind", about="ours, floor (language alone), chance, or published by others"),
    Column(key="system", title="system"),
    Column(key="model", title="model"),
    Column(key="world", title="world"),
    Column(key="budget", title="budget"),
    Column(key="n", title="n", kind="count"),
    Column(key="accuracy", title="accuracy", kind="share"),
    Column(key="on", title="on", about="which questions a published figure is on"),
    Column(key="source", title="source"),
)


def baselines_table(study: Study) -> Table:
    """Our arms, the floor of each dataset, and published figures with their models and budgets."""
    rows = [*_ours(study), *_others(study)]
    return study.table(
        "baselines",
        "Our figures beside the floor and the published ones",
        _COLUMNS,
        rows,
        note="Floor: blind arms, which see the question alone or with the transcript; what they get right the questions give away. "
        "Published figures stand as their sources give them, under other models, budgets, judges and often other questions: they are "
        "context, no comparison.",
    )


def _ours(study: Study) -> Iterator[Row]:
    for setting, arm, own in cells_of(study.rows):
        first = own[0]
        cells = (
            Cell(value=setting.dataset),
            Cell(value="floor" if first.system == "blind" else "ours"),
            Cell(value=arm),
            Cell(value=first.model),
            Cell(value=setting.world),
            Cell(value=setting.budget),
            count(len(own)),
            share(own, seed=study.seed),
            blank("all of the run"),
            blank("this run"),
        )
        yield Row(cells=cells, samples=keys(own))


def _others(study: Study) -> Iterator[Row]:
    for name, record in sorted(study.datasets.items()):
        if record.protocol.get("chance") is not None or record.protocol.get("chance_on"):
            yield Row(cells=_chance(name, record.protocol))
        published = record.protocol.get("published")
        for entry in published if isinstance(published, list) else ():
            if isinstance(entry, Mapping):
                yield Row(cells=_published(name, "published", entry))


def _chance(dataset: str, protocol: Mapping[str, Any]) -> tuple[Cell, ...]:
    """What guessing gives, as the protocol says: a share from 0 to 1."""
    chance, told = protocol.get("chance"), _text(protocol.get("chance_on")) or None
    known = _number(chance)
    if known is not None and not 0 <= known <= 1:
        known = None
    why = (told or "not given") if chance is None else f"{str(chance)[:40]} is no share from 0 to 1"
    return (
        Cell(value=dataset),
        Cell(value="chance"),
        *(blank("no system") for _ in range(4)),
        blank("not given"),
        Cell(value=known) if known is not None else blank(why),
        word(told, "all"),
        Cell(value="the dataset's protocol"),
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _published(dataset: str, kind: str, entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    """A published figure, in percent as its source gives it."""
    accuracy = entry.get("accuracy")
    percent = _number(accuracy)
    value = percent / 100 if percent is not None else None
    number = entry.get("n")
    return (
        Cell(value=dataset),
        Cell(value=kind),
        word(_text(entry.get("system")), "not named"),
        word(_text(entry.get("model")), "not named"),
        blank("another one"),
        word(_text(entry.get("budget")), "not named"),
        Cell(value=number) if isinstance(number, int) else blank("not given"),
        Cell(value=value) if value is not None else blank(str(accuracy) if accuracy is not None else "not given"),
        word(_text(entry.get("on")), "not given"),
        word(_text(entry.get("source")), "not given"),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
