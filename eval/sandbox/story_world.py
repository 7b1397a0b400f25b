"""The world of a story: people, things, rooms, rules and habits, their state, and the chronicle of all that is true."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

from eval.sandbox.canvas import HAIRS, SKINS
from eval.sandbox.facts import (
    Cause,
    Event,
    FilmFacts,
    LearnedFact,
    LearnedKind,
    Person,
    Place,
    Relation,
    RelationKind,
    ShownText,
    Thing,
    Visit,
)
from eval.sandbox.room_plans import Fixture, RoomPlan, plan_of
from eval.sandbox.script import Actor, HairStyle, Look, Prop, PropKind, Room, RoomKind, with_article
from world_api.core.yaml_text import packaged_yaml

NAMES = (
    "Mia", "Tom", "Ana", "Leo", "Eva", "Ben", "Zoe", "Max", "Ida", "Sam", "Nora", "Paul", "Lily", "Hugo", "Ruth", "Omar",
    "Vera", "Karl", "Yuki", "Dora", "Felix", "Greta", "Ivan", "Lena",
)  # fmt: skip
#: A film has at most one coat of each group, so that no two are confused.
COATS = (
    ("red",), ("orange", "yellow"), ("green",), ("blue",), ("purple", "pink"), ("white", "grey"), ("black",), ("brown",),
)  # fmt: skip
_TROUSERS = ("black", "blue", "grey", "brown", "white", "green")
VIVID = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "brown", "black")
LABELS = ("red", "blue", "green", "yellow", "purple", "orange")
_FILES: tuple[PropKind, ...] = ("folder", "box", "letter")
_NUMBERED: tuple[RoomKind, ...] = ("office", "meeting room")  #: there may be two of a kind, with different numbers

#: Themes of films with their kinds of rooms; every film of a theme has the first kind.
THEMES: dict[str, tuple[RoomKind, ...]] = {
    "office": ("office", "meeting room", "corridor", "kitchen", "entrance hall", "library"),
    "home": ("living room", "kitchen", "entrance hall", "library", "corridor", "workshop"),
    "workshop": ("workshop", "office", "entrance hall", "kitchen", "corridor", "meeting room"),
    "reading room": ("library", "entrance hall", "office", "corridor", "meeting room", "kitchen"),
}
#: The themes of films on which tools are tried before they are admitted.
ADMISSION_THEMES: dict[str, tuple[RoomKind, ...]] = {
    "school": ("corridor", "library", "meeting room", "kitchen", "entrance hall", "office"),
    "clinic": ("entrance hall", "corridor", "office", "living room", "kitchen", "meeting room"),
}


@dataclass(frozen=True, kw_only=True)
class Location:
    """A room of the story: how it looks, and where its furniture is."""

    room: Room
    plan: RoomPlan

    @property
    def id(self) -> str:
        """The id, made from the sign: ``office_14``."""
        return self.room.sign.lower().replace(" ", "_")

    @cached_property
    def furniture(self) -> frozenset[str]:
        """The words for its furniture: surfaces, hooks, seats, drawers, doors."""
        return frozenset(item.words for item in (*self.plan.spots, *self.plan.seats, *self.plan.openings))

    @property
    def containers(self) -> list[Fixture]:
        """Its drawers and cupboards: everything that can be opened except doors."""
        return [item for item in self.plan.openings if not item.name.endswith("door")]


@dataclass(frozen=True, kw_only=True)
class FilingRule:
    """Things of a category with a label of this colour are put only into ``target``, an opening of ``room``."""

    category: str
    label: str
    room: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Habit:
    """A person waves whenever they enter ``room``, or sits only on ``seat`` there."""

    kind: Literal["waves", "seat"]
    person: str
    room: str
    seat: str = ""

    def is_of(self, kind: str, actor: Actor, location: Location) -> bool:
        """Whether it is this person's habit of this kind (``waves``, ``seat``) in this room."""
        return (self.kind, self.person, self.room) == (kind, actor.id, location.id)


@dataclass(frozen=True, kw_only=True)
class StoryCast:
    """Everything that a story uses.

    ``opening_minute`` is the time on the clocks at first, in minutes of the day. The pace differs between films:
    ``between`` are the seconds from one action to the next, ``busy`` is the largest number of small acts of a scene.
    """

    theme: str  #: what the film is like: a key of ``THEMES``, or of other themes
    actors: tuple[Actor, ...]
    props: tuple[Prop, ...]
    locations: tuple[Location, ...]
    rules: tuple[FilingRule, ...]
    habits: tuple[Habit, ...]
    opening_minute: int
    between: float
    busy: int

    def in_words(self, furniture: str) -> str:
        """Return words such as "the left drawer" unchanged, or as "a left drawer" if several rooms have such furniture."""
        if sum(furniture in location.furniture for location in self.locations) < 2:
            return furniture
        return with_article(furniture.removeprefix("the "))

    def rule_of(self, prop: Prop) -> FilingRule | None:
        """Return the filing rule for a thing, or None."""
        own = (prop.category, prop.label)
        return next((rule for rule in self.rules if (rule.category, rule.label) == own), None)


