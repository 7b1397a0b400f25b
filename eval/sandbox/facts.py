"""What is true of a made film, as data: what the renderer draws, what the truth file holds, what questions are made from.

Times in seconds of the film, half-open. Ids: ``person_mia``, ``folder_blue``, ``office_14``, ``e0007``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EventKind = Literal[
    "enters", "leaves", "sits", "stands_up", "picks_up", "puts_down", "puts_on", "takes_off", "gives", "opens", "closes",
    "waves", "drinks", "says",
]  # fmt: skip
RelationKind = Literal["in", "on", "inside", "holds", "wears", "beside"]


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who plays. ``description`` tells them from all others of the film by their looks alone."""

    id: str
    name: str
    description: str  #: "the person in the red coat"
    looks: Mapping[str, str] = field(hash=False)  #: coat, trousers, hair, ... as colour words


@dataclass(frozen=True, kw_only=True)
class Thing:
    """An object; ``name`` is unique in the film ("the blue folder")."""

    id: str
    name: str
    category: str
    colour: str
    marks: tuple[str, ...] = ()  #: what is seen on it: "a red label"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A room; ``name`` with its article ("the kitchen"), ``sign`` what its sign reads."""

    id: str
    kind: str
    name: str
    sign: str


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A stretch in which a person or a thing is on screen, in one room, without a break."""

    subject: str
    place: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happens. ``clause`` is a main clause in the present tense: "the person in the red coat opens the left drawer".

    ``verb_phrase`` is the same without its subject, in the base form: "open the left drawer". ``thing``, ``other`` (a second
    person) and ``target`` (a piece of furniture, by words) are empty where there is none. ``words`` are what is said.
    """

    id: str
    kind: EventKind
    start: float
    end: float
    actor: str
    place: str
    clause: str
    verb_phrase: str
    thing: str = ""
    other: str = ""
    target: str = ""
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Relation:
    """What stands in which relation to what, and for how long; also where no camera looks.

    ``in``: a person or a thing, and the id of the room (a person between two rooms is in none). ``on`` and ``inside``: a thing, and
    furniture by words ("the desk"), in the room that it is ``in`` at the time. ``holds`` and ``wears``: a person and a
    thing. A thing lies, is held or is worn at any time, one of the three.
    """

    kind: RelationKind
    subject: str
    object: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One event brought another about; ``reason`` is a clause that can be seen or heard in the film."""

    cause: str
    effect: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """What can be learned from several moments: a rule ("files with a red label go into the left drawer"), an appointment, a habit.

    ``values`` are its parts by name; ``spans`` the stretches that show it.

    ========== ==========================================================================================================
    rule       ``things`` (plural, "folders with a red label"), ``category``, ``label``, ``target`` ("the left drawer"),
               ``place`` (a room's id). What it says is never broken in the film.
    habit      ``person``, ``habit`` (base form, "wave on entering the kitchen"), ``place``. Kept at every occasion.
    appointment ``people`` (ids, joined by a space), ``time`` ("10:30"), ``place``; ``kept`` "yes" once they have met.
    number     ``what`` ("the locker number of the person in the red coat"), ``number``, ``person``.
    ========== ==========================================================================================================
    """

    id: str
    kind: Literal["rule", "appointment", "habit", "number"]
    text: str
    values: Mapping[str, str] = field(hash=False)
    spans: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Written:
    """Text that can be read."""

    text: str
    place: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class FilmFacts:
    """Everything that is true of a film and can be asked about."""

    film: str  #: the video id
    seed: int
    duration: float
    people: tuple[Person, ...]
    things: tuple[Thing, ...]
    places: tuple[Place, ...]
    scenes: tuple[Visit, ...]  #: of the camera: which room is shown when; ``subject`` is empty
    visits: tuple[Visit, ...]
    events: tuple[Event, ...]
    relations: tuple[Relation, ...] = ()
    causes: tuple[Cause, ...] = ()
    facts: tuple[Fact, ...] = ()
    written: tuple[Written, ...] = ()
    #: ``theme``, ``split``, ``minutes``, ``version``; ``tracks``: which track of the truth somebody or something is, by id
    extras: Mapping[str, Any] = field(default_factory=dict, hash=False)
