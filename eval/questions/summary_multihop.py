"""Question types of domain C: summaries, comparisons, and answers that need several steps.

Options of summaries are lists of equally many events of the same kinds; those of wrong options happen in the film too,
at another time or by other people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from eval.questions import phrasing as say
from eval.questions.drafts import (
    Asker,
    Draft,
    Shape,
    Slots,
    alike,
    as_rare,
    by_name,
    by_shape,
    does_so,
    is_with_person,
    named,
    shape,
    span_of,
)
from eval.questions.order_cause import CLOCK, clock_times, other_states, put_there, unrelated_rows, where
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, Person, Thing, Visit
from world_api.core.spans import TimeSpan

#: The number of events in a list: enough that a single missed event does not decide.
_ROW = 3
_OPTIONS = 4
_MOST_WRONG = 12
_TRIES = 60
_CLEARLY_MORE = 1.5
_LOOKED_AT = 120  #: the number of deeds examined in a long film
_COMING_AND_GOING = ("enters", "leaves")
_MOST_HOLDERS = 5


def part_summary(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what happens in an interval, in the only scene of a room, or in a third of the video."""
    film, scenes = ask.film, ask.film.facts.scenes
    if ask.says("{start_time}"):
        for scene in ask.some(scenes):
            slots = {"start_time": say.sentence("moment", scene.start), "end_time": say.sentence("moment", scene.end)}
            yield from _of_interval(ask, slots, scene, scenes, film.deeds)
    elif ask.says("{place}"):
        staying = [item for item in film.deeds if item.kind not in _COMING_AND_GOING]  # those mention the room
        times = Counter(scene.place for scene in scenes)
        for scene in ask.some(item for item in scenes if times[item.place] == 1 and item.place in film.place_by_id):
            yield from _of_interval(ask, {"place": say.name(film.place_by_id[scene.place])}, scene, scenes, staying)
    elif ask.says("short account"):
        length = film.facts.duration / 3
        thirds = [Visit(subject="", place="", start=length * n, end=length * (n + 1)) for n in range(3)]
        for number, one in enumerate(thirds):
            yield from _of_interval(ask, {"part": say.third(number)}, one, thirds, film.named_events)


def _of_interval(
    ask: Asker, slots: Slots, interval: Visit, others: Sequence[Visit], pool: Sequence[Event]
) -> Iterator[Draft]:
    """Yield a question with lists of events of ``pool`` as options: in the interval (right) and in ``others`` (wrong).

    All lists have the same kinds of events, so that what is usual at the beginning or end of an interval reveals
    nothing.
    """
    intervals = [interval, *(other for other in ask.some(others, _MOST_WRONG) if other is not interval)]
    inside = [[item for item in pool if one.start <= item.start and item.end <= one.end] for one in intervals]
    often = Counter(clause for events in inside for clause in {item.clause for item in events})
    rows = _matched(ask, [[item for item in events if often[item.clause] == 1] for events in inside])
    if rows:
        yield ask.choice(
            slots, map(span_of, rows[0]), say.row(rows[0], say.clause), [[say.row(row, say.clause) for row in rows[1:]]]
        )


def _matched(ask: Asker, pools: Sequence[Sequence[Event]], *, fewest: int = 3) -> list[list[Event]]:
    """Return a list of three events from each pool, the first pool's first; all lists have the same shapes of events.

    Pools without events of these shapes are omitted; empty if fewer than ``fewest`` lists remain.
    """
    shapes = [by_shape(pool) for pool in pools]
    best: list[list[Event]] = []
    kinds = [kind for kind, events in shapes[0].items() for _ in range(min(len(events), _ROW))]
    for _ in range(_TRIES if len(kinds) >= _ROW else 0):
        wanted = Counter(ask.chance.sample(kinds, _ROW))
        having = [one for one in shapes if all(len(one.get(kind, ())) >= number for kind, number in wanted.items())]
        if len(having) > len(best):  # prefer kinds that more pools have
            best = [_row(ask, one, wanted) for one in having]
        if len(best) >= _OPTIONS:
            break
    return best if len(best) >= fewest else []


def _row(ask: Asker, events: Mapping[Shape, Sequence[Event]], wanted: Mapping[Shape, int]) -> list[Event]:
    found = [item for kind, number in wanted.items() for item in ask.chance.sample(events[kind], number)]
    return sorted(found, key=lambda item: item.start)


