"""Accuracy and cost of every arm: overall, by attribute of the questions, ending and scorer; published figures.

Of questions that may abstain, what was answered against what is true, and the risk at the coverage of an arm; a run
without such questions has neither table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from controller.episode import PARTS
from eval.runs.worlds import profiles_of
from eval.scoring.kinds import ShownMeasure, measures_of
from eval.scoring.scorers import STANCES, Stance
from eval.statistics import cohen_kappa
from eval.tables.cells import SEED, correct, counted, marked, mean, money_cell, score, share, tokens_cell, value_cell
from eval.tables.rows import SampleRow
from eval.tables.study import PLACE, Group, Line, Rows, Study, grouped, keys, videos, words
from eval.tables.table import CellsByKey, Figure, Figures, Kind, Table, TableCell, blank, figure

VIDEOS: Figure[Group] = figure("videos", "count", lambda group: len(videos(group.rows)))
SAMPLES: Figure[Group] = figure("n", "count", lambda group: len(group.rows))
ACCURACY: Figure[Group] = figure("accuracy", "share", lambda group: share(group.rows))


def library_figure(why: str = "") -> Figure[Group]:
    """Return the column with the name of each arm's library; ``why`` is shown for an arm without one."""
    return figure("library", "text", lambda group: value_cell(group.first.library, why), aside=True)


def _counter(name: str) -> Callable[[Group], TableCell]:
    """Return a function that returns the mean of the attribute ``name`` over a group's samples with an episode."""
    return lambda group: mean(
        group.rows, lambda row: float(getattr(row, name)) if row.spend else None, why="no episodes"
    )


def _seconds(group: Group) -> TableCell:
    return mean(group.rows, lambda row: row.seconds, why="no times were recorded")


