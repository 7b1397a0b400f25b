"""Asking all that is left of a run: hands take samples, what comes back is noted at once, and any end keeps what is there."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from eval.datasets.items import Item
from eval.runs.lines import SampleLine
from eval.runs.places import RunFolder
from eval.runs.planning.plan import Sample
from eval.runs.running.hands import Hand
from eval.runs.running.standing import SET_UP, line_of
from eval.runs.running.tally import Tally
from eval.runs.running.workshop import Asked
from world_api.core.canonical import json_line
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.last_resort import internal_fault
from world_api.core.ports import Clock
from world_api.world.files import append_line, not_writable

#: Seconds for which results are gathered before they are noted together: each note waits for the disk.
_GATHER = 0.25
#: Whether an answer is right; None where nobody can tell yet.
Right = Callable[[Item, Asked], bool | None]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of the whole run: USD really paid, and failures of the set-up in a row."""

    money: float | None = None
    failures: int = 5


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How it ended: ``fault`` says why before all was asked; ``interrupted``: by a person."""

    fault: VideoWorldError | None = None
    interrupted: bool = False


@dataclass(frozen=True, kw_only=True)
class _Came:
    """What came back of a sample, or the fault for which nobody can go on."""

    sample: Sample
    asked: Asked | None = None
    fault: VideoWorldError | None = None


class Conductor:
    """Hands out samples to hands, one thread each, and notes what comes back.

    Failures of the set-up that come in a row are held back: once there are too many of them the run stops, and they are
    asked again when it goes on. Where something else comes in between, they count as wrong like any other.
    """

    def __init__(
        self,
        folder: RunFolder,
        hands: Sequence[Hand],
        *,
        tally: Tally,
        limits: Limits,
        right: Right,
        clock: Clock,
        show: Callable[[Tally], object],
        say: Callable[[str], object],
    ) -> None:
        self._folder = folder
        self._hands = hands
        self._tally, self._limits, self._right, self._clock = tally, limits, right, clock
        self._show, self._say = show, say
        self._came: queue.SimpleQueue[_Came] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._taking = threading.Lock()
        self._held: list[tuple[Sample, Asked]] = []
        self._anything = False  #: whether anything came that is no failure of the set-up

    def conduct(self, samples: Iterable[Sample]) -> Ended:
        """Ask the samples.

        Raises:
            KeyboardInterrupt: the second one; the first waits for what is under way.
            StoreFault: what came could not be noted.
        """
        fault: VideoWorldError | None = self._overspent()
        if fault is not None:
            return Ended(fault=fault)
        waiting = iter(samples)
        threads = [
            threading.Thread(target=self._work, args=(hand, waiting), name=f"asking-{number}", daemon=True)
            for number, hand in enumerate(self._hands)
        ]
        began = self._clock.monotonic()
        interrupted = False
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or not self._came.empty():
            try:
                came = self._gather()
                self._tally.seconds = self._clock.monotonic() - began
                fault = self._take(came) or fault
                fault = fault or self._overspent()
                if fault is not None:
                    self._stop.set()
                self._show(self._tally)
            except KeyboardInterrupt:
                if self._stop.is_set() and interrupted:
                    raise
                interrupted = True
                self._stop.set()
                self._say("stopping: what is under way is waited for; Ctrl-C again leaves it, and it is asked again")
        ended = Ended(fault=fault or self._end(interrupted=interrupted), interrupted=interrupted)
        # What was held back is asked again, but what it cost is spent.
        self._note([line_of(sample, asked, held=True) for sample, asked in self._held if asked.cost.tokens])
        return ended

    def _work(self, hand: Hand, waiting: Iterator[Sample]) -> None:
        """Ask one sample after the other, in a thread."""
        while not self._stop.is_set():
            with self._taking:
                sample = next(waiting, None)
            if sample is None:
                return
            try:
                self._came.put(_Came(sample=sample, asked=hand.ask(sample.cell, sample.item)))
            except VideoWorldError as fault:
                self._came.put(_Came(sample=sample, fault=fault))
                return
            # A thread that died unseen would leave the run waiting, or ending as if all were well.
            except Exception as error:  # noqa: BLE001 - see above
                self._came.put(_Came(sample=sample, fault=internal_fault(error)))
                return

    def _gather(self) -> list[_Came]:
        """What comes within a moment; the first is waited for no longer than that."""
        until = self._clock.monotonic() + _GATHER
        found: list[_Came] = []
        while (left := until - self._clock.monotonic()) > 0:
            try:
                found.append(self._came.get(timeout=left))
            except queue.Empty:
                break
            if self._limits.money is not None or self._is_urgent(found[-1]):
                break
        return found

    @staticmethod
    def _is_urgent(came: _Came) -> bool:
        """Whether the run may have to stop at once."""
        return came.asked is None or came.asked.failed in SET_UP

    def _take(self, came: Sequence[_Came]) -> VideoWorldError | None:
        """Note what came; the fault for which the run cannot go on, if any."""
        noted: list[SampleLine] = []
        fault: VideoWorldError | None = None
        for one in came:
            if one.asked is None:
                fault = fault or one.fault
                continue
            self._tally.asked += 1
            self._tally.pay(one.asked.cost)
            if one.asked.failed in SET_UP:
                self._held.append((one.sample, one.asked))
                if len(self._held) >= self._limits.failures:
                    fault = fault or self._set_up_fault()
                continue
            self._anything = True
            noted += self._released()
            noted.append(self._counted(one.sample, one.asked))
        self._note(noted)
        return fault

    def _end(self, *, interrupted: bool) -> VideoWorldError | None:
        """What is held back at the end counts, where anything else came; if nothing did, the set-up is to blame."""
        if not self._held:
            return None
        if not self._anything:
            return self._set_up_fault()
        if not interrupted:
            self._note(self._released())
            self._show(self._tally)
        return None

    def _released(self) -> list[SampleLine]:
        held, self._held = self._held, []
        return [self._counted(sample, asked) for sample, asked in held]

    def _counted(self, sample: Sample, asked: Asked) -> SampleLine:
        correct = False if asked.episode is None else self._right(sample.item, asked)
        self._tally.add(sample.cell, correct=correct, failed=asked.failed is not None)
        return line_of(sample, asked)

    def _note(self, lines: Sequence[SampleLine]) -> None:
        note_samples(self._folder, lines)

    def _set_up_fault(self) -> EvalFault:
        """The last failure of the set-up, as the reason why the run stopped."""
        asked = self._held[-1][1]
        code = asked.failed or "unknown"
        told = asked.fault["message"] if asked.fault is not None else code.replace("_", " ")
        return EvalFault(
            "set_up_failed",
            f"{len(self._held)} questions in a row failed, the last one by {code}: {told}",
            hint="mend that and run it again: what failed so is asked again, what is finished is kept",
        )

    def _overspent(self) -> EvalFault | None:
        limit, spent = self._limits.money, self._tally.money
        if limit is None or spent is None or spent < limit or self._tally.done >= self._tally.planned:
            return None
        return EvalFault(
            "run_money_spent",
            f"the run has spent {spent:.4f} USD; its limit is {limit:g}",
            hint="raise limits.money and run it again: what is finished is kept",
        )


def note_samples(folder: RunFolder, lines: Sequence[SampleLine]) -> None:
    """Append finished samples, in one write that outlives a power cut.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    if not lines:
        return
    try:
        append_line(folder.samples, b"\n".join(json_line(line.record()).encode() for line in lines), sync=True)
    except OSError as error:
        raise not_writable(folder.samples, error) from error
