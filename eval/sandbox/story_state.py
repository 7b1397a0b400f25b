"""The state of a story's world, the words for its events, and the chronicle of what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from eval.sandbox.facts import Cause, Event, EventKind, Fact, FilmFacts, Relation, RelationKind, Visit, Written
from eval.sandbox.room_plans import Opened, Seat, Spot
from eval.sandbox.story_cast import Article, Cast, Location, Player

Feet = tuple[float, float]
How = Literal["on", "inside", "held", "worn"]


class ContradictionError(RuntimeError):
    """A plot asked for something that cannot be in this world: a mistake of the plot."""


@dataclass(kw_only=True)
class Standing:
    """Somebody's state. ``room`` is empty between two rooms; ``feet`` (pixels) and ``facing`` hold inside a room."""

    player: Player
    room: str = ""
    feet: Feet = (0.0, 0.0)
    facing: int = 1
    seat: Seat | None = None
    holds: Article | None = None
    wears: list[Article] = field(default_factory=list)


@dataclass(kw_only=True)
class Whereabouts:
    """A thing's state: lying on a spot, kept inside something, held or worn."""

    article: Article
    how: How
    room: str = ""
    spot: Spot | None = None
    inside: Opened | None = None
    person: str = ""


class World:
    """All states, changed only through methods that check them."""

    def __init__(self, locations: tuple[Location, ...], players: tuple[Player, ...]) -> None:
        self.locations = {item.id: item for item in locations}
        self.people = {player.id: Standing(player=player) for player in players}
        self.things: dict[str, Whereabouts] = {}
        self.open: dict[str, set[str]] = {item.id: set() for item in locations}

    def place(self, article: Article, room: str, spot: Spot) -> None:
        """Let a thing lie there from the beginning."""
        self._must(self.lying_at(room, spot) is None, f"{spot.name} is taken")
        self.things[article.id] = Whereabouts(article=article, how="on", room=room, spot=spot)

    def keep(self, article: Article, room: str, inside: Opened) -> None:
        """Let a thing be inside something from the beginning."""
        self.things[article.id] = Whereabouts(article=article, how="inside", room=room, inside=inside)

    def hand(self, article: Article, player: Player, *, worn: bool = False) -> None:
        """Let somebody hold or wear a thing from the beginning."""
        who = self.people[player.id]
        if worn:
            who.wears.append(article)
        else:
            self._must(who.holds is None, f"{player.id} holds something")
            who.holds = article
        self.things[article.id] = Whereabouts(article=article, how="worn" if worn else "held", person=player.id)

    def present(self, room: str) -> list[Standing]:
        """Who is in a room."""
        return [who for who in self.people.values() if who.room == room]

    def lying_at(self, room: str, spot: Spot) -> Article | None:
        """What lies on a spot."""
        for where in self.things.values():
            if where.how == "on" and where.room == room and where.spot == spot:
                return where.article
        return None

    def free_spots(self, room: str, article: Article) -> list[Spot]:
        """Where a thing can be put in a room."""
        hangs = article.thing.category in {"hat", "scarf", "bag", "umbrella", "key"}
        spots = self.locations[room].plan.spots
        return [spot for spot in spots if (hangs or not spot.hangs) and self.lying_at(room, spot) is None]

    def free_seats(self, room: str) -> list[Seat]:
        """What can be sat on in a room."""
        taken = {who.seat.name for who in self.present(room) if who.seat is not None}
        return [seat for seat in self.locations[room].plan.seats if seat.name not in taken]

    def opening(self, room: str, name: str) -> Opened:
        """Something of a room that opens, by its name."""
        return next(item for item in self.locations[room].plan.openings if item.name == name)

    def come(self, player: Player, room: str) -> None:
        """Somebody comes into a room."""
        who = self.people[player.id]
        self._must(not who.room, f"{player.id} is in {who.room}")
        who.room = room

    def go(self, player: Player) -> None:
        """Somebody leaves the room they are in."""
        who = self.people[player.id]
        self._must(bool(who.room) and who.seat is None, f"{player.id} cannot leave")
        who.room = ""

    def sit(self, player: Player, seat: Seat) -> None:
        """Somebody sits down."""
        who = self.people[player.id]
        self._must(who.seat is None and seat in self.free_seats(who.room), f"{seat.name} is taken")
        who.seat, who.facing = seat, seat.facing

    def rise(self, player: Player) -> Seat:
        """Somebody stands up, from the seat that is returned."""
        who = self.people[player.id]
        if who.seat is None:
            raise ContradictionError(f"{player.id} does not sit")
        seat, who.seat = who.seat, None
        return seat

    def take(self, player: Player, article: Article) -> Whereabouts:
        """Somebody takes a thing from where it is, which is returned."""
        who, where = self.people[player.id], self.things[article.id]
        self._must(who.holds is None, f"{player.id} has no hand free")
        self._must(where.how in {"on", "inside"} and where.room == who.room, f"{article.id} is not here")
        self._must(where.inside is None or where.inside.name in self.open[who.room], f"{article.id} is shut in")
        who.holds = article
        self.things[article.id] = Whereabouts(article=article, how="held", person=player.id)
        return where

    def put(self, player: Player, place: Spot | Opened) -> Article:
        """Somebody puts what they hold on a spot or into something, and it is returned."""
        who = self.people[player.id]
        if who.holds is None:
            raise ContradictionError(f"{player.id} holds nothing")
        article = who.holds
        if isinstance(place, Spot):
            self._must(self.lying_at(who.room, place) is None, "something lies there")
            self.things[article.id] = Whereabouts(article=article, how="on", room=who.room, spot=place)
        else:
            self._must(place.name in self.open[who.room], "it is shut")
            self.things[article.id] = Whereabouts(article=article, how="inside", room=who.room, inside=place)
        who.holds = None
        return article

    def give(self, giver: Player, receiver: Player) -> Article:
        """Somebody gives what they hold to somebody in the same room."""
        one, other = self.people[giver.id], self.people[receiver.id]
        self._must(one.room == other.room and bool(one.room), f"{giver.id} and {receiver.id} are apart")
        self._must(other.holds is None, f"{receiver.id} has no hand free")
        if one.holds is None:
            raise ContradictionError(f"{giver.id} holds nothing")
        article, one.holds, other.holds = one.holds, None, one.holds
        self.things[article.id] = Whereabouts(article=article, how="held", person=receiver.id)
        return article

    def wear(self, player: Player) -> Article:
        """Somebody puts on what they hold."""
        who = self.people[player.id]
        if who.holds is None or not who.holds.is_worn:
            raise ContradictionError(f"{player.id} holds nothing to wear")
        self._must(self.can_wear(player, who.holds), f"{player.id} wears a {who.holds.thing.category} already")
        article, who.holds = who.holds, None
        who.wears.append(article)
        self.things[article.id] = Whereabouts(article=article, how="worn", person=player.id)
        return article

    def can_wear(self, player: Player, article: Article) -> bool:
        """Whether it is a hat or scarf, and somebody wears none of that kind."""
        worn = {item.thing.category for item in self.people[player.id].wears}
        return article.is_worn and article.thing.category not in worn

    def unwear(self, player: Player, article: Article) -> None:
        """Somebody takes off what they wear and holds it."""
        who = self.people[player.id]
        self._must(who.holds is None and article in who.wears, f"{player.id} cannot take off {article.id}")
        who.wears.remove(article)
        who.holds = article
        self.things[article.id] = Whereabouts(article=article, how="held", person=player.id)

    def set_open(self, room: str, target: str, *, is_open: bool) -> None:
        """Something is opened or closed."""
        self._must((target in self.open[room]) != is_open, f"{target} is so already")
        if is_open:
            self.open[room].add(target)
        else:
            self.open[room].remove(target)

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


