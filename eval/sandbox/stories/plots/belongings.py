"""Plots about things: somebody asks for one, takes another's, lends it, goes out in a hat."""

from __future__ import annotations

from eval.sandbox.facts import Event
from eval.sandbox.stories.casting import Article, Player
from eval.sandbox.stories.director import Director, Plot, Wanted
from eval.sandbox.stories.plots.moves import (
    bring_in,
    go_or_stay,
    greet,
    lay_down,
    remark,
    settle,
    where_is,
    where_words,
)
from eval.sandbox.stories.scene import Scene

_ASKING = (
    "{name}, could you bring me {thing} from {room}?",
    "{name}, I need {thing}. It must be in {room}.",
    "Would you fetch {thing} for me, {name}? It is in {room}.",
    "I forgot {thing} in {room}. Can you get it, {name}?",
)
_AGREEING = ("Of course.", "Right away.", "I will get it.", "Yes, in a moment.")
_THANKING = ("Thank you, {name}.", "That is it. Thanks, {name}!", "Just what I needed, {name}.")


def errand(director: Director) -> Plot:
    """Somebody asks for a thing from another room, and another brings it."""
    chance = director.chance
    people, things = director.free_people(2), director.free_things()
    if not people or not things:
        return
    (asker, bringer), thing = people, things[0]
    far = where_is(director, thing)
    near = director.room(without=(far,))
    if near is None:
        return
    with director.engaged(asker, bringer, thing):
        scene = yield Wanted(room=near)
        bring_in(scene, asker)
        if chance.random() < 0.5:
            settle(scene, asker)
        bring_in(scene, bringer)
        words = chance.choice(_ASKING).format(
            name=bringer.person.name, thing=thing.thing.name, room=director.room_name(far)
        )
        asked = scene.say(asker, words, bringer)
        if chance.random() < 0.6:
            scene.say(bringer, chance.choice(_AGREEING), asker)
        scene.leave(bringer)

        scene = yield Wanted(room=far)
        scene.enter(bringer)
        greet(scene, bringer)
        taken = scene.pick_up(bringer, thing)
        remark(scene, bringer, thing)
        reason = f"{asker.person.description} asked for {thing.thing.name}"
        director.chronicle.brings_about(asked, taken, reason)
        scene.leave(bringer)

        scene = yield Wanted(room=near)
        bring_in(scene, asker)
        scene.enter(bringer)
        given = scene.give(bringer, asker)
        director.chronicle.brings_about(asked, given, reason)
        if chance.random() < 0.6:
            scene.say(asker, chance.choice(_THANKING).format(name=bringer.person.name), bringer)
        go_or_stay(scene, bringer, waits=False)
        _use(scene, asker, thing)
        lay_down(scene, asker)
        go_or_stay(scene, asker)


def _use(scene: Scene, player: Player, thing: Article) -> None:
    """Somebody does with a thing what it is for."""
    if thing.thing.category == "cup":
        for _ in range(scene.chance.randint(1, 3)):
            scene.drink(player)
            if scene.chance.random() < 0.4:
                scene.pause(scene.chance.uniform(0.5, 2.0))
    elif scene.world.can_wear(player, thing) and scene.chance.random() < 0.7:
        scene.put_on(player)


def misplaced(director: Director) -> Plot:
    """Somebody leaves a thing, another takes it elsewhere; the owner misses it, searches, and gets it back."""
    chance = director.chance
    people, things = director.free_people(2), director.free_things()
    if not people or not things:
        return
    (owner, mover), thing = people, things[0]
    home = where_is(director, thing)
    away, between = director.room(without=(home,)), director.room(without=(home,))
    if away is None or between is None:
        return
    name = thing.thing.name
    with director.engaged(owner, mover, thing):
        scene = yield Wanted(room=home)
        bring_in(scene, owner)
        scene.pick_up(owner, thing)
        if not lay_down(scene, owner):
            scene.leave(owner)
            return
        scene.say(owner, f"I will leave {name} {where_words(director, thing)}.")
        scene.leave(owner)

        scene = yield Wanted(room=home)
        bring_in(scene, mover)
        taken = scene.pick_up(mover, thing)
        if chance.random() < 0.5:
            scene.say(mover, f"Somebody forgot {name}. I will take it to {director.room_name(away)}.")
        scene.leave(mover)

        scene = yield Wanted(room=away)
        scene.enter(mover)
        greet(scene, mover)
        if not lay_down(scene, mover):
            return
        go_or_stay(scene, mover)

        scene = yield Wanted(room=home)
        scene.enter(owner)
        missed = scene.say(
            owner, chance.choice(("Where is {0}?", "{0} is gone!", "I left {0} here. Who has taken it?")).format(name)
        )
        director.chronicle.brings_about(taken, missed, f"{mover.person.description} took {name} away")
        scene.leave(owner)

        yield from _found_again(director, owner, mover, thing, between, missed)