#: Accuracy, score and cost of each arm, in each world and budget.
MAIN: Figures[Group] = (
    *PLACE,
    library_figure("no library"),
    figure("n", "count", SAMPLES.cell, about="samples: questions times seeds", aside=True),
    VIDEOS,
    figure("failed", "count", lambda group: counted([row for row in group.rows if row.outcome == "failed"]),
           about="samples without an answer; they count as wrong"),
    ACCURACY,
    figure("score", "share", lambda group: share(group.rows, measure=score),
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
    figure("seconds", "seconds", _seconds, about="wall time", aside=True),
)  # fmt: skip


def _cost_figures() -> Iterator[Figure[Group]]:
    for way in ("logical", "physical"):
        for name, title in (("prompt", "tokens in"), ("completion", "tokens out"), ("cached", "of it cached")):
            if (way, name) != ("logical", "cached"):
                key = {"prompt": "tokens_in", "completion": "tokens_out"}.get(name, name)
                yield _cost(f"{way}_{key}", "tokens", partial(tokens_cell, way=way, of=name), f"{title}, {way}")
        for part in PARTS:
            cells = partial(tokens_cell, way=way, part=part)
            yield _cost(f"{way}_{part}", "tokens", cells, f"tokens of {part}, {way}", aside=True)
        yield _cost(f"{way}_money", "money", partial(money_cell, way=way), f"USD, {way}")


def _cost(key: str, kind: Kind, cell: Callable[[Rows], TableCell], title: str, *, aside: bool = False) -> Figure[Group]:
    return figure(key, kind, lambda group: cell(group.rows), title=title, aside=aside)


_REQUESTS: Figures[Group] = (
    figure("exposure", "text", lambda group: group.first.exposure, about="of operations and tools"),
    figure("left_out", "text",
           lambda group: value_cell(", ".join(group.first.without) or None, "the sixteen are all there"),
           title="without", about="categories of operations that the run leaves out", aside=True),
    figure("first_request", "tokens",
           lambda group: mean(group.rows, lambda row: row.first_request, why="no episodes"),
           title="first request", about="its tokens: instructions, declarations, question and digest"),
)  # fmt: skip
#: The cost of a sample of each arm, logical and physical, in all and by part (judge ...).
COSTS: Figures[Group] = (*PLACE, *_REQUESTS, *_cost_figures())

#: Numbers of questions about one video for which the table of totals adds the building of its world.
QUESTIONS = (1, 5, 20)
_COSTS = {"requests": "calls", "tokens": "tokens", "seconds": "seconds"}


def _built(group: Group, of: str) -> TableCell:
    """Return what building the worlds of a video took on average; ``of``: requests, tokens or seconds."""
    profiles = profiles_of(group.setting.world)
    known = [group.study.building.get(video, {}) for video in {row.video for row in group.rows}]
    costs = [[held[profile] for profile in profiles] for held in known if all(name in held for name in profiles)]
    if not costs:
        return blank("no world says what building it took")
    cell = TableCell(value=sum(getattr(one, of) for held in costs for one in held) / len(costs), n=len(costs))
    return cell if all(one.whole for held in costs for one in held) else marked(cell, "at least")


def _total(group: Group, of: str, number: int) -> TableCell:
    """Return what ``number`` questions about one video cost with the building of its worlds; ``of``: tokens or seconds."""
    built = _built(group, of)
    asked = tokens_cell(group.rows) if of == "tokens" else _seconds(group)
    if built.number is None or asked.number is None:
        return built if built.number is None else asked
    cell = TableCell(value=built.number + number * asked.number, n=asked.n)
    return marked(cell, "; ".join(filter(None, (built.mark, asked.mark)))) if built.mark or asked.mark else cell


def totals_table(study: Study) -> Table:
    """Return the table of what 1, 5 and 20 questions about a video cost, the building of its world included."""
    built = [
        figure(f"building_{of}", "seconds" if of == "seconds" else "tokens" if of == "tokens" else "number",
               partial(_built, of=of), title=f"building, {title}", about="a video")
        for of, title in _COSTS.items()
    ]  # fmt: skip
    totals = [
        figure(f"{of}_{number}", "tokens" if of == "tokens" else "seconds", partial(_total, of=of, number=number),
               title=f"{of}, {number}", about=f"{number} questions a video" if number > 1 else "a question a video")
        for of in ("tokens", "seconds")
        for number in QUESTIONS
    ]  # fmt: skip
    return study.table("totals", (*PLACE, *built, *totals), study.groups())


def by_tables(study: Study) -> list[Table]:
    """Return three tables of accuracy: by task domain, by kind of question, by content of the videos."""
    tables = []
    for name in ("domain", "kind", "content"):
        values = sorted({value for row in study.rows if (value := getattr(row, name)) is not None})
        found = study.table(
            f"by_{name}",
            (*PLACE, *(share_figure(name, value) for value in values)),
            study.groups() if values else (),
            of=study.rows,
            left_out={f"without {name}": sum(getattr(row, name) is None for row in study.rows)},
        )
        tables.append(found)
    return tables


def share_figure(name: str, value: str) -> Figure[Group]:
    """Return the column with the accuracy on the questions whose attribute ``name`` has this value."""

    def cell(group: Group) -> TableCell:
        own = [row for row in group.rows if getattr(row, name) == value]
        return replace(share(own), samples=keys(own))

    return figure(f"{name}:{value}", "share", cell, title=value)


def measures_table(study: Study) -> Table:
    """Return the table of each arm's means of the measures of each kind of answer (IoU, F1, error ...); absences have none."""
    study = study.with_rows(row for row in study.rows if row.gold in (None, "present"))
    kinds = sorted(grouped(study.rows, lambda row: row.kind).items())
    known = dict.fromkeys(measure for kind, part in kinds for measure in _measures(kind, part))
    return study.table(
        "measures",
        (*PLACE, *words("kind"), SAMPLES, ACCURACY, *map(_measure_figure, known)),
        (
            replace(group, rows=part, cells={"kind": kind})
            for group in study.groups()
            for kind, part in sorted(grouped(group.rows, lambda row: row.kind).items())
            if _measures(kind, part)
        ),
        of=study.rows,
    )


def _measures(kind: str, rows: Rows) -> tuple[ShownMeasure, ...]:
    return measures_of(kind, [row.details for row in rows])


def _measure_figure(shown: ShownMeasure) -> Figure[Group]:
    def cell(group: Group) -> TableCell:
        if shown not in _measures(group.first.kind, group.rows):
            return blank("not of this kind of answer")
        why = "no answer was given"
        return mean(group.rows, lambda row: shown.of(row.details), why=why, within=shown.within)

    return figure(shown.name, shown.unit, cell, title=shown.title, about=shown.about)


ENDINGS: Figures[Group] = (
    *PLACE,
    figure("outcome", "text", lambda end: end.first.outcome, about="submitted, prose, forced, failed"),
    figure("reason", "text", lambda end: value_cell(end.first.reason, "it answered by itself"),
           about="a limit that was reached, or the code of a fault"),
    figure("samples", "count", lambda end: len(end.rows)),
    figure("share", "share", title="of the arm"),
    figure("accuracy", "share", lambda end: mean(end.rows, correct)),
)  # fmt: skip


def endings(study: Study) -> Iterator[Group]:
    """Yield each arm's episodes by outcome and reason of their end, the most frequent first."""
    for group in study.groups():
        parts = grouped(group.rows, lambda row: (row.outcome, row.reason))
        for _, own in sorted(parts.items(), key=lambda item: (-len(item[1]), str(item[0]))):
            among = TableCell(value=len(own) / len(group.rows), n=len(group.rows))
            yield replace(group, rows=own, cells={"share": among})


SCORERS: Figures[Group] = (
    *PLACE,
    figure("scorer", "text", about="with its version"),
    figure("instead_of", "text", title="instead of", about="the scorer that the protocol names"),
    figure("judge", "text", about="its model, and the hash of its prompts", aside=True),
    SAMPLES,
    figure("accuracy", "share", lambda scored: mean(scored.rows, correct)),
    figure("labelled", "count", about="answers that a person called right or wrong"),
    figure("agreement", "share", about="of scorer and label"),
    figure("kappa", "number", about="Cohen's, with its interval over answers"),
    figure("false_right", "count", title="false right", about="called right by the scorer, wrong by the person"),
    figure("false_wrong", "count", title="false wrong"),
)


def scorers(study: Study) -> Iterator[Group]:
    """Yield each arm's samples by scorer, with the agreement of scores with labels of people if there are any."""
    for group in study.groups():
        for scorer, part in grouped(group.rows, _scorer).items():
            named = dict(zip(_SCORER, scorer, strict=True))
            yield replace(group, rows=part, cells={**named, **_agreement(study, part)})


_SCORER = ("scorer", "instead_of", "judge")


def _scorer(row: SampleRow) -> tuple[str, str, str]:
    instead, judge = (row.details.get(name) for name in ("instead_of", "judge"))
    return row.scorer, instead if isinstance(instead, str) else "", judge if isinstance(judge, str) else ""


def _agreement(study: Study, rows: Rows) -> dict[str, TableCell]:
    """Return cells on the agreement of scores with labels of people, over the samples that have a label."""
    label = study.labels.right
    known = [row for row in rows if row.sample in label]
    if not known:
        unknown = dict.fromkeys(("agreement", "kappa", "false_right", "false_wrong"), blank(study.labels.why))
        return {"labelled": counted(()), **unknown}
    found = cohen_kappa([row.correct for row in known], [label[row.sample] for row in known], seed=SEED)
    agreement = TableCell(value=found.agreement, n=len(known), samples=keys(known))
    kappa = replace(agreement, value=found.kappa, low=found.low, high=found.high)
    return {
        "labelled": counted(known),
        "agreement": agreement,
        "kappa": kappa if found.kappa is not None else blank("scorer and labels say one thing only"),
        "false_right": counted([row for row in known if row.correct and not label[row.sample]]),
        "false_wrong": counted([row for row in known if not row.correct and label[row.sample]]),
    }


BASELINES: Figures[Line] = (
    *words("dataset"),
    figure("kind", "text", about="ours, floor (language alone), chance, or published by others"),
    figure("system", "text"), figure("model", "text"), figure("world", "text"), figure("budget", "text"),
    figure("n", "count"),
    figure("accuracy", "share"),
    figure("on", "text", about="which questions a published figure is on"),
    figure("source", "text"),
)  # fmt: skip


def _our_line(group: Group) -> Group:
    cells: CellsByKey = {
        "kind": "floor" if group.first.system == "blind" else "ours",
        "system": group.arm,
        "model": group.first.model,
        "n": SAMPLES.cell(group),
        "accuracy": ACCURACY.cell(group),
        "on": blank("all of the run"),
        "source": blank("this run"),
    }
    return replace(group, cells=cells)


def baselines(study: Study) -> Iterator[Line]:
    """Yield our arms; then from the datasets' protocols the accuracy of guessing, and each published figure."""
    yield from map(_our_line, study.groups())
    for name, record in sorted(study.datasets.items()):
        protocol = record.protocol
        if protocol.get("chance") is not None or protocol.get("chance_on"):
            yield Line(cells={"dataset": name, **_chance(protocol.get("chance"), protocol.get("chance_on"))})
        published = protocol.get("published")
        for entry in published if isinstance(published, list) else ():
            if isinstance(entry, Mapping):
                yield Line(cells={"dataset": name, **_published(entry)})


def _chance(chance: Any, on: Any) -> CellsByKey:
    """Return the cells for the accuracy of guessing.

    ``chance`` is a share from 0 to 1, else the cell is blank; ``on`` describes its questions, or why ``chance`` is None.
    """
    known = isinstance(chance, int | float) and not isinstance(chance, bool) and 0 <= chance <= 1
    why = str(on or "not given") if chance is None else f"{str(chance)[:40]} is no share from 0 to 1"
    return {
        "kind": "chance",
        **dict.fromkeys(("system", "model", "world", "budget"), blank("no system")),
        "n": blank("not given"),
        "accuracy": TableCell(value=float(chance)) if known else blank(why),
        "on": value_cell(str(on) if on else None, "all"),
        "source": "the dataset's protocol",
    }


def _published(entry: Mapping[str, Any]) -> CellsByKey:
    """Return the cells of a published figure. The accuracy in ``entry`` is in percent, in the cell from 0 to 1."""
    texts = {key: None if (said := entry.get(key)) is None else str(said) for key in entry}
    percent, number = entry.get("accuracy"), entry.get("n")
    accuracy = percent / 100 if isinstance(percent, int | float) and not isinstance(percent, bool) else None
    return {
        "kind": "published",
        **{key: value_cell(texts.get(key), "not named") for key in ("system", "model", "budget")},
        **{key: value_cell(texts.get(key), "not given") for key in ("on", "source")},
        "world": blank("another one"),
        "n": value_cell(number if isinstance(number, int) else None, "not given"),
        "accuracy": value_cell(accuracy, texts.get("accuracy") or "not given"),
    }


def abstention_tables(study: Study) -> Sequence[Table]:
    """Return the confusion table and that of risk and coverage; none if no question may abstain."""
    asked = study.with_rows(row for row in study.rows if row.gold is not None)
    if not asked.rows:
        return ()
    by_gold = (
        replace(group, rows=rows, cells={"gold": gold})
        for group in asked.groups()
        for gold in STANCES
        if (rows := [row for row in group.rows if row.gold == gold])
    )
    confusion = asked.table("confusion", _CONFUSION, by_gold)
    return confusion, asked.table("risk_coverage", _RISK, asked.groups())


def _said(stance: Stance | None) -> Figure[Group]:
    about = "samples without an answer" if stance is None else ""
    return figure(
        f"said_{stance or 'nothing'}",
        "count",
        lambda group: counted([row for row in group.rows if row.said == stance]),
        title=f"said {stance or 'nothing'}",
        about=about,
    )


_CONFUSION: Figures[Group] = (
    *PLACE,
    *words("gold"),
    figure("n", "count", lambda group: counted(group.rows), about="samples: questions times seeds"),
    *map(_said, (*STANCES, None)),
    figure("accuracy", "share", lambda group: share(group.rows), title="right"),
)


def _covered(row: SampleRow) -> float:
    """Return 1.0 if the sample has an answer that does not abstain from telling, else 0.0."""
    return float(row.said in ("present", "absent"))


_RISK: Figures[Group] = (
    *PLACE,
    figure("n", "count", lambda group: counted(group.rows), about="samples: questions times seeds"),
    figure("accuracy", "share", lambda group: share(group.rows), about="over all of them, abstaining included"),
    figure("coverage", "share", lambda group: share(group.rows, measure=_covered),
           about="answered otherwise than by `cannot_be_told`"),
    figure("risk", "share", lambda group: share(list(filter(_covered, group.rows)), measure=lambda row: 1.0 - correct(row)),
           about="wrong among these"),
    figure("abstained", "count", lambda group: counted([row for row in group.rows if row.said == "undeterminable"])),
    figure("rightly", "share",
           lambda group: share([row for row in group.rows if row.said == "undeterminable"]),
           title="rightly abstained", about="of those, the video does not determine the answer"),
)  # fmt: skip
