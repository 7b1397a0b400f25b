"""Accuracy and cost of every arm: overall, by domain and kind of question, by ending, by scorer, beside published figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from eval.scoring.kinds import ShownMeasure, measures_of
from eval.statistics.bootstrap import Kappa, cohen_kappa
from eval.tables.cells import correct, count, mean, money_cell, score, share, tokens_cell, value_cell
from eval.tables.rows import SampleRow
from eval.tables.study import PLACE, Group, Rows, Study, grouped, keys, videos
from eval.tables.table import Cell, Figure, Figures, Kind, Table, blank, figure

VIDEOS: Figure[Group] = figure("videos", "count", lambda group: count(len(videos(group.rows))))
SAMPLES: Figure[Group] = figure("n", "count", lambda group: count(len(group.rows)))
ACCURACY: Figure[Group] = figure("accuracy", "share", lambda group: share(group.rows, seed=group.seed))


def library_figure(why: str = "") -> Figure[Group]:
    """The name of the arm's library."""
    return figure("library", "text", lambda group: value_cell(group.first.library, why), aside=True)


def _counter(name: str) -> Callable[[Group], Cell]:
    """The mean of a counter of episodes."""
    return lambda group: mean(
        group.rows, lambda row: float(getattr(row, name)) if row.spend else None, why="no episodes"
    )


def _failed(group: Group) -> Cell:
    failed = [row for row in group.rows if row.outcome == "failed"]
    return count(len(failed), failed)


_MAIN: Figures[Group] = (
    *PLACE,
    library_figure("no library"),
    figure("n", "count", SAMPLES.cell, about="samples: questions times seeds", aside=True),
    VIDEOS,
    figure("failed", "count", _failed, about="samples without an answer; they count as wrong"),
    ACCURACY,
    figure("score", "share", lambda group: share(group.rows, seed=group.seed, measure=score),
           about="the finer score of each kind of question, 0 to 1"),
    figure("tokens", "tokens", lambda group: tokens_cell(group.rows),
           about="a sample, logical: as if nothing were cached"),
    figure("money", "money", lambda group: money_cell(group.rows), title="USD", about="a sample, logical"),
    figure("rounds", "number", _counter("rounds")),
    figure("calls", "number", _counter("calls"), about="tool calls that the model made and that ran"),
    figure("inner_calls", "number", _counter("inner_calls"), title="inside", about="operations called by tools",
           aside=True),
    figure("malformed", "number", _counter("malformed"), about="replies and calls that could not be used", aside=True),
    figure("empty", "number", _counter("empty"), about="calls that found nothing", aside=True),
    figure("evidence_iou", "number",
           lambda group: mean(group.rows, lambda row: row.evidence_iou, why="no question with known intervals"),
           title="evidence IoU", about="of the intervals cited with the true ones", aside=True),
    figure("seconds", "seconds", lambda group: mean(group.rows, lambda row: row.seconds, why="no times were recorded"),
           about="wall time", aside=True),
)  # fmt: skip


def main_table(study: Study) -> Table:
    """Accuracy, score and cost of each arm, in each world and budget."""
    return study.table(
        "main",
        "Accuracy and cost of every arm",
        _MAIN,
        study.groups(),
        note="Intervals (95 %) are bootstrapped over videos. Samples without an answer count as wrong. Tokens and money are "
        "logical: controller, perception and judge together, as if nothing were cached. Costs are means over the samples "
        "that have an episode. These figures alone compare no arms; the paired tables do.",
    )


def _cost_figures() -> Iterator[Figure[Group]]:
    for way in ("logical", "physical"):
        for name, title in (("tokens_in", "tokens in"), ("tokens_out", "tokens out"), ("cached", "of it cached")):
            if (way, name) != ("logical", "cached"):
                yield figure(f"{way}_{name}", "tokens", partial(_tokens, way, "total", name), title=f"{title}, {way}")
        for part in ("controller", "perception", "judge"):
            cells = partial(_tokens, way, part, "tokens")
            yield figure(f"{way}_{part}", "tokens", cells, title=f"tokens of {part}, {way}", aside=True)
        yield figure(f"{way}_money", "money", partial(_money, way), title=f"USD, {way}")


