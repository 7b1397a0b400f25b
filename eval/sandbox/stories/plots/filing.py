"""Plots about rules: things with a label are taken out, and go back to where the rule says."""

from __future__ import annotations

from eval.sandbox.script import with_article
from eval.sandbox.stories.casting import Article, Player, Rule
from eval.sandbox.stories.director import Director, Plot, Wanted
from eval.sandbox.stories.plots.moves import bring_in, go_or_stay, greet, settle
from eval.sandbox.stories.scene import Scene
from eval.sandbox.stories.words import capital

_SAYING = 0.45  #: how often the rule is spoken out loud
_NEEDING = ("I need {0} for a moment.", "Let me look at {0}.", "{0} is what I am looking for.")


def filed(director: Director) -> Plot:
    """A labelled thing that somebody has in hand is put where its label says."""
    held = [
        (who.player, who.holds, rule)
        for who in director.world.people.values()
        if who.holds is not None
        and (rule := director.cast.rule_of(who.holds)) is not None
        and director.is_free(who.player)
    ]
    if not held:
        return
    player, thing, rule = director.chance.choice(held)
    with director.engaged(player, thing):
        yield from _put_away(director, player, thing, rule)


def _put_away(director: Director, player: Player, thing: Article, rule: Rule) -> Plot:
    scene = yield Wanted(room=rule.room)
    bring_in(scene, player)
    greet(scene, player)
    _file(scene, player, thing, rule)
    go_or_stay(scene, player)


def _file(scene: Scene, player: Player, thing: Article, rule: Rule) -> None:
    if scene.chance.random() < _SAYING:
        words = scene.chance.choice(("{0} label: that goes into {1}.", "{2} label. So it belongs in {1}."))
        scene.say(player, words.format(capital(with_article(rule.label)), rule.target, rule.label.capitalize()))
    scene.put_down(player, scene.world.opening(rule.room, rule.target))


def consulted(director: Director) -> Plot:
    """A labelled thing is taken out of its place, looked at in another room, perhaps handed on, and put away again."""
    chance = director.chance
    kept = [thing for thing in director.free_things(ruled=True) if director.world.things[thing.id].how == "inside"]
    people = director.free_people(2)
    if not kept or not people:
        return
    (one, two), thing = people, kept[0]
    rule = director.cast.rule_of(thing)
    if rule is None:
        return
    reading = director.room(without=(rule.room,))
    with director.engaged(one, two, thing):
        scene = yield Wanted(room=rule.room)
        bring_in(scene, one)
        scene.pick_up(one, thing)
        if chance.random() < 0.5:
            words = chance.choice(_NEEDING).format(thing.thing.name)
            scene.say(one, words[0].upper() + words[1:])
        scene.leave(one)
        if reading is None:
            return
        scene = yield Wanted(room=reading)
        scene.enter(one)
        if scene.is_here(two) or (not director.room_of(two) and chance.random() < 0.6):
            bring_in(scene, two)
            scene.say(one, f"{two.person.name}, please put {thing.thing.name} away.", two)
            scene.give(one, two)
            scene.leave(two)
            go_or_stay(scene, one)
            player = two
        else:
            settle(scene, one)
            scene.pause(chance.uniform(1.0, 3.0))
            scene.leave(one)
            player = one
        yield from _put_away(director, player, thing, rule)
