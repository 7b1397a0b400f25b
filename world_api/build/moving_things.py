"""The stage ``moving_things``: ``sightings`` and ``track_looks`` of moving things, and the motion of the ``camera``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

import cv2
import numpy as np

from world_api.build.background import Background, Blob, Scene, Smooth, find_blobs, outline
from world_api.build.camera_motion import CameraNotes, CameraWatch, glance, is_break
from world_api.build.colours import colour_words
from world_api.build.people import People, PersonVotes
from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec, box_columns
from world_api.build.tracker import Candidate, Tracker, TwoPictures
from world_api.core.ports import AppearanceEmbedder, Image, PersonScorer
from world_api.core.spans import Box, known_time, round_time
from world_api.media.frames import Frame

#: Seconds between two stored descriptors of a thing: at first, later, and the number of descriptors after which "later" begins.
_SOON, _LATER, _OFTEN = 0.8, 3.0, 8
#: Seconds for which the colour words of a thing hold.
_COLOURS = 0.35
#: A thing this tall (pixels) in the small picture is voted on there, others in a picture of this longer side.
_TALL_ENOUGH, _VOTE_SIDE = 84.0, 640


@dataclass(kw_only=True)
class Followed:
    """The state of a tracked thing: its votes, rows that are not written yet, its name, last blob and last colours."""

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
    """Collects the rows of one clip's things. The rows of a thing are held back until it is confirmed.

    ``picture`` in its methods is the small picture of a frame, ``number`` the number of a thing.
    """

    def __init__(self, clip: Clip, people: PersonScorer, appearance: AppearanceEmbedder) -> None:
        self._clip = clip
        self._people = people
        self._appearance = appearance
        self.followed: defaultdict[int, Followed] = defaultdict(Followed)  #: by the number of the thing
        self._names = 0
        self.sightings: list[Record] = []
        self.looks: list[Record] = []

    def next_name(self) -> str:
        """Return a new track name, unique in the video: ``t0003_01`` is the first track of clip 3.

        ``t0003_01_1`` is the first track of the worker after the first hole in the clip's window.
        """
        self._names += 1
        part = f"_{self._clip.part}" if self._clip.part else ""
        return f"t{self._clip.number:04d}_{self._names:02d}{part}"

    def vote(self, number: int, blob: Blob, frame: Frame, picture: Image) -> None:
        """Vote on whether the thing is a person, if its next vote is due."""
        votes = self.followed[number].votes
        if frame.time < votes.next_look:
            return
        is_small = blob.box.height < _TALL_ENOUGH
        scale = min(1.0, _VOTE_SIDE / max(frame.shape))
        shape = (round(frame.shape[0] * scale), round(frame.shape[1] * scale))
        box = _enlarged(blob.box, picture, shape) if is_small else blob.box
        image = partial(frame.picture, _VOTE_SIDE) if is_small else lambda: picture
        votes.look(self._people, image, box, frame.time, cut_off=_cut_off(blob, picture))

    def see(
        self, number: int, blob: Blob, frame: Frame, picture: Image, scene: Scene, *, among_others: Box | None
    ) -> None:
        """Note one sighting in the clip's span, with colour words and sometimes a descriptor.

        ``scene`` is the empty scene. If the thing shares its blob, ``among_others`` is its own box; then the
        blob is not used for colours or descriptors.
        """
        followed, time = self.followed[number], frame.time
        if among_others is None and blob is not followed.last_blob:
            if time >= followed.next_colours:
                followed.colours = colour_words(picture[blob.place], blob.mask)
                followed.next_colours = time + _COLOURS
            if time >= followed.next_look and not _cut_off(blob, picture):
                vector = self._appearance.embed(picture[blob.place], blob.mask, scene.bgr)
                if vector is not None:
                    followed.looks += 1
                    followed.next_look = time + (_SOON if followed.looks < _OFTEN else _LATER)
                    followed.pending_looks.append({"time": round_time(time), "vector": vector})
        followed.last_blob = blob
        columns = box_columns(_enlarged(among_others or blob.box, picture, frame.shape))
        followed.pending.append({"time": round_time(time), **columns, "colours": followed.colours})

    def release(self, number: int, time: float) -> None:
        """Move the rows held back for a confirmed thing to the output, as known at ``time``, with the category voted so far."""
        followed = self.followed[number]
        if not followed.pending:
            return
        followed.name = followed.name or self.next_name()
        votes = followed.votes
        stamp = {"track": followed.name, "known_at": known_time(time)}
        judged = {"category": "person" if votes.is_person else "moving_object", "confidence": votes.confidence}
        self.sightings.extend(record | judged | stamp for record in followed.pending)
        self.looks.extend(record | stamp for record in followed.pending_looks)
        followed.pending.clear()
        followed.pending_looks.clear()


def _enlarged(box: Box, picture: Image, shape: tuple[int, int]) -> Box:
    """Return a box of the small picture in pixels of a picture of another height and width (``shape``)."""
    return box.scaled(shape[1] / picture.shape[1], shape[0] / picture.shape[0])


def _cut_off(blob: Blob, picture: Image) -> bool:
    """Whether a blob touches the picture's edge, so that only part of the thing may be visible."""
    height, width = picture.shape[:2]
    box = blob.box
    return box.x1 <= 1 or box.y1 <= 1 or box.x2 >= width - 1 or box.y2 >= height - 1