def cast_story(
    seed: int, minutes: float, themes: Mapping[str, tuple[RoomKind, ...]] = MappingProxyType(THEMES)
) -> StoryCast:
    """Choose the cast of a film of ``minutes``; the same seed, length and themes always give the same cast."""
    chance = random.Random(f"cast {seed} {minutes:g}")
    most = 5 if minutes < 5 else 6 if minutes < 15 else 8
    actors = _people(chance, chance.randint(4, most))
    theme = chance.choice(tuple(themes))
    locations = _rooms(chance, themes[theme], chance.randint(3, 4 if minutes < 5 else 5 if minutes < 15 else 7))
    rules = _rules(chance, locations, chance.choice((1, 2, 2, 3)) if minutes >= 5 else chance.choice((1, 1, 2)))
    props = _things(chance, rules, minutes)
    return StoryCast(
        theme=theme,
        actors=actors,
        props=props,
        locations=locations,
        rules=rules,
        habits=_habits(chance, actors, locations),
        opening_minute=chance.randrange(7 * 60, 10 * 60, 5),
        between=chance.choice((0.2, 0.3, 0.5, 0.8, 1.2)),
        busy=chance.randint(1, 5),
    )


def _people(chance: random.Random, count: int) -> tuple[Actor, ...]:
    coats = [chance.choice(group) for group in chance.sample(COATS, count)]
    return tuple(
        Actor(
            name=name,
            look=Look(
                coat=coat,
                trousers=chance.choice([colour for colour in _TROUSERS if colour != coat]),
                hair=chance.choice(tuple(HAIRS)),
                hair_style=chance.choice(get_args(HairStyle)),
                skin=chance.choice(tuple(SKINS)),
                height=chance.choice((0.94, 0.97, 1.0, 1.03, 1.06)),
            ),
            pitch=chance.choice((115.0, 130.0, 150.0, 175.0, 200.0, 225.0, 245.0)),
        )
        for name, coat in zip(chance.sample(NAMES, count), coats, strict=True)
    )


def _rooms(chance: random.Random, kinds_of_theme: tuple[RoomKind, ...], count: int) -> tuple[Location, ...]:
    """Choose ``count`` rooms for a theme; the first has a chest of drawers; of five or more, two may be of one kind."""
    first = kinds_of_theme[0]
    other = [kind for kind in get_args(RoomKind) if kind not in kinds_of_theme]
    kinds: list[RoomKind] = [first, *chance.sample([*kinds_of_theme[1:], chance.choice(other)], count - 1)]
    if count > 4 and first in _NUMBERED:
        kinds[-1] = first
    numbers = chance.sample(range(10, 60), count)
    variant = chance.randint(1, 60)
    found = []
    # Consecutive variants have walls in different colours, so that rooms differ at every cut.
    for own, (kind, number) in enumerate(zip(kinds, numbers, strict=True), start=variant):
        name = f"{kind} {number}" if kind in _NUMBERED else f"the {kind}"
        sign = name.removeprefix("the ").upper()
        room = Room(kind=kind, name=name, sign=sign, seed=chance.randrange(1_000_000), variant=own)
        found.append(Location(room=room, plan=plan_of(kind, own)))
    return tuple(found)


def _rules(chance: random.Random, locations: tuple[Location, ...], count: int) -> tuple[FilingRule, ...]:
    """Choose up to ``count`` filing rules for one category, each label with its own container, the first room's first."""
    category = chance.choice(_FILES)
    places: list[tuple[str, str]] = []
    for near in (locations[:1], locations[1:]):
        targets = [(place.id, item.name) for place in near for item in place.containers]
        places += chance.sample(targets, len(targets))
    labels = chance.sample(LABELS, count)
    return tuple(
        FilingRule(category=category, label=label, room=room, target=target)
        for label, (room, target) in zip(labels, places, strict=False)
    )


def _things(chance: random.Random, rules: tuple[FilingRule, ...], minutes: float) -> tuple[Prop, ...]:
    found: list[Prop] = []
    for rule in rules:
        for _ in range(2 if minutes < 8 else 3):
            _add(chance, found, rule.category, label=rule.label)
    kinds = [kind for kind in get_args(PropKind) if not any(rule.category == kind for rule in rules)]
    _add(chance, found, "cup")
    _add(chance, found, chance.choice(("hat", "scarf")))
    for _ in range(chance.randint(3, 4 if minutes < 5 else 8)):
        _add(chance, found, chance.choice(kinds))
    return tuple(found)


