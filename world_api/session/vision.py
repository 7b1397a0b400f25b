"""Vision models and detectors on demand: requests about frames, answered once and cached outside the world.

The cache key of a look covers the world and its source, the model (with its prompts, picture size and choice of frames) and the
request. No frame after ``until``, the end of what a session sees, is ever used. Detections are cached by world, detector and
arguments. The world itself never changes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, RLock
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from world_api.core.attributes import attributes_of
from world_api.core.canonical import content_hash
from world_api.core.cost import charge
from world_api.core.faults import BackendFault, MediaFault, OperationFault, StoreFault, VideoWorldError
from world_api.core.files import write_atomically
from world_api.core.ports import (
    DetectedObject,
    EmbeddingModel,
    FrameSource,
    Image,
    LookReply,
    LookRequest,
    LookTask,
    ObjectDetector,
    Picture,
    VisionModel,
)
from world_api.core.spans import Box, TimeSpan, round_time
from world_api.session.entity_views import (
    LookSpot,
    best_views,
    entities_in,
    linked_ids,
    sharpest,
    with_links,
    without_links,
)
from world_api.session.vision_cache import CachedAction, CachedCost, CachedLook, LookSet, VisionCache
from world_api.world.tracks import Track
from world_api.world.view import View

#: What a look depends on besides the world and the model: interval, times, boxes, question, subject; part of its key.
Parameters = dict[str, Any]

#: Least seconds between a look and the cut: a frame counts from half a millisecond early, and the cut's is hidden.
BEFORE = 0.001
#: Pictures of a thing that a question about it uses at most.
MAX_SPOTS = 3
#: Characters of the longest question that operations take.
LONGEST_QUESTION = 2_000


@dataclass(frozen=True, kw_only=True)
class FrameChoice:
    """Which frames of an interval are used: evenly spread, one for each ``spacing`` seconds begun, but at most ``most``."""

    most: int = 6
    spacing: float = 1.0

    def count(self, seconds: float) -> int:
        """Return the number of frames of an interval of this length; at least 1."""
        return max(1, min(self.most, math.ceil(seconds / self.spacing - 1e-9)))

    def times(self, span: TimeSpan, until: float) -> tuple[float, ...]:
        """Return the times of the frames in seconds: the middles of equal parts of the interval, before ``until``."""
        end = min(span.end, until)
        start = min(span.start, end)
        count = self.count(end - start)
        step = (end - start) / count
        latest = max(0.0, until - BEFORE)
        return tuple(dict.fromkeys(round_time(min(start + (i + 0.5) * step, latest)) for i in range(count)))


@dataclass(frozen=True, kw_only=True)
class VisionConfig:
    """A vision model and how it is used.

    ``embedder`` compares captions by meaning, if there is one. ``at_once``: most concurrent requests. ``most_looks``:
    most looks in one session, None for any number. Every request that is sent counts, and so does a cached look the
    first time, so that a full and an empty cache give the same result. Requests that a client repeats after no reply do
    not count. ``host``: where frames are sent.
    """

    vision: VisionModel
    embedder: EmbeddingModel | None = None
    choice: FrameChoice = field(default_factory=FrameChoice)
    at_once: int = 8
    most_looks: int | None = None
    host: str = ""

    @property
    def producer(self) -> str:
        """A text that names what an answer depends on besides world and request: the model and the choice of frames."""
        return f"{self.vision.producer}/{self.choice.most}x{self.choice.spacing:g}s"


class LookBudget:
    """Counts the looks (requests to the vision model) of one session; ``request``: the hash of one. Threads may share it.

    ``count`` and ``reuse`` raise:
        OperationFault: ``looks_spent``, if no more are allowed.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._counted: set[str] = set()
        self._used = 0
        self._lock = RLock()

    def count(self, looks: int = 1) -> None:
        """Count a request that is about to be sent, whether or not it succeeds; 0 only checks that one may be sent."""
        with self._lock:
            if self._most is not None and self._used >= self._most:
                raise OperationFault(
                    "looks_spent",
                    f"a model has looked {self._most} times in this session, which is all it may",
                    hint="use what was seen so far; the caller may allow more with --looks",
                )
            self._used += looks

    def made(self, request: str) -> None:
        """Record that a look was answered: this session can use it again without another count."""
        with self._lock:
            self._counted.add(request)

    def reuse(self, request: str) -> None:
        """Count a look taken from the cache (``request``: its hash), unless this session has counted it before."""
        with self._lock:
            if request not in self._counted:
                self.count()
                self._counted.add(request)


