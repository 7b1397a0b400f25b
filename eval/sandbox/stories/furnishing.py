"""How a story begins: where everything lies, and what people bring with them."""

from __future__ import annotations

from eval.sandbox.sets import Opened
from eval.sandbox.stories.casting import Article, Rule
from eval.sandbox.stories.director import Director
from eval.sandbox.stories.state import kept_on

_BROUGHT = 0.75  #: how often a labelled thing is brought by somebody, while there are hands free
_KEPT = 0.15  #: how often any other thing is inside something at first


def furnish(director: Director) -> None:
    """Give every thing its first place."""
    for article in director.cast.articles:
        rule = director.cast.rule_of(article)
        if rule is not None:
            _labelled(director, article, rule)
        else:
            _lying(director, article)


def _labelled(director: Director, article: Article, rule: Rule) -> None:
    """A thing that a rule is about is brought by somebody, or is where it belongs: it never lies where the rule does not say."""
    chance, world = director.chance, director.world
    hands = [player for player in director.cast.players[1:] if world.people[player.id].holds is None]
    if len(hands) > 1 and chance.random() < _BROUGHT:
        player = chance.choice(hands)
        world.hand(article, player)
        director.chronicle.begins("holds", player.id, article.id, 0.0)
    else:
        _keep(director, article, rule.room, world.opening(rule.room, rule.target))


def _lying(director: Director, article: Article) -> None:
    """A thing lies on something, or is inside something, also where nothing is free to lie on."""
    chance = director.chance
    openings = [
        (location.id, item)
        for location in director.cast.locations
        for item in location.plan.openings
        if not item.name.endswith("door")
    ]
    inside = not article.is_worn and bool(openings) and chance.random() < _KEPT
    if inside or not _lay(director, article):
        _keep(director, article, *chance.choice(openings))


def _lay(director: Director, article: Article) -> bool:
    """Let a thing lie or hang in some room; False where all places are taken."""
    chance, world = director.chance, director.world
    rooms = [location.id for location in director.cast.locations]
    free = {room: world.free_spots(room, article) for room in rooms}
    if article.is_worn and any(spot.hangs for spots in free.values() for spot in spots):
        free = {room: [spot for spot in spots if spot.hangs] for room, spots in free.items()}
    rooms = [room for room in rooms if free[room]]
    if not rooms:
        return False
    room = chance.choice(rooms)
    spot = chance.choice(free[room])
    world.place(article, room, spot)
    director.chronicle.begins("in", article.id, room, 0.0)
    director.chronicle.begins("on", article.id, kept_on(spot), 0.0)
    return True


def _keep(director: Director, article: Article, room: str, inside: Opened) -> None:
    director.world.keep(article, room, inside)
    director.chronicle.begins("in", article.id, room, 0.0)
    director.chronicle.begins("inside", article.id, inside.name, 0.0)
