"""What somebody chose for looking at videos: which model, which frames, how many requests at once and in all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Lock

from world_api.core.faults import OperationFault
from world_api.core.ports import EmbeddingModel, VisionModel
from world_api.core.spans import TimeSpan, round_time

#: A frame counts as begun half a millisecond early; one before a cut must not be that of the cut.
BEFORE = 0.001
#: So many pictures of one thing are looked at for a question about it.
MAX_SPOTS = 3
#: Characters of the longest question that operations take.
LONGEST_QUESTION = 2_000


@dataclass(frozen=True, kw_only=True)
class FrameChoice:
    """Which frames of a stretch are looked at: at most ``most``, no closer than ``spacing`` seconds, spread evenly."""

    most: int = 6
    spacing: float = 1.0

    def count(self, seconds: float) -> int:
        """How many frames a stretch of that length gives."""
        return max(1, min(self.most, math.ceil(seconds / self.spacing - 1e-9)))

    def times(self, span: TimeSpan, until: float) -> tuple[float, ...]:
        """The middles of equal parts of the visible stretch, in seconds; none of them at or after ``until``."""
        end = min(span.end, until)
        start = min(span.start, end)
        count = self.count(end - start)
        step = (end - start) / count
        latest = max(0.0, until - BEFORE)
        return tuple(dict.fromkeys(round_time(min(start + (i + 0.5) * step, latest)) for i in range(count)))


@dataclass(frozen=True, kw_only=True)
class Eyes:
    """A model that looks, and how it is used.

    ``embedder`` makes captions comparable in meaning, where there is one. ``at_once``: requests under way together.
    ``most_looks``: looks one session may take: every request that is sent, and kept ones the first time they are told, so
    that where nothing fails a question comes out the same with a full cache and an empty one; None for any number. What a
    client repeats by itself since no answer came is not counted. ``host``: where frames go.
    """

    vision: VisionModel
    embedder: EmbeddingModel | None = None
    choice: FrameChoice = field(default_factory=FrameChoice)
    at_once: int = 8
    most_looks: int | None = None
    host: str = ""

    @property
    def producer(self) -> str:
        """All that an answer depends on beside the world and what is asked."""
        return f"{self.vision.producer}/{self.choice.most}x{self.choice.spacing:g}s"


class Allowance:
    """Counts the looks of one session. Threads may share it."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._told: set[str] = set()
        self._used = 0
        self._lock = Lock()

    def check(self) -> None:
        """See whether anything may be sent, before work is put into it.

        Raises:
            OperationFault: ``looks_spent``.
        """
        with self._lock:
            self._refuse_spent()

    def sends(self) -> None:
        """Count a request that is about to be sent, whatever comes of it.

        Raises:
            OperationFault: ``looks_spent``.
        """
        with self._lock:
            self._refuse_spent()
            self._used += 1

    def made(self, request: str) -> None:
        """A look that was sent has been answered: to be told it again costs nothing."""
        with self._lock:
            self._told.add(request)

    def tell(self, request: str) -> None:
        """Count a look that was kept, unless this session has had it.

        Raises:
            OperationFault: ``looks_spent``.
        """
        with self._lock:
            if request not in self._told:
                self._refuse_spent()
                self._used += 1
                self._told.add(request)

    def _refuse_spent(self) -> None:
        if self._most is not None and self._used >= self._most:
            raise OperationFault(
                "looks_spent",
                f"a model has looked {self._most} times in this session, which is all it may",
                hint="use what was seen so far; whoever runs this may allow more with --looks",
            )