def person_summary(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what a person does: three deeds of this person only; wrong options are three deeds of another."""
    for person in ask.some(ask.film.people):
        if ask.says("everything") and not _ROW <= len(ask.film.deeds_of[person.id]) <= _ROW + 1:
            continue  # no row of that length is everything
        others = [item for item in ask.some(ask.film.people) if item is not person]
        right, *wrong = [_any_row(ask, _own(ask, one)) for one in (person, *others)]
        if right:
            rows = [say.row(row, say.deed) for row in wrong if row]
            yield ask.choice(named(person), map(span_of, right), say.row(right, say.deed), [rows])


def _any_row(ask: Asker, events: Sequence[Event]) -> list[Event]:
    """Return three random events with different clauses, in order of time; empty if there are too few."""
    distinct = list({item.clause: item for item in events}.values())
    return sorted(ask.chance.sample(distinct, _ROW), key=lambda item: item.start) if len(distinct) >= _ROW else []


def _own(ask: Asker, person: Person) -> list[Event]:
    """Return the deeds that only this person does and that involve no other person."""
    own = [item for item in ask.film.deeds_of[person.id] if not item.other]
    return [item for item in own if ask.film.is_only_of(person.id, item.verb_phrase)]


def comparison(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what one person does and another never does, what both do, or who does more."""
    pairs = list(permutations(ask.film.people, 2))
    for one, other in ask.chance.choices(pairs, k=ask.most // 2) if pairs else []:
        if ask.says("differ"):
            yield from _difference(ask, one, other)
        elif ask.says("in common"):
            yield from _common(ask, one, other)
        elif ask.says("busier"):
            yield from _busier(ask, one, other)


def _both(one: Person, other: Person) -> dict[str, Say]:
    return {"person": say.name(one), "other_person": say.name(other)}


def _usable(ask: Asker, one: Person, other: Person) -> list[Event]:
    return [item for item in ask.some(ask.film.deeds, _LOOKED_AT) if item.other not in (one.id, other.id)]


def _difference(ask: Asker, one: Person, other: Person) -> Iterator[Draft]:
    """Yield a question about what one of two people does and the other never does.

    Four options: this deed, or one that neither person does, each as done by the one or by the other.
    """

    def differs(doer: Person, event: Event, idle: Person) -> Say:
        return say.sentence("only", say.name(doer), say.does(event), say.name(idle))

    doer, idle = ask.chance.sample((one, other), 2)
    usable, times_of = _usable(ask, one, other), ask.film.times_of
    only = [item for item in usable if item.actor == doer.id and not times_of[idle.id, item.verb_phrase]]
    if not only:
        return
    right = ask.chance.choice(only)
    alike = [item for item in usable if shape(item) == shape(right)]
    neither = [item for item in alike if not any(times_of[who.id, item.verb_phrase] for who in (one, other))]
    for decoy in ask.some(as_rare(ask, right, neither), 1):
        wrong = [differs(idle, right, doer), differs(doer, decoy, idle), differs(idle, decoy, doer)]
        yield ask.choice(_both(one, other), [span_of(right)], differs(doer, right, idle), [wrong], is_crossed=True)


def _busier(ask: Asker, one: Person, other: Person) -> Iterator[Draft]:
    """Yield a question: who of two people does clearly more, and what? Options: each person with the deeds of each."""

    def busy(who: Person, row: Sequence[Event]) -> Say:
        return say.sentence("busy", say.name(who), say.row(row, say.deed))

    more, less = sorted((one, other), key=lambda item: -len(ask.film.deeds_of[item.id]))
    if len(ask.film.deeds_of[more.id]) < _CLEARLY_MORE * max(2, len(ask.film.deeds_of[less.id])):
        return
    if rows := _matched(ask, [_own(ask, more), _own(ask, less)], fewest=2):
        mine, theirs = rows
        wrong = [busy(less, mine), busy(more, theirs), busy(less, theirs)]
        yield ask.choice(_both(one, other), map(span_of, mine), busy(more, mine), [wrong], is_crossed=True)


def _common(ask: Asker, one: Person, other: Person) -> Iterator[Draft]:
    usable, times_of = _usable(ask, one, other), ask.film.times_of
    shared = [item for item in usable if item.actor == one.id and times_of[other.id, item.verb_phrase]]
    if not shared:
        return

    def doers(event: Event) -> int:
        return sum(bool(times_of[person.id, event.verb_phrase]) for person in ask.film.people)

    right = ask.chance.choice(list({item.verb_phrase: item for item in shared}.values()))
    wrong = [
        say.sentence("both", say.does(item))
        for item in usable
        if not (times_of[one.id, item.verb_phrase] and times_of[other.id, item.verb_phrase])
        # What more people do is likelier done by both.
        and (shape(item) == shape(right) and abs(doers(item) - doers(right)) <= 1)
    ]
    spans = [span_of(times_of[person.id, right.verb_phrase][0]) for person in (one, other)]
    yield ask.choice(_both(one, other), spans, say.sentence("both", say.does(right)), [wrong])


def video_summary(ask: Asker) -> Iterator[Draft]:
    """Yield questions for the order of four events; wrong options are the same events in other orders."""
    if not ask.says("from beginning to end"):
        return
    for row in unrelated_rows(ask, (4,)):
        others = [ask.chance.sample(row, len(row)) for _ in range(8)]
        wrong = [say.row(item, say.clause) for item in others if item != row]
        yield ask.choice({}, map(span_of, row), say.row(row, say.clause), [wrong])


def followed_thing(ask: Asker) -> Iterator[Draft]:
    """Yield questions about a thing: where it is at the end, who holds it in turn, or its last holder and first place."""
    for thing in ask.some(ask.film.things):
        states, slots = ask.film.keeping[thing.id], {"object": say.name(thing)}
        moves = [put_there(ask, thing, state) for state in states[1:]]
        seen = [span_of(item) for item in moves if item is not None]
        if not seen or len(seen) < len(moves):
            continue  # it was moved off screen
        if ask.says("end up"):
            right = where(ask, thing, states[-1])
            yield ask.choice(slots, seen[-1:], right, other_states(ask, thing, states[-1]))
        elif ask.says("hands"):
            yield from _holders(ask, thing, seen)
        elif is_with_person(states[-1]) and not is_with_person(states[0]):
            yield from _end_and_origin(ask, thing, [seen[0], seen[-1]])


def _holders(ask: Asker, thing: Thing, seen: Sequence[TimeSpan]) -> Iterator[Draft]:
    holders: list[Person] = []
    for state in ask.film.keeping[thing.id]:
        person = ask.film.person_by_id.get(state.subject) if is_with_person(state) else None
        if person is not None and (not holders or holders[-1] is not person):
            holders.append(person)
    if not 1 <= len(holders) <= _MOST_HOLDERS:
        return

    wrong = [say.row(row, say.name) for _ in range(12) if (row := _some_people(ask, len(holders))) != holders]
    yield ask.choice({"object": say.name(thing)}, seen, say.row(holders, say.name), [wrong])


def _some_people(ask: Asker, length: int) -> list[Person]:
    """Return ``length`` random people, none twice in succession."""
    row: list[Person] = []
    while len(row) < length:
        row.append(ask.chance.choice([item for item in ask.film.people if not row or item is not row[-1]]))
    return row


def _end_and_origin(ask: Asker, thing: Thing, spans: Sequence[TimeSpan]) -> Iterator[Draft]:
    """Yield a question (evidence: ``spans``) with four options: the right or a wrong last holder, with either first place."""
    states = ask.film.keeping[thing.id]
    holder = ask.film.person_by_id.get(states[-1].subject)
    firsts = [(item, ask.film.keeping[item.id][:1]) for item in ask.film.things if item is not thing]
    places = [(item, state[0]) for item, state in firsts if state and not is_with_person(state[0])]
    others = [item for item in ask.film.people if item is not holder]
    if holder is None or not places or not others:
        return
    origin, elsewhere = where(ask, thing, states[0]), where(ask, *ask.chance.choice(places))
    other = ask.chance.choice(others)
    pairs = ((holder, origin), (holder, elsewhere), (other, origin), (other, elsewhere))
    right, *wrong = [say.sentence("had", say.name(person), place) for person, place in pairs]
    yield ask.choice({"object": say.name(thing)}, spans, right, [wrong], is_crossed=True)


def spoken_reference(ask: Asker) -> Iterator[Draft]:
    """Yield questions about the time of a person's appointment, for people with exactly one."""
    if not ask.says("appointment"):
        return  # the facts do not contain what words refer to
    kept = [item for item in ask.film.facts.facts if item.kind == "appointment"]
    for person in ask.film.people:
        own = [item for item in kept if person.id in item.values.get("people", "").split()]
        clock = CLOCK.fullmatch(own[0].values.get("time", "")) if len(own) == 1 else None
        if clock is None:
            continue
        times, place = clock_times(ask, clock)
        right = say.quoted(clock[0])
        spans = [TimeSpan(start=start, end=end) for start, end in own[0].spans]
        yield ask.choice(named(person), spans, right, [list(map(say.quoted, times))], bucket=str(place))


def chain(ask: Asker) -> Iterator[Draft]:
    """Yield questions about what the actor of a deed does next, or who of those in a room later has a thing."""
    if ask.says("{action}"):
        yield from _afterwards(ask)
    elif ask.says("later seen with"):
        yield from _later_with(ask)


def _afterwards(ask: Asker) -> Iterator[Draft]:
    for event in ask.some(ask.film.named_events):
        doers = [item for person in ask.film.people for item in ask.film.times_of[person.id, event.verb_phrase]]
        later = [item for item in ask.film.deeds_of[event.actor] if item.start >= event.end]
        if len(doers) != 1 or not later:
            continue
        right = later[0]
        earlier = [item for item in ask.film.deeds_of[event.actor] if item.end <= event.start]
        others = [item for item in ask.film.deeds if item.kind == right.kind and item.actor != event.actor]
        pool = [
            item
            for item in [*earlier, *ask.some(others)]
            if item.other != event.actor and not any(does_so(one, item.verb_phrase) for one in later)
        ]
        wrong = alike(right, as_rare(ask, right, pool), [event], say.deed)
        yield ask.choice({"action": say.does(event)}, [span_of(event), span_of(right)], say.deed(right), wrong)


def _later_with(ask: Asker) -> Iterator[Draft]:
    film = ask.film
    for place in ask.some(film.places):
        visits = [item for person in film.people for item in reversed(film.visits[person.id])]
        inside = {item.subject: item for item in visits if item.place == place.id}  # the first visit of each person
        for thing in ask.some(film.things):
            having = [item for item in film.keeping[thing.id] if is_with_person(item)]
            later = {item.subject for item in having if item.subject in inside and item.end > inside[item.subject].end}
            if len(later) != 1:
                continue
            holder = later.pop()
            own = [span_of(item) for item in having if item.subject == holder and item.start > inside[holder].end]
            seen = [one for one in own if sum(span.overlap(one) for span in film.seen_spans[holder]) >= 1.0]
            if not seen:
                continue
            wrong = [say.name(film.person_by_id[item]) for item in inside if item != holder]
            having_it = [item.clip(seen[0]) for item in film.seen_spans[holder]]
            slots: Slots = {"place": say.name(place), "object": say.name(thing)}
            spans = [span_of(inside[holder]), *[item for item in having_it if item is not None][:1]]
            yield ask.choice(slots, spans, say.name(film.person_by_id[holder]), [wrong])


def general_rule(ask: Asker) -> Iterator[Draft]:
    """Yield questions about where things with a label are put; wrong options are other drawers and cupboards of the room.

    Most rules are about the main room of the film, which a guess would prefer to other rooms.
    """
    rules = [item for item in ask.film.facts.facts if item.kind == "rule"]
    targets = {(item.target, item.place) for item in ask.film.deeds if item.kind in ("opens", "closes") and item.target}
    targets |= {(item.values.get("target", ""), item.values.get("place", "")) for item in rules}
    places = ask.film.place_by_id
    for rule in rules:
        own = (rule.values.get("target", ""), rule.values.get("place", ""))
        if own[1] not in places or not own[0]:
            continue
        others = [pair for pair in sorted(targets - {own}) if pair[1] == own[1] and pair[0] and "door" not in pair[0]]
        wrong = [say.put_into(target, places[place]) for target, place in others]
        slots = {"things": say.labelled(rule.values.get("category", ""), rule.values.get("label", ""))}
        spans = [TimeSpan(start=start, end=end) for start, end in rule.spans]
        yield ask.choice(slots, spans, say.put_into(own[0], places[own[1]]), [wrong], fewest=2)


MAKERS = by_name(
    video_summary, part_summary, person_summary, comparison, followed_thing, spoken_reference, chain, general_rule
)
