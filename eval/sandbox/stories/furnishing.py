"""How a story begins: where everything lies, and what people bring with them."""

from __future__ import annotations

from eval.sandbox.stories.casting import Article
from eval.sandbox.stories.director import Director
from eval.sandbox.stories.stage import kept_on

_BROUGHT = 0.5  #: how often a labelled thing is brought by somebody, while there are hands free
_KEPT = 0.3  #: how often a thing is inside something at first


def furnish(director: Director) -> None:
    """Give every thing its first place."""
    for article in director.cast.articles:
        if director.cast.rule_of(article) is not None:
            _labelled(director, article)
        else:
            _lying(director, article)


def _labelled(director: Director, article: Article) -> None:
    """A thing that a rule is about is brought by somebody, or lies about, or is where it belongs."""
    chance, world = director.chance, director.world
    rule = director.cast.rule_of(article)
    hands = [player for player in director.cast.players[1:] if world.people[player.id].holds is None]
    if len(hands) > 2 and chance.random() < _BROUGHT:
        player = chance.choice(hands)
        world.hand(article, player)
        director.chronicle.begins("holds", player.id, article.id, 0.0)
    elif rule is not None and chance.random() < _KEPT:
        world.keep(article, rule.room, world.opening(rule.room, rule.target))
        _is_in(director, article, rule.room, "inside", rule.target)
    else:
        _lying(director, article)


def _lying(director: Director, article: Article) -> None:
    """A thing lies on something, or is inside something."""
    chance, world = director.chance, director.world
    rooms = [location.id for location in director.cast.locations]
    chance.shuffle(rooms)
    ruled = director.cast.rule_of(article) is not None
    for room in rooms:
        openings = [item for item in world.locations[room].plan.openings if not item.name.endswith("door")]
        if openings and not ruled and not article.is_worn and chance.random() < _KEPT / 2:
            inside = chance.choice(openings)
            world.keep(article, room, inside)
            _is_in(director, article, room, "inside", inside.name)
            return
        spots = world.free_spots(room, article)
        spots = [spot for spot in spots if spot.hangs] if article.is_worn and any(s.hangs for s in spots) else spots
        if spots:
            spot = chance.choice(spots)
            world.place(article, room, spot)
            _is_in(director, article, room, "on", kept_on(spot))
            return
    raise RuntimeError(f"there is no room for {article.id}")


def _is_in(director: Director, article: Article, room: str, how: str, what: str) -> None:
    director.chronicle.begins("in", article.id, room, 0.0)
    director.chronicle.begins("inside" if how == "inside" else "on", article.id, what, 0.0)