_FPS, _MAX_SIDE = 4.0, 288
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


class MovingThings:
    """The stage ``moving_things``: tracks with boxes, colour words, appearance vectors and a category."""

    def __init__(self, people: PersonScorer, appearance: AppearanceEmbedder) -> None:
        self._people = people
        self._appearance = appearance
        self.spec = StageSpec(
            name="moving_things",
            version=4,
            tables=("sightings", "track_looks", "camera"),
            sampling=Sampling(fps=_FPS, max_side=_MAX_SIDE, warm_up=_WARM_UP, look_ahead=_LOOK_AHEAD),
            parameters={"people": people.producer, "appearance": appearance.producer},
            modules=(type(people).__module__, type(appearance).__module__),
        )

    def open(self, clip: Clip) -> MovingThingsWorker:
        """Return a new worker for one clip."""
        return MovingThingsWorker(clip, self._people, self._appearance)


class MovingThingsWorker:
    """Tracks things through the window of one clip."""

    def __init__(self, clip: Clip, people: PersonScorer, appearance: AppearanceEmbedder) -> None:
        self._clip = clip
        self._appearance = appearance
        self._watch = CameraWatch()
        self._tracker = Tracker()
        self._notes = Notes(clip, people, appearance)
        self._people = People(clip, people, self._notes.next_name)
        self._camera = CameraNotes(clip)
        self._background: Background | None = None
        self._last_time: float | None = None
        self._waiting: list[Frame] = []  #: frames that are put off
        self._shot_start = 0.0
        self._ghosts: list[tuple[Box, int]] = []
        # The results of the last full comparison.
        self._close_time = -1.0
        self._glance: Image | None = None
        self._picture = Smooth(np.zeros((1, 1, 3), dtype=np.uint8))
        self._before = self._picture, -1.0  #: the picture of the comparison before that one, and its time
        self._blobs: list[Blob] = []

    def see(self, frame: Frame) -> None:
        """Process one sampled frame, or put it off: of the first part of the warm-up only what follows its last cut counts."""
        early = frame.time < self._clip.span.start - _WARM_TRACKING
        if early and self._last_time is not None and frame.time - self._last_time < _SLOW_STEP:
            return
        self._last_time = frame.time
        if frame.time >= self._clip.span.start - _WARM_VOTES:
            waiting, self._waiting = self._waiting, []
            for earlier in waiting:
                self._process(earlier)
            self._process(frame)
            return
        look = frame.derived(glance)
        frame.picture(_MAX_SIDE)  # later neither can be made
        if self._waiting and is_break(self._waiting[-1].derived(glance), look):
            self._watch.leave_out(len(self._waiting) - 1)
            self._waiting.clear()
        self._waiting.append(frame)

    def _process(self, frame: Frame) -> None:
        look = frame.derived(glance)
        broke = self._watch.see(look)
        self._camera.note(self._watch, frame.time)
        background = self._background
        if broke or background is None:
            self._begin_shot(self._look_closely(frame, look.gray), frame.time)
        elif not self._watch.is_steady(frame.time):
            self._keep_up(frame, look.gray, background)
        elif self._is_same(look.gray, frame.time):
            self._step(frame, background)
        else:
            self._follow(frame, look.gray, background)

    def finish(self) -> Records:
        """Return the rows of the clip's span, by table."""
        return {
            "sightings": [*self._notes.sightings, *self._people.sightings],
            "track_looks": self._notes.looks,
            "camera": self._camera.rows,
        }

    def _is_same(self, glance: Image, time: float) -> bool:
        """Whether ``glance`` (a tiny gray picture) is almost that of the last full comparison, whose blobs then still hold."""
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
        """Compare a frame (``glance``: a tiny copy) with the background; update it and the tracks, or begin a shot."""
        elapsed = frame.time - self._close_time
        self._before = self._picture, self._close_time
        picture = self._look_closely(frame, glance)
        difference = background.difference(picture)
        if self._watch.background_failed(difference.share, frame.time):
            self._begin_shot(picture, frame.time)
            return
        self._blobs = self._without_ghosts(find_blobs(difference), picture, background)
        self._step(frame, background)
        things = np.zeros_like(difference.weak)
        for blob in self._blobs:
            things[blob.place] |= blob.mask
        background.follow(picture, cv2.dilate(things, _THING_MARGIN), elapsed)

    def _keep_up(self, frame: Frame, glance: Image, background: Background) -> None:
        """While the camera moves: end all tracks, detect people, and update the background fast."""
        self._tracker.alive = []
        self._blobs = []
        elapsed = frame.time - self._close_time
        if elapsed >= _UNSTEADY_STEP:
            picture = self._look_closely(frame, glance)
            background.follow(picture, None, 10 * elapsed)
        if frame.time >= self._clip.span.start - _WARM_TRACKING and self._people.is_due(frame.time):
            self._people.look(frame.picture(_MAX_SIDE), frame.time, frame.shape, self._watch)

    def _step(self, frame: Frame, background: Background) -> None:
        """Assign the current blobs to tracks, note the sightings, and absorb things at rest."""
        earlier, since = self._before
        looks = TwoPictures(
            before_picture=earlier.bgr, before_time=since, picture=self._picture.bgr, scene=background.scene,
            appearance=self._appearance,
        )  # fmt: skip
        for track in self._tracker.step(self._blobs, frame.time, looks):
            self._note(track, frame, background)
        self._settle(frame.time, background)

    def _begin_shot(self, picture: Smooth, time: float) -> None:
        self._background = Background(picture)
        self._shot_start = time
        self._blobs = []
        self._tracker.alive = []
        self._people.clear()

    def _settle(self, time: float, background: Background) -> None:
        """Make things that have stopped moving a part of the background picture, and end their tracks.

        These are objects left behind, and things at rest for a long time (longer for people and in shared blobs). A track
        that is not seen at ``time`` is unchanged.
        """
        undecided = self._tracker.undecided(time)
        for track in list(self._tracker.alive):
            if track.last_blob is None or track.seen < time:
                continue
            lasts = track.shared is not None or self._notes.followed[track.number].votes.is_person
            stays = _PERSON_STAYS if lasts else _THING_STAYS
            if track in undecided or time - track.moved_at > stays:
                _absorb(track.last_blob, self._picture, background)
                self._tracker.drop(track)

    def _without_ghosts(self, blobs: list[Blob], picture: Smooth, background: Background) -> list[Blob]:
        """Return the blobs that are no ghosts. Ghosts, whose edges only the background picture has, are removed from that."""
        real, suspects = [], []
        for blob in blobs:
            if background.edge_gain(picture, *outline(blob, picture.shape)) > _GHOST_GAIN:
                votes = 1 + max((votes for box, votes in self._ghosts if box.iou(blob.box) > 0.5), default=0)
                if votes >= _GHOST_VOTES:
                    _absorb(blob, picture, background)
                    continue
                suspects.append((blob.box, votes))
            real.append(blob)
        self._ghosts = suspects
        return real

    def _note(self, track: Candidate, frame: Frame, background: Background) -> None:
        time, span, blob, picture = frame.time, self._clip.span, track.last_blob, self._picture.bgr
        if time < span.start - _WARM_VOTES or blob is None:
            return
        if track.confirmed_at is not None and track.shared is None:
            self._notes.vote(track.number, blob, frame, picture)
        if span.contains(time):
            among_others = track.box if track.shared else None
            self._notes.see(track.number, blob, frame, picture, background.scene, among_others=among_others)
        has_settled = time - self._shot_start >= self._watch.settling
        if track.confirmed_at is not None and has_settled and track.doubted_at is None:
            self._notes.release(track.number, time)


def _absorb(blob: Blob, picture: Smooth, background: Background) -> None:
    """Replace the background by the picture in the place of a blob, with a margin."""
    background.replace(picture, cv2.dilate(blob.on(picture.shape), _THING_MARGIN))


def _smooth(frame: Frame) -> Smooth:
    return Smooth(frame.picture(_MAX_SIDE))