def _add(chance: random.Random, found: list[Prop], category: str, *, label: str = "") -> None:
    taken = {item.colour for item in found if item.category == category}
    free = [colour for colour in VIVID if colour not in taken and colour != label]
    if free:
        colour = chance.choice(free)
        found.append(Prop(name=f"{colour} {category}", category=category, colour=colour, label=label))


def _habits(chance: random.Random, actors: tuple[Actor, ...], locations: tuple[Location, ...]) -> tuple[Habit, ...]:
    """Choose a person who waves on entering one room, and perhaps another with a usual seat in one room."""
    people = chance.sample(actors, 2)
    found = [Habit(kind="waves", person=people[0].id, room=chance.choice(locations).id)]
    several = [place for place in locations if len(place.plan.seats) > 1]
    if several and chance.random() < 0.7:
        place = chance.choice(several)
        found.append(Habit(kind="seat", person=people[1].id, room=place.id, seat=chance.choice(place.plan.seats).name))
    return tuple(found)


FRAME_RATE = 10  #: frames a second of generated films; every time of a story is the time of a frame

Feet = tuple[float, float]


def on_frame(seconds: float) -> float:
    """Return the time of the nearest frame, in seconds."""
    return round(seconds * FRAME_RATE) / FRAME_RATE


# -- state


@dataclass(kw_only=True)
class PersonState:
    """A person's state. ``room`` is empty off screen; ``feet`` (pixels) and ``facing`` are valid inside a room."""

    actor: Actor
    room: str = ""
    feet: Feet = (0.0, 0.0)
    facing: int = 1
    seat: Fixture | None = None
    holds: Prop | None = None
    wears: list[Prop] = field(default_factory=list)

    @property
    def has(self) -> list[Prop]:
        """The things that the person holds and wears."""
        return [*([self.holds] if self.holds is not None else []), *self.wears]

    def can_wear(self, prop: Prop) -> bool:
        """Whether a thing is a hat or scarf, and the person wears none of that kind."""
        return prop.is_worn and prop.category not in {item.category for item in self.wears}


@dataclass(frozen=True, kw_only=True)
class ThingState:
    """A thing's state: on a spot, inside something, held or worn. For the last two ``room`` and ``place`` are empty."""

    prop: Prop
    how: Literal["on", "inside", "held", "worn"]
    room: str = ""
    place: Fixture | None = None


class StoryState:
    """The state of all people, things and furniture."""

    def __init__(self, locations: tuple[Location, ...], actors: tuple[Actor, ...]) -> None:
        self.locations = {item.id: item for item in locations}
        self.people = {actor.id: PersonState(actor=actor) for actor in actors}
        self.things: dict[str, ThingState] = {}
        self.open: dict[str, set[str]] = {item.id: set() for item in locations}

    def place(self, prop: Prop, room: str, place: Fixture) -> None:
        """Put a thing on a spot or inside something."""
        self.things[prop.id] = ThingState(prop=prop, how=relation_to(place), room=room, place=place)

    def hold(self, prop: Prop, actor: Actor) -> None:
        """Let a person hold a thing."""
        self.people[actor.id].holds = prop
        self.things[prop.id] = ThingState(prop=prop, how="held")

    def present(self, room: str) -> list[PersonState]:
        """Return the people in a room."""
        return [who for who in self.people.values() if who.room == room]

    def free_spots(self, room: str, prop: Prop) -> list[Fixture]:
        """Return the free spots of a room for a thing; hooks are only for things that can hang."""
        hangs = prop.category in {"hat", "scarf", "bag", "umbrella", "key"}
        taken = [where.place for where in self.things.values() if where.how == "on" and where.room == room]
        return [
            spot for spot in self.locations[room].plan.spots if (hangs or spot.kind != "hook") and spot not in taken
        ]

    def free_seats(self, room: str) -> list[Fixture]:
        """Return the free seats of a room."""
        taken = {who.seat.name for who in self.present(room) if who.seat is not None}
        return [seat for seat in self.locations[room].plan.seats if seat.name not in taken]

    def opening(self, room: str, name: str) -> Fixture:
        """Return the drawer, cupboard or door of this name in a room."""
        return next(item for item in self.locations[room].plan.openings if item.name == name)


def relation_to(place: Fixture) -> Literal["on", "inside"]:
    """Return the relation of a thing to the place where it is put."""
    return "inside" if place.kind == "opening" else "on"


# -- words

_MOST_CLAUSES = 5  #: the largest number of events in a caption
#: The words for each kind of event (``verbs.yaml``).
_VERBS: Mapping[str, Sequence[str]] = packaged_yaml("eval.sandbox", "verbs.yaml")


