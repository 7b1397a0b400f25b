"""The facts of a film, and the file ``<id>.facts.json`` that contains them.

Times are seconds of the film, intervals half-open. Ids are ``person_mia``, ``folder_blue``, ``office_14``, ``e0007``.
The file is one JSON object of ``schema_version`` and the fields of ``FilmFacts``; lists have one entry per line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from world_api.core.canonical import json_object
from world_api.core.faults import EvalFault
from world_api.core.files import write_atomically

EventKind = Literal[
    "enters", "leaves", "sits", "stands_up", "picks_up", "puts_down", "puts_on", "takes_off", "gives", "opens", "closes",
    "waves", "drinks", "says",
]  # fmt: skip
LearnedKind = Literal["rule", "appointment", "habit", "number"]
RelationKind = Literal["in", "on", "inside", "holds", "wears", "beside"]


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person of the film. ``description`` distinguishes this person from all others by appearance alone."""

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
    marks: tuple[str, ...] = ()  #: visible details: "a red label"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A room; ``name`` is its name with an article ("the kitchen"), ``sign`` the text of its sign."""

    id: str
    kind: str
    name: str
    sign: str


@dataclass(frozen=True, kw_only=True)
class Visit:
    """An interval in which a person or a thing is on screen, in one room, without a break."""

    subject: str
    place: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event. ``clause`` is a clause in the present tense: "the person in the red coat opens the left drawer".

    ``verb_phrase`` is the clause without subject, in the base form: "open the left drawer". ``thing``, ``other`` (a
    second person) and ``target`` (furniture, in words) are empty if there is none. ``words`` is the spoken text.
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
    """A relation of ``subject`` to ``object`` over an interval, also off screen.

    ``in``: a person or a thing, and the id of the room (a person between two rooms is in none). ``on`` and ``inside``:
    a thing, and furniture in words ("the desk"), in the room that it is ``in`` at the time. ``holds`` and ``wears``: a
    person and a thing. At any time a thing is either put somewhere, held or worn.
    """

    kind: RelationKind
    subject: str
    object: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One event (by id) caused another; ``reason`` is a clause about what can be seen or heard in the film."""

    cause: str
    effect: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class LearnedFact:
    """A fact that can be learned from several moments: a rule, a habit, an appointment or a number; ``text`` states it.

    ``values`` are its parts by name; ``spans`` are the intervals of the evidence.

    ========== ==========================================================================================================
    rule       ``things`` (plural, "folders with a red label"), ``category``, ``label``, ``target`` ("the left drawer"),
               ``place`` (a room's id). The film never breaks it.
    habit      ``person``, ``habit`` (base form, "wave on entering the kitchen"), ``place``. The person does it every time.
    appointment ``people`` (ids, joined by a space), ``time`` ("10:30"), ``place``; ``kept`` "yes" once they have met.
    number     ``what`` ("the locker number of the person in the red coat"), ``number``, ``person``.
    ========== ==========================================================================================================
    """

    id: str
    kind: LearnedKind
    text: str
    values: Mapping[str, str] = field(hash=False)
    spans: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class ShownText:
    """A text that can be read in a room during an interval."""

    text: str
    place: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class FilmFacts:
    """All facts of a film that questions can be about."""

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
    facts: tuple[LearnedFact, ...] = ()
    written: tuple[ShownText, ...] = ()
    #: ``theme``, ``split``, ``minutes``, ``version``; ``tracks``: ids of tracks in the truth, by id of person or thing
    extras: Mapping[str, Any] = field(default_factory=dict, hash=False)


SCHEMA_VERSION = 1
_MOST_BYTES = 512 * 2**20
_HINT = "make the film again: videoworld sandbox make"


def write_facts(path: Path | str, facts: FilmFacts) -> None:
    """Write facts to a file, atomically. Raises StoreFault: ``store_not_writable``, ``disk_full``."""
    write_atomically(Path(path), readable({"schema_version": SCHEMA_VERSION, **asdict(facts)}).encode())


def read_facts(path: Path | str) -> FilmFacts:
    """Read and check a facts file. Raises EvalFault: ``no_facts``, ``bad_facts``, ``other_schema_version``."""
    path = Path(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise EvalFault("bad_facts", f"{path.name} is larger than {_MOST_BYTES >> 20} MiB", hint=_HINT)
        record = json_object(path.read_bytes())
    except FileNotFoundError:
        raise EvalFault("no_facts", f"there is no {path.name} beside the film", hint=_HINT) from None
    except OSError as error:
        raise EvalFault("no_facts", f"{path.name} cannot be read: {error.strerror}", hint=_HINT) from error
    if record is None:
        raise EvalFault("bad_facts", f"{path.name} is no JSON object", hint=_HINT)
    version = record.pop("schema_version", None)
    if version != SCHEMA_VERSION or isinstance(version, bool):
        message = f"{path.name} has schema version {version!r}; this program reads {SCHEMA_VERSION}"
        raise EvalFault("other_schema_version", message, hint=_HINT)
    try:
        facts = TypeAdapter(FilmFacts).validate_python(record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise EvalFault("bad_facts", f"{path.name}: {where}: {first['msg']}", hint=_HINT) from error
    for fault in _contradictions(facts):
        raise EvalFault("bad_facts", f"{path.name}: {fault}", hint=_HINT)
    return facts


def _contradictions(facts: FilmFacts) -> Iterator[str]:
    """Yield messages: unknown ids in visits, events, causes; intervals that start below 0 or end before they start."""
    known = {*(one.id for one in facts.people), *(one.id for one in facts.things), *(one.id for one in facts.places)}
    events = {event.id for event in facts.events}
    lasting: tuple[Visit | Event | Relation | ShownText, ...] = (
        *facts.scenes, *facts.visits, *facts.events, *facts.relations, *facts.written,
    )  # fmt: skip
    for item in lasting:
        if not 0 <= item.start <= item.end:
            yield f"an interval runs from {item.start} to {item.end}"
    named = {name for visit in facts.visits for name in (visit.subject, visit.place)}
    for event in facts.events:
        named |= {event.actor, event.place, event.thing or event.actor, event.other or event.actor}
    for name in named - known:
        yield f"no person or thing is {name[:60]!r}"
    for cause in facts.causes:
        for name in {cause.cause, cause.effect} - events:
            yield f"there is no event {name[:60]!r}"


def readable(record: Mapping[str, Any]) -> str:
    """Return a record as JSON text, with a line for each key and for each object of a list."""
    lines = []
    for key, value in record.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            entries = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            text = f"[\n  {entries}\n ]"
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
