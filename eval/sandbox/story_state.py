"""The state of a story's world, the words for its events, and the chronicle of what happened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from eval.sandbox.facts import Cause, Event, Fact, FilmFacts, Relation, RelationKind, Visit, Written
from eval.sandbox.room_plans import Opened, Seat, Spot
from eval.sandbox.story_cast import Article, Cast, Location, Player

FRAME_RATE = 10  #: frames a second of generated films; every time of a story lies on a frame

Feet = tuple[float, float]


def on_frame(seconds: float) -> float:
    """The nearest moment that is a frame."""
    return round(seconds * FRAME_RATE) / FRAME_RATE


# -- state


class ContradictionError(RuntimeError):
    """A plot asked for something that cannot be in this world: a mistake of the plot."""


@dataclass(kw_only=True)
class Standing:
    """A person's state. ``room`` is empty between two rooms; ``feet`` (pixels) and ``facing`` hold inside a room."""

    player: Player
    room: str = ""
    feet: Feet = (0.0, 0.0)
    facing: int = 1
    seat: Seat | None = None
    holds: Article | None = None
    wears: list[Article] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """A thing's state: lying on a spot, kept inside something, held or worn (``place`` is None then)."""

    article: Article
    how: Literal["on", "inside", "held", "worn"]
    room: str = ""
    place: Spot | Opened | None = None


class World:
    """All states, changed only through methods that check them."""

    def __init__(self, locations: tuple[Location, ...], players: tuple[Player, ...]) -> None:
        self.locations = {item.id: item for item in locations}
        self.people = {player.id: Standing(player=player) for player in players}
        self.things: dict[str, Whereabouts] = {}
        self.open: dict[str, set[str]] = {item.id: set() for item in locations}

    def place(self, article: Article, room: str, place: Spot | Opened) -> None:
        """Let a thing lie on a spot or be inside something."""
        is_spot = isinstance(place, Spot)
        self._must(not is_spot or self.lying_at(room, place) is None, f"{place.name} is taken")
        how: Literal["on", "inside"] = "on" if is_spot else "inside"
        self.things[article.id] = Whereabouts(article=article, how=how, room=room, place=place)

    def put_in_hand(self, article: Article, player: Player) -> None:
        """Let a person hold a thing."""
        who = self.people[player.id]
        self._must(who.holds is None, f"{player.id} holds something")
        who.holds = article
        self.things[article.id] = Whereabouts(article=article, how="held")

    def present(self, room: str) -> list[Standing]:
        """The people in a room."""
        return [who for who in self.people.values() if who.room == room]

    def lying_at(self, room: str, spot: Spot | Opened) -> Article | None:
        """What lies on a spot."""
        for where in self.things.values():
            if where.how == "on" and where.room == room and where.place == spot:
                return where.article
        return None

    def free_spots(self, room: str, article: Article) -> list[Spot]:
        """The places of a room at which a thing can be put."""
        hangs = article.thing.category in {"hat", "scarf", "bag", "umbrella", "key"}
        spots = self.locations[room].plan.spots
        return [spot for spot in spots if (hangs or not spot.hangs) and self.lying_at(room, spot) is None]

    def free_seats(self, room: str) -> list[Seat]:
        """The seats of a room that are not taken."""
        taken = {who.seat.name for who in self.present(room) if who.seat is not None}
        return [seat for seat in self.locations[room].plan.seats if seat.name not in taken]

    def opening(self, room: str, name: str) -> Opened:
        """A drawer, cupboard or door of a room, by its name."""
        return next(item for item in self.locations[room].plan.openings if item.name == name)

    def come(self, player: Player, room: str) -> None:
        """A person comes into a room."""
        who = self.people[player.id]
        self._must(not who.room, f"{player.id} is in {who.room}")
        who.room = room

    def go(self, player: Player) -> None:
        """A person leaves the room they are in."""
        who = self.people[player.id]
        self._must(bool(who.room) and who.seat is None, f"{player.id} cannot leave")
        who.room = ""

    def sit(self, player: Player, seat: Seat) -> None:
        """A person sits down."""
        who = self.people[player.id]
        self._must(who.seat is None and seat in self.free_seats(who.room), f"{seat.name} is taken")
        who.seat, who.facing = seat, seat.facing

    def rise(self, player: Player) -> Seat:
        """A person stands up, from the seat that is returned."""
        who = self.people[player.id]
        if who.seat is None:
            raise ContradictionError(f"{player.id} does not sit")
        seat, who.seat = who.seat, None
        return seat

    def take(self, player: Player, article: Article) -> None:
        """A person takes a thing from where it is."""
        room, where = self.people[player.id].room, self.things[article.id]
        self._must(where.place is not None and where.room == room, f"{article.id} is not here")
        is_open = not isinstance(where.place, Opened) or where.place.name in self.open[room]
        self._must(is_open, f"{article.id} is shut in")
        self.put_in_hand(article, player)

    def put(self, player: Player, place: Spot | Opened) -> Article:
        """A person puts what they hold, which is returned, on a spot or into something."""
        room = self.people[player.id].room
        self._must(isinstance(place, Spot) or place.name in self.open[room], "it is shut")
        article = self._let_go(player)
        self.place(article, room, place)
        return article

    def give(self, giver: Player, receiver: Player) -> Article:
        """A person gives what they hold, which is returned, to another in the same room."""
        one, other = self.people[giver.id], self.people[receiver.id]
        self._must(one.room == other.room and bool(one.room), f"{giver.id} and {receiver.id} are apart")
        article = self._let_go(giver)
        self.put_in_hand(article, receiver)
        return article

    def wear(self, player: Player) -> Article:
        """A person puts on what they hold, which is returned."""
        article = self._let_go(player)
        self._must(self.can_wear(player, article), f"{player.id} cannot wear {article.id}")
        self.people[player.id].wears.append(article)
        self.things[article.id] = Whereabouts(article=article, how="worn")
        return article

    def can_wear(self, player: Player, article: Article) -> bool:
        """Whether it is a hat or scarf, and the person wears none of that kind."""
        worn = {item.thing.category for item in self.people[player.id].wears}
        return article.is_worn and article.thing.category not in worn

    def unwear(self, player: Player, article: Article) -> None:
        """A person takes off what they wear and holds it."""
        who = self.people[player.id]
        self._must(article in who.wears, f"{player.id} does not wear {article.id}")
        self.put_in_hand(article, player)
        who.wears.remove(article)

    def set_open(self, room: str, target: str, *, is_open: bool) -> None:
        """Something is opened or closed."""
        self._must((target in self.open[room]) != is_open, f"{target} is so already")
        self.open[room] ^= {target}

    def _let_go(self, player: Player) -> Article:
        who = self.people[player.id]
        if who.holds is None:
            raise ContradictionError(f"{player.id} holds nothing")
        article, who.holds = who.holds, None
        return article

    @staticmethod
    def _must(condition: bool, message: str) -> None:
        if not condition:
            raise ContradictionError(message)


