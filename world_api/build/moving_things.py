"""The stage ``moving_things``: ``sightings`` and ``track_looks`` of moving things, and the motion of the ``camera``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np

from world_api.build.background import Background, Blob, Mask, Smooth, find_blobs, outline
from world_api.build.camera_motion import CameraWatch, Look
from world_api.build.descriptors import colour_words, describe, light_gains
from world_api.build.people import People, PersonScorer, PersonVotes
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec, box_columns, scaled
from world_api.build.tracker import Candidate, Tracker, TwoPictures
from world_api.core.ports import Image, Vector
from world_api.core.spans import Box, known_time, round_time
from world_api.media.frames import Frame

#: Seconds between two stored descriptors of a thing: at first, and after this many.
_SOON, _LATER, _OFTEN = 0.8, 3.0, 8

#: Seconds for which the colour words of a thing hold.
_COLOURS = 0.35
#: A thing this tall (pixels) in the small picture is voted on there, others in a picture of this longer side.
_TALL_ENOUGH, _VOTE_SIDE = 84.0, 640


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A sample: its time, its small picture, the empty scene, and the displayed frame's height and width.

    ``larger`` makes a larger picture (longer side in pixels) of the same frame.
    """

    time: float
    picture: Image
    scene: Background
    shape: tuple[int, int]
    larger: Callable[[int], Image]

    def enlarge(self, box: Box, shape: tuple[int, int] | None = None) -> Box:
        """A box of the small picture in pixels of another height and width; by default the displayed frame's."""
        height, width = shape or self.shape
        across, down = width / self.picture.shape[1], height / self.picture.shape[0]
        return scaled(box, across, down)


@dataclass(kw_only=True)
class Followed:
    """One tracked thing: its votes, rows that are not written yet, its name, and its last blob."""

    votes: PersonVotes = field(default_factory=PersonVotes)
    pending: list[Record] = field(default_factory=list)
    pending_looks: list[Record] = field(default_factory=list)
    name: str = ""
    looks: int = 0
    next_look: float = 0.0
    next_colours: float = 0.0
    last_blob: Blob | None = None
    colours: list[str] = field(default_factory=list)


class Notes:
    """The rows of one clip's things. A thing's rows are written only once it is confirmed."""

    def __init__(self, clip: Clip, people: PersonScorer, producer: str) -> None:
        self._clip = clip
        self._people = people
        self._producer = producer
        self._followed: dict[int, Followed] = {}
        self._names = 0
        self.sightings: list[Record] = []
        self.looks: list[Record] = []

    def of(self, number: int) -> Followed:
        """The notes about the thing of that number."""
        return self._followed.setdefault(number, Followed())

    def next_name(self) -> str:
        """The next free track name of the clip."""
        self._names += 1
        return f"t{self._clip.number:04d}_{self._names:02d}"

    def vote(self, number: int, blob: Blob, moment: Moment) -> None:
        """Vote on whether it is a person, when that is due."""
        votes = self.of(number).votes
        if votes.is_due(moment.time):
            cut_off = _cut_off(blob, moment.picture)
            if blob.box.height >= _TALL_ENOUGH:
                votes.look(self._people, lambda: moment.picture, blob.box, moment.time, cut_off=cut_off)
            else:
                longer = max(moment.shape)
                scale = min(1.0, _VOTE_SIDE / longer)
                shape = round(moment.shape[0] * scale), round(moment.shape[1] * scale)
                box = moment.enlarge(blob.box, shape)
                votes.look(self._people, lambda: moment.larger(_VOTE_SIDE), box, moment.time, cut_off=cut_off)

    def see(self, number: int, blob: Blob, moment: Moment, *, among_others: Box | None = None) -> None:
        """Note one sighting of the clip's span; the same blob keeps its colours.

        If the thing shares its blob, ``among_others`` is its box, and nothing else is noted: the blob's colours are not its own.
        """
        followed = self.of(number)
        if among_others is None and blob is not followed.last_blob:
            if moment.time >= followed.next_colours:
                followed.colours = colour_words(moment.picture[blob.place], blob.mask)
                followed.next_colours = moment.time + _COLOURS
            if moment.time >= followed.next_look and not _cut_off(blob, moment.picture):
                self._look(followed, blob, moment)
        followed.last_blob = blob
        columns = box_columns(moment.enlarge(among_others or blob.box))
        followed.pending.append({"time": round_time(moment.time), **columns, "colours": followed.colours})

    def release(self, number: int, time: float) -> None:
        """Write the notes of a confirmed thing: known from now on, with the category voted so far."""
        followed = self.of(number)
        if not followed.pending:
            return
        followed.name = followed.name or self.next_name()
        votes = followed.votes
        stamp = {"track": followed.name, "known_at": known_time(time), "producer": self._producer}
        judged = {"category": "person" if votes.is_person else "moving_object", "confidence": votes.confidence}
        self.sightings.extend(record | judged | stamp for record in followed.pending)
        self.looks.extend(record | stamp for record in followed.pending_looks)
        followed.pending.clear()
        followed.pending_looks.clear()

    def _look(self, followed: Followed, blob: Blob, moment: Moment) -> None:
        vector: Vector | None = describe(moment.picture[blob.place], blob.mask, light_gains(moment.scene.picture))
        if vector is None:
            return
        followed.looks += 1
        followed.next_look = moment.time + (_SOON if followed.looks < _OFTEN else _LATER)
        followed.pending_looks.append({"time": round_time(moment.time), "vector": vector})