_TOLD = 5  #: events that a shot's caption tells

_VERBS: dict[EventKind, tuple[str, str]] = {  # third person, base form
    "enters": ("enters", "enter"),
    "leaves": ("leaves", "leave"),
    "sits": ("sits down", "sit down"),
    "stands_up": ("stands up", "stand up"),
    "picks_up": ("picks up", "pick up"),
    "puts_down": ("puts", "put"),
    "puts_on": ("puts on", "put on"),
    "takes_off": ("takes off", "take off"),
    "gives": ("gives", "give"),
    "opens": ("opens", "open"),
    "closes": ("closes", "close"),
    "waves": ("waves", "wave"),
    "drinks": ("drinks", "drink"),
    "says": ("says", "say"),
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """An event in words: ``predicate`` in the third person ("opens the left drawer"), ``base`` without its ending."""

    predicate: str
    base: str


def tell_event(
    kind: EventKind,
    *,
    thing: str = "",
    other: str = "",
    target: str = "",
    room: str = "",
    words: str = "",
    inside: bool = False,
) -> Told:
    """An event in words; all parts are names with their articles ("the blue cup"), empty where there is none."""
    rest = _objects(kind, thing=thing, other=other, target=target, room=room, words=words, inside=inside)
    third, base = _VERBS[kind]
    if kind == "picks_up" and target and inside:
        third, base = "takes", "take"
    return Told(predicate=f"{third}{rest}", base=f"{base}{rest}")


def _objects(kind: EventKind, *, thing: str, other: str, target: str, room: str, words: str, inside: bool) -> str:
    if kind in {"enters", "leaves"}:
        return f" {room}" + (f" with {thing}" if thing else "")
    if kind == "sits":
        return f" on {target}"
    if kind == "stands_up":
        return f" from {target}" if target else ""
    if kind == "picks_up" and target:
        return f" {thing} {'out of' if inside else 'from'} {target}"
    if kind == "puts_down":
        return f" {thing} {'into' if inside else 'on'} {target}"
    if kind == "gives":
        return f" {thing} to {other}"
    if kind == "waves":
        return f" at {other}" if other else ""
    if kind == "drinks":
        return f" from {thing}"
    if kind == "says":
        return f' "{words}"' + (f" to {other}" if other else "")
    return f" {thing or target}" if thing or target else ""


def capital(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def clock_words(minute: int) -> str:
    """Minutes of the day as a clock shows them: ``09:05``."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def caption_of(room: str, events: Sequence[Event]) -> str:
    """A shot in one sentence: the first things that are done in it, and the first that is said."""
    deeds = [event for event in events if event.kind not in {"says", "stands_up", "opens", "closes"}]
    said = next((f' "{event.words}"' for event in events if event.kind == "says"), "")
    told = "; ".join(event.clause for event in deeds[:_TOLD]) or "nothing happens"
    heard = f"; somebody says{said}" if said else ""
    return f"In {room}, {told}{heard}."


FRAME_RATE = 10  #: frames a second of generated films; every time of a story lies on a frame


def on_frame(seconds: float) -> float:
    """The nearest moment that is a frame."""
    return round(seconds * FRAME_RATE) / FRAME_RATE


class Chronicle:
    """Collects what is true while a story is being told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._visits: list[Visit] = []
        self.scenes: list[Visit] = []
        self._relations: list[Relation] = []
        self.causes: list[Cause] = []
        self.learned_so_far: list[Fact] = []
        self._written: list[Written] = []
        self._open: dict[tuple[RelationKind, str, str], float] = {}

    def happens(
        self,
        kind: EventKind,
        *,
        start: float,
        end: float,
        actor: str,
        subject: str,
        place: str,
        told: Told,
        thing: str = "",
        other: str = "",
        target: str = "",
        words: str = "",
    ) -> Event:
        """Note an event; ``subject`` is the actor in words."""
        event = Event(
            id=f"e{len(self.events) + 1:04d}",
            kind=kind,
            start=start,
            end=end,
            actor=actor,
            place=place,
            clause=f"{subject} {told.predicate}",
            verb_phrase=told.base,
            thing=thing,
            other=other,
            target=target,
            words=words,
        )
        self.events.append(event)
        return event

    def shown(self, subject: str, place: str, start: float, end: float) -> None:
        """Note that somebody or something is on screen."""
        if end > start:
            self._visits.append(Visit(subject=subject, place=place, start=start, end=end))

    def scene(self, place: str, start: float, end: float, texts: tuple[str, ...]) -> None:
        """Note that the camera shows a room, in which these texts can be read."""
        self.scenes.append(Visit(subject="", place=place, start=start, end=end))
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
        spans: list[tuple[float, float]],
    ) -> None:
        """Note what can be learned from several moments."""
        self.learned_so_far.append(
            Fact(
                id=f"f{len(self.learned_so_far) + 1:02d}", kind=kind, text=text, values=dict(values), spans=tuple(spans)
            )
        )

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
            scenes=tuple(self.scenes),
            visits=tuple(sorted(self._visits, key=lambda item: (item.start, item.subject))),
            events=tuple(sorted(self.events, key=lambda item: (item.start, item.end, item.id))),
            relations=tuple(sorted(self._relations, key=lambda item: (item.start, item.subject, item.kind))),
            causes=tuple(self.causes),
            facts=tuple(self.learned_so_far),
            written=tuple(self._written),
            extras=extras,
        )