def hand_place(place: Spot | Opened) -> Feet:
    """Where the hand goes for a thing on a spot or inside something."""
    return place.place if isinstance(place, Spot) else place.handle


def kept_on(place: Spot | Opened | Seat) -> str:
    """The words for where a thing is: a surface, a hook, a drawer."""
    return place.on if isinstance(place, Spot) and not place.hangs else place.name


# -- words

_MOST_CLAUSES = 5  #: events that a shot's caption tells

#: For each kind of event its verb in the third person and in the base form, and what follows it: of these the first none of
#: whose slots is empty. "takes_out" and "puts_into" are "picks_up" and "puts_down" of what is inside something.
_VERBS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "enters": ("enters", "enter", (" {room} with {thing}", " {room}")),
    "leaves": ("leaves", "leave", (" {room} with {thing}", " {room}")),
    "sits": ("sits down", "sit down", (" on {target}",)),
    "stands_up": ("stands up", "stand up", (" from {target}", "")),
    "picks_up": ("picks up", "pick up", (" {thing} from {target}", " {thing}")),
    "takes_out": ("takes", "take", (" {thing} out of {target}",)),
    "puts_down": ("puts", "put", (" {thing} on {target}",)),
    "puts_into": ("puts", "put", (" {thing} into {target}",)),
    "puts_on": ("puts on", "put on", (" {thing}",)),
    "takes_off": ("takes off", "take off", (" {thing}",)),
    "gives": ("gives", "give", (" {thing} to {other}",)),
    "opens": ("opens", "open", (" {target}",)),
    "closes": ("closes", "close", (" {target}",)),
    "waves": ("waves", "wave", (" at {other}", "")),
    "drinks": ("drinks", "drink", (" from {thing}",)),
    "says": ("says", "say", (' "{words}" to {other}', ' "{words}"')),
}


