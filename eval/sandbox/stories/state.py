"""The world of a story: who is where, who holds and wears what, where each thing lies. It refuses what cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from eval.sandbox.sets import Opened, Seat, Spot
from eval.sandbox.stories.casting import Article, Location, Player

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
