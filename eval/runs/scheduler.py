"""Distribute the unfinished samples of a run over workers and append every outcome to ``samples.jsonl``."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.runs.configuration import LimitsPart
from eval.runs.executor import SampleOutcome, SampleWorker
from eval.runs.progress import Tally
from eval.runs.records import RunFolder, Sample, SampleLine, append_samples
from world_api.core.faults import EvalFault, VideoWorldError, internal_fault
from world_api.core.ports import Clock

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
