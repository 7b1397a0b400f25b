"""A whole run, from its configuration to its recorded samples: what ``videoworld eval run`` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.datasets.items import Item
from eval.runs.configuration import Configuration, read_configuration
from eval.runs.executor import InProcessWorker, SampleOutcome, SampleRunner, SubprocessWorker, Worker
from eval.runs.files import RunFolder, append_samples
from eval.runs.manifest import configuration_of, note_stretch, stretch_of
from eval.runs.plan import Plan, make_plan
from eval.runs.progress import Tally
from eval.runs.reading import read_run
from eval.runs.resume import ResumeState, begin, resume_state, run_lock
from eval.runs.scheduler import Limits, RunEnd, RunScheduler
from eval.runs.scoring import scored_now
from eval.scoring.scorers import score_value
from world_api.chat.rule_based import RULE_BASED
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from eval.runs.progress import ProgressDisplay
    from world_api.build.builder import Progress

_ENDPOINT_WORKERS = 8  #: samples under way at once with a model behind an endpoint, by default


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A configuration and the folder of its run. ``continues``: it was given by that folder, and uses the libraries kept there."""

    configuration: Configuration
    folder: RunFolder
    continues: bool = False

    @property
    def workers(self) -> int:
        """How many samples are under way at once."""
        document = self.configuration.document
        default = len(os.sched_getaffinity(0)) if document.model == RULE_BASED else _ENDPOINT_WORKERS
        return document.parallel or default


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The state of a run when this process leaves it."""

    folder: RunFolder
    tally: Tally
    asked: int
    adopted: int
    again: int
    ended: RunEnd

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


def open_experiment(path: Path, *, overrides: tuple[str, ...] = (), out: Path | None = None) -> Experiment:
    """The experiment of a configuration file, or of the folder of a run.

    Raises:
        EvalFault: ``bad_override`` if overrides or ``out`` are given with a folder; what reading either raises.
    """
    if path.is_dir():
        if overrides or out is not None:
            raise EvalFault(
                "bad_override", "a run that goes on is what it was begun as", hint="give its configuration to change it"
            )
        folder = RunFolder(path)
        return Experiment(configuration=configuration_of(folder), folder=folder, continues=True)
    configuration = read_configuration(path, overrides=overrides)
    document = configuration.document
    default = configuration.folder / "runs" / (document.name or path.stem)
    root = out or (configuration.path(document.out) if document.out is not None else default)
    return Experiment(configuration=configuration, folder=RunFolder(root))


def run_experiment(
    experiment: Experiment,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    display: ProgressDisplay,
    building: Progress,
) -> Outcome:
    """Build missing worlds and run the samples that are not finished; whatever was recorded is kept.

    Raises:
        EvalFault: ``run_busy``, ``run_changed``; what the plan refuses.
        VideoWorldError: as building worlds and planning name it.
    """
    folder = experiment.folder
    with run_lock(folder, clock=clock) as lock:
        plan, runner = make_plan(
            experiment.configuration, folder, clock=clock, environment=environment, copies=experiment.continues
        )
        limits = limits_of(plan, runner)
        manifest = begin(plan, folder, progress=building, clock=clock)
        state = resume_state(plan, folder)
        append_samples(folder, state.adopted)
        tally = _tally(plan, folder, state)
        _say_state(state, tally, display.say)
        samples = [sample for sample in plan.samples() if sample.key not in state.finished]
        ended = RunEnd()
        if samples:
            price = runner.prices.of(runner.model.name)
            now = stretch_of(plan.manifest({}), plan.configuration.document, price=price, environment=environment)
            note_stretch(folder, manifest, now, noted=state.lines, say=display.say)
            count = min(experiment.workers, len(samples))
            with _workers(runner, folder, count, lock=lock, environment=environment) as workers:
                scheduler = RunScheduler(
                    folder, workers, tally=tally, limits=limits, is_right=_is_right(plan), clock=clock,
                    show=display.update, say=display.say,
                )  # fmt: skip
                ended = scheduler.run(samples)
    return Outcome(
        folder=folder,
        tally=tally,
        asked=tally.asked,
        adopted=len(state.adopted),
        again=len(state.lost),
        ended=ended,
    )


def limits_of(plan: Plan, runner: SampleRunner) -> Limits:
    """The limits of the whole run.

    Raises:
        EvalFault: ``bad_configuration`` if a limit of money needs a price that is not known.
    """
    part = plan.configuration.document.limits
    if part.money is not None and runner.prices.of(runner.model.name) is None:
        raise plan.configuration.bad(
            ("limits", "money"),
            f"a limit of money needs the price of {runner.model.name!r}",
            hint="give `prices`, or no limit of money",
        )
    return Limits(money=part.money, failures=part.failures)


@contextmanager
def _workers(
    runner: SampleRunner, folder: RunFolder, count: int, *, lock: int, environment: Mapping[str, str]
) -> Iterator[list[Worker]]:
    """Threads for a model behind an endpoint or for a single worker, else processes."""
    workers: list[Worker]
    if runner.model.name == RULE_BASED and count > 1:
        processes = [SubprocessWorker(folder, lock=lock, environment=environment) for _ in range(count)]
        for process in processes:
            process.start()
        workers = list(processes)
    else:
        workers = [InProcessWorker(runner)] * count
    try:
        yield workers
    except BaseException:  # such as a second Ctrl-C: the samples under way are not waited for
        for worker in workers:
            worker.close(kill=True)
        raise
    for worker in workers:
        worker.close()


def _tally(plan: Plan, folder: RunFolder, state: ResumeState) -> Tally:
    """The finished samples, with their scores as far as they can be known without a judge."""
    try:
        scores = scored_now(read_run(folder.root)).scores
    except EvalFault:
        scores = {}  # a damaged scores.jsonl is written again at the end
    tally = Tally(planned=plan.count)
    cells = {cell.id: cell for cell in plan.cells}
    for key, line in state.finished.items():
        score = scores.get(key)
        tally.pay(line.cost)
        tally.add(cells[line.cell], correct=None if score is None else score.correct, failed=line.failed)
    for cost in state.other_costs:
        tally.pay(cost)
    return tally


def _say_state(state: ResumeState, tally: Tally, say: Callable[[str], object]) -> None:
    if tally.done:
        say(f"{tally.done:,} of {tally.planned:,} questions were asked before and are kept")
    if state.adopted:
        say(f"{len(state.adopted):,} of them had been recorded and not noted")
    if state.lost:
        say(f"{len(state.lost):,} episodes or their recordings are not there any more; their questions are asked again")


def _is_right(plan: Plan) -> Callable[[Item, SampleOutcome], bool | None]:
    protocols = {id(item): one.dataset.protocol for one in plan.picked for item in one.items}

    def is_right(item: Item, outcome: SampleOutcome) -> bool | None:
        if item.answer is None:
            return None
        try:
            protocol = protocols.get(id(item), {})
            return score_value(item, outcome.value, outcome.answer, protocol=protocol).correct
        except VideoWorldError:
            return None  # such as an answer that only a judge can score

    return is_right