def event_words(kind: str, **parts: str) -> tuple[str, str]:
    """Return an event's words in the third person and in the base form; ``parts``: words for thing, other, target, room, or ""."""
    third, base, *patterns = _VERBS[kind]
    rest = next(rest for rest in patterns if all(parts[slot] for slot in re.findall(r"{(\w+)}", rest))).format(**parts)
    return f"{third}{rest}", f"{base}{rest}"


def clock_words(minute: int) -> str:
    """Return minutes of the day as a clock shows them: ``09:05``."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def caption_of(room: str, events: Sequence[Event]) -> str:
    """Return a sentence about a shot in ``room`` (its name): up to five actions, no opening or closing, and the first words spoken."""
    deeds = [event for event in events if event.kind not in {"says", "stands_up", "opens", "closes"}]
    said = next((f' "{event.words}"' for event in events if event.kind == "says"), "")
    clauses = "; ".join(event.clause for event in deeds[:_MOST_CLAUSES]) or "nothing happens"
    heard = f"; somebody says{said}" if said else ""
    return f"In {room}, {clauses}{heard}."


# -- chronicle


class Chronicle:
    """Collects the facts of a film while its story is made; times are in seconds of the film."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.visits: list[Visit] = []
        self.causes: list[Cause] = []
        self.learned_so_far: list[LearnedFact] = []
        self._scenes: list[Visit] = []
        self._relations: list[Relation] = []
        self._written: list[ShownText] = []
        self._open: dict[tuple[RelationKind, str, str], float] = {}

    def scene(self, place: str, start: float, end: float, texts: tuple[str, ...]) -> None:
        """Record that the camera shows a room with these readable texts."""
        self._scenes.append(Visit(subject="", place=place, start=start, end=end))
        self._written += [ShownText(text=text, place=place, start=start, end=end) for text in texts]

    def begins(self, kind: RelationKind, subject: str, other: str, time: float) -> None:
        """Record the start of a relation of ``subject`` to ``other``, each an id or words as in ``Relation``."""
        self._open[kind, subject, other] = time

    def ends(self, kind: RelationKind, subject: str, other: str, time: float) -> None:
        """Record the end of a relation that has begun; one of length 0 is dropped."""
        start = self._open.pop((kind, subject, other))
        if time > start:
            self._relations.append(Relation(kind=kind, subject=subject, object=other, start=start, end=time))

    def brings_about(self, cause: Event, effect: Event, reason: str) -> None:
        """Record that one event caused another; ``reason``: a clause about what is seen or heard, as in ``Cause``."""
        self.causes.append(Cause(cause=cause.id, effect=effect.id, reason=reason))

    def learned(self, kind: LearnedKind, text: str, values: Mapping[str, str], shown: Sequence[Event]) -> None:
        """Record a fact that can be learned from the events ``shown``; ``text`` states it, ``values`` are its parts."""
        own, spans = f"f{len(self.learned_so_far) + 1:02d}", tuple((event.start, event.end) for event in shown)
        self.learned_so_far.append(LearnedFact(id=own, kind=kind, text=text, values=dict(values), spans=spans))

    def facts(self, film: str, seed: int, cast: StoryCast, duration: float, extras: Mapping[str, object]) -> FilmFacts:
        """Return all facts of the film (``film``: its id) and ``extras`` unchanged; relations that have not ended end with it."""
        for kind, subject, other in list(self._open):
            self.ends(kind, subject, other, duration)
        return FilmFacts(
            film=film,
            seed=seed,
            duration=duration,
            people=tuple(map(_person, cast.actors)),
            things=tuple(map(_thing, cast.props)),
            places=tuple(map(_place, cast.locations)),
            scenes=tuple(self._scenes),
            visits=tuple(sorted(self.visits, key=lambda item: (item.start, item.subject))),
            events=tuple(sorted(self.events, key=lambda item: (item.start, item.end, item.id))),
            relations=tuple(sorted(self._relations, key=lambda item: (item.start, item.subject, item.kind))),
            causes=tuple(self.causes),
            facts=tuple(self.learned_so_far),
            written=tuple(self._written),
            extras=extras,
        )


def _person(actor: Actor) -> Person:
    looks = {part: getattr(actor.look, part) for part in ("coat", "trousers", "hair", "hair_style", "skin")}
    return Person(id=actor.id, name=actor.name, description=actor.reference, looks=looks)


def _thing(prop: Prop) -> Thing:
    marks = (f"{with_article(prop.label)} label",) if prop.label else ()
    return Thing(id=prop.id, name=prop.reference, category=prop.category, colour=prop.colour, marks=marks)


def _place(location: Location) -> Place:
    return Place(id=location.id, kind=location.room.kind, name=location.room.name, sign=location.room.sign)
