"""Accuracy and cost of every arm: in all, by domain and kind of question, by ending, by scorer, beside published figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eval.scoring.measures import ShownMeasure, measures_of
from eval.statistics.association import cohen_kappa
from eval.tables.cells import Measure, correct, count, mean, money_cell, score, share, tokens_cell, value_cell
from eval.tables.rows import SampleRow
from eval.tables.study import Labels, Setting, Study, grouped, keys, setting_of, videos
from eval.tables.table import Cell, Column, Row, Table, blank

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
        Row(cells=(*place_cells(setting, arm), *_main_cells(own, study.seed)), samples=keys(own))
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


def _main_cells(own: Sequence[SampleRow], seed: int) -> Iterator[Cell]:
    yield value_cell(own[0].library, "no library")
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
        cells = (_share_cell(parts.get(value, []), study.seed) for value in values)
        rows.append(Row(cells=(*place_cells(setting, arm), *cells), samples=keys(own)))
    return study.table(
        name, title, columns, rows if values else (), note=note, left_out={"without " + name[3:]: unknown}
    )


def _share_cell(own: Sequence[SampleRow], seed: int) -> Cell:
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


def measures_table(study: Study) -> Table:
    """The measures of each kind of answer, of each arm."""
    known = _measures_shown(study.rows)
    columns = (
        *PLACE,
        Column(key="kind", title="kind"),
        Column(key="n", title="n", kind="count"),
        Column(key="accuracy", title="accuracy", kind="share"),
        *(Column(key=one.name, title=one.title, kind=one.unit, about=one.about) for one in known),
    )
    rows = [
        Row(
            cells=(*place_cells(setting, arm), Cell(value=kind), *_measure_cells(part, known, study.seed)),
            samples=keys(part),
        )
        for setting, arm, own in cells_of(study.rows)
        for kind, part in sorted(grouped(own, lambda row: row.kind).items())
        if measures_of(kind, [row.details for row in part])
    ]
    return study.table(
        "measures",
        "Measures of each kind of answer",
        columns,
        rows,
        note="Definitions stand in docs/scoring.md. An answer that is missing counts as 0 in exact, IoU, recall and F1; errors and "
        "tau are means over answers that were given. Intervals (95 %) are bootstrapped over videos.",
    )


def _measures_shown(rows: Sequence[SampleRow]) -> list[ShownMeasure]:
    """All measures that some row has, each name once."""
    found: dict[str, ShownMeasure] = {}
    for kind, part in sorted(grouped(rows, lambda row: row.kind).items()):
        for measure in measures_of(kind, [row.details for row in part]):
            found.setdefault(measure.name, measure)
    return list(found.values())


def _measure_cells(part: Sequence[SampleRow], known: Sequence[ShownMeasure], seed: int) -> Iterator[Cell]:
    yield count(len(part))
    yield share(part, seed=seed)
    own = {measure.name: measure for measure in measures_of(part[0].kind, [row.details for row in part])}
    for measure in known:
        if measure.name not in own:
            yield blank("not of this kind of answer")
            continue
        yield _measure_mean(part, own[measure.name], seed)


def _measure_mean(part: Sequence[SampleRow], measure: ShownMeasure, seed: int) -> Cell:
    return mean(part, lambda row: measure.of(row.details), seed=seed, why="no answer was given", within=measure.within)


_ENDINGS = (
    *PLACE,
    Column(key="outcome", title="outcome", about="submitted, prose, forced, failed"),
    Column(key="reason", title="reason", about="a limit that was reached, or the code of a fault"),
    Column(key="samples", title="samples", kind="count"),
    Column(key="share", title="of the arm", kind="share"),
    Column(key="accuracy", title="accuracy", kind="share"),
)


def endings_table(study: Study) -> Table:
    """The endings of every arm's episodes by outcome and reason; all failures, and all forced ends."""
    rows = []
    for setting, arm, own in cells_of(study.rows):
        ends = Counter((row.outcome, row.reason) for row in own)
        for (outcome, reason), number in sorted(ends.items(), key=lambda item: (-item[1], str(item[0]))):
            part = [row for row in own if (row.outcome, row.reason) == (outcome, reason)]
            cells = (
                *place_cells(setting, arm),
                Cell(value=outcome),
                value_cell(reason, "it answered by itself"),
                count(number),
                Cell(value=number / len(own), n=len(own)),
                mean(part, lambda row: float(row.correct)),
            )
            rows.append(Row(cells=cells, samples=keys(part)))
    return study.table(
        "endings",
        "How episodes ended",
        _ENDINGS,
        rows,
        note="Failed episodes have no answer and count as wrong. A reason that many episodes share and that is no limit is a fault of "
        "the set-up: mend it and run these samples again before anything is compared.",
    )