def _cut_off(blob: Blob, picture: Image) -> bool:
    """Whether a blob touches the picture's edge, so that only part of the thing may be visible."""
    height, width = picture.shape[:2]
    box = blob.box
    return box.x1 <= 1 or box.y1 <= 1 or box.x2 >= width - 1 or box.y2 >= height - 1


_FPS, _MAX_SIDE, _GLANCE_SIDE = 4.0, 288, 160
_WARM_UP, _LOOK_AHEAD = 45.0, 3.0
#: Only the last part of the warm-up is processed at full rate; before that one frame a second is enough for the background.
_WARM_TRACKING, _WARM_VOTES, _SLOW_STEP = 3.0, 12.0, 0.95
#: The blobs of the last full comparison are reused if no more than this share of the pixels has changed since, for this long
#: (seconds): if nothing changed, and if hardly anything did.
_SAME, _NEARLY_SAME = (3e-4, 0.95), (2e-3, 0.35)
#: A pixel has changed if it differs by more than this many levels.
_SAME_LEVELS = 7
#: Seconds between two updates of the background while the camera moves.
_UNSTEADY_STEP = 0.35
#: A confirmed thing that has not moved for this long (seconds) becomes background: a person, any other thing.
_PERSON_STAYS, _THING_STAYS = 60.0, 25.0
#: A ghost: the background has this much more edge along the outline than the frame, this many times in a row.
_GHOST_GAIN, _GHOST_VOTES = 4.0, 3
_THING_MARGIN = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))
#: Seconds between two rows about the camera.
_CAMERA_STEP = 1.0
#: The modules of this package whose code makes the rows.
_MODULES = ("moving_things", "background", "camera_motion", "tracker", "people", "descriptors")


class MovingThings:
    """Tracks of moving things with boxes, colour words, descriptors and a category; ``people`` makes the person detector."""

    def __init__(self, people: Callable[[], PersonScorer]) -> None:
        self._people = people
        self.spec = StageSpec(
            name="moving_things",
            version=4,
            tables=("sightings", "track_looks", "camera"),
            sampling=Sampling(fps=_FPS, max_side=_MAX_SIDE, warm_up=_WARM_UP, look_ahead=_LOOK_AHEAD),
            parameters={"max_side": _MAX_SIDE, "people": people().producer},
            libraries=("opencv-python-headless", "av", "numpy"),
            modules=(
                *(f"world_api.build.{name}" for name in _MODULES),
                "world_api.core.spans",
                "world_api.core.lexicon",
                type(people()).__module__,
            ),
        )

    def open(self, clip: Clip) -> MovingThingsWorker:
        """A fresh worker."""
        return MovingThingsWorker(clip, self._people(), self.spec.producer)