_MARGIN = 0.35  #: of a box's size, shown around what is cut out
_SMALLEST_PART = 32  #: pixels; a smaller part shows nothing


def part_of(image: Image, box: Sequence[float]) -> Image:
    """Return the part of a frame in a box (x1, y1, x2, y2 in pixels), with a margin around it."""
    height, width = image.shape[:2]
    x1, y1, x2, y2 = box
    across, down = _MARGIN * (x2 - x1) + 1, _MARGIN * (y2 - y1) + 1
    left, right = _bounds(x1 - across, x2 + across, width)
    top, bottom = _bounds(y1 - down, y2 + down, height)
    return np.ascontiguousarray(image[top:bottom, left:right])


def _bounds(first: float, last: float, size: int) -> tuple[int, int]:
    """Return the bounds of a crop along one axis, in whole pixels inside the frame.

    They are at least ``_SMALLEST_PART`` apart if the frame is that large.
    """
    middle, half = (first + last) / 2, max((last - first) / 2, _SMALLEST_PART / 2)
    low, high = math.floor(middle - half), math.ceil(middle + half)
    low, high = max(0, min(low, size - _SMALLEST_PART)), min(size, max(high, _SMALLEST_PART))
    return low, high


class NoFrames:
    """The frames of a video that is not on this machine (``FrameSource``): every request raises ``fault``."""

    def __init__(self, fault: MediaFault) -> None:
        self._fault = fault

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> Sequence[Image]:
        """Raise ``fault``, which says why the video is not available."""
        raise MediaFault(self._fault.code, self._fault.message, hint=self._fault.hint)


class NoDetector:
    """The detector of a world whose weights are not on this machine (``ObjectDetector``); every detection raises a fault.

    ``producer`` is that of the detector, so that detections kept from before serve, and begins with its name.
    """

    def __init__(self, producer: str, categories: frozenset[str]) -> None:
        self.producer = producer
        self._categories = categories

    def categories(self) -> frozenset[str]:
        """Return the categories that the detector knew."""
        return self._categories

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Raise BackendFault ``model_missing``."""
        name = _HASH_AND_LIMITS.sub("", self.producer)
        what = f"the detector {name} with which this world was built is not on this machine"
        hint = f"`videoworld models pull {name}` fetches it, with --from FOLDER one of your own; `models check` compares hashes"
        raise BackendFault("model_missing", what, hint=hint)


_HASH_AND_LIMITS = re.compile(r"-[0-9a-f]{16}/.*")


class FrameLooker:
    """Detects objects in single frames of one world's video, with a cache. ``world_key`` identifies the frames."""

    def __init__(self, *, frames: FrameSource, detector: ObjectDetector, world_key: str, cache: Path) -> None:
        self._frames = frames
        self._detector = detector
        self._world_key = world_key
        self._cache = cache

    @property
    def producer(self) -> str:
        """The detector and its settings."""
        return self._detector.producer

    def categories(self) -> frozenset[str]:
        """Return the categories that the detector knows."""
        return self._detector.categories()

    def detect(self, time: float, category: str) -> Sequence[DetectedObject]:
        """Return objects of a category in the frame that is shown at a time (seconds), the most confident first.

        Raises MediaFault: ``source_missing``, ``undecodable``; BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
        """
        key = content_hash([self._detector.producer, "detect", round_time(time), category])
        path = self._cache / self._world_key[:16] / f"{key[:32]}.json"
        with suppress(OSError, ValueError):  # ValueError: it holds no detections
            return _DETECTIONS.validate_json(path.read_bytes())
        found = self._detect(time, category)
        with suppress(StoreFault):  # a read-only store can still be queried
            write_atomically(path, _DETECTIONS.dump_json(found))
        return found

    def _detect(self, time: float, category: str) -> list[DetectedObject]:
        """Return what the detector finds, without the cache; numbers are rounded as in the cache."""
        [frame] = self._frames.pictures_played_at([time], None)
        found = self._detector.detect(frame, category)
        return [
            DetectedObject(
                category=seen.category,
                box=Box(**dict(zip(("x1", "y1", "x2", "y2"), seen.box.rounded(), strict=True))),
                confidence=round(seen.confidence, 4),
            )
            for seen in found
        ]


