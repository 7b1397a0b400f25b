"""The themes and plots of films on which tools are tried before they are admitted; films of other splits have none of them.

A tool that was fitted to what happens in these films, in an induction's trials or in its review, finds nothing of the
kind in films of the split test.
"""

from __future__ import annotations

from collections.abc import Callable

from eval.sandbox.plots import bring_in, go_or_stay, greet, put_somewhere, say_one, settle, where_is
from eval.sandbox.scenes import Director, Plot, SceneRequest, StagedShot
from eval.sandbox.script import Actor, RoomKind

#: Themes with their kinds of rooms, as those of other films (``story_world.THEMES``).
ADMISSION_THEMES: dict[str, tuple[RoomKind, ...]] = {
    "school": ("corridor", "library", "meeting room", "kitchen", "entrance hall", "office"),
    "clinic": ("entrance hall", "corridor", "office", "living room", "kitchen", "meeting room"),
}
_SHOWING_ROUND = ("This is {0}.", "Come in. It is {0}.", "And here we have {0}.")
_ADMIRING = ("How bright it is.", "It is larger than I thought.", "I see.")
_LOOK = ("Look at {0}, {1}.", "What do you think of {0}, {1}?")
_BACK = ("It is yours. Take it back, {0}.", "Very nice. Here you are, {0}.")
_COME = ("{0}, over here!", "Come and sit with us, {0}.")


def shown_round(director: Director) -> Plot:
    """A person leads another through two rooms and opens something in each."""
    people, room = director.free_people(2), director.room()
    if not people or room is None:
        return
    guide, guest = people
    following = director.room(without=(room,))
    with director.engaged(guide, guest):
        for place in (room, following):
            if place is None:
                break
            scene = yield SceneRequest(room=place)
            bring_in(scene, guide)
            say_one(scene, guide, _SHOWING_ROUND, director.room_name(place))
            bring_in(scene, guest)
            _open_one(scene, guide)
            say_one(scene, guest, _ADMIRING, to=guide)
            scene.leave(guide)
            scene.leave(guest)


def _open_one(scene: StagedShot, actor: Actor) -> None:
    shut = [item for item in scene.location.containers if item.name not in scene.world.open[scene.location.id]]
    if shut and scene.state(actor).holds is None:
        opened = scene.chance.choice(shut)
        scene.open(actor, opened)
        scene.close(actor, opened)


def tidied(director: Director) -> Plot:
    """A person takes up to three things of a room, one after the other, and puts each somewhere else."""
    people, things = director.free_people(1), director.free_things()
    if not people or not things:
        return
    (actor,), room = people, where_is(director, things[0])
    with director.engaged(actor, *things):
        scene = yield SceneRequest(room=room)
        bring_in(scene, actor)
        for thing in [item for item in things if where_is(director, item) == room][:3]:
            if scene.state(actor).holds is None:
                scene.pick_up(actor, thing)
                if not put_somewhere(scene, actor):
                    break
        go_or_stay(scene, actor)


def handed_back(director: Director) -> Plot:
    """A person shows a thing to another, who takes it, gives it back, and leaves; it is put down again."""
    people, things = director.free_people(2), director.free_things()
    if not people or not things:
        return
    (owner, other), thing = people, things[0]
    with director.engaged(owner, other, thing):
        scene = yield SceneRequest(room=where_is(director, thing))
        bring_in(scene, owner, other)
        if scene.state(owner).holds is not None or scene.state(other).holds is not None:
            go_or_stay(scene, owner, other)
            return
        scene.pick_up(owner, thing)
        say_one(scene, owner, _LOOK, thing.reference, other.name, to=other)
        scene.give(owner, other)
        scene.pause(scene.chance.uniform(1.0, 2.5))
        say_one(scene, other, _BACK, owner.name, to=owner)
        scene.give(other, owner)
        go_or_stay(scene, other, waits=False)
        put_somewhere(scene, owner)
        go_or_stay(scene, owner)


def called_over(director: Director) -> Plot:
    """A person who sits waves at another who comes in, and they sit together until one leaves."""
    people, room = director.free_people(2), director.room(sought=2)
    if not people or room is None:
        return
    one, two = people
    with director.engaged(one, two):
        scene = yield SceneRequest(room=room)
        bring_in(scene, one)
        settle(scene, one)
        bring_in(scene, two)
        scene.wave(one, two)
        say_one(scene, one, _COME, two.name, to=two)
        settle(scene, two)
        scene.pause(scene.chance.uniform(2.0, 5.0))
        greet(scene, two)
        scene.leave(two)
        go_or_stay(scene, one)


#: As ``plots.PLOTS``.
ADMISSION_PLOTS: tuple[tuple[Callable[[Director], Plot], float, float], ...] = (
    (shown_round, 2.0, 45.0),
    (tidied, 2.0, 20.0),
    (handed_back, 2.0, 25.0),
    (called_over, 2.0, 12.0),
)
