"""Plots about times: appointments that are made, moved and kept, and calls that make people go."""

from __future__ import annotations

from eval.sandbox.facts import Event
from eval.sandbox.stories.casting import Player
from eval.sandbox.stories.director import Director, Plot, Wanted
from eval.sandbox.stories.plots.moves import bring_in, go_or_stay, greet, settle
from eval.sandbox.stories.words import clock_words

_INVITING = (
    "Let us meet in {0} at {1}, {2}.",
    "{2}, can we talk at {1} in {0}?",
    "I will wait for you in {0} at {1}, {2}.",
)
_SHORTEST, _LONGEST = 30.0, 300.0  #: seconds of film until an appointment


def appointment(director: Director) -> Plot:
    """Two people agree on a time and a room, perhaps move it, and meet then."""
    chance = director.chance
    people = director.free_people(2)
    made, place = director.room(), director.room()
    wait = chance.uniform(_SHORTEST, max(_SHORTEST + 1, min(_LONGEST, director.left * 0.4)))
    if not people or made is None or place is None or director.left < wait + 40 or not director.may_arrange():
        return
    one, two = people
    told: list[Event] = []
    with director.engaged(one, two):
        scene = yield Wanted(room=made)
        for player in (one, two):
            bring_in(scene, player)
        at = director.minute_after(wait)
        director.arrange(at)
        words = chance.choice(_INVITING).format(director.room_name(place), clock_words(at), two.person.name)
        told.append(scene.say(one, words, two))
        scene.say(two, chance.choice(("Agreed.", "I will be there.", "Good, I will come.")), one)
        for player in (one, two):
            scene.leave(player, waits=player is two)
        if chance.random() < 0.4 and director.left > wait + 70:
            meeting = director.room() or made
            scene = yield Wanted(room=meeting)
            for player in (two, one):
                bring_in(scene, player)
            if director.minute() < at:
                old, at = at, director.minute_after(wait + 20)
                director.arrange(at, instead_of=old)
                words = chance.choice(("{1}, make it {0} instead.", "I am late, {1}. Can we say {0}?"))
                told.append(scene.say(two, words.format(clock_words(at), one.person.name), one))
                scene.say(one, "All right.", two)
            for player in (one, two):
                scene.leave(player)

        scene = yield Wanted(room=place, at=at)
        met = [scene.enter(player) for player in chance.sample((one, two), 2)]
        for event in met:
            director.chronicle.brings_about(told[-1], event, f"they had agreed on {clock_words(at)}")
        _learn(director, people, place, at, told, met)
        if chance.random() < 0.6:
            scene.say(two, f"It is {clock_words(at)}. Here I am, {one.person.name}.", one)
        for player in (one, two):
            if chance.random() < 0.5:
                settle(scene, player)
        scene.pause(chance.uniform(0.5, 2.0))
        for player in (one, two):
            go_or_stay(scene, player)


def _learn(director: Director, people: list[Player], place: str, at: int, told: list[Event], met: list[Event]) -> None:
    one, two = (player.person for player in people)
    room, time = director.room_name(place), clock_words(at)
    director.chronicle.learned(
        "appointment",
        f"{one.description} and {two.description} have an appointment in {room} at {time}",
        {"people": f"{one.id} {two.id}", "time": time, "place": place, "kept": "yes"},
        [(event.start, event.end) for event in (*told, *met)],
    )


def called(director: Director) -> Plot:
    """Somebody comes with news, and those who are there leave for another room because of it."""
    chance = director.chance
    people = director.free_people(chance.choice((2, 3, 3)))
    room = director.room(sought=3)
    goal = director.room(without=(room or "",))
    if not people or room is None or goal is None:
        return
    caller, *called_ones = people
    name = director.room_name(goal)
    with director.engaged(*people):
        scene = yield Wanted(room=room)
        for player in called_ones:
            bring_in(scene, player)
            if chance.random() < 0.6:
                settle(scene, player)
        bring_in(scene, caller)
        words = chance.choice(
            (
                "Everybody to {0}, please!",
                "There is cake in {0}!",
                "The visitors are in {0}.",
                "The telephone in {0} is ringing!",
            )
        ).format(name)
        news = scene.say(caller, words)
        gone = [scene.leave(player, waits=player is called_ones[-1]) for player in called_ones]
        for event in gone:
            director.chronicle.brings_about(news, event, f'{caller.person.description} said "{words}"')
        go_or_stay(scene, caller)

        scene = yield Wanted(room=goal)
        for player in chance.sample(called_ones, len(called_ones)):
            scene.enter(player)
        greet(scene, called_ones[0])
        scene.pause(chance.uniform(0.5, 1.5))
        for player in called_ones:
            go_or_stay(scene, player)


def noticed(director: Director) -> Plot:
    """A notice hangs in a room; at its time somebody reads it and goes."""
    chance = director.chance
    people = director.free_people(1)
    room = director.room(sought=1)
    goal = director.room(without=(room or "",), sought=1)
    wait = chance.uniform(_SHORTEST, max(_SHORTEST + 1, min(_LONGEST, director.left * 0.4)))
    if not people or room is None or goal is None or room in director.notices or director.left < wait + 40:
        return
    if not director.may_arrange():
        return
    player, at = people[0], director.minute_after(wait)
    director.arrange(at)
    what = chance.choice(("CHOIR", "LUNCH", "LECTURE", "CHESS", "GAMES", "CONCERT"))
    director.notices[room] = (what, clock_words(at))
    with director.engaged(player):
        scene = yield Wanted(room=room)
        bring_in(scene, player)
        read = scene.say(
            player, f"{what.capitalize()} at {clock_words(at)} in {director.room_name(goal)}. I must not forget it."
        )
        go_or_stay(scene, player)
        scene = yield Wanted(room=goal, at=at)
        came = bring_in(scene, player)
        if came is not None:
            director.chronicle.brings_about(read, came, f"{what.lower()} was at {clock_words(at)}")
        settle(scene, player)
        scene.pause(chance.uniform(0.5, 1.5))
        go_or_stay(scene, player)
    del director.notices[room]


def told_number(director: Director) -> Plot:
    """Somebody tells another a number that belongs to them; perhaps the other has to ask for it again."""
    chance, chronicle = director.chance, director.chronicle
    people = director.free_people(2)
    room = director.room()
    if not people or room is None:
        return
    (owner, asker), number = people, str(chance.randint(100, 999))
    what = chance.choice(("telephone", "locker", "ticket"))
    told_already = any(owner.person.description in fact.text and what in fact.text for fact in chronicle.learned_so_far)
    if told_already:
        return
    with director.engaged(owner, asker):
        scene = yield Wanted(room=room)
        for player in chance.sample((owner, asker), 2):
            bring_in(scene, player)
        asked = scene.say(asker, f"{owner.person.name}, what is your {what} number?", owner)
        told = scene.say(owner, f"My {what} number is {number}.", asker)
        chronicle.brings_about(asked, told, f"{asker.person.description} asked for the number")
        chronicle.learned(
            "number",
            f"the {what} number of {owner.person.description} is {number}",
            {"what": f"the {what} number of {owner.person.description}", "number": number, "person": owner.id},
            [(told.start, told.end)],
        )
        if chance.random() < 0.6:
            scene.say(
                asker,
                chance.choice(("Thank you.", f"{number}. I will remember it.", f"Thanks, {owner.person.name}.")),
                owner,
            )
        for player in (asker, owner):
            go_or_stay(scene, player)
