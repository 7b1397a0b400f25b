"""The people, things, rooms, rules and habits of a story, chosen by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from eval.sandbox.canvas import HAIRS, SKINS
from eval.sandbox.facts import Person, Place, Thing
from eval.sandbox.room_plans import Plan, plan_of
from eval.sandbox.script import Actor, HairStyle, Look, Prop, PropKind, Room, RoomKind, with_article

_NAMES = (
    "Mia", "Tom", "Ana", "Leo", "Eva", "Ben", "Zoe", "Max", "Ida", "Sam", "Nora", "Paul", "Lily", "Hugo", "Ruth", "Omar",
    "Vera", "Karl", "Yuki", "Dora", "Felix", "Greta", "Ivan", "Lena",
)  # fmt: skip
#: At most one coat of a group in a film, so that no two are taken for each other.
_COATS = (
    ("red",), ("orange", "yellow"), ("green",), ("blue",), ("purple", "pink"), ("white", "grey"), ("black",), ("brown",),
)  # fmt: skip
_TROUSERS = ("black", "blue", "grey", "brown", "white", "green")
_VIVID = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "brown", "black")
_LABELS = ("red", "blue", "green", "yellow", "purple", "orange")
_FILES: tuple[PropKind, ...] = ("folder", "box", "letter")
_NUMBERED: tuple[RoomKind, ...] = ("office", "meeting room")  #: there may be two of a kind, told apart by number

#: What a film is about, and the kinds of rooms that go with it; the first kinds are the likeliest.
THEMES: dict[str, tuple[RoomKind, ...]] = {
    "office": ("office", "meeting room", "corridor", "kitchen", "entrance hall", "library"),
    "home": ("living room", "kitchen", "entrance hall", "library", "corridor", "workshop"),
    "workshop": ("workshop", "office", "entrance hall", "kitchen", "corridor", "meeting room"),
    "reading room": ("library", "entrance hall", "office", "corridor", "meeting room", "kitchen"),
}


@dataclass(frozen=True, kw_only=True)
class Player:
    """A person of the story, as the facts and as the script know them."""

    person: Person
    actor: Actor

    @property
    def id(self) -> str:
        """The person's id."""
        return self.person.id


@dataclass(frozen=True, kw_only=True)
class Article:
    """A thing of the story, as the facts and as the script know it."""

    thing: Thing
    prop: Prop

    @property
    def id(self) -> str:
        """The thing's id."""
        return self.thing.id

    @property
    def is_worn(self) -> bool:
        """Whether it can be put on."""
        return self.thing.category in {"hat", "scarf"}


@dataclass(frozen=True, kw_only=True)
class Location:
    """A room of the story: its facts, its picture and its plan."""

    place: Place
    room: Room
    plan: Plan

    @property
    def id(self) -> str:
        """The room's id."""
        return self.place.id

    @cached_property
    def furniture(self) -> frozenset[str]:
        """What its furniture is called: surfaces, hooks, seats, drawers, doors."""
        spots = [spot.name if spot.hangs else spot.on for spot in self.plan.spots]
        seats, openings = [item.name for item in self.plan.seats], [item.name for item in self.plan.openings]
        return frozenset((*spots, *seats, *openings))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Things of a category with a label of that colour are put only there: ``target`` is an opening of that room."""

    category: str
    label: str
    room: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Habit:
    """Somebody waves whenever they come into that room, or sits only on that seat there."""

    kind: Literal["waves", "seat"]
    person: str
    room: str
    seat: str = ""

    def is_of(self, kind: str, player: Player, location: Location) -> bool:
        """Whether a person has it, and in that room."""
        return (self.kind, self.person, self.room) == (kind, player.id, location.id)


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Everything a story has to play with.

    ``opening_minute`` is what the clocks show at first, in minutes of the day; ``between`` the seconds from one action to the
    next, and ``busy`` how many small things somebody does at most: films have a pace of their own.
    """

    theme: str  #: a key of ``THEMES``
    players: tuple[Player, ...]
    articles: tuple[Article, ...]
    locations: tuple[Location, ...]
    rules: tuple[Rule, ...]
    habits: tuple[Habit, ...]
    opening_minute: int
    between: float
    busy: int

    def person(self, person_id: str) -> Person:
        """Somebody by id."""
        return next(player.person for player in self.players if player.id == person_id)

    def in_words(self, furniture: str) -> str:
        """Furniture by its name, "the left drawer"; "a left drawer" where several rooms have one of that name."""
        if sum(furniture in location.furniture for location in self.locations) < 2:
            return furniture
        return with_article(furniture.removeprefix("the "))

    def rule_of(self, article: Article) -> Rule | None:
        """Where a thing has to go, when a rule says so."""
        for rule in self.rules:
            if rule.category == article.thing.category and rule.label == article.prop.label:
                return rule
        return None


def cast_story(seed: int, minutes: float) -> Cast:
    """Choose the cast of a film of that length; the same seed and length always choose the same."""
    chance = random.Random(f"cast {seed} {minutes:g}")
    most = 5 if minutes < 5 else 6 if minutes < 15 else 8
    players = _people(chance, chance.randint(4, most))
    theme = chance.choice(tuple(THEMES))
    locations = _rooms(chance, THEMES[theme], chance.randint(3, 4 if minutes < 5 else 5 if minutes < 15 else 7))
    rules = _rules(chance, locations, chance.choice((1, 2, 2, 3)) if minutes >= 5 else chance.choice((1, 1, 2)))
    articles = _things(chance, rules, minutes)
    return Cast(
        theme=theme,
        players=players,
        articles=articles,
        locations=locations,
        rules=rules,
        habits=_habits(chance, players, locations),
        opening_minute=chance.randrange(7 * 60, 10 * 60, 5),
        between=chance.choice((0.2, 0.3, 0.5, 0.8, 1.2)),
        busy=chance.randint(1, 5),
    )


