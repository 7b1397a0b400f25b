"""Everyday plots. Each is a generator: it requests a scene in a room, is sent that scene, plays it, and so on.

Films of the split admission, on which tools are tried before they are admitted, have themes and plots that no other
film has. So a tool that was fitted to what happens in them, in an induction's trials or in its review, finds nothing of
the kind in films of the split test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.sandbox.facts import Event
from eval.sandbox.room_plans import Fixture
from eval.sandbox.scenes import Director, Plot, SceneRequest, StagedShot
from eval.sandbox.script import Actor, Prop, capital, with_article
from eval.sandbox.story_world import FilingRule, PersonState, clock_words
from world_api.core.yaml_text import packaged_yaml

#: What people say, by occasion (``sentences.yaml``).
SENTENCES: Mapping[str, Sequence[Any]] = packaged_yaml("eval.sandbox", "sentences.yaml")
_STAYING = 0.42  #: probability that a person remains in a room when their plot is over


def say_one(scene: StagedShot, actor: Actor, occasion: str, *parts: str, to: Actor | None = None) -> Event:
    """Let a person speak a random one of the sentences of an occasion, with its slots filled by ``parts``."""
    return scene.say(actor, capital(scene.chance.choice(SENTENCES[occasion]).format(*parts)), to)


def bring_in(scene: StagedShot, *actors: Actor) -> None:
    """Let people come in, unless they are here already."""
    for actor in actors:
        if not scene.is_here(actor):
            scene.enter(actor)


def greet(scene: StagedShot, actor: Actor) -> None:
    """Let a person greet a random other person here, by a wave or in words; in some cases not at all."""
    others = scene.others(actor)
    if not others or scene.chance.random() < 0.3:
        return
    other = scene.chance.choice(others)
    if scene.chance.random() < 0.5:
        scene.wave(actor, other)
    else:
        say_one(scene, actor, "greeting", other.name, to=other)


def remark(scene: StagedShot, actor: Actor, prop: Prop) -> None:
    """Let a person, in about half of the cases, say something about a thing."""
    if scene.chance.random() < 0.45:
        say_one(scene, actor, "remark", prop.reference)


def go_or_stay(scene: StagedShot, *actors: Actor, waits: bool = True) -> None:
    """Let people whose plot is over leave (``waits``: see ``leave``), sit down or stay, at random; holders of a thing leave."""
    for actor in actors:
        who = scene.state(actor)
        if who.holds is not None or scene.chance.random() > _STAYING:
            scene.leave(actor, waits=waits)
        elif who.seat is None and scene.chance.random() < 0.7:
            settle(scene, actor)


def settle(scene: StagedShot, actor: Actor) -> None:
    """Let a person sit down on a free seat away from others; a person who has a usual seat here takes only that."""
    who = scene.state(actor)
    if who.seat is not None:
        return
    own = [habit.seat for habit in scene.cast.habits if habit.is_of("seat", actor, scene.location)]
    near = [scene.state(other).feet[0] for other in scene.others(actor)]
    free = [seat for seat in scene.world.free_seats(scene.location.id) if not own or seat.name in own]
    seats = [seat for seat in free if all(abs(seat.stand[0] - x) > 80 for x in near)]
    if seats:
        scene.sit(actor, scene.chance.choice(seats))


def put_somewhere(scene: StagedShot, actor: Actor) -> bool:
    """Let a person put what they hold on a free spot, or where its filing rule says; return False if they cannot."""
    prop = scene.state(actor).holds
    if prop is None:
        return False
    rule = scene.cast.rule_of(prop)
    room = scene.location.id
    if rule is not None:
        if rule.room == room:
            scene.put_down(actor, scene.world.opening(room, rule.target))
        return rule.room == room
    spots = scene.world.free_spots(room, prop)
    hooks = [spot for spot in spots if spot.kind == "hook"]
    if spots:
        scene.put_down(actor, scene.chance.choice(hooks if prop.is_worn and hooks else spots))
    return bool(spots)


def where_is(director: Director, prop: Prop) -> str:
    """Return the id of the room in which a thing is; "" if it is held or worn."""
    return director.world.things[prop.id].room


def where_words(director: Director, prop: Prop) -> str:
    """Return where a thing that is put somewhere is, in words: ``on the desk in office 14``."""
    where = director.world.things[prop.id]
    room = director.room_name(where.room)
    if where.place is None:
        return f"in {room}"
    return f"{'in' if where.how == 'inside' else 'on'} {where.place.words} in {room}"


_SAYING = 0.45  #: probability that the rule is spoken
_THERE = 0.5  #: probability that a thing is looked at in the room where it is kept


def filed(director: Director) -> Plot:
    """A person who holds a labelled thing puts it into the drawer or cupboard that its filing rule names."""
    held = [
        (who.actor, who.holds, rule)
        for who in director.world.people.values()
        if who.holds is not None
        and (rule := director.cast.rule_of(who.holds)) is not None
        and director.is_free(who.actor)
    ]
    if not held:
        return
    actor, thing, rule = director.chance.choice(held)
    with director.engaged(actor, thing):
        yield from _put_away(director, actor, thing, rule)


def _put_away(director: Director, actor: Actor, thing: Prop, rule: FilingRule) -> Plot:
    scene = yield SceneRequest(room=rule.room)
    bring_in(scene, actor)
    greet(scene, actor)
    _file(scene, actor, thing, rule)
    go_or_stay(scene, actor)


def _file(scene: StagedShot, actor: Actor, thing: Prop, rule: FilingRule) -> None:
    if scene.chance.random() < _SAYING:
        say_one(scene, actor, "filing", with_article(rule.label), rule.target, rule.label)
    scene.put_down(actor, scene.world.opening(rule.room, rule.target))


def consulted(director: Director) -> Plot:
    """A labelled thing is taken out of its drawer, looked at here or in another room, perhaps handed on, and put back."""
    chance = director.chance
    kept = [thing for thing in director.free_things(ruled=True) if director.world.things[thing.id].how == "inside"]
    people = director.free_people(2)
    rule = director.cast.rule_of(kept[0]) if kept else None
    if not people or rule is None:
        return
    (one, two), thing = people, kept[0]
    reading = director.room(without=(rule.room,))
    with director.engaged(one, two, thing):
        scene = yield SceneRequest(room=rule.room)
        bring_in(scene, one)
        scene.pick_up(one, thing)
        if chance.random() < 0.5:
            say_one(scene, one, "need", thing.reference)
        if chance.random() < _THERE:
            settle(scene, one)
            scene.pause(chance.uniform(1.0, 3.0))
            _file(scene, one, thing, rule)
            go_or_stay(scene, one)
            return
        scene.leave(one)
        if reading is None:
            return
        scene = yield SceneRequest(room=reading)
        scene.enter(one)
        if scene.is_here(two) or (not director.world.people[two.id].room and chance.random() < 0.6):
            bring_in(scene, two)
            scene.say(one, f"{two.name}, please put {thing.reference} away.", two)
            scene.give(one, two)
            scene.leave(two)
            go_or_stay(scene, one)
            actor = two
        else:
            settle(scene, one)
            scene.pause(chance.uniform(1.0, 3.0))
            scene.leave(one)
            actor = one
        yield from _put_away(director, actor, thing, rule)


def moment(director: Director) -> Plot:
    """A single scene: one or two people come and do a few small things."""
    chance = director.chance
    people = director.free_people(chance.choice((1, 2, 2))) or director.free_people(1)
    room = director.room(sought=len(people))
    if not people or room is None:
        return
    with director.engaged(*people):
        scene = yield SceneRequest(room=room)
        for actor in people:
            bring_in(scene, actor)
            greet(scene, actor)
        acts = chance.sample(_ACTS, chance.randint(1, director.cast.busy))
        for act in acts:
            act(director, scene, chance.choice(people))
        if len(people) > 1 and _talk not in acts and chance.random() < 0.6:
            _talk(director, scene, people[0])
        go_or_stay(scene, *people)


def come_by(director: Director, scene: StagedShot) -> bool:
    """Let a person come into the present scene, do a small thing and go; return False if all are busy."""
    people = director.free_people(1)
    for actor in people:
        with director.engaged(actor):
            bring_in(scene, actor)
            scene.chance.choice(_ACTS)(director, scene, actor)
            scene.leave(actor)
    return bool(people)


def sought(director: Director) -> Plot:
    """A person looks into all drawers and cupboards of a room in vain."""
    chance = director.chance
    people = director.free_people(1)
    rooms = [location.id for location in director.cast.locations if len(location.containers) > 1]
    if not people or not rooms:
        return
    actor = people[0]
    with director.engaged(actor):
        scene = yield SceneRequest(room=chance.choice(rooms))
        bring_in(scene, actor)
        greet(scene, actor)
        shut = [item for item in scene.location.containers if item.name not in scene.world.open[scene.location.id]]
        for opened in chance.sample(shut, len(shut)):
            _look(scene, actor, opened)
        go_or_stay(scene, actor)


def _look(scene: StagedShot, actor: Actor, opened: Fixture) -> None:
    """Let a person open something and close it again."""
    scene.open(actor, opened)
    if scene.chance.random() < 0.4:
        say_one(scene, actor, "not found")
    scene.close(actor, opened)


def relieved(director: Director) -> Plot:
    """A person who holds a thing that has no filing rule puts it down somewhere."""
    yield from _freed(director, lambda who: who.holds is not None and director.cast.rule_of(who.holds) is None)


def uncovered(director: Director) -> Plot:
    """A person who wears a hat or scarf takes it off and puts it down, on a hook if one is free."""
    yield from _freed(director, lambda who: bool(who.wears) and who.holds is None)


def _freed(director: Director, fits: Callable[[PersonState], bool]) -> Plot:
    """A free person who ``fits`` puts down the thing that they hold, else takes off and puts down the last worn one."""
    people = [who for who in director.world.people.values() if director.is_free(who.actor) and fits(who)]
    if not people:
        return
    who = director.chance.choice(people)
    room = who.room or director.room(sought=1)
    if not room:
        return
    with director.engaged(who.actor):
        scene = yield SceneRequest(room=room)
        bring_in(scene, who.actor)
        if who.holds is not None:
            greet(scene, who.actor)
        else:
            scene.take_off(who.actor, who.wears[-1])
        put_somewhere(scene, who.actor)
        go_or_stay(scene, who.actor)


def _things_here(director: Director, scene: StagedShot) -> list[Prop]:
    return [item for item in director.free_things() if director.world.things[item.id].room == scene.location.id]


def _handle(director: Director, scene: StagedShot, actor: Actor) -> None:
    """Pick a thing up, drink if it is a cup, and put it down."""
    things = _things_here(director, scene)
    if not things or scene.state(actor).holds is not None:
        return
    thing = things[0]
    scene.pick_up(actor, thing)
    remark(scene, actor, thing)
    for _ in range(scene.chance.randint(1, 3) if thing.category == "cup" else 0):
        scene.drink(actor)
    put_somewhere(scene, actor)


def _carry(director: Director, scene: StagedShot, actor: Actor) -> None:
    """Pick a thing up and keep it."""
    things = _things_here(director, scene)
    if things and scene.state(actor).holds is None:
        scene.pick_up(actor, things[0])
        if scene.chance.random() < 0.5:
            scene.say(actor, f"I will take {things[0].reference} with me.")


def _look_into(director: Director, scene: StagedShot, actor: Actor) -> None:
    """Open and close a drawer, cupboard or door."""
    openings = [item for item in scene.location.plan.openings if item.name not in scene.world.open[scene.location.id]]
    if openings and scene.state(actor).holds is None:
        _look(scene, actor, scene.chance.choice(openings))


def _rest(director: Director, scene: StagedShot, actor: Actor) -> None:
    """Sit for a while."""
    settle(scene, actor)
    scene.pause(scene.chance.uniform(0.5, 2.5))


def _talk(director: Director, scene: StagedShot, actor: Actor) -> None:
    """Say something without consequences; to another person, who answers, if there is one."""
    others = scene.others(actor)
    if not others:
        say_one(scene, actor, "talk")
        return
    other = scene.chance.choice(others)
    question, answer = scene.chance.choice(SENTENCES["chats"])
    scene.say(actor, question.format(other.name), other)
    scene.say(other, answer.format(actor.name), actor)


def _wave(director: Director, scene: StagedShot, actor: Actor) -> None:
    """Wave at another person, unless the actor has the habit of waving here."""
    others = scene.others(actor)
    waves_by_habit = any(habit.is_of("waves", actor, scene.location) for habit in scene.cast.habits)
    if others and not waves_by_habit:
        scene.wave(actor, scene.chance.choice(others))


_ACTS: tuple[Callable[[Director, StagedShot, Actor], None], ...]
_ACTS = (_handle, _handle, _carry, _look_into, _rest, _talk, _wave)


_SHORTEST, _LONGEST = 30.0, 300.0  #: seconds of film until an appointment


def _waiting(director: Director) -> float:
    """Return the seconds of film until an appointment, at random."""
    return director.chance.uniform(_SHORTEST, max(_SHORTEST + 1, min(_LONGEST, director.left * 0.4)))


def appointment(director: Director) -> Plot:
    """Two people agree on a time and a room, perhaps change the time, and meet then."""
    chance = director.chance
    people = director.free_people(2)
    made, place = director.room(), director.room()
    wait = _waiting(director)
    if not people or made is None or place is None or director.left < wait + 40 or not director.may_arrange():
        return
    one, two = people
    spoken: list[Event] = []
    with director.engaged(one, two):
        scene = yield SceneRequest(room=made)
        bring_in(scene, one, two)
        at = director.minute_after(wait)
        director.arrange(at)
        parts = (director.room_name(place), clock_words(at), two.name)
        spoken.append(say_one(scene, one, "invitation", *parts, to=two))
        say_one(scene, two, "appointment", to=one)
        for actor in (one, two):
            scene.leave(actor, waits=actor is two)
        if chance.random() < 0.4 and director.left > wait + 70:
            meeting = director.room() or made
            scene = yield SceneRequest(room=meeting)
            bring_in(scene, two, one)
            if director.minute() < at:
                old, at = at, director.minute_after(wait + 20)
                director.arrange(at, instead_of=old)
                spoken.append(say_one(scene, two, "other time", clock_words(at), one.name, to=one))
                scene.say(one, "All right.", two)
            for actor in (one, two):
                scene.leave(actor)

        scene = yield SceneRequest(room=place, at=at)
        met = [scene.enter(actor) for actor in chance.sample((one, two), 2)]
        when, chronicle = clock_words(at), director.chronicle
        for event in met:
            chronicle.brings_about(spoken[-1], event, f"they had agreed on {when}")
        text = f"{one.reference} and {two.reference} have an appointment in {director.room_name(place)} at {when}"
        values = {"people": f"{one.id} {two.id}", "time": when, "place": place, "kept": "yes"}
        chronicle.learned("appointment", text, values, [*spoken, *met])
        if chance.random() < 0.6:
            scene.say(two, f"It is {when}. Here I am, {one.name}.", one)
        for actor in (one, two):
            if chance.random() < 0.5:
                settle(scene, actor)
        scene.pause(chance.uniform(0.5, 2.0))
        go_or_stay(scene, one, two)


def called(director: Director) -> Plot:
    """A person brings news of another room, and the others go there because of it."""
    chance = director.chance
    people = director.free_people(chance.choice((2, 3, 3)))
    room = director.room(sought=3)
    goal = director.room(without=(room or "",))
    if not people or room is None or goal is None:
        return
    caller, *called_ones = people
    with director.engaged(*people):
        scene = yield SceneRequest(room=room)
        for actor in called_ones:
            bring_in(scene, actor)
            if chance.random() < 0.6:
                settle(scene, actor)
        bring_in(scene, caller)
        news = say_one(scene, caller, "news", director.room_name(goal))
        gone = [scene.leave(actor, waits=actor is called_ones[-1]) for actor in called_ones]
        for event in gone:
            director.chronicle.brings_about(news, event, f'{caller.reference} said "{news.words}"')
        go_or_stay(scene, caller)

        scene = yield SceneRequest(room=goal)
        for actor in chance.sample(called_ones, len(called_ones)):
            scene.enter(actor)
        greet(scene, called_ones[0])
        scene.pause(chance.uniform(0.5, 1.5))
        go_or_stay(scene, *called_ones)


def noticed(director: Director) -> Plot:
    """A person reads a notice in a room and goes to the event at its time."""
    chance = director.chance
    people = director.free_people(1)
    room = director.room(sought=1)
    goal = director.room(without=(room or "",), sought=1)
    wait = _waiting(director)
    if not people or room is None or goal is None or room in director.notices or director.left < wait + 40:
        return
    if not director.may_arrange():
        return
    actor, at = people[0], director.minute_after(wait)
    director.arrange(at)
    what = chance.choice(("CHOIR", "LUNCH", "LECTURE", "CHESS", "GAMES", "CONCERT"))
    director.notices[room] = (what, clock_words(at))
    with director.engaged(actor):
        scene = yield SceneRequest(room=room)
        bring_in(scene, actor)
        read = scene.say(
            actor, f"{what.capitalize()} at {clock_words(at)} in {director.room_name(goal)}. I must not forget it."
        )
        go_or_stay(scene, actor)
        scene = yield SceneRequest(room=goal, at=at)
        if not scene.is_here(actor):
            director.chronicle.brings_about(read, scene.enter(actor), f"{what.lower()} was at {clock_words(at)}")
        settle(scene, actor)
        scene.pause(chance.uniform(0.5, 1.5))
        go_or_stay(scene, actor)
    del director.notices[room]


def shared_number(director: Director) -> Plot:
    """A person is asked by another for their own telephone, locker or ticket number, and says it."""
    chance, chronicle = director.chance, director.chronicle
    people = director.free_people(2)
    room = director.room()
    if not people or room is None:
        return
    (owner, asker), number = people, str(chance.randint(100, 999))
    what = chance.choice(("telephone", "locker", "ticket"))
    if any(owner.reference in fact.text and what in fact.text for fact in chronicle.learned_so_far):
        return
    name = f"the {what} number of {owner.reference}"
    with director.engaged(owner, asker):
        scene = yield SceneRequest(room=room)
        bring_in(scene, *chance.sample((owner, asker), 2))
        question = scene.say(asker, f"{owner.name}, what is your {what} number?", owner)
        spoken = scene.say(owner, f"My {what} number is {number}.", asker)
        chronicle.brings_about(question, spoken, f"{asker.reference} asked for the number")
        chronicle.learned(
            "number", f"{name} is {number}", {"what": name, "number": number, "person": owner.id}, [spoken]
        )
        if chance.random() < 0.6:
            say_one(scene, asker, "number", number, owner.name, to=owner)
        go_or_stay(scene, asker, owner)


def errand(director: Director) -> Plot:
    """A person asks for a thing from another room, and another person brings it."""
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
        scene = yield SceneRequest(room=near)
        bring_in(scene, asker)
        if chance.random() < 0.5:
            settle(scene, asker)
        bring_in(scene, bringer)
        parts = (bringer.name, thing.reference, director.room_name(far))
        question = say_one(scene, asker, "errand", *parts, to=bringer)
        if chance.random() < 0.6:
            say_one(scene, bringer, "agreement", to=asker)
        scene.leave(bringer)

        scene = yield SceneRequest(room=far)
        scene.enter(bringer)
        greet(scene, bringer)
        taken = scene.pick_up(bringer, thing)
        remark(scene, bringer, thing)
        reason = f"{asker.reference} asked for {thing.reference}"
        director.chronicle.brings_about(question, taken, reason)
        scene.leave(bringer)

        scene = yield SceneRequest(room=near)
        bring_in(scene, asker)
        scene.enter(bringer)
        given = scene.give(bringer, asker)
        director.chronicle.brings_about(question, given, reason)
        if chance.random() < 0.6:
            say_one(scene, asker, "thanks", bringer.name, to=bringer)
        go_or_stay(scene, bringer, waits=False)
        _use(scene, asker, thing)
        put_somewhere(scene, asker)
        go_or_stay(scene, asker)


def _use(scene: StagedShot, actor: Actor, thing: Prop) -> None:
    """Let a person drink from a cup, or perhaps put on a hat or scarf."""
    if thing.category == "cup":
        for _ in range(scene.chance.randint(1, 3)):
            scene.drink(actor)
            if scene.chance.random() < 0.4:
                scene.pause(scene.chance.uniform(0.5, 2.0))
    elif scene.state(actor).can_wear(thing) and scene.chance.random() < 0.7:
        scene.put_on(actor)


def misplaced(director: Director) -> Plot:
    """A person leaves a thing, another takes it elsewhere; the owner misses it, asks, and gets it back."""
    chance = director.chance
    people, things = director.free_people(2), director.free_things()
    if not people or not things:
        return
    (owner, mover), thing = people, things[0]
    home = where_is(director, thing)
    away, between = director.room(without=(home,)), director.room(without=(home,))
    if away is None or between is None:
        return
    name = thing.reference
    with director.engaged(owner, mover, thing):
        scene = yield SceneRequest(room=home)
        bring_in(scene, owner)
        scene.pick_up(owner, thing)
        if not put_somewhere(scene, owner):
            scene.leave(owner)
            return
        scene.say(owner, f"I will leave {name} {where_words(director, thing)}.")
        scene.leave(owner)

        scene = yield SceneRequest(room=home)
        bring_in(scene, mover)
        taken = scene.pick_up(mover, thing)
        if chance.random() < 0.5:
            scene.say(mover, f"Somebody forgot {name}. I will take it to {director.room_name(away)}.")
        scene.leave(mover)

        scene = yield SceneRequest(room=away)
        scene.enter(mover)
        greet(scene, mover)
        if not put_somewhere(scene, mover):
            return
        go_or_stay(scene, mover)

        scene = yield SceneRequest(room=home)
        scene.enter(owner)
        missed = scene.say(owner, chance.choice(SENTENCES["missed"]).format(name))
        director.chronicle.brings_about(taken, missed, f"{mover.reference} took {name} away")
        scene.leave(owner)

        yield from _found_again(director, owner, mover, thing, between, missed)


def _found_again(director: Director, owner: Actor, mover: Actor, thing: Prop, between: str, missed: Event) -> Plot:
    """Because of ``missed`` the owner asks the mover (in the room ``between`` if in none), finds the thing and takes it."""
    name, away, left = thing.reference, where_is(director, thing), where_words(director, thing)
    met = director.world.people[mover.id].room or between
    scene = yield SceneRequest(room=met)
    bring_in(scene, *director.chance.sample((owner, mover), 2))
    question = scene.say(owner, f"{mover.name}, have you seen {name}?", mover)
    spoken = scene.say(mover, f"Yes. It is {left}.", owner)
    director.chronicle.brings_about(missed, question, f"{owner.reference} was looking for {name}")
    if met != away:
        scene.leave(owner)
        go_or_stay(scene, mover)
        scene = yield SceneRequest(room=away)
        scene.enter(owner)
    found = scene.pick_up(owner, thing)
    director.chronicle.brings_about(spoken, found, f"{mover.reference} said where {name} was")
    if director.chance.random() < 0.4:
        put_somewhere(scene, owner)
    go_or_stay(scene, owner)


def lent(director: Director) -> Plot:
    """A thing is passed from person to person and is at the end in another room."""
    chance = director.chance
    people, things = director.free_people(3), director.free_things()
    if not people or not things:
        return
    thing = things[0]
    first = where_is(director, thing)
    second = director.room(without=(first,))
    if second is None:
        return
    name = thing.reference
    with director.engaged(*people, thing):
        one, two, three = people
        scene = yield SceneRequest(room=first)
        bring_in(scene, one)
        scene.pick_up(one, thing)
        remark(scene, one, thing)
        bring_in(scene, two)
        question = say_one(scene, two, "borrowing", name, one.name, to=one)
        given = scene.give(one, two)
        director.chronicle.brings_about(question, given, f"{two.reference} asked for {name}")
        go_or_stay(scene, one, waits=False)
        scene.leave(two)

        scene = yield SceneRequest(room=second)
        bring_in(scene, *chance.sample((two, three), 2))
        user = two
        if chance.random() < 0.6:
            say_one(scene, two, "handing on", three.name, to=three)
            scene.give(two, three)
            user = three
        _use(scene, user, thing)
        put_somewhere(scene, user)
        go_or_stay(scene, *chance.sample((two, three), 2))


def outing(director: Director) -> Plot:
    """A person hears that it is cold, puts on a hat or scarf and goes; later it is perhaps hung up again."""
    chance = director.chance
    people = director.free_people(2)
    worn = [prop for prop in director.free_things() if prop.is_worn]
    if not people or not worn:
        return
    (goer, adviser), thing = people, worn[0]
    if not director.world.people[goer.id].can_wear(thing):
        return
    room = where_is(director, thing)
    with director.engaged(goer, thing):
        with director.engaged(adviser):
            scene = yield SceneRequest(room=room)
            bring_in(scene, *chance.sample((goer, adviser), 2))
            spoken = say_one(scene, adviser, "weather", goer.name, thing.reference, to=goer)
            scene.pick_up(goer, thing)
            put_on = scene.put_on(goer)
            director.chronicle.brings_about(spoken, put_on, f"{adviser.reference} spoke of the weather")
            go_or_stay(scene, adviser, waits=False)
            scene.leave(goer)
        back = director.room() or room
        scene = yield SceneRequest(room=back)
        scene.enter(goer)
        greet(scene, goer)
        if scene.chance.random() < 0.7:
            scene.take_off(goer, thing)
            put_somewhere(scene, goer)
        go_or_stay(scene, goer)


#: The plots with their weights, and the seconds of film that must remain for one to begin.
PLOTS: tuple[tuple[Callable[[Director], Plot], float, float], ...] = (
    (errand, 3.0, 40.0),
    (misplaced, 2.0, 70.0),
    (lent, 2.0, 40.0),
    (outing, 1.5, 30.0),
    (filed, 3.0, 15.0),
    (consulted, 3.0, 25.0),
    (appointment, 2.5, 60.0),
    (called, 1.5, 30.0),
    (noticed, 1.0, 60.0),
    (moment, 2.0, 12.0),
    (relieved, 2.5, 8.0),
    (shared_number, 1.5, 15.0),
    (uncovered, 1.0, 10.0),
    (sought, 0.7, 20.0),
)

#: Plots that cause an event which can be seen.
CAUSING = (errand, outing, appointment, called, noticed)

#: Plots that are more frequent in films of a theme.
LEANING: dict[str, tuple[Callable[[Director], Plot], ...]] = {
    "office": (appointment, consulted, called),
    "home": (outing, moment, uncovered),
    "workshop": (errand, lent),
    "reading room": (misplaced, noticed, shared_number),
}


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
            say_one(scene, guide, "tour", director.room_name(place))
            bring_in(scene, guest)
            _open_one(scene, guide)
            say_one(scene, guest, "admiration", to=guide)
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
        say_one(scene, owner, "look", thing.reference, other.name, to=other)
        scene.give(owner, other)
        scene.pause(scene.chance.uniform(1.0, 2.5))
        say_one(scene, other, "giving back", owner.name, to=owner)
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
        say_one(scene, one, "calling over", two.name, to=two)
        settle(scene, two)
        scene.pause(scene.chance.uniform(2.0, 5.0))
        greet(scene, two)
        scene.leave(two)
        go_or_stay(scene, one)


#: As ``PLOTS``.
ADMISSION_PLOTS: tuple[tuple[Callable[[Director], Plot], float, float], ...] = (
    (shown_round, 2.0, 45.0),
    (tidied, 2.0, 20.0),
    (handed_back, 2.0, 25.0),
    (called_over, 2.0, 12.0),
)