def _tokens(way: str, part: str, name: str, group: Group) -> Cell:
    return tokens_cell(group.rows, way=way, part=part, of=name)


def _money(way: str, group: Group) -> Cell:
    return money_cell(group.rows, way=way)


def costs_table(study: Study) -> Table:
    """What a sample of each arm costs, logically and physically, by what it goes to."""
    return study.table(
        "costs",
        "What a sample costs",
        (*PLACE, *_cost_figures()),
        study.groups(),
        note="Logical: each distinct request once, as if no cache existed; arms are compared by it. Physical: what was really "
        "asked and paid. Induction of libraries and building of worlds are in neither; see the table of break-even.",
    )


def by_tables(study: Study) -> list[Table]:
    """Accuracy by task domain, by kind of question, by content of the videos."""
    return [
        _by_table(study, "domain", "Accuracy by task domain"),
        _by_table(study, "kind", "Accuracy by kind of question"),
        _by_table(study, "content", "Accuracy by content of the video"),
    ]


def _by_table(study: Study, name: str, title: str) -> Table:
    """Accuracy of each arm by an attribute of the questions."""
    values = sorted({value for row in study.rows if (value := getattr(row, name)) is not None})
    return study.table(
        f"by_{name}",
        title,
        (*PLACE, *(share_figure(name, value) for value in values)),
        study.groups() if values else (),
        of=study.rows,
        note="Accuracy with its interval over videos; a blank says why it is one.",
        left_out={f"without {name}": sum(getattr(row, name) is None for row in study.rows)},
    )


def share_figure(name: str, value: str) -> Figure[Group]:
    """Accuracy on the questions with one value of an attribute."""

    def cell(group: Group) -> Cell:
        own = [row for row in group.rows if getattr(row, name) == value]
        return replace(share(own, seed=group.seed), samples=keys(own))

    return figure(f"{name}:{value}", "share", cell, title=value)


def measures_table(study: Study) -> Table:
    """The measures of each kind of answer, of each arm."""
    known: dict[str, ShownMeasure] = {}
    for kind, part in sorted(grouped(study.rows, lambda row: row.kind).items()):
        for measure in _measures(kind, part):
            known.setdefault(measure.name, measure)
    return study.table(
        "measures",
        "Measures of each kind of answer",
        (
            *PLACE,
            figure("kind", "text", lambda group: Cell(value=group.name)),
            SAMPLES,
            ACCURACY,
            *map(_measure_figure, known.values()),
        ),
        (
            replace(group, rows=part, name=kind)
            for group in study.groups()
            for kind, part in sorted(grouped(group.rows, lambda row: row.kind).items())
            if _measures(kind, part)
        ),
        of=study.rows,
        note="Definitions are in docs/scoring.md. An answer that is missing counts as 0 in exact, IoU, recall and F1; errors and "
        "tau are means over answers that were given. Intervals (95 %) are bootstrapped over videos.",
    )


def _measures(kind: str, rows: Rows) -> tuple[ShownMeasure, ...]:
    return measures_of(kind, [row.details for row in rows])


def _measure_figure(shown: ShownMeasure) -> Figure[Group]:
    def cell(group: Group) -> Cell:
        own = {measure.name: measure for measure in _measures(group.name, group.rows)}.get(shown.name)
        if own is None:
            return blank("not of this kind of answer")
        return mean(
            group.rows, lambda row: own.of(row.details), seed=group.seed, why="no answer was given", within=own.within
        )

    return figure(shown.name, shown.unit, cell, title=shown.title, about=shown.about)


@dataclass(frozen=True, kw_only=True)
class _Ending(Group):
    """The samples of a group that ended alike; ``among`` counts the whole group."""

    among: int


_ENDINGS: Figures[_Ending] = (
    *PLACE,
    figure("outcome", "text", lambda end: Cell(value=end.first.outcome), about="submitted, prose, forced, failed"),
    figure("reason", "text", lambda end: value_cell(end.first.reason, "it answered by itself"),
           about="a limit that was reached, or the code of a fault"),
    figure("samples", "count", lambda end: count(len(end.rows))),
    figure("share", "share", lambda end: Cell(value=len(end.rows) / end.among, n=end.among), title="of the arm"),
    figure("accuracy", "share", lambda end: mean(end.rows, correct)),
)  # fmt: skip


