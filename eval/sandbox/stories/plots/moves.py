"""Moves that many plots share."""

from __future__ import annotations

from eval.sandbox.facts import Event
from eval.sandbox.stories.casting import Article, Player
from eval.sandbox.stories.director import Director
from eval.sandbox.stories.scene import Scene

_STAYING = 0.42  #: how often somebody stays in a room when their plot is over


def bring_in(scene: Scene, player: Player) -> Event | None:
    """Somebody comes in; None where they are here already."""
    return None if scene.is_here(player) else scene.enter(player)


def greet(scene: Scene, player: Player) -> None:
    """Somebody may greet who else is here."""
    others = scene.others(player)
    if not others or scene.chance.random() < 0.3:
        return
    other = scene.chance.choice(others)
    if scene.chance.random() < 0.5:
        scene.wave(player, other)
    else:
        word = scene.chance.choice(("Hello", "Good to see you", "There you are", "Hi"))
        scene.say(player, f"{word}, {other.person.name}.", other)


_REMARKS = (
    "There is {0}.", "So this is {0}.", "{0}, at last.", "Whose is {0}?", "Here we have {0}.", "{0}, always {0}.",
)  # fmt: skip


def remark(scene: Scene, player: Player, article: Article) -> None:
    """Somebody may say something about a thing."""
    if scene.chance.random() < 0.45:
        words = scene.chance.choice(_REMARKS).format(article.thing.name)
        scene.say(player, words[0].upper() + words[1:])


def go_or_stay(scene: Scene, player: Player, *, waits: bool = True) -> None:
    """Somebody whose plot is over leaves, or sits down, or stays standing until the scene is over."""
    who = scene.state(player)
    if who.holds is not None or scene.chance.random() > _STAYING:
        scene.leave(player, waits=waits)
    elif who.seat is None and scene.chance.random() < 0.7:
        settle(scene, player)


def settle(scene: Scene, player: Player) -> None:
    """Somebody sits down where nobody sits or stands; who has a seat of their own in this room takes no other."""
    who = scene.state(player)
    if who.seat is not None:
        return
    room = scene.location.id
    own = [
        habit.seat
        for habit in scene.cast.habits
        if habit.kind == "seat" and (habit.person, habit.room) == (player.id, room)
    ]
    near = [scene.state(other).feet[0] for other in scene.others(player)]
    seats = [
        seat
        for seat in scene.world.free_seats(room)
        if (not own or seat.name in own) and all(abs(seat.stand[0] - x) > 80 for x in near)
    ]
    if seats:
        scene.sit(player, scene.chance.choice(seats))


def lay_down(scene: Scene, player: Player) -> bool:
    """Somebody puts what they hold somewhere in this room; False where nothing is free."""
    article = scene.state(player).holds
    if article is None:
        return False
    rule = scene.cast.rule_of(article)
    room = scene.location.id
    if rule is not None:
        if rule.room == room:
            scene.put_down(player, scene.world.opening(room, rule.target))
        return rule.room == room
    spots = scene.world.free_spots(room, article)
    hooks = [spot for spot in spots if spot.hangs]
    if article.is_worn and hooks:
        spots = hooks
    if not spots:
        return False
    scene.put_down(player, scene.chance.choice(spots))
    return True


def where_is(director: Director, article: Article) -> str:
    """The room in which a thing lies or is kept."""
    return director.world.things[article.id].room


def where_words(director: Director, article: Article) -> str:
    """Where a thing is, in words: ``on the desk in office 14``."""
    where = director.world.things[article.id]
    room = director.room_name(where.room)
    if where.spot is not None:
        return f"on {where.spot.name if where.spot.hangs else where.spot.on} in {room}"
    return f"in {where.inside.name} in {room}" if where.inside is not None else f"in {room}"
