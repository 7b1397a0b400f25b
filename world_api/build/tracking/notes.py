"""What is noted about followed things while they are followed, and when it becomes rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from world_api.build.stage import Clip, Record
from world_api.build.tracking.appearance import describe, light_gains
from world_api.build.tracking.background import Background
from world_api.build.tracking.blobs import Blob
from world_api.build.tracking.colour_words import colour_words
from world_api.build.tracking.votes import PersonScorer, PersonVotes
from world_api.core.boxes import Box
from world_api.core.ports import Image, Vector
from world_api.core.spans import known_time, round_time

#: Seconds between two looks that are kept of a thing: at first, and once it has been looked at often enough.
_SOON, _LATER, _OFTEN = 0.8, 3.0, 8

#: Seconds for which the colour words of a thing hold.
_COLOURS = 0.35
#: What is this tall (pixels) in the small picture is judged there, anything else in one of this longer side.
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
        """A box of the small picture in pixels of a picture of another height and width: the displayed frame's."""
        height, width = shape or self.shape
        across, down = width / self.picture.shape[1], height / self.picture.shape[0]
        return Box(x1=box.x1 * across, y1=box.y1 * down, x2=box.x2 * across, y2=box.y2 * down)


@dataclass(kw_only=True)
class Followed:
    """One thing: its votes, what is not released yet, its name once it has one, and how it looked last."""

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
    """The rows of one clip's things. Nothing is written of a thing before it is known to be real."""

    def __init__(self, clip: Clip, people: PersonScorer, producer: str) -> None:
        self._clip = clip
        self._people = people
        self._producer = producer
        self._followed: dict[int, Followed] = {}
        self._names = 0
        self.sightings: list[Record] = []
        self.looks: list[Record] = []

    def of(self, number: int) -> Followed:
        """What is noted about the thing of that number."""
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
        """Note one sighting of the clip's span; a blob that was seen before has kept its colours.

        Of a thing that is ``among_others`` in its blob only the place is noted: how the blob looks says nothing about it.
        """
        followed = self.of(number)
        if among_others is None and blob is not followed.last_blob:
            if moment.time >= followed.next_colours:
                followed.colours = colour_words(moment.picture[blob.place], blob.mask)
                followed.next_colours = moment.time + _COLOURS
            if moment.time >= followed.next_look and not _cut_off(blob, moment.picture):
                self._look(followed, blob, moment)
        followed.last_blob = blob
        x1, y1, x2, y2 = moment.enlarge(among_others or blob.box).rounded()
        followed.pending.append(
            {"time": round_time(moment.time), "x1": x1, "y1": y1, "x2": x2, "y2": y2, "colours": followed.colours}
        )

    def release(self, number: int, time: float) -> None:
        """Write what is noted of a thing that is real: known from now on, judged by what was seen up to now."""
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
    """Whether it touches the picture's edge, so that only part of it may be seen."""
    height, width = picture.shape[:2]
    box = blob.box
    return box.x1 <= 1 or box.y1 <= 1 or box.x2 >= width - 1 or box.y2 >= height - 1