def endings_table(study: Study) -> Table:
    """The endings of every arm's episodes by outcome and reason; all failures, and all forced ends."""
    ends = []
    for group in study.groups():
        counts = Counter((row.outcome, row.reason) for row in group.rows)
        for ending, _ in sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))):
            own = [row for row in group.rows if (row.outcome, row.reason) == ending]
            ends.append(
                _Ending(study=study, setting=group.setting, arm=group.arm, rows=own, among=len(group.rows))
            )  # fmt: skip
    return study.table(
        "endings",
        "How episodes ended",
        _ENDINGS,
        ends,
        note="Failed episodes have no answer and count as wrong. A reason that many episodes share and that is no limit is a fault of "
        "the set-up: mend it and run these samples again before anything is compared.",
    )


@dataclass(frozen=True, kw_only=True)
class _Scored(Group):
    """The samples of a group that one scorer scored; ``name`` is scorer, the scorer it replaces, and judge."""

    @cached_property
    def labelled(self) -> list[tuple[SampleRow, bool]]:
        right = self.study.labels.right
        return [(row, right[row.sample]) for row in self.rows if row.sample in right]

    def agreement(self, cell: Callable[[list[tuple[SampleRow, bool]]], Cell]) -> Cell:
        return cell(self.labelled) if self.labelled else blank(self.study.labels.why)

    def wrongly(self, *, right: bool) -> Cell:
        rows = [row for row, label in self.labelled if row.correct == right != label]
        return self.agreement(lambda _: count(len(rows), rows))


def _agreed(known: list[tuple[SampleRow, bool]]) -> Cell:
    agreed = sum(row.correct == label for row, label in known)
    return Cell(value=agreed / len(known), n=len(known), samples=keys(row for row, _ in known))


def _kappa(scored: _Scored) -> Cell:
    known = scored.labelled
    found: Kappa = cohen_kappa([row.correct for row, _ in known], [label for _, label in known], seed=scored.seed)
    if found.kappa is None:
        return blank("scorer and labels say one thing only")
    return Cell(value=found.kappa, low=found.low, high=found.high, n=len(known), samples=keys(row for row, _ in known))


_SCORERS: Figures[_Scored] = (
    *PLACE,
    figure("scorer", "text", lambda scored: value_cell(scored.name[0]), about="with its version"),
    figure("instead_of", "text", lambda scored: Cell(value=scored.name[1]), title="instead of",
           about="the scorer that the protocol names"),
    figure("judge", "text", lambda scored: Cell(value=scored.name[2]),
           about="its model, and the hash of its prompts", aside=True),
    SAMPLES,
    figure("accuracy", "share", lambda scored: mean(scored.rows, correct)),
    figure("labelled", "count", lambda scored: count(len(scored.labelled), [row for row, _ in scored.labelled]),
           about="answers that a person called right or wrong"),
    figure("agreement", "share", lambda scored: scored.agreement(_agreed), about="of scorer and label"),
    figure("kappa", "number", lambda scored: scored.agreement(lambda _: _kappa(scored)),
           about="Cohen's, with its interval over answers"),
    figure("false_right", "count", lambda scored: scored.wrongly(right=True), title="false right",
           about="called right by the scorer, wrong by the person"),
    figure("false_wrong", "count", lambda scored: scored.wrongly(right=False), title="false wrong"),
)  # fmt: skip


def scorers_table(study: Study) -> Table:
    """Every scorer of every arm, with its agreement with labels if there are any."""
    return study.table(
        "scorers",
        "Who scored, and agreement with people",
        _SCORERS,
        (
            _Scored(**{**vars(group), "rows": part, "name": scorer})
            for group in study.groups()
            for scorer, part in grouped(group.rows, _scorer).items()
        ),
        note="Scorers never see the arm. Agreement is with the labels of people in the run's `labels.json`, each arm by itself: "
        "a scorer that agrees less on one arm biases every comparison with it. Where a scorer replaces another one, the "
        "figures are not those of the dataset's protocol.",
    )


