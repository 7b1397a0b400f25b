"""Distribute the unfinished samples of a run over workers and append every outcome to ``samples.jsonl``.

The counts and costs so far are shown on a terminal or as log lines.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from eval.datasets.items import Item
from eval.runs.configuration import LimitsPart
from eval.runs.executor import SampleOutcome, SampleWorker
from eval.runs.records import Cell, RunFolder, Sample, SampleCost, SampleLine, append_samples
from world_api.core.canonical import json_line
from world_api.core.faults import EvalFault, VideoWorldError, internal_fault
from world_api.core.ports import Clock
from world_api.terminal import NoProgress

_WARM_UP = 10  #: samples before the time left is estimated, as workers are still loading
_INTERVAL = 5.0  #: seconds between two lines of progress


@dataclass
class ArmTally:
    """Number of samples of one arm that are finished, scored, and right."""

    done: int = 0
    scored: int = 0
    right: int = 0

    @property
    def accuracy(self) -> float | None:
        """Share of right samples among the scored ones; None without any."""
        return self.right / self.scored if self.scored else None


@dataclass
class Tally:
    """Counts of a run so far. This process ran ``ran`` samples in ``seconds``; ``money`` is USD, None if unknown."""

    planned: int
    done: int = 0
    ran: int = 0
    failed: int = 0
    tokens: int = 0
    money: float | None = None
    seconds: float = 0.0
    arms: dict[str, ArmTally] = field(default_factory=dict)

    def pay(self, cost: SampleCost) -> None:
        """Add a cost, also that of a sample that does not count."""
        self.tokens += cost.tokens
        if cost.money is not None:
            self.money = (self.money or 0.0) + cost.money

    def add(self, cell: Cell, *, correct: bool | None, failed: bool = False) -> None:
        """Count one finished sample; ``correct`` is None if it is not scored yet."""
        self.done += 1
        self.failed += failed
        arm = self.arms.setdefault(cell.label, ArmTally())
        arm.done += 1
        if correct is not None:
            arm.scored += 1
            arm.right += correct

    def settle(self, scored: Mapping[str, tuple[int, int]]) -> None:
        """Replace the counts behind the accuracies by final ones: by arm, the number of scored and of right samples."""
        for label, (count, right) in scored.items():
            arm = self.arms.setdefault(label, ArmTally(done=count))
            arm.scored, arm.right = count, right

    @property
    def left(self) -> float | None:
        """Expected seconds until the end at the pace so far; None while too few samples have run."""
        return None if self.ran < _WARM_UP else self.seconds / self.ran * (self.planned - self.done)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        arms = {
            name: {"done": arm.done, "right": arm.right, "accuracy": _rounded(arm.accuracy, 4)}
            for name, arm in self.arms.items()
        }
        counts = {"done": self.done, "planned": self.planned, "asked": self.ran, "failed": self.failed}
        spent = {"tokens": self.tokens, "money": _rounded(self.money, 6), "seconds": round(self.seconds, 1)}
        return {**counts, **spent, "seconds_left": _rounded(self.left, 1), "accuracy": arms}


class ProgressDisplay(Protocol):
    """Shows the progress of a run."""

    def update(self, tally: Tally) -> None:
        """Show the tally."""

    def say(self, text: str) -> None:
        """Show a message."""


class ProgressLog:
    """Writes log lines to stderr at intervals; with ``as_json`` as JSON objects."""

    def __init__(self, clock: Clock, *, as_json: bool) -> None:
        self._clock, self._as_json = clock, as_json
        self._shown_at, self._shown = clock.monotonic(), -1

    def update(self, tally: Tally) -> None:
        """Write a line if more samples are done, and the last line is five seconds old or the run is complete."""
        now = self._clock.monotonic()
        complete = tally.done >= tally.planned
        if self._shown != tally.done and (complete or now - self._shown_at >= _INTERVAL):
            self._shown_at, self._shown = now, tally.done
            self._write({"progress": tally.record()}, progress_text(tally))

    def say(self, text: str) -> None:
        """Write a message as a line of its own."""
        self._write({"note": text}, text)

    def _write(self, record: Mapping[str, Any], text: str) -> None:
        sys.stderr.write((json_line(record) if self._as_json else f"  {text}") + "\n")


@contextmanager
def progress_display(clock: Clock, *, as_json: bool, shown: bool = True) -> Iterator[ProgressDisplay]:
    """Yield a display: a live line if stderr is a terminal and ``as_json`` is false, else log lines; nothing unless ``shown``."""
    if not shown:
        yield NoProgress()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield ProgressLog(clock, as_json=as_json)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:

        class LiveText:
            def update(self, tally: Tally) -> None:
                live.update(progress_text(tally))

            def say(self, text: str) -> None:
                live.console.print(f"  {text}", markup=False, highlight=False)

        yield LiveText()


def progress_text(tally: Tally) -> str:
    """Return the summary and the accuracy of every arm, on one line."""
    shares = {name: "-" if arm.accuracy is None else f"{100 * arm.accuracy:.0f} %" for name, arm in tally.arms.items()}
    arms = ", ".join(f"{name} {share}" for name, share in shares.items())
    return f"{progress_summary(tally)}; right so far: {arms}" if arms else progress_summary(tally)


def progress_summary(tally: Tally) -> str:
    """Return the number of finished samples, their cost and the time left, on one line."""
    parts = [f"{tally.done:,} of {tally.planned:,} questions"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    parts.append(f"{tally.tokens:,} tokens")
    if tally.money is not None:
        parts.append(f"{tally.money:.2f} USD")
    if tally.left is not None and tally.done < tally.planned:
        parts.append(f"{duration(tally.left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a rounded duration as text: ``40 s``, ``12 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


#: Faults of the set-up: the endpoint, the machine, the configuration. They are no result of the model.
SET_UP_FAULTS = frozenset(
    {
        "endpoint_not_configured", "endpoint_bad_url", "endpoint_refused_key", "endpoint_refused_request",
        "endpoint_unreachable", "endpoint_error", "endpoint_unknown_model", "endpoint_rate_limited", "endpoint_takes_no_images",
        "bad_model_name", "no_price", "record_not_writable", "disk_full",
        "store_not_writable", "cache_not_writable", "no_such_world", "world_damaged", "other_schema_version",
        "session_failed", "worker_ended", "system_not_loadable",
    }
)  # fmt: skip
_REFRESH = 0.25  #: seconds between two updates of the progress while nothing finishes


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """How the scheduler ended: ``fault`` is why it stopped early; ``interrupted`` means by Ctrl-C."""

    fault: VideoWorldError | None = None
    interrupted: bool = False


@dataclass(kw_only=True)
class RunScheduler:
    """Runs samples with workers, one thread each, and records outcomes as they arrive.

    Consecutive failures of the set-up (``SET_UP_FAULTS``) are held back. After ``limits.failures`` of them the run
    stops; they are run again when it continues. If another outcome comes first, they count as wrong answers.
    """

    folder: RunFolder
    workers: Sequence[SampleWorker]
    tally: Tally
    limits: LimitsPart
    is_right: Callable[[Item, Any, str | None], bool | None]  #: returns None if it cannot be decided yet
    clock: Clock
    show: Callable[[Tally], object]  #: called after every batch of outcomes
    say: Callable[[str], object]  #: called with a message for the user

    def __post_init__(self) -> None:
        self._outcomes: queue.SimpleQueue[tuple[Sample, SampleOutcome | VideoWorldError]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._next_sample = threading.Lock()
        self._held: list[tuple[Sample, SampleOutcome]] = []
        self._any_result = False  #: whether any outcome was not a failure of the set-up

    def run(self, samples: Iterable[Sample]) -> RunEnd:
        """Run the samples until all are finished or the run has to stop; return how it ended.

        Raises KeyboardInterrupt: at the second Ctrl-C; after the first, the current samples are finished; StoreFault:
        outcomes could not be recorded.
        """
        fault: VideoWorldError | None = self._money_fault()
        if fault is not None:
            return RunEnd(fault=fault)
        remaining = iter(samples)
        threads = [
            threading.Thread(target=self._work, args=(worker, remaining), name=f"sample-{number}", daemon=True)
            for number, worker in enumerate(self.workers)
        ]
        began = self.clock.monotonic()
        interrupted = False
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or not self._outcomes.empty():
            try:
                arrived = self._arrived()
                self.tally.seconds = self.clock.monotonic() - began
                fault = self._record(arrived) or fault or self._money_fault()
                if fault is not None:
                    self._stop.set()
                self.show(self.tally)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                self._stop.set()
                self.say("stopping: what is under way is waited for; Ctrl-C again leaves it, and it is asked again")
        fault = fault or self._resolve_held(interrupted=interrupted)
        # Samples that are still held are run again, but their cost is spent.
        held = [outcome.line(sample, held=True) for sample, outcome in self._held if outcome.cost.tokens]
        append_samples(self.folder, held)
        return RunEnd(fault=fault, interrupted=interrupted)

    def _work(self, worker: SampleWorker, remaining: Iterator[Sample]) -> None:
        """Run samples one after the other, in a thread."""
        while not self._stop.is_set():
            with self._next_sample:
                sample = next(remaining, None)
            if sample is None:
                return
            try:
                self._outcomes.put((sample, worker(sample.cell, sample.item)))
            except VideoWorldError as fault:
                self._outcomes.put((sample, fault))
                return
            # If the thread died silently, the run would hang, or end as if it were complete.
            except Exception as error:  # noqa: BLE001 - see above
                self._outcomes.put((sample, internal_fault(error)))
                return

    def _arrived(self) -> list[tuple[Sample, SampleOutcome | VideoWorldError]]:
        """Return all outcomes in the queue, after a short wait for the first, so that they are written to disk together."""
        found = []
        try:
            found.append(self._outcomes.get(timeout=_REFRESH))
            while True:
                found.append(self._outcomes.get_nowait())
        except queue.Empty:
            return found

    def _record(self, arrived: Sequence[tuple[Sample, SampleOutcome | VideoWorldError]]) -> VideoWorldError | None:
        """Count and write outcomes; return the fault for which the run cannot continue, if any."""
        lines: list[SampleLine] = []
        fault: VideoWorldError | None = None
        for sample, outcome in arrived:
            if isinstance(outcome, VideoWorldError):
                fault = fault or outcome
                continue
            self.tally.ran += 1
            self.tally.pay(outcome.cost)
            if outcome.failed in SET_UP_FAULTS:
                self._held.append((sample, outcome))
                if len(self._held) >= self.limits.failures:
                    fault = fault or self._set_up_fault()
                continue
            self._any_result = True
            lines += [*self._release_held(), self._count(sample, outcome)]
        append_samples(self.folder, lines)
        return fault

    def _resolve_held(self, *, interrupted: bool) -> VideoWorldError | None:
        """At the end, count held samples as wrong, but not after Ctrl-C; return a fault if there was no other outcome."""
        if not self._held:
            return None
        if not self._any_result:
            return self._set_up_fault()
        if not interrupted:
            append_samples(self.folder, self._release_held())
            self.show(self.tally)
        return None

    def _release_held(self) -> list[SampleLine]:
        held, self._held = self._held, []
        return [self._count(sample, outcome) for sample, outcome in held]

    def _count(self, sample: Sample, outcome: SampleOutcome) -> SampleLine:
        right = outcome.episode is not None and self.is_right(sample.item, outcome.value, outcome.answer)
        self.tally.add(sample.cell, correct=right, failed=outcome.failed is not None)
        return outcome.line(sample)

    def _set_up_fault(self) -> EvalFault:
        """Return the fault that stops the run, with the last failure of the set-up as its reason."""
        outcome = self._held[-1][1]
        code = outcome.failed or "unknown"
        reason = outcome.fault["message"] if outcome.fault is not None else code.replace("_", " ")
        return EvalFault(
            "set_up_failed",
            f"{len(self._held)} questions in a row failed, the last one by {code}: {reason}",
            hint="mend that and run it again: what failed so is asked again, what is finished is kept",
        )

    def _money_fault(self) -> EvalFault | None:
        limit, spent = self.limits.money, self.tally.money
        if limit is None or spent is None or spent < limit or self.tally.done >= self.tally.planned:
            return None
        return EvalFault(
            "run_money_spent",
            f"the run has spent {spent:.4f} USD; its limit is {limit:g}",
            hint="raise limits.money and run it again: what is finished is kept",
        )
