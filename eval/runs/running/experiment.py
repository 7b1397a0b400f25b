"""A whole run, from its configuration to its scores: what ``videoworld eval run`` does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.records.journal import Journal, JournalEntry
from eval.datasets.items import Item
from eval.runs.configuration.reading import Configuration, read_configuration
from eval.runs.lines import LineFile, SampleLine, ScoreLine
from eval.runs.places import RunFolder
from eval.runs.planning.plan import Plan, make_plan
from eval.runs.provenance import note_stretch, stretch_of
from eval.runs.running.conducting import Conductor, Ended, Limits, note_samples
from eval.runs.running.hands import Hand, OwnHand, ProcessHand
from eval.runs.running.opened import configuration_of
from eval.runs.running.standing import Standing, standing_of
from eval.runs.running.starting import begin, locked
from eval.runs.running.tally import Tally
from eval.runs.running.workshop import Asked, Workshop
from eval.scoring.scorers import score_value
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from eval.runs.running.showing import Shown
    from world_api.build.builder import Progress

_FOR_ENDPOINTS = 8  #: questions under way at once, where nobody said how many


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a run is begun with: a configuration, or the folder of a run that goes on as what it was."""

    configuration: Configuration
    folder: RunFolder
    goes_on: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run stands when this process leaves it."""

    folder: RunFolder
    tally: Tally
    asked: int
    adopted: int
    again: int
    ended: Ended

    @property
    def complete(self) -> bool:
        """Whether every sample is finished."""
        return self.tally.done >= self.tally.planned

    def record(self) -> dict[str, Any]:
        """The wire form."""
        fault = self.ended.fault
        return {
            "run": str(self.folder.root),
            "complete": self.complete,
            "adopted": self.adopted,
            "asked_again": self.again,
            **self.tally.record(),
            "stopped": None if fault is None else fault.record()["error"],
            "interrupted": self.ended.interrupted,
        }


def given(path: Path, *, overrides: tuple[str, ...] = (), out: Path | None = None) -> Given:
    """What a path means: a configuration, or the folder of a run.

    Raises:
        EvalFault: ``bad_override``, where a run that goes on is to be another one; what reading either raises.
    """
    if not path.is_dir():
        configuration = read_configuration(path, overrides=overrides)
        document = configuration.document
        there = out or (
            configuration.path(document.out)
            if document.out is not None
            else configuration.folder / "runs" / (document.name or path.stem)
        )
        return Given(configuration=configuration, folder=RunFolder(there))
    if overrides or out is not None:
        raise EvalFault(
            "bad_override", "a run that goes on is what it was begun as", hint="give its configuration to change it"
        )
    folder = RunFolder(path)
    return Given(configuration=configuration_of(folder), folder=folder, goes_on=True)


def run_experiment(
    what: Given, *, clock: Clock, environment: Mapping[str, str], shown: Shown, building: Progress
) -> Outcome:
    """Build what is missing, ask what is not finished, and leave everything that was noted.

    Raises:
        EvalFault: ``run_busy``, ``run_changed``; what the plan refuses.
        VideoWorldError: as building worlds and planning name it.
    """
    folder = what.folder
    with locked(folder, sleep=time.sleep, clock=clock) as lock:
        plan, workshop = make_plan(
            what.configuration, folder, clock=clock, environment=environment, copies=what.goes_on
        )
        limits = limits_of(plan, workshop)
        manifest = begin(plan, folder, progress=building, clock=clock)
        standing = standing_of(plan, folder)
        note_samples(folder, standing.adopted)
        tally = _tally(plan, folder, standing)
        _tell(standing, tally, shown.say)
        left = [sample for sample in plan.samples() if sample.key not in standing.finished]
        if left:
            price = workshop.prices.of(workshop.model.name)
            now = stretch_of(plan.manifest({}), plan.configuration.document, price=price, environment=environment)
            note_stretch(folder, manifest, now, noted=standing.noted, say=shown.say)
        with _hands(plan, workshop, folder, len(left), lock=lock, environment=environment) as hands:
            conductor = Conductor(
                folder, hands, tally=tally, limits=limits, right=_right(plan), clock=clock, show=shown.update,
                say=shown.say,
            )  # fmt: skip
            ended = conductor.conduct(left) if left else Ended()
    return Outcome(
        folder=folder,
        tally=tally,
        asked=tally.asked,
        adopted=len(standing.adopted),
        again=len(standing.lost),
        ended=ended,
    )


def at_once(configuration: Configuration) -> int:
    """How many questions are under way at once."""
    document = configuration.document
    usual = len(os.sched_getaffinity(0)) if document.model == RULE_BASED else _FOR_ENDPOINTS
    return document.parallel or usual


def limits_of(plan: Plan, workshop: Workshop) -> Limits:
    """The limits of the whole run.

    Raises:
        EvalFault: ``bad_configuration``, where one of money needs a price that is not known.
    """
    part = plan.configuration.document.limits
    if part.money is not None and workshop.prices.of(workshop.model.name) is None:
        raise plan.configuration.bad(
            ("limits", "money"),
            f"a limit of money needs the price of {workshop.model.name!r}",
            hint="give `prices`, or no limit of money",
        )
    return Limits(money=part.money, failures=part.failures)


@contextmanager
def _hands(
    plan: Plan, workshop: Workshop, folder: RunFolder, left: int, *, lock: int, environment: Mapping[str, str]
) -> Iterator[list[Hand]]:
    """As many as may ask at once; processes, where it is this machine that works."""
    count = max(1, min(at_once(plan.configuration), left))
    hands: list[Hand]
    if plan.configuration.document.model == RULE_BASED and count > 1:
        processes = [ProcessHand(folder, lock=lock, environment=environment) for _ in range(count)]
        for process in processes:
            process.start()
        hands = list(processes)
    else:
        hands = [OwnHand(workshop) for _ in range(count)]
    try:
        yield hands
    except BaseException:  # such as a second Ctrl-C: nobody waits for what is under way
        for hand in hands:
            hand.close(at_once=True)
        raise
    for hand in hands:
        hand.close()


def _tally(plan: Plan, folder: RunFolder, standing: Standing) -> Tally:
    """What is finished already, with the scores that are known of it."""
    try:
        known = {
            line.sample: line.correct
            for line in LineFile(folder.scores, ScoreLine)
            if line.is_of(standing.finished.get(line.sample))
        }
    except EvalFault:
        known = {}  # they are made again in the end
    known |= _told_right(plan, folder, standing, known)
    tally = Tally(planned=plan.count)
    cells = {cell.id: cell for cell in plan.cells}
    for key, line in standing.finished.items():
        tally.pay(line.cost)
        tally.add(cells[line.cell], correct=known.get(key), failed=line.failed)
    for cost in standing.more:
        tally.pay(cost)
    return tally


def _told_right(plan: Plan, folder: RunFolder, standing: Standing, known: Collection[str]) -> dict[str, bool]:
    """Which of those without a score are right, as far as one can tell without a judge: a process that died wrote no scores."""
    right, cells = _right(plan), {cell.id: cell for cell in plan.cells}
    items = {(name, item.id): item for name, items in plan.items.items() for item in items}
    found: dict[str, bool | None] = {}
    recorded: dict[str, dict[str, SampleLine]] = {}
    for key, line in standing.finished.items():
        item = items[cells[line.cell].dataset, line.item]
        if key in known or item.answer is None:
            continue
        if key in standing.answers:
            found[key] = right(item, standing.answers[key])
        elif line.episode is not None:
            recorded.setdefault(line.cell, {})[line.episode] = line
        else:
            found[key] = False
    for cell, lines in recorded.items():
        for entry in Journal(folder.journal(cell)).scan(only=lines):
            line = lines[entry.name]
            asked = (
                Asked(value=entry.episode.value, answer=entry.episode.answer)
                if isinstance(entry, JournalEntry)
                else None
            )
            item = items[cells[cell].dataset, line.item]
            found[line.sample] = right(item, asked) if asked is not None else False
    return {key: correct for key, correct in found.items() if correct is not None}


def _tell(standing: Standing, tally: Tally, say: Callable[[str], object]) -> None:
    if tally.done:
        say(f"{tally.done:,} of {tally.planned:,} questions were asked before and are kept")
    if standing.adopted:
        say(f"{len(standing.adopted):,} of them had been recorded and not noted")
    if standing.lost:
        say(
            f"{len(standing.lost):,} episodes or their recordings are not there any more; their questions are asked again"
        )


def _right(plan: Plan) -> Callable[[Item, Asked], bool | None]:
    protocols = {id(item): one.dataset.protocol for one in plan.picked for item in one.items}

    def right(item: Item, asked: Asked) -> bool | None:
        if item.answer is None:
            return None
        try:
            return score_value(item, asked.value, asked.answer, protocol=protocols.get(id(item), {})).correct
        except VideoWorldError:
            return None  # such as one that only a judge can score

    return right