def _scorer(row: SampleRow) -> tuple[str, str, str]:
    instead, judge = (row.details.get(name) for name in ("instead_of", "judge"))
    return row.scorer, instead if isinstance(instead, str) else "", judge if isinstance(judge, str) else ""


@dataclass(frozen=True, kw_only=True)
class _Baseline:
    """A row of the baselines: an arm of the run, chance, or a published figure; its cells by column."""

    cells: Mapping[str, Cell]
    rows: Rows = ()

    @property
    def samples(self) -> tuple[str, ...]:
        return keys(self.rows)


def _baseline_figure(key: str, kind: Kind = "text", about: str = "") -> Figure[_Baseline]:
    return figure(key, kind, lambda found: found.cells[key], about=about)


_BASELINES: Figures[_Baseline] = (
    _baseline_figure("dataset"),
    _baseline_figure("kind", about="ours, floor (language alone), chance, or published by others"),
    *map(_baseline_figure, ("system", "model", "world", "budget")),
    _baseline_figure("n", "count"),
    _baseline_figure("accuracy", "share"),
    _baseline_figure("on", about="which questions a published figure is on"),
    _baseline_figure("source"),
)


def baselines_table(study: Study) -> Table:
    """Our arms, the floor of each dataset, and published figures with their models and budgets."""
    return study.table(
        "baselines",
        "Our figures beside the floor and the published ones",
        _BASELINES,
        [*_ours(study), *_others(study)],
        note="Floor: blind arms, which see the question alone or with the transcript; what they get right the questions give away. "
        "Published figures are as their sources give them, under other models, budgets, judges and often other questions: they are "
        "context, no comparison.",
    )


def _ours(study: Study) -> Iterator[_Baseline]:
    for group in study.groups():
        kind = "floor" if group.first.system == "blind" else "ours"
        names = {"dataset": group.setting.dataset, "kind": kind, "system": group.arm, "model": group.first.model}
        names |= {"world": group.setting.world, "budget": group.setting.budget}
        cells = {key: Cell(value=value) for key, value in names.items()}
        cells |= {"n": SAMPLES.cell(group), "accuracy": ACCURACY.cell(group)}
        yield _Baseline(cells={**cells, "on": blank("all of the run"), "source": blank("this run")}, rows=group.rows)


def _others(study: Study) -> Iterator[_Baseline]:
    for name, record in sorted(study.datasets.items()):
        if record.protocol.get("chance") is not None or record.protocol.get("chance_on"):
            yield _Baseline(
                cells={"dataset": Cell(value=name), "kind": Cell(value="chance"), **_chance(record.protocol)}
            )
        published = record.protocol.get("published")
        for entry in published if isinstance(published, list) else ():
            if isinstance(entry, Mapping):
                place = {"dataset": Cell(value=name), "kind": Cell(value="published")}
                yield _Baseline(cells={**place, **_published(entry)})


def _chance(protocol: Mapping[str, Any]) -> dict[str, Cell]:
    """The accuracy of guessing, as the protocol says: a share from 0 to 1."""
    chance, on = protocol.get("chance"), _text(protocol.get("chance_on")) or None
    known = _number(chance)
    if known is not None and not 0 <= known <= 1:
        known = None
    why = (on or "not given") if chance is None else f"{str(chance)[:40]} is no share from 0 to 1"
    return {
        **dict.fromkeys(("system", "model", "world", "budget"), blank("no system")),
        "n": blank("not given"),
        "accuracy": value_cell(known, why),
        "on": value_cell(on, "all"),
        "source": Cell(value="the dataset's protocol"),
    }


def _published(entry: Mapping[str, Any]) -> dict[str, Cell]:
    """A published figure, in percent as its source gives it."""
    accuracy, number = entry.get("accuracy"), entry.get("n")
    percent = _number(accuracy)
    value = percent / 100 if percent is not None else None
    return {
        **{key: value_cell(_text(entry.get(key)), "not named") for key in ("system", "model", "budget")},
        **{key: value_cell(_text(entry.get(key)), "not given") for key in ("on", "source")},
        "world": blank("another one"),
        "n": Cell(value=number) if isinstance(number, int) else blank("not given"),
        "accuracy": value_cell(value, str(accuracy) if accuracy is not None else "not given"),
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