class MovingThingsWorker:
    """Tracks things through the window of one clip."""

    def __init__(self, clip: Clip, people: PersonScorer, producer: str) -> None:
        self._clip = clip
        self._producer = producer
        self._watch = CameraWatch()
        self._tracker = Tracker()
        self._notes = Notes(clip, people, producer)
        self._people = People(clip, people, producer, self._notes.next_name)
        self._camera: list[Record] = []
        self._background: Background | None = None
        self._last_time: float | None = None
        self._shot_start = 0.0
        self._ghosts: list[tuple[Box, int]] = []
        # The results of the last full comparison.
        self._close_time = -1.0
        self._glance: Image | None = None
        self._picture = Smooth(np.zeros((1, 1, 3), dtype=np.uint8))
        self._before = self._picture, -1.0  #: the picture of the comparison before that one, and its time
        self._blobs: list[Blob] = []

    def see(self, frame: Frame) -> None:
        """Process one sampled frame."""
        if self._is_skipped(frame.time):
            return
        self._last_time = frame.time
        look = frame.derived(_glance)
        glance = look.gray
        broke = self._watch.see(look)
        self._note_camera(frame.time)
        if broke or self._background is None:
            self._begin_shot(self._look_closely(frame, glance), frame.time)
        elif not self._watch.is_steady(frame.time):
            self._keep_up(frame, glance, self._background)
        elif self._is_same(glance, frame.time):
            self._step(frame, self._background)
        else:
            self._follow(frame, glance, self._background)

    def finish(self) -> Records:
        """The rows of the clip's span."""
        return {
            "sightings": [*self._notes.sightings, *self._people.sightings],
            "track_looks": self._notes.looks,
            "camera": self._camera,
        }

    def _is_skipped(self, time: float) -> bool:
        early = time < self._clip.span.start - _WARM_TRACKING
        return early and self._last_time is not None and time - self._last_time < _SLOW_STEP

    def _is_same(self, glance: Image, time: float) -> bool:
        """Whether the results of the last full comparison still hold."""
        age = time - self._close_time
        if self._glance is None or age > _SAME[1]:
            return False
        changed = cv2.threshold(cv2.absdiff(glance, self._glance), _SAME_LEVELS, 1, cv2.THRESH_BINARY)[1]
        share, _ = _SAME if age > _NEARLY_SAME[1] else _NEARLY_SAME
        return bool(cv2.countNonZero(changed) <= share * changed.size)

    def _look_closely(self, frame: Frame, glance: Image) -> Smooth:
        self._glance, self._close_time = glance, frame.time
        self._picture = frame.derived(_smooth)
        return self._picture

    def _follow(self, frame: Frame, glance: Image, background: Background) -> None:
        """Compare a frame with the background, and update the tracks and the background."""
        elapsed = frame.time - self._close_time
        self._before = self._picture, self._close_time
        picture = self._look_closely(frame, glance)
        difference = background.difference(picture)
        if self._watch.background_failed(difference.share, frame.time):
            self._begin_shot(picture, frame.time)
            return
        self._blobs = self._without_ghosts(find_blobs(difference), picture)
        self._step(frame, background)
        background.follow(picture, _places(self._blobs, difference.weak), elapsed)

    def _keep_up(self, frame: Frame, glance: Image, background: Background) -> None:
        """While the camera moves: detect people, and update the background fast."""
        self._tracker.clear()
        self._blobs = []
        elapsed = frame.time - self._close_time
        if elapsed >= _UNSTEADY_STEP:
            picture = self._look_closely(frame, glance)
            background.follow(picture, None, 10 * elapsed)
        if frame.time >= self._clip.span.start - _WARM_TRACKING and self._people.is_due(frame.time):
            self._people.look(frame.picture(_MAX_SIDE), frame.time, frame.shape, self._watch)

    def _step(self, frame: Frame, background: Background) -> None:
        """Assign the blobs to the tracks."""
        moment = Moment(
            time=frame.time, picture=self._picture.bgr, scene=background, shape=frame.shape, larger=frame.picture
        )
        earlier, since = self._before
        looks = TwoPictures(before_picture=earlier.bgr, before_time=since, picture=self._picture.bgr, scene=background)
        for track in self._tracker.step(self._blobs, frame.time, looks):
            self._note(track, moment)
        self._settle(self._picture, frame.time)

    def _begin_shot(self, picture: Smooth, time: float) -> None:
        self._background = Background(picture)
        self._shot_start = time
        self._blobs = []
        self._tracker.clear()
        self._people.clear()

    def _settle(self, picture: Smooth, time: float) -> None:
        """Turn things that do not move into background: objects left behind, and things at rest for long."""
        assert self._background is not None  # noqa: S101 - set before any blob exists
        undecided = self._tracker.undecided(time)
        for track in list(self._tracker.alive):
            if track.last_blob is None or track.seen < time:
                continue
            lasts = track.shared is not None or self._notes.of(track.number).votes.is_person
            stays = _PERSON_STAYS if lasts else _THING_STAYS
            if track in undecided or time - track.moved_at > stays:
                self._background.replace(picture, cv2.dilate(track.last_blob.on(picture.shape), _THING_MARGIN))
                self._tracker.drop(track)

    def _without_ghosts(self, blobs: list[Blob], picture: Smooth) -> list[Blob]:
        """Remove ghosts (their outline is in the background picture and not in the frame), and repair the background there."""
        assert self._background is not None  # noqa: S101 - blobs come from it
        real, suspects = [], []
        for blob in blobs:
            place, band = outline(blob, picture.shape)
            if self._background.edge_gain(picture, place, band) <= _GHOST_GAIN:
                real.append(blob)
                continue
            votes = 1 + max((votes for box, votes in self._ghosts if box.iou(blob.box) > 0.5), default=0)
            if votes >= _GHOST_VOTES:
                self._background.replace(picture, cv2.dilate(blob.on(picture.shape), _THING_MARGIN))
            else:
                suspects.append((blob.box, votes))
                real.append(blob)
        self._ghosts = suspects
        return real

    def _note(self, track: Candidate, moment: Moment) -> None:
        start = self._clip.span.start
        if moment.time < start - _WARM_VOTES or track.last_blob is None:
            return
        if track.confirmed_at is not None and track.shared is None:
            self._notes.vote(track.number, track.last_blob, moment)
        if self._clip.span.contains(moment.time):
            self._notes.see(track.number, track.last_blob, moment, among_others=track.box if track.shared else None)
        has_settled = moment.time - self._shot_start >= self._watch.settling
        if track.confirmed_at is not None and has_settled and track.doubted_at is None:
            self._notes.release(track.number, moment.time)

    def _note_camera(self, time: float) -> None:
        """Note the motion of the camera once a second of the clip's span."""
        last = self._camera[-1]["time"] if self._camera else self._clip.span.start - _CAMERA_STEP
        if not self._clip.span.contains(time) or time - last < _CAMERA_STEP - 1e-6:
            return
        if (move := self._watch.move(time)) is not None:
            self._camera.append(
                {
                    "time": round_time(time),
                    "kind": move.kind,
                    "strength": move.strength,
                    "known_at": known_time(time),
                    "producer": self._producer,
                }
            )


def _glance(frame: Frame) -> Look:
    return Look(frame.time, frame.picture(_GLANCE_SIDE, "gray"))


def _smooth(frame: Frame) -> Smooth:
    return Smooth(frame.picture(_MAX_SIDE))


def _places(blobs: list[Blob], like: Mask) -> Mask:
    """The mask of all things, with a margin."""
    places = np.zeros_like(like)
    for blob in blobs:
        rows, columns = blob.place
        places[rows, columns] |= blob.mask
    dilated: Mask = cv2.dilate(places, _THING_MARGIN)
    return dilated