def _people(chance: random.Random, count: int) -> tuple[Player, ...]:
    coats = [chance.choice(group) for group in chance.sample(_COATS, count)]
    names = chance.sample(_NAMES, count)
    return tuple(_player(chance, name, coat) for name, coat in zip(names, coats, strict=True))


def _player(chance: random.Random, name: str, coat: str) -> Player:
    look = Look(
        coat=coat,
        trousers=chance.choice([colour for colour in _TROUSERS if colour != coat]),
        hair=chance.choice(tuple(HAIRS)),
        hair_style=chance.choice(get_args(HairStyle)),
        skin=chance.choice(tuple(SKINS)),
        height=chance.choice((0.94, 0.97, 1.0, 1.03, 1.06)),
    )
    return Player(
        person=Person(
            id=f"person_{name.lower()}",
            name=name,
            description=f"the person in the {coat} coat",
            looks={
                "coat": coat,
                "trousers": look.trousers,
                "hair": look.hair,
                "hair_style": look.hair_style,
                "skin": look.skin,
            },
        ),
        actor=Actor(name=name, look=look, pitch=chance.choice((115.0, 130.0, 150.0, 175.0, 200.0, 225.0, 245.0))),
    )


def _rooms(chance: random.Random, kinds_of_theme: tuple[RoomKind, ...], count: int) -> tuple[Location, ...]:
    """Rooms of a theme, the first with a chest of drawers; in large films one kind may be there twice."""
    first = kinds_of_theme[0]
    other = [kind for kind in get_args(RoomKind) if kind not in kinds_of_theme]
    kinds: list[RoomKind] = [first, *chance.sample([*kinds_of_theme[1:], chance.choice(other)], count - 1)]
    if count > 4 and first in _NUMBERED:
        kinds[-1] = first
    numbers = chance.sample(range(10, 60), count)
    variant = chance.randint(1, 60)
    found = []
    for place, (kind, number) in enumerate(zip(kinds, numbers, strict=True)):
        # Variants next to one another have walls in different colours, so that each cut shows another room.
        found.append(_location(chance, kind, variant + place, number))
    return tuple(found)


def _location(chance: random.Random, kind: RoomKind, variant: int, number: int) -> Location:
    numbered = kind in _NUMBERED
    sign = f"{kind.upper()} {number}" if numbered else kind.upper()
    name = f"{kind} {number}" if numbered else f"the {kind}"
    slug = sign.lower().replace(" ", "_")
    room = Room(kind=kind, name=name, sign=sign, seed=chance.randrange(1_000_000), variant=variant)
    return Location(place=Place(id=slug, kind=kind, name=name, sign=sign), room=room, plan=plan_of(kind, variant))


def _rules(chance: random.Random, locations: tuple[Location, ...], count: int) -> tuple[Rule, ...]:
    """Rules of one category: each label has a drawer or a cupboard of its own, mostly in the first room."""
    category = chance.choice(_FILES)
    near = [(locations[0].id, item.name) for item in locations[0].plan.openings if item.name != "the door"]
    far = [(place.id, item.name) for place in locations[1:] for item in place.plan.openings if item.name != "the door"]
    places = chance.sample(near, len(near)) + chance.sample(far, len(far))
    labels = chance.sample(_LABELS, count)
    return tuple(
        Rule(category=category, label=label, room=room, target=target)
        for label, (room, target) in zip(labels, places, strict=False)
    )


def _things(chance: random.Random, rules: tuple[Rule, ...], minutes: float) -> tuple[Article, ...]:
    found: list[Article] = []
    for rule in rules:
        for _ in range(2 if minutes < 8 else 3):
            _add(chance, found, rule.category, label=rule.label)
    kinds = [kind for kind in get_args(PropKind) if not any(rule.category == kind for rule in rules)]
    _add(chance, found, "cup")
    _add(chance, found, chance.choice(("hat", "scarf")))
    for _ in range(chance.randint(3, 4 if minutes < 5 else 8)):
        _add(chance, found, chance.choice(kinds))
    return tuple(found)


def _add(chance: random.Random, found: list[Article], category: str, *, label: str = "") -> None:
    taken = {item.thing.colour for item in found if item.thing.category == category}
    free = [colour for colour in _VIVID if colour not in taken and colour != label]
    if not free:
        return
    colour = chance.choice(free)
    found.append(
        Article(
            thing=Thing(
                id=f"{category}_{colour}",
                name=f"the {colour} {category}",
                category=category,
                colour=colour,
                marks=(f"{with_article(label)} label",) if label else (),
            ),
            prop=Prop(name=f"{colour} {category}", category=category, colour=colour, label=label),
        )
    )


def _habits(chance: random.Random, players: tuple[Player, ...], locations: tuple[Location, ...]) -> tuple[Habit, ...]:
    """One or two people with a habit each."""
    people = chance.sample(players, 2)
    found = [Habit(kind="waves", person=people[0].id, room=chance.choice(locations).id)]
    several = [place for place in locations if len(place.plan.seats) > 1]
    if several and chance.random() < 0.7:
        place = chance.choice(several)
        found.append(Habit(kind="seat", person=people[1].id, room=place.id, seat=chance.choice(place.plan.seats).name))
    return tuple(found)