def _found_again(director: Director, owner: Player, mover: Player, thing: Article, between: str, missed: Event) -> Plot:
    """The owner asks who took the thing, is told where it is, and goes there."""
    name, away, left = thing.thing.name, where_is(director, thing), where_words(director, thing)
    met = director.room_of(mover) or between
    scene = yield Wanted(room=met)
    for player in director.chance.sample((owner, mover), 2):
        bring_in(scene, player)
    asked = scene.say(owner, f"{mover.person.name}, have you seen {name}?", mover)
    told = scene.say(mover, f"Yes. It is {left}.", owner)
    director.chronicle.brings_about(missed, asked, f"{owner.person.description} was looking for {name}")
    if met != away:
        scene.leave(owner)
        go_or_stay(scene, mover)
        scene = yield Wanted(room=away)
        scene.enter(owner)
    found = scene.pick_up(owner, thing)
    director.chronicle.brings_about(told, found, f"{mover.person.description} said where {name} was")
    if director.chance.random() < 0.4:
        lay_down(scene, owner)
    go_or_stay(scene, owner)


def lent(director: Director) -> Plot:
    """A thing goes through several hands and ends in another room."""
    chance = director.chance
    people, things = director.free_people(3), director.free_things()
    if not people or not things:
        return
    thing = things[0]
    first = where_is(director, thing)
    second = director.room(without=(first,))
    if second is None:
        return
    name = thing.thing.name
    with director.engaged(*people, thing):
        one, two, three = people
        scene = yield Wanted(room=first)
        bring_in(scene, one)
        scene.pick_up(one, thing)
        remark(scene, one, thing)
        bring_in(scene, two)
        asked = scene.say(
            two, chance.choice(("May I have {0}, {1}?", "{1}, can I borrow {0}?")).format(name, one.person.name), one
        )
        given = scene.give(one, two)
        director.chronicle.brings_about(asked, given, f"{two.person.description} asked for {name}")
        go_or_stay(scene, one, waits=False)
        scene.leave(two)

        scene = yield Wanted(room=second)
        for player in chance.sample((two, three), 2):
            bring_in(scene, player)
        if chance.random() < 0.6:
            scene.say(
                two,
                chance.choice(("{0}, this is for you.", "Please keep this for me, {0}.")).format(three.person.name),
                three,
            )
            scene.give(two, three)
            _use(scene, three, thing)
            lay_down(scene, three)
        else:
            _use(scene, two, thing)
            lay_down(scene, two)
        for player in chance.sample((two, three), 2):
            go_or_stay(scene, player)


def outing(director: Director) -> Plot:
    """Somebody is told that it is cold, takes a hat or scarf and goes; later it is hung up again."""
    chance = director.chance
    people = director.free_people(2)
    worn = [article for article in director.free_things() if article.is_worn]
    if not people or not worn:
        return
    (goer, adviser), thing = people, worn[0]
    if not director.world.can_wear(goer, thing):
        return
    room = where_is(director, thing)
    with director.engaged(goer, thing):
        with director.engaged(adviser):
            scene = yield Wanted(room=room)
            for player in chance.sample((goer, adviser), 2):
                bring_in(scene, player)
            words = chance.choice(
                ("It is cold outside, {0}.", "Take {1}, {0}. It is windy.", "{0}, you will need {1} today.")
            )
            told = scene.say(adviser, words.format(goer.person.name, thing.thing.name), goer)
            scene.pick_up(goer, thing)
            put_on = scene.put_on(goer)
            director.chronicle.brings_about(told, put_on, f"{adviser.person.description} spoke of the weather")
            go_or_stay(scene, adviser, waits=False)
            scene.leave(goer)
        back = director.room() or room
        scene = yield Wanted(room=back)
        scene.enter(goer)
        greet(scene, goer)
        if scene.chance.random() < 0.7:
            scene.take_off(goer, thing)
            lay_down(scene, goer)
        go_or_stay(scene, goer)