@dataclass(frozen=True, kw_only=True)
class EventWords:
    """An event in words: ``predicate`` in the third person ("opens the left drawer"), ``base`` without its ending."""

    predicate: str
    base: str


def event_words(kind: str, **parts: str) -> EventWords:
    """An event in words; ``thing``, ``other``, ``target``, ``room`` are names with their articles, empty if there is none."""
    third, base, patterns = _VERBS[kind]
    rest = next(rest for rest in patterns if all(parts[slot] for slot in re.findall(r"{(\w+)}", rest))).format(**parts)
    return EventWords(predicate=f"{third}{rest}", base=f"{base}{rest}")


def clock_words(minute: int) -> str:
    """Minutes of the day as a clock shows them: ``09:05``."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def caption_of(room: str, events: Sequence[Event]) -> str:
    """A shot in one sentence: the first things that are done in it, and the first that is said."""
    deeds = [event for event in events if event.kind not in {"says", "stands_up", "opens", "closes"}]
    said = next((f' "{event.words}"' for event in events if event.kind == "says"), "")
    clauses = "; ".join(event.clause for event in deeds[:_MOST_CLAUSES]) or "nothing happens"
    heard = f"; somebody says{said}" if said else ""
    return f"In {room}, {clauses}{heard}."


# -- chronicle


class Chronicle:
    """Collects what is true while a story is being told, in seconds of the film."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.visits: list[Visit] = []
        self.causes: list[Cause] = []
        self.learned_so_far: list[Fact] = []
        self._scenes: list[Visit] = []
        self._relations: list[Relation] = []
        self._written: list[Written] = []
        self._open: dict[tuple[RelationKind, str, str], float] = {}

    def scene(self, place: str, start: float, end: float, texts: tuple[str, ...]) -> None:
        """Note that the camera shows a room, in which these texts can be read."""
        self._scenes.append(Visit(subject="", place=place, start=start, end=end))
        self._written += [Written(text=text, place=place, start=start, end=end) for text in texts]

    def begins(self, kind: RelationKind, subject: str, other: str, time: float) -> None:
        """A relation holds from now on."""
        self._open[kind, subject, other] = time

    def ends(self, kind: RelationKind, subject: str, other: str, time: float) -> None:
        """A relation that holds ends."""
        start = self._open.pop((kind, subject, other))
        if time > start:
            self._relations.append(Relation(kind=kind, subject=subject, object=other, start=start, end=time))

    def brings_about(self, cause: Event, effect: Event, reason: str) -> None:
        """One event brought another about."""
        self.causes.append(Cause(cause=cause.id, effect=effect.id, reason=reason))

    def learned(
        self,
        kind: Literal["rule", "appointment", "habit", "number"],
        text: str,
        values: Mapping[str, str],
        shown: Sequence[Event],
    ) -> None:
        """Note what can be learned from several events."""
        number, spans = len(self.learned_so_far) + 1, tuple((event.start, event.end) for event in shown)
        self.learned_so_far.append(Fact(id=f"f{number:02d}", kind=kind, text=text, values=dict(values), spans=spans))

    def facts(self, film: str, seed: int, cast: Cast, duration: float, extras: Mapping[str, object]) -> FilmFacts:
        """Everything, when the film is over; what still holds then ends with it."""
        for kind, subject, other in list(self._open):
            self.ends(kind, subject, other, duration)
        return FilmFacts(
            film=film,
            seed=seed,
            duration=duration,
            people=tuple(player.person for player in cast.players),
            things=tuple(article.thing for article in cast.articles),
            places=tuple(location.place for location in cast.locations),
            scenes=tuple(self._scenes),
            visits=tuple(sorted(self.visits, key=lambda item: (item.start, item.subject))),
            events=tuple(sorted(self.events, key=lambda item: (item.start, item.end, item.id))),
            relations=tuple(sorted(self._relations, key=lambda item: (item.start, item.subject, item.kind))),
            causes=tuple(self.causes),
            facts=tuple(self.learned_so_far),
            written=tuple(self._written),
            extras=extras,
        )
