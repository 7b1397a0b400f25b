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
    ``most_looks``: different looks one session may ask for, kept ones too, so that a question costs no more than was
    agreed to and comes out the same with a full cache and an empty one; None for any number. ``host``: where frames go.
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
    """Counts the different looks of one session. Threads may share it."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._asked: set[str] = set()
        self._failed = 0
        self._lock = Lock()

    def take(self, request: str) -> None:
        """Count a look; one that was asked for before costs nothing.

        Raises:
            OperationFault: ``looks_spent``.
        """
        with self._lock:
            if request in self._asked:
                return
            if self._most is not None and len(self._asked) + self._failed >= self._most:
                raise OperationFault(
                    "looks_spent",
                    f"a model has looked {self._most} times in this session, which is all it may",
                    hint="use what was seen so far; whoever runs this may allow more with --looks",
                )
            self._asked.add(request)

    def failed(self, request: str) -> None:
        """A look came to nothing, and may have cost something all the same: to ask for it again counts again."""
        with self._lock:
            self._asked.discard(request)
            self._failed += 1
