"""Scenes that hang together with nothing: somebody comes, does this and that, and goes."""

from __future__ import annotations

from collections.abc import Callable

from eval.sandbox.sets import Opened
from eval.sandbox.stories.casting import Article, Location, Player
from eval.sandbox.stories.director import Director, Plot, Wanted
from eval.sandbox.stories.plots.moves import bring_in, go_or_stay, greet, lay_down, remark, settle
from eval.sandbox.stories.scene import Scene

_TALK = (
    "What a day.", "It is quiet in here.", "I like this room.", "Somebody should water the plants.", "I am a little tired.",
    "The weather is getting better.", "I was here before.", "Not much to do today.", "I have to think.", "Time for a break.",
)  # fmt: skip
_MISSING = ("Not here.", "Where can it be?", "Hm.")
_CHATS = (
    ("How are you, {0}?", "Very well, {0}, thank you."),
    ("Did you sleep well, {0}?", "Not really."),
    ("{0}, have you heard the news?", "No, tell me, {0}."),
    ("Is it raining, {0}?", "Not any more."),
    ("A busy day, {0}?", "As always, {0}."),
    ("Are you waiting for somebody, {0}?", "Perhaps."),
)


def moment(director: Director) -> Plot:
    """One scene: one or two people come and do some small things."""
    chance = director.chance
    people = director.free_people(chance.choice((1, 2, 2))) or director.free_people(1)
    room = director.room(sought=len(people))
    if not people or room is None:
        return
    with director.engaged(*people):
        scene = yield Wanted(room=room)
        for player in people:
            bring_in(scene, player)
            greet(scene, player)
        acts = chance.sample(_ACTS, chance.randint(1, director.cast.busy))
        for act in acts:
            act(director, scene, chance.choice(people))
        if len(people) > 1 and _talk not in acts and chance.random() < 0.6:
            _talk(director, scene, people[0])
        for player in people:
            go_or_stay(scene, player)


def come_by(director: Director, scene: Scene) -> bool:
    """Somebody comes into a scene that is going on, does a small thing and goes; False where nobody is free."""
    people = director.free_people(1)
    for player in people:
        with director.engaged(player):
            bring_in(scene, player)
            scene.chance.choice(_ACTS)(director, scene, player)
            scene.leave(player)
    return bool(people)


def nothing(room: str) -> Plot:
    """A room for a while."""
    scene = yield Wanted(room=room)
    scene.pause(scene.chance.uniform(4.0, 8.0))


def sought(director: Director) -> Plot:
    """Somebody looks for something in all drawers and cupboards of a room, and does not find it."""
    chance = director.chance
    people = director.free_people(1)
    rooms = [location.id for location in director.cast.locations if len(_containers(location)) > 1]
    if not people or not rooms:
        return
    player = people[0]
    with director.engaged(player):
        scene = yield Wanted(room=chance.choice(rooms))
        bring_in(scene, player)
        greet(scene, player)
        shut = [item for item in _containers(scene.location) if item.name not in scene.world.open[scene.location.id]]
        for opened in chance.sample(shut, len(shut)):
            scene.open(player, opened)
            if chance.random() < 0.4:
                scene.say(player, chance.choice(_MISSING))
            scene.close(player, opened)
        go_or_stay(scene, player)


def _containers(location: Location) -> list[Opened]:
    """What things can be kept in."""
    return [item for item in location.plan.openings if not item.name.endswith("door")]


def relieved(director: Director) -> Plot:
    """Somebody with a thing in hand puts it down somewhere."""
    holding = [
        who.player
        for who in director.world.people.values()
        if who.holds is not None and director.cast.rule_of(who.holds) is None and director.is_free(who.player)
    ]
    if not holding:
        return
    player = director.chance.choice(holding)
    room = director.room_of(player) or director.room(sought=1)
    if not room:
        return
    with director.engaged(player):
        scene = yield Wanted(room=room)
        bring_in(scene, player)
        greet(scene, player)
        lay_down(scene, player)
        go_or_stay(scene, player)


def uncovered(director: Director) -> Plot:
    """Somebody who wears a hat or scarf takes it off and hangs it up."""
    wearing = [
        who.player
        for who in director.world.people.values()
        if who.wears and who.holds is None and director.is_free(who.player)
    ]
    if not wearing:
        return
    player = director.chance.choice(wearing)
    room = director.room_of(player) or director.room(sought=1)
    if not room:
        return
    with director.engaged(player):
        scene = yield Wanted(room=room)
        bring_in(scene, player)
        scene.take_off(player, scene.state(player).wears[-1])
        lay_down(scene, player)
        go_or_stay(scene, player)


def _things_here(director: Director, scene: Scene) -> list[Article]:
    return [item for item in director.free_things() if director.world.things[item.id].room == scene.location.id]


def _handle(director: Director, scene: Scene, player: Player) -> None:
    """Pick a thing up, use a cup, and put it down, mostly elsewhere."""
    things = _things_here(director, scene)
    if not things or scene.state(player).holds is not None:
        return
    thing = things[0]
    scene.pick_up(player, thing)
    remark(scene, player, thing)
    if thing.thing.category == "cup":
        for _ in range(scene.chance.randint(1, 3)):
            scene.drink(player)
    lay_down(scene, player)


def _carry(director: Director, scene: Scene, player: Player) -> None:
    """Take a thing along."""
    things = _things_here(director, scene)
    if things and scene.state(player).holds is None:
        scene.pick_up(player, things[0])
        if scene.chance.random() < 0.5:
            scene.say(player, f"I will take {things[0].thing.name} with me.")


def _look_into(director: Director, scene: Scene, player: Player) -> None:
    """Open something and close it again."""
    openings = [item for item in scene.location.plan.openings if item.name not in scene.world.open[scene.location.id]]
    if openings and scene.state(player).holds is None:
        opened = scene.chance.choice(openings)
        scene.open(player, opened)
        if scene.chance.random() < 0.4:
            scene.say(player, scene.chance.choice(_MISSING))
        scene.close(player, opened)


def _rest(director: Director, scene: Scene, player: Player) -> None:
    """Sit for a while."""
    settle(scene, player)
    scene.pause(scene.chance.uniform(0.5, 2.5))


def _talk(director: Director, scene: Scene, player: Player) -> None:
    """Say something that leads to nothing, to whoever is there."""
    others = scene.others(player)
    if not others:
        scene.say(player, scene.chance.choice(_TALK))
        return
    other = scene.chance.choice(others)
    question, answer = scene.chance.choice(_CHATS)
    scene.say(player, question.format(other.person.name), other)
    scene.say(other, answer.format(player.person.name), player)


def _wave(director: Director, scene: Scene, player: Player) -> None:
    """Wave at who else is there."""
    others = scene.others(player)
    waves_by_habit = any(
        habit.kind == "waves" and (habit.person, habit.room) == (player.id, scene.location.id)
        for habit in scene.cast.habits
    )
    if others and not waves_by_habit:
        scene.wave(player, scene.chance.choice(others))


_ACTS: tuple[Callable[[Director, Scene, Player], None], ...] = (
    _handle,
    _handle,
    _carry,
    _look_into,
    _rest,
    _talk,
    _wave,
)