_DETECTIONS = TypeAdapter(list[DetectedObject])


class SearchedCaption(NamedTuple):
    """A caption as a session searches it: interval, text without ids, the time of one of its frames, entities by id."""

    span: TimeSpan
    text: str
    frame_time: float
    entities: tuple[str, ...]


class Vision:
    """Requests looks at one world's video from a vision model, for one session. Threads may share it.

    Cached looks are returned even if the video is missing (``NoFrames``). ``world_key`` identifies the frames. ``view`` is
    what the session sees of a world whose entities are recognised things, which captions then name; else None.
    ``until`` (seconds) is the end of what the session sees; no frame at or after it is used.

    ``caption``, ``answer``, ``actions``, ``state`` and ``attributes`` raise:
        OperationFault: ``not_yet``, if nothing of the interval is visible; ``looks_spent``.
        MediaFault: ``source_missing``, ``undecodable``.
        BackendFault: the faults of the model.
    """

    def __init__(
        self, config: VisionConfig, *, frames: FrameSource, world_key: str, cache: Path, view: View | None = None
    ) -> None:
        self._config = config
        self.entities = view
        self._frames = frames
        self._world_key = world_key
        self._places = BoundedSemaphore(config.at_once)
        self._allowance = LookBudget(config.most_looks)
        self.producer = config.producer
        self.most_looks = config.most_looks
        folder = cache / world_key[:16] / content_hash(self.producer)[:16]
        self.kept = VisionCache(folder, lambda kept: self._name(kept.task, kept.parameters, kept.producer))

    def caption(self, span: TimeSpan, *, until: float) -> CachedLook:
        """Return a look, new or cached, that describes an interval in words, by its frames before ``until`` (seconds)."""
        return self._look("caption", self._caption_parameters(span, until))

    def attributes(self, track: Track) -> CachedLook:
        """Return a look, new or cached, that judges the attributes of a tracked entity from crops of its best views."""
        return self._look("attributes", self._attribute_parameters(track))

    def answer(self, span: TimeSpan, question: str, *, until: float) -> CachedLook:
        """Return a look, new or cached, that answers a question about an interval from its frames.

        ``until``: only frames before this time of the video (seconds) are used.
        """
        return self._look("answer", self._parameters(span, until, question))

    def actions(self, span: TimeSpan, *, until: float) -> CachedLook:
        """Return a look, new or cached, with short labels of the actions in an interval before ``until`` (seconds)."""
        return self._look("actions", self._parameters(span, until))

    def state(self, spots: Sequence[LookSpot], question: str, *, subject: str, until: float) -> CachedLook:
        """Return a look that answers a question about one thing, from crops at the first ``MAX_SPOTS`` visible moments.

        ``subject``: the thing in words; ``until``: where the visible part of the video ends (seconds).
        """
        seen = [spot for spot in spots if spot.time <= until][:MAX_SPOTS]
        if not seen:
            raise _not_yet(until)
        parameters: Parameters = {
            "start": min(spot.time for spot in seen),
            "end": max(spot.time for spot in seen),
            "times": [round_time(min(spot.time, max(0.0, until - BEFORE))) for spot in seen],
            "boxes": [None if spot.box is None else spot.box.rounded() for spot in seen],
            "question": question,
            "subject": subject,
        }
        return self._look("state", parameters)

    def _parameters(self, span: TimeSpan, until: float, question: str = "") -> Parameters:
        """Return what a look at the visible part of an interval depends on besides the world and the model.

        Raises OperationFault: ``not_yet``, if nothing of the interval is visible.
        """
        if span.start >= until:
            raise _not_yet(until)
        visible = TimeSpan(start=round_time(span.start), end=round_time(min(span.end, until)))
        times = list(self._config.choice.times(visible, until))
        facts = {"start": visible.start, "end": visible.end, "times": times, "boxes": None}
        return {**facts, "question": question, "subject": ""}

    def _caption_parameters(self, span: TimeSpan, until: float) -> Parameters:
        """Return the same for a caption, with the entities that it may name, if there are any."""
        parameters = self._parameters(span, until)
        visible = TimeSpan(start=parameters["start"], end=parameters["end"])
        named = [] if self.entities is None else entities_in(self.entities, visible, parameters["times"])
        return {**parameters, **({"entities": named} if named else {})}

    def named_in(self, span: TimeSpan, *, until: float) -> list[dict[str, Any]]:
        """Return records of the entities that a caption of an interval, cut at ``until`` (seconds), may name."""
        found: list[dict[str, Any]] = self._caption_parameters(span, until).get("entities", [])
        return found

    def _attribute_parameters(self, track: Track) -> Parameters:
        """Return what a look at a tracked entity depends on: the views that are compared, and the words."""
        spots = best_views(track)
        return {
            "start": spots[0].time,
            "end": spots[-1].time,
            "times": [spot.time for spot in spots],
            "boxes": [None if spot.box is None else spot.box.rounded() for spot in spots],
            "question": "",
            "subject": track.hint,
            "entity": track.entity_id,
            "words": list(attributes_of(track.category)),
        }

    def kept_caption(self, span: TimeSpan, *, until: float) -> CachedLook | None:
        """Return the cached caption of an interval, cut at ``until`` (seconds of video); None if there is none."""
        return self.kept.get(self._name("caption", self._caption_parameters(span, until)))

    def kept_attributes(self, track: Track) -> CachedLook | None:
        """Return the cached look at a tracked entity; None if there is none."""
        return self.kept.get(self._name("attributes", self._attribute_parameters(track)))

    def search_from_now(self, spans: Sequence[TimeSpan], tracks: Sequence[Track] = (), *, until: float) -> LookSet:
        """Let new sessions use exactly the cached captions of ``spans``, cut at ``until`` (seconds), and looks at ``tracks``.

        Returns their set.
        """
        kept = [self.kept_caption(span, until=until) for span in spans]
        kept += [self.kept_attributes(track) for track in tracks]
        looks = LookSet.of([look for look in kept if look is not None])
        if looks != self.kept.listed():
            self.kept.store_listed(looks)
        return looks

    def captions_of(self, looks: LookSet, *, until: float) -> list[SearchedCaption]:
        """Return the captions of a set that end by ``until`` (seconds).

        A caption that is no longer cached with the listed content is left out, and so is one that names entities as this
        view does not know them, since it rests on what is beyond the cut.
        """
        return [
            SearchedCaption(
                span=TimeSpan(start=kept.start, end=kept.end),
                text=without_links(kept.text) if (linked := self.linked(kept)) else kept.text,
                frame_time=kept.frame_times[len(kept.frame_times) // 2],
                entities=tuple(linked),
            )
            for kept in self._listed(looks, "caption", until)
            if "entities" not in kept.parameters or self._is_of_view(kept, until)
        ]

    def judged(self, looks: LookSet, *, until: float) -> dict[str, CachedLook]:
        """Return the looks at entities of a set, by entity id, of which the view has the same sightings."""
        found = self._listed(looks, "attributes", until)
        return {str(kept.parameters["entity"]): kept for kept in found if self._is_of_view(kept, until)}

    def linked(self, caption: CachedLook) -> list[str]:
        """Return the ids of the entities that a caption names."""
        return linked_ids(caption.text, [str(one["id"]) for one in caption.parameters.get("entities", ())])

    def _listed(self, looks: LookSet, task: LookTask, until: float) -> list[CachedLook]:
        found = (self.kept.get(item.request) for item in looks.looks if item.end <= until)
        listed = {item.digest for item in looks.looks}
        return [
            kept
            for kept in found
            if kept is not None and kept.digest in listed and kept.task == task and kept.end <= until
        ]

    def _is_of_view(self, kept: CachedLook, until: float) -> bool:
        """Whether a look rests on entities as the view knows them: its request made from the view is the same."""
        view = self.entities
        if view is None or view.complete:
            return view is not None
        if kept.task == "caption":
            parameters = self._caption_parameters(TimeSpan(start=kept.start, end=kept.end), until)
        elif (track := view.track_of_entity(str(kept.parameters.get("entity")))) is not None:
            parameters = self._attribute_parameters(track)
        else:
            return False
        return kept.request == self._name(kept.task, parameters)

    def _name(self, task: LookTask, parameters: Parameters, producer: str | None = None) -> str:
        return content_hash([self._world_key, producer or self.producer, task, parameters])[:32]

    def _look(self, task: LookTask, parameters: Parameters) -> CachedLook:
        request = self._name(task, parameters)
        kept, is_new = self.kept.once(request, lambda: self._ask(task, parameters, request))
        if not is_new:
            self._allowance.reuse(request)
            charge(kept.cost.again(request))
        return kept

    def _ask(self, task: LookTask, parameters: Parameters, request: str) -> CachedLook:
        """Return a new look of the model; ``request``: its hash. Every request that is sent counts, even if it fails."""
        self._allowance.count(0)
        with self._places:
            pictures = self._pictures(parameters)
            if task == "attributes":
                pictures = tuple(pictures[place] for place in sharpest([picture.image for picture in pictures]))
            look = LookRequest(
                task=task,
                span=TimeSpan(start=parameters["start"], end=parameters["end"]),
                pictures=pictures,
                request=request,
                question=parameters["question"],
                subject=parameters["subject"],
                words=tuple(parameters.get("words", ())),
                entities=tuple(parameters.get("entities", ())),
                again=self._allowance.count,
            )
            self._allowance.count()
            try:
                made = self._record(look, parameters, self._config.vision.look(look))
            except VideoWorldError:
                raise
            except Exception as error:  # a third-party adapter may raise or return anything
                raise BackendFault(
                    "sight_unreadable",
                    f"what {self._config.vision.name} said about these frames cannot be kept: {type(error).__name__}",
                    hint="ask again; a model that often does so is not made for this",
                ) from error
        self._allowance.made(request)
        return made

    def _record(self, look: LookRequest, parameters: Parameters, reply: LookReply) -> CachedLook:
        text, note = reply.text, ""
        if look.task == "caption":
            text, note = with_links(text, {str(one["id"]): str(one["hint"]) for one in look.entities})
        return CachedLook(
            request=look.request,
            producer=self.producer,
            task=look.task,
            start=look.span.start,
            end=look.span.end,
            parameters=parameters,
            frame_times=tuple(picture.time for picture in look.pictures),
            text=text,
            confidence=reply.confidence,
            uncertain="; ".join(filter(None, [reply.uncertain, note])),
            affirmed=tuple(word for word in reply.affirmed if word in look.words),
            denied=tuple(word for word in reply.denied if word in look.words and word not in reply.affirmed),
            actions=tuple(CachedAction(label=a.label, confidence=a.confidence) for a in reply.actions),
            cost=CachedCost.of(reply.spent),
        ).sealed()

    def _pictures(self, parameters: Parameters) -> tuple[Picture, ...]:
        times, boxes = parameters["times"], parameters["boxes"]
        side = self._config.vision.longest_side if boxes is None else None  # parts are cut out of whole frames
        images = self._frames.pictures_played_at(times, side)
        return tuple(
            Picture(time=time, image=image if box is None else part_of(image, box), is_part=box is not None)
            for time, image, box in zip(times, images, boxes or [None] * len(times), strict=True)
        )


def _not_yet(until: float) -> OperationFault:
    return OperationFault(
        "not_yet",
        f"that has not been seen yet: this session sees the video up to {until:g} s",
        hint="ask about earlier times",
    )
