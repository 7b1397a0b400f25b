"""Having a model look at stretches of one video, once each; what it says is kept outside the world.

A look is known by what it depends on: the world's hash, who looks (model, prompts, size and choice of frames) and what is
asked. No frame after ``until``, the end of what a session sees, is ever taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import numpy as np

from world_api.core.ambient.spending import charge
from world_api.core.boxes import Box
from world_api.core.canonical import content_hash
from world_api.core.faults import MediaFault, OperationFault, VideoWorldError
from world_api.core.ports import Image, LookRequest, LookTask, Picture, PictureSource, SeenAction
from world_api.core.spans import TimeSpan, round_time
from world_api.world.sessions.eyes import BEFORE, Allowance, Eyes
from world_api.world.sessions.sights import KeptAction, KeptCost, KeptSight, SightFolder

_MARGIN = 0.35  #: of a box's size, shown around what is cut out
_SMALLEST_PART = 32  #: pixels; a smaller part shows nothing


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What a model says it saw. ``confidence`` (0 to 1) only where it gave one; ``uncertain``: what it cannot tell.

    ``request`` names the look: charges and the kept answer have the same name.
    """

    text: str
    confidence: float | None
    frame_times: tuple[float, ...]
    producer: str
    uncertain: str = ""
    actions: tuple[SeenAction, ...] = ()
    request: str = ""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A moment (seconds) and what part of its frame to show (pixels of the displayed frame); None: all of it."""

    time: float
    box: Box | None


class Seeing:
    """Looks at one world's video, for one session. Threads may share it.

    ``frames`` None: the video is not there (any more); what was seen before is told all the same.
    """

    def __init__(self, eyes: Eyes, *, frames: PictureSource | None, world_hash: str, cache: Path | None) -> None:
        self._eyes = eyes
        self._frames = frames
        self._world_hash = world_hash
        self._places = BoundedSemaphore(eyes.at_once)
        self._allowance = Allowance(eyes.most_looks)
        self.producer = eyes.producer
        self.most_looks = eyes.most_looks
        folder = cache / world_hash[:16] / content_hash(self.producer)[:16] if cache is not None else None
        self.kept = SightFolder(folder)

    def caption(self, span: TimeSpan, *, until: float) -> Sight:
        """What is seen in a stretch, in words.

        Raises:
            OperationFault: ``not_yet``, where none of it is visible.
            MediaFault: ``source_missing``, ``undecodable``.
            BackendFault: as the model names it.
        """
        return self._look("caption", self._visible(span, until), until)

    def answer(self, span: TimeSpan, question: str, *, until: float) -> Sight:
        """A question about a stretch, answered from its frames.

        Raises:
            OperationFault: ``not_yet``, where none of it is visible.
            MediaFault: ``source_missing``, ``undecodable``.
            BackendFault: as the model names it.
        """
        return self._look("answer", self._visible(span, until), until, question=question)

    def actions(self, span: TimeSpan, *, until: float) -> Sight:
        """What is done in a stretch, as short labels.

        Raises:
            OperationFault: ``not_yet``, where none of it is visible.
            MediaFault: ``source_missing``, ``undecodable``.
            BackendFault: as the model names it.
        """
        return self._look("actions", self._visible(span, until), until)

    def state(self, spots: Sequence[Spot], question: str, *, subject: str, until: float) -> Sight:
        """A question about one thing, answered from what is around it at some moments.

        Raises:
            OperationFault: ``not_yet``, where no moment is visible.
            MediaFault: ``source_missing``, ``undecodable``.
            BackendFault: as the model names it.
        """
        seen = [spot for spot in spots if spot.time <= until]
        if not seen:
            raise _not_yet(until)
        span = TimeSpan(start=min(spot.time for spot in seen), end=max(spot.time for spot in seen))
        return self._look("state", span, until, question=question, subject=subject, spots=seen)

    def knows_caption(self, span: TimeSpan, *, until: float) -> bool:
        """Whether a caption of that stretch is kept, so that it costs nothing."""
        span = self._visible(span, until)
        return self.kept.get(self._name("caption", self._asked(span, until))) is not None

    def said(self, *, until: float) -> list[tuple[TimeSpan, str, float]]:
        """The kept captions of stretches that are over by then: stretch, text, and the time of a frame of it."""
        return [
            (TimeSpan(start=kept.start, end=kept.end), kept.text, kept.frame_times[len(kept.frame_times) // 2])
            for kept in self.kept.all()
            if kept.task == "caption" and kept.end <= until
        ]

    @staticmethod
    def _visible(span: TimeSpan, until: float) -> TimeSpan:
        if span.start >= until:
            raise _not_yet(until)
        return TimeSpan(start=round_time(span.start), end=round_time(min(span.end, until)))

    def _asked(
        self, span: TimeSpan, until: float, question: str = "", subject: str = "", spots: Sequence[Spot] | None = None
    ) -> dict[str, Any]:
        """What a look depends on beside the world and who looks."""
        if spots is None:
            times: Sequence[float] = self._eyes.choice.times(span, until)
            boxes = None
        else:
            times = [round_time(min(spot.time, max(0.0, until - BEFORE))) for spot in spots]
            boxes = [None if spot.box is None else spot.box.rounded() for spot in spots]
        return {
            "start": span.start,
            "end": span.end,
            "times": list(times),
            "boxes": boxes,
            "question": question,
            "subject": subject,
        }

    def _name(self, task: LookTask, asked: dict[str, Any]) -> str:
        return content_hash([self._world_hash, self.producer, task, asked])[:32]

    def _look(
        self,
        task: LookTask,
        span: TimeSpan,
        until: float,
        *,
        question: str = "",
        subject: str = "",
        spots: Sequence[Spot] | None = None,
    ) -> Sight:
        asked = self._asked(span, until, question, subject, spots)
        request = self._name(task, asked)
        self._allowance.take(request)
        try:
            kept, is_new = self.kept.once(request, lambda: self._ask(task, span, asked, request))
        except VideoWorldError:
            self._allowance.failed(request)
            raise
        if not is_new:
            charge(kept.cost.again(request))
        return _sight(kept)

    def _ask(self, task: LookTask, span: TimeSpan, asked: dict[str, Any], request: str) -> KeptSight:
        with self._places:
            reply = self._eyes.vision.look(
                LookRequest(
                    task=task,
                    span=span,
                    pictures=self._pictures(asked),
                    request=request,
                    question=asked["question"],
                    subject=asked["subject"],
                )
            )
        return KeptSight(
            request=request,
            producer=self.producer,
            task=task,
            start=span.start,
            end=span.end,
            asked=asked,
            frame_times=tuple(asked["times"]),
            text=reply.text,
            confidence=reply.confidence,
            uncertain=reply.uncertain,
            actions=tuple(KeptAction(label=a.label, confidence=a.confidence) for a in reply.actions),
            cost=KeptCost.of(reply.spent),
        )

    def _pictures(self, asked: dict[str, Any]) -> tuple[Picture, ...]:
        times, boxes = asked["times"], asked["boxes"]
        if self._frames is None:
            raise MediaFault(
                "source_missing",
                "the video file is no longer where it was when the world was built",
                hint="put the file back, or build the world again",
            )
        if boxes is None:
            images = self._frames.pictures_played_at(times, self._eyes.vision.longest_side)
            return tuple(Picture(time=time, image=image) for time, image in zip(times, images, strict=True))
        images = self._frames.pictures_played_at(times, None)
        return tuple(
            Picture(time=time, image=image if box is None else _part(image, box), is_part=box is not None)
            for time, image, box in zip(times, images, boxes, strict=True)
        )


def _part(image: Image, box: Sequence[float]) -> Image:
    """What is around a box, with a margin, inside the frame."""
    height, width = image.shape[:2]
    x1, y1, x2, y2 = box
    across, down = _MARGIN * (x2 - x1) + 1, _MARGIN * (y2 - y1) + 1
    left, right = _bounds(x1 - across, x2 + across, width)
    top, bottom = _bounds(y1 - down, y2 + down, height)
    return np.ascontiguousarray(image[top:bottom, left:right])


def _bounds(first: float, last: float, size: int) -> tuple[int, int]:
    """Whole pixels inside the frame, at least ``_SMALLEST_PART`` of them where it has so many."""
    middle, half = (first + last) / 2, max((last - first) / 2, _SMALLEST_PART / 2)
    low, high = math.floor(middle - half), math.ceil(middle + half)
    low, high = max(0, min(low, size - _SMALLEST_PART)), min(size, max(high, _SMALLEST_PART))
    return low, high


def _sight(kept: KeptSight) -> Sight:
    return Sight(
        text=kept.text,
        confidence=kept.confidence,
        frame_times=kept.frame_times,
        producer=kept.producer,
        uncertain=kept.uncertain,
        actions=tuple(SeenAction(label=a.label, confidence=a.confidence) for a in kept.actions),
        request=kept.request,
    )


def _not_yet(until: float) -> OperationFault:
    return OperationFault(
        "not_yet",
        f"that has not been seen yet: this session sees the video up to {until:g} s",
        hint="ask about earlier times",
    )
