"""Having a model look at stretches of one video, once each; what it says is kept outside the world.

A look is known by what it depends on: the world and its source, who looks (model, prompts, size and choice of frames) and
what is asked. No frame after ``until``, the end of what a session sees, is ever taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from world_api.core.ambient.spending import charge
from world_api.core.boxes import Box
from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault, MediaFault, OperationFault, VideoWorldError
from world_api.core.ports import LookReply, LookRequest, LookTask, Picture, PictureSource, SeenAction
from world_api.core.spans import TimeSpan, round_time
from world_api.world.sessions.caption_sets import CaptionSet, CaptionSetFile
from world_api.world.sessions.eyes import BEFORE, MAX_SPOTS, Allowance, Eyes
from world_api.world.sessions.parts import part_of
from world_api.world.sessions.sights import KeptAction, KeptCost, KeptSight, SightFolder


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

    ``frames`` None: the video is not there (any more); what was seen before is told all the same. ``world_key`` says whose
    frames they are.
    """

    def __init__(self, eyes: Eyes, *, frames: PictureSource | None, world_key: str, cache: Path | None) -> None:
        self._eyes = eyes
        self._frames = frames
        self._world_key = world_key
        self._places = BoundedSemaphore(eyes.at_once)
        self._allowance = Allowance(eyes.most_looks)
        self.producer = eyes.producer
        self.most_looks = eyes.most_looks
        folder = cache / world_key[:16] / content_hash(self.producer)[:16] if cache is not None else None
        self.kept = SightFolder(folder, lambda kept: self._name(kept.task, kept.asked, kept.producer))
        self._searched = CaptionSetFile(folder)

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
        """A question about one thing, answered from what is around it at some moments, the first ``MAX_SPOTS`` visible ones.

        Raises:
            OperationFault: ``not_yet``, where no moment is visible.
            MediaFault: ``source_missing``, ``undecodable``.
            BackendFault: as the model names it.
        """
        seen = [spot for spot in spots if spot.time <= until][:MAX_SPOTS]
        if not seen:
            raise _not_yet(until)
        span = TimeSpan(start=min(spot.time for spot in seen), end=max(spot.time for spot in seen))
        return self._look("state", span, until, question=question, subject=subject, spots=seen)

    def knows_caption(self, span: TimeSpan, *, until: float) -> bool:
        """Whether a caption of that stretch is kept, so that it costs nothing."""
        span = self._visible(span, until)
        return self.kept.get(self._name("caption", self._asked(span, until))) is not None

    def searched(self) -> CaptionSet:
        """The captions that sessions which are opened now search."""
        return self._searched.read()

    def search_from_now(self, spans: Sequence[TimeSpan], *, until: float) -> CaptionSet:
        """Have the kept captions of some whole stretches searched by sessions that are opened from now on, and no others."""
        names = (self._name("caption", self._asked(self._visible(span, until), until)) for span in spans)
        captions = CaptionSet.of([kept for name in names if (kept := self.kept.get(name)) is not None])
        if captions != self._searched.read():
            self._searched.write(captions)
        return captions

    def said(self, captions: CaptionSet, *, until: float) -> list[tuple[TimeSpan, str, float]]:
        """The captions of a set of stretches that are over by then: stretch, text, and the time of a frame of it.

        One that is no longer kept as it was listed is left out.
        """
        looks = (self.kept.get(item.request) for item in captions.captions if item.end <= until)
        listed = {item.digest for item in captions.captions}
        return [
            (TimeSpan(start=kept.start, end=kept.end), kept.text, kept.frame_times[len(kept.frame_times) // 2])
            for kept in looks
            if kept is not None and kept.digest in listed and kept.task == "caption" and kept.end <= until
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

    def _name(self, task: LookTask, asked: dict[str, Any], producer: str | None = None) -> str:
        return content_hash([self._world_key, producer or self.producer, task, asked])[:32]

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
        kept, is_new = self.kept.once(request, lambda: self._ask(task, span, asked, request))
        if not is_new:
            self._allowance.tell(request)
            charge(kept.cost.again(request))
        return _sight(kept)

    def _ask(self, task: LookTask, span: TimeSpan, asked: dict[str, Any], request: str) -> KeptSight:
        """Have the model look. Every request that is sent counts, whatever comes of it."""
        self._allowance.check()
        with self._places:
            look = LookRequest(
                task=task,
                span=span,
                pictures=self._pictures(asked),
                request=request,
                question=asked["question"],
                subject=asked["subject"],
                again=self._allowance.sends,
            )
            self._allowance.sends()
            try:
                made = self._record(look, asked, self._eyes.vision.look(look))
            except VideoWorldError:
                raise
            except Exception as error:  # who looks may be anybody's code, and what it says anything
                raise BackendFault(
                    "sight_unreadable",
                    f"what {self._eyes.vision.name} said about these frames cannot be kept: {type(error).__name__}",
                    hint="ask again; a model that often does so is not made for this",
                ) from error
        self._allowance.made(request)
        return made

    def _record(self, look: LookRequest, asked: dict[str, Any], reply: LookReply) -> KeptSight:
        return KeptSight(
            request=look.request,
            producer=self.producer,
            task=look.task,
            start=look.span.start,
            end=look.span.end,
            asked=asked,
            frame_times=tuple(asked["times"]),
            text=reply.text,
            confidence=reply.confidence,
            uncertain=reply.uncertain,
            actions=tuple(KeptAction(label=a.label, confidence=a.confidence) for a in reply.actions),
            cost=KeptCost.of(reply.spent),
        ).sealed()

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
            Picture(time=time, image=image if box is None else part_of(image, box), is_part=box is not None)
            for time, image, box in zip(times, images, boxes, strict=True)
        )


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
