"""The stage that writes ``sightings``: moving things in front of a steady camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.build.tracking.background import Background, Mask
from world_api.build.tracking.blobs import Blob, find_blobs, outline
from world_api.build.tracking.camera import CameraWatch
from world_api.build.tracking.colour_words import colour_words
from world_api.build.tracking.tracker import Candidate, Tracker
from world_api.build.tracking.votes import PersonScorer, PersonVotes
from world_api.core.boxes import Box
from world_api.core.ports import Image
from world_api.core.spans import known_time, round_time

_FPS, _MAX_SIDE = 5.0, 320
_WARM_UP, _LOOK_AHEAD = 60.0, 3.0
#: The warm-up is seen at full rate only in its last part; before that one frame a second is enough for the background.
_WARM_TRACKING, _SLOW_STEP = 12.0, 0.95
#: A real thing that has not moved at all for this long (seconds) becomes background: a person, anything else.
_PERSON_STAYS, _THING_STAYS = 60.0, 25.0
#: A ghost: the background has so much more edge along the outline than the frame has, this often in a row.
_GHOST_GAIN, _GHOST_VOTES = 4.0, 3
_THING_MARGIN = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))


class MovingThings:
    """Tracks of moving things with boxes, colour words and a category; ``people`` votes on who is a person."""

    def __init__(self, people: Callable[[], PersonScorer]) -> None:
        self._people = people
        self.spec = StageSpec(
            name="moving_things",
            version=1,
            tables=("sightings",),
            sampling=Sampling(fps=_FPS, max_side=_MAX_SIDE, warm_up=_WARM_UP, look_ahead=_LOOK_AHEAD),
            parameters={"max_side": _MAX_SIDE, "people": people().producer},
            libraries=("opencv-python-headless", "av", "numpy"),
        )

    def open(self, clip: Clip) -> MovingThingsWorker:
        """A fresh worker."""
        return MovingThingsWorker(clip, self._people(), self.spec.producer)


@dataclass(kw_only=True)
class _Followed:
    """What is noted about one track beside where it is."""

    votes: PersonVotes = field(default_factory=PersonVotes)
    pending: list[Record] = field(default_factory=list)
    name: str = ""


class MovingThingsWorker:
    """Follows things through the window of one clip."""

    def __init__(self, clip: Clip, people: PersonScorer, producer: str) -> None:
        self._clip = clip
        self._people = people
        self._producer = producer
        self._watch = CameraWatch()
        self._tracker = Tracker()
        self._background: Background | None = None
        self._last_time: float | None = None
        self._shot_start = 0.0
        self._followed: dict[int, _Followed] = {}
        self._rows: list[Record] = []
        self._names = 0
        self._ghosts: list[tuple[Box, int]] = []

    def see(self, frame: Frame) -> None:
        """Take one sampled frame."""
        if self._is_skipped(frame.time):
            return
        elapsed = frame.time - self._last_time if self._last_time is not None else 1 / _FPS
        self._last_time = frame.time
        picture = cv2.GaussianBlur(frame.picture(_MAX_SIDE), (3, 3), 0)
        broke = self._watch.look(picture, frame.time)
        if broke or self._background is None:
            self._begin_shot(picture, frame.time)
            return
        difference = self._background.difference(picture)
        if self._watch.background_failed(difference.share, frame.time):
            self._begin_shot(picture, frame.time)
            return
        if not self._watch.is_steady(frame.time):
            self._tracker.clear()
            self._background.follow(picture, np.zeros_like(difference.weak), 10 * elapsed)
            return
        blobs = self._without_ghosts(find_blobs(difference), picture)
        for track in self._tracker.step(blobs, frame.time):
            self._note(track, frame, picture)
        self._settle(picture, frame.time)
        self._background.follow(picture, _places(blobs, difference.weak), elapsed)

    def finish(self) -> Records:
        """The sightings of the clip's span."""
        return {"sightings": self._rows}

    def _is_skipped(self, time: float) -> bool:
        early = time < self._clip.span.start - _WARM_TRACKING
        return early and self._last_time is not None and time - self._last_time < _SLOW_STEP

    def _begin_shot(self, picture: Image, time: float) -> None:
        self._background = Background(picture)
        self._shot_start = time
        self._tracker.clear()

    def _settle(self, picture: Image, time: float) -> None:
        """Hand over to the background what is no moving thing: things left behind, things at rest for long."""
        assert self._background is not None  # noqa: S101 - set before any blob exists
        undecided = self._tracker.undecided(time)
        for track in list(self._tracker.alive):
            if track.last_blob is None or track.seen < time:
                continue
            stays = _PERSON_STAYS if self._of(track).votes.is_person else _THING_STAYS
            if track in undecided or time - track.moved_at > stays:
                self._background.replace(picture, cv2.dilate(track.last_blob.on(picture.shape[:2]), _THING_MARGIN))
                self._tracker.drop(track)

    def _without_ghosts(self, blobs: list[Blob], picture: Image) -> list[Blob]:
        """Find what is only in the background picture (its outline is there and not in the frame), and mend that."""
        assert self._background is not None  # noqa: S101 - blobs come from it
        if not blobs:
            self._ghosts = []
            return []
        gain = self._background.edge_gain(picture)
        real, suspects = [], []
        for blob in blobs:
            if float(gain[outline(blob, picture.shape[:2]) > 0].mean()) <= _GHOST_GAIN:
                real.append(blob)
                continue
            votes = 1 + max((votes for box, votes in self._ghosts if box.iou(blob.box) > 0.5), default=0)
            if votes >= _GHOST_VOTES:
                self._background.replace(picture, cv2.dilate(blob.on(picture.shape[:2]), _THING_MARGIN))
            else:
                suspects.append((blob.box, votes))
                real.append(blob)
        self._ghosts = suspects
        return real

    def _of(self, track: Candidate) -> _Followed:
        return self._followed.setdefault(track.number, _Followed())

    def _note(self, track: Candidate, frame: Frame, picture: Image) -> None:
        if frame.time < self._clip.span.start - _WARM_TRACKING or track.last_blob is None:
            return
        followed = self._of(track)
        box = _enlarged(track.last_blob.box, frame, picture)
        if track.confirmed_at is not None and followed.votes.is_due(frame.time):
            followed.votes.look(self._people, frame.picture(), box, frame.time)
        if self._clip.span.contains(frame.time):
            followed.pending.append(
                self._record(box, frame.time, colour_words(picture[track.last_blob.place], track.last_blob.mask))
            )
        told_apart = frame.time - self._shot_start >= self._watch.settling
        if track.confirmed_at is not None and followed.pending and told_apart:
            self._release(followed, frame.time)

    def _record(self, box: Box, time: float, colours: list[str]) -> Record:
        x1, y1, x2, y2 = box.rounded()
        return {
            "time": round_time(time), "x1": x1, "y1": y1, "x2": x2, "y2": y2, "colours": colours, "producer": self._producer,
        }  # fmt: skip

    def _release(self, followed: _Followed, time: float) -> None:
        """Write the sightings of a thing that is real: known from now on, judged by what was seen up to now."""
        if not followed.name:
            self._names += 1
            followed.name = f"t{self._clip.number:04d}_{self._names:02d}"
        votes = followed.votes
        for record in followed.pending:
            record["track"] = followed.name
            record["category"] = "person" if votes.is_person else "moving_object"
            record["confidence"] = votes.confidence
            record["known_at"] = known_time(time)
            self._rows.append(record)
        followed.pending.clear()


def _enlarged(box: Box, frame: Frame, picture: Image) -> Box:
    """A box of the small picture in pixels of the displayed frame."""
    height, width = frame.shape
    across, down = width / picture.shape[1], height / picture.shape[0]
    return Box(x1=box.x1 * across, y1=box.y1 * down, x2=box.x2 * across, y2=box.y2 * down)


def _places(blobs: list[Blob], like: Mask) -> Mask:
    """Where things stand, with a margin."""
    places = np.zeros_like(like)
    for blob in blobs:
        rows, columns = blob.place
        places[rows, columns] |= blob.mask
    dilated: Mask = cv2.dilate(places, _THING_MARGIN)
    return dilated