_SCORERS = (
    *PLACE,
    Column(key="scorer", title="scorer", about="with its version"),
    Column(key="instead_of", title="instead of", about="the scorer that the protocol names"),
    Column(key="judge", title="judge", about="its model, and the hash of its prompts", aside=True),
    Column(key="n", title="n", kind="count"),
    Column(key="accuracy", title="accuracy", kind="share"),
    Column(key="labelled", title="labelled", kind="count", about="answers that a person called right or wrong"),
    Column(key="agreement", title="agreement", kind="share", about="of scorer and label"),
    Column(key="kappa", title="kappa", kind="number", about="Cohen's, with its interval over answers"),
    Column(
        key="false_right", title="false right", kind="count", about="called right by the scorer, wrong by the person"
    ),
    Column(key="false_wrong", title="false wrong", kind="count"),
)


def scorers_table(study: Study) -> Table:
    """Every scorer of every arm, with its agreement with labels where there are any."""
    rows = []
    for setting, arm, own in cells_of(study.rows):
        for (scorer, instead, judge), part in grouped(own, _scorer).items():
            cells = (
                *place_cells(setting, arm),
                value_cell(scorer),
                Cell(value=instead),
                Cell(value=judge),
                *_agreement_cells(part, study.labels, study.seed),
            )
            rows.append(Row(cells=cells, samples=keys(part)))
    return study.table(
        "scorers",
        "Who scored, and agreement with people",
        _SCORERS,
        rows,
        note="Scorers never see the arm. Agreement is with the labels of people in the run's `labels.json`, each arm by itself: "
        "a scorer that agrees less on one arm biases every comparison with it. Where a scorer stands in for another one, the "
        "figures are not those of the dataset's protocol.",
    )


def _scorer(row: SampleRow) -> tuple[str, str, str]:
    return row.scorer, _detail(row, "instead_of"), _detail(row, "judge")


def _detail(row: SampleRow, name: str) -> str:
    told = row.details.get(name)
    return told if isinstance(told, str) else ""


def _agreement_cells(part: Sequence[SampleRow], labels: Labels, seed: int) -> Iterator[Cell]:
    known = [(row, labels.right[row.sample]) for row in part if row.sample in labels.right]
    yield count(len(part))
    yield mean(part, correct)
    yield count(len(known), [row for row, _ in known])
    if not known:
        for _ in range(4):
            yield blank(labels.why)
        return
    rows = keys(row for row, _ in known)
    agreed = sum(row.correct == label for row, label in known)
    kappa = cohen_kappa([row.correct for row, _ in known], [label for _, label in known], seed=seed)
    yield Cell(value=agreed / len(known), n=len(known), samples=rows)
    if kappa.kappa is None:
        yield blank("scorer and labels say one thing only")
    else:
        yield Cell(value=kappa.kappa, low=kappa.low, high=kappa.high, n=len(known), samples=rows)
    yield _wrongly([row for row, label in known if row.correct and not label])
    yield _wrongly([row for row, label in known if label and not row.correct])


def _wrongly(rows: Sequence[SampleRow]) -> Cell:
    return count(len(rows), rows)


_BASELINES = (
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
        _BASELINES,
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
        value_cell(known, why),
        value_cell(told, "all"),
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
        value_cell(_text(entry.get("system")), "not named"),
        value_cell(_text(entry.get("model")), "not named"),
        blank("another one"),
        value_cell(_text(entry.get("budget")), "not named"),
        Cell(value=number) if isinstance(number, int) else blank("not given"),
        value_cell(value, str(accuracy) if accuracy is not None else "not given"),
        value_cell(_text(entry.get("on")), "not given"),
        value_cell(_text(entry.get("source")), "not given"),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
