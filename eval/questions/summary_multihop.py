"""Question types of domain C: summaries, comparisons, and answers that need several steps.

Options of summaries are rows of events of one form and one length; the wrong ones happen in the film too, elsewhere or by others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from eval.questions import phrasing as say
from eval.questions.drafts import (
    Asker,
    Draft,
    Maker,
    Shape,
    alike,
    as_rare,
    choice,
    does_so,
    is_with_person,
    shape,
    span_of,
)
from eval.questions.locate_count import named
from eval.questions.order_cause import other_states, put_there, unrelated_rows, where
from eval.questions.phrasing import Say
from eval.sandbox.facts import Event, Person, Relation, Thing, Visit
from tool_induction.domains.domain import Template
from world_api.core.spans import TimeSpan

#: A row holds so many events: enough that one event that was missed decides nothing.
_ROW = 3
_OPTIONS = 4
_MOST_WRONG = 12
_TRIES = 60
_CLEARLY_MORE = 1.5
_LOOKED_AT = 120  #: deeds, of a long film
_COMING_AND_GOING = ("enters", "leaves")


def part_summary(ask: Asker, template: Template) -> Iterator[Draft]:
    """What happens in a stretch, in a room's only scene, or in a third of the video."""
    if "{start_time}" in template.en:
        for scene in ask.some(ask.film.facts.scenes):
            slots = {
                "start_time": say.sentence("moment", scene.start),
                "end_time": say.sentence("moment", scene.end),
            }
            yield from _of_interval(ask, template, slots, scene, ask.film.facts.scenes, ask.film.deeds)
    elif "{place}" in template.en:
        standing = [item for item in ask.film.deeds if item.kind not in _COMING_AND_GOING]  # they name the room
        for scene in ask.some(_only_scenes(ask)):
            slots = {"place": say.name(ask.film.place_by_id[scene.place])}
            yield from _of_interval(ask, template, slots, scene, ask.film.facts.scenes, standing)
    elif "short account" in template.en:
        length = ask.film.facts.duration / 3
        thirds = [Visit(subject="", place="", start=length * n, end=length * (n + 1)) for n in range(3)]
        for number, one in enumerate(thirds):
            yield from _of_interval(ask, template, {"part": say.third(number)}, one, thirds, ask.film.named_events)


def _only_scenes(ask: Asker) -> list[Visit]:
    """The scenes of rooms that are shown once."""
    rooms = [scene.place for scene in ask.film.facts.scenes]
    return [
        scene
        for scene in ask.film.facts.scenes
        if rooms.count(scene.place) == 1 and scene.place in ask.film.place_by_id
    ]


def _of_interval(
    ask: Asker,
    template: Template,
    slots: dict[str, Say],
    stretch: Visit,
    others: Sequence[Visit],
    pool: Sequence[Event],
) -> Iterator[Draft]:
    """Rows of the same kinds of events, from the stretch and from others: what is likelier at first or at last tells nothing."""
    stretches = [stretch, *(other for other in ask.some(others, _MOST_WRONG) if other is not stretch)]
    inside = [_inside(pool, one) for one in stretches]
    often = Counter(clause for events in inside for clause in {item.clause for item in events})
    rows = _matched(ask, [[item for item in events if often[item.clause] == 1] for events in inside])
    if rows:
        spans = [span_of(item) for item in rows[0]]
        yield choice(template, slots, spans, right=_clauses(rows[0]), wrong=[[_clauses(row) for row in rows[1:]]])


def _matched(ask: Asker, pools: Sequence[Sequence[Event]], *, fewest: int = 3) -> list[list[Event]]:
    """A row of the first pool, and one of the same kinds of events of each other pool that has them.

    The kinds are such as many pools have; none where fewer than ``fewest`` have such a row.
    """
    by_shape = [_by_shape(pool) for pool in pools]
    if not by_shape:
        return []
    best: list[list[Event]] = []
    kinds = [shape for shape, events in by_shape[0].items() for _ in range(min(len(events), _ROW))]
    for _ in range(_TRIES if len(kinds) >= _ROW else 0):
        wanted = Counter(ask.chance.sample(kinds, _ROW))
        having = [one for one in by_shape if all(len(one.get(kind, ())) >= number for kind, number in wanted.items())]
        if len(having) > len(best):
            best = [_row(ask, one, wanted) for one in having]
        if len(best) >= _OPTIONS:
            break
    return best if len(best) >= fewest else []


def _row(ask: Asker, events: Mapping[Shape, Sequence[Event]], wanted: Mapping[Shape, int]) -> list[Event]:
    found = [item for kind, number in wanted.items() for item in ask.chance.sample(events[kind], number)]
    return sorted(found, key=lambda item: item.start)


def _by_shape(pool: Sequence[Event]) -> dict[Shape, list[Event]]:
    """Events by what they read like, no two of the same words."""
    found: dict[Shape, list[Event]] = {}
    for event in {item.clause: item for item in pool}.values():
        found.setdefault(shape(event), []).append(event)
    return found


def _inside(pool: Sequence[Event], stretch: Visit) -> list[Event]:
    return [item for item in pool if stretch.start <= item.start and item.end <= stretch.end]


def _clauses(row: Sequence[Event]) -> Say:
    return say.row([say.clause(item) for item in row])


def person_summary(ask: Asker, template: Template) -> Iterator[Draft]:
    """What somebody does: rows of deeds that only one person does, the wrong ones of others."""
    for person in ask.some(ask.film.people):
        if "everything" in template.en and not _ROW <= len(ask.film.deeds_of(person.id)) <= _ROW + 1:
            continue  # no row of that length is everything
        right, *wrong = [_any_row(ask, _own(ask, one)) for one in (person, *_but(ask, person))]
        if right:
            spans = [span_of(item) for item in right]
            rows = [[_deeds(row) for row in wrong if row]]
            yield choice(template, named(person), spans, right=_deeds(right), wrong=rows)


def _but(ask: Asker, person: Person) -> list[Person]:
    return [item for item in ask.some(ask.film.people) if item is not person]


def _any_row(ask: Asker, events: Sequence[Event]) -> list[Event]:
    """Some of the events in their order, no two of the same words; none where there are too few."""
    distinct = list({item.clause: item for item in events}.values())
    return sorted(ask.chance.sample(distinct, _ROW), key=lambda item: item.start) if len(distinct) >= _ROW else []


def _own(ask: Asker, person: Person) -> list[Event]:
    """Deeds that nobody else does and nobody else is named in."""
    own = [item for item in ask.film.deeds_of(person.id) if not item.other]
    return [item for item in own if ask.film.is_only_of(person.id, item.verb_phrase)]


def _deeds(row: Sequence[Event]) -> Say:
    return say.row([say.deed(item) for item in row])


def comparison(ask: Asker, template: Template) -> Iterator[Draft]:
    """What one does and the other never does, or what both do."""
    pairs = list(permutations(ask.film.people, 2))
    for one, other in ask.chance.choices(pairs, k=ask.most // 2) if pairs else []:
        slots = {"person": say.name(one), "other_person": say.name(other)}
        if "differ" in template.en:
            yield from _difference(ask, template, slots, one, other)
        elif "in common" in template.en:
            yield from _common(ask, template, slots, one, other)
        elif "busier" in template.en:
            yield from _busier(ask, template, slots, one, other)


def _difference(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    """A deed of one of them, said of either; and a deed of neither, said of either."""
    doer, idle = ask.chance.sample((one, other), 2)
    usable = [item for item in ask.some(ask.film.deeds, _LOOKED_AT) if item.other not in (one.id, other.id)]
    only = [item for item in usable if item.actor == doer.id and not ask.film.times_of(idle.id, item.verb_phrase)]
    if not only:
        return
    right = ask.chance.choice(only)
    same = [
        item
        for item in usable
        if shape(item) == shape(right) and not any(ask.film.times_of(who.id, item.verb_phrase) for who in (one, other))
    ]
    for decoy in ask.some(as_rare(ask, right, same), 1):
        wrong = [say.differ(idle, right, doer), say.differ(doer, decoy, idle), say.differ(idle, decoy, doer)]
        yield choice(
            template, slots, [span_of(right)], right=say.differ(doer, right, idle), wrong=[wrong], is_crossed=True
        )


def _busier(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    """Who does clearly more, and what; either with the deeds of either."""
    more, less = sorted((one, other), key=lambda item: -len(ask.film.deeds_of(item.id)))
    if len(ask.film.deeds_of(more.id)) < _CLEARLY_MORE * max(2, len(ask.film.deeds_of(less.id))):
        return
    rows = _matched(ask, [_own(ask, more), _own(ask, less)], fewest=2)
    if rows:
        mine, theirs = rows
        wrong = [say.busy(less, _deeds(mine)), say.busy(more, _deeds(theirs)), say.busy(less, _deeds(theirs))]
        spans = [span_of(item) for item in mine]
        yield choice(template, slots, spans, right=say.busy(more, _deeds(mine)), wrong=[wrong], is_crossed=True)


def video_summary(ask: Asker, template: Template) -> Iterator[Draft]:
    """The story in its order: the same events in other orders are wrong. "What is it about" has no such answer."""
    if "from beginning to end" not in template.en:
        return
    for row in unrelated_rows(ask, (4,)):
        others = [ask.chance.sample(row, len(row)) for _ in range(8)]
        wrong = [_clauses(item) for item in others if item != row]
        yield choice(template, {}, [span_of(item) for item in row], right=_clauses(row), wrong=[wrong])


def _common(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    usable = [item for item in ask.some(ask.film.deeds, _LOOKED_AT) if item.other not in (one.id, other.id)]
    shared = [item for item in usable if item.actor == one.id and ask.film.times_of(other.id, item.verb_phrase)]
    if not shared:
        return
    right = ask.chance.choice(list({item.verb_phrase: item for item in shared}.values()))
    not_both = [
        item
        for item in usable
        if not (ask.film.times_of(one.id, item.verb_phrase) and ask.film.times_of(other.id, item.verb_phrase))
    ]
    spans: list[TimeSpan] = [span_of(ask.film.times_of(person.id, right.verb_phrase)[0]) for person in (one, other)]
    many = _doers(ask, right)  # what more people do is likelier done by both
    wrong = [item for item in not_both if shape(item) == shape(right) and abs(_doers(ask, item) - many) <= 1]
    tiers = [[say.sentence("both", say.does(item)) for item in wrong]]
    yield choice(template, slots, spans, right=say.sentence("both", say.does(right)), wrong=tiers)


def _doers(ask: Asker, event: Event) -> int:
    """How many people do what an event's words say."""
    return sum(bool(ask.film.times_of(person.id, event.verb_phrase)) for person in ask.film.people)


_CLOCKS = 4
_MINUTES = (10, 15, 20, 25, 30)
_MOST_HANDS = 5


def followed_thing(ask: Asker, template: Template) -> Iterator[Draft]:
    """Where a thing ends up, through whose hands it goes, who has it and where it was at first."""
    for thing in ask.some(ask.film.things):
        states = ask.film.keeping(thing.id)
        moves = [put_there(ask, thing, state) for state in states[1:]]
        seen = [item for item in moves if item is not None]
        if not seen or len(seen) < len(moves):
            continue  # somebody moved it unseen
        if "end up" in template.en:
            yield _end(ask, template, thing, states, seen)
        elif "hands" in template.en:
            yield from _hands(ask, template, thing, states, seen)
        elif is_with_person(states[-1]) and not is_with_person(states[0]):
            yield from _end_and_origin(ask, template, thing, states, seen)


def _end(ask: Asker, template: Template, thing: Thing, states: Sequence[Relation], seen: Sequence[Event]) -> Draft:
    right = where(ask, thing, states[-1])
    spans = [span_of(seen[-1])]
    return choice(template, {"object": say.name(thing)}, spans, right=right, wrong=other_states(ask, thing, states[-1]))


def _hands(
    ask: Asker, template: Template, thing: Thing, states: Sequence[Relation], seen: Sequence[Event]
) -> Iterator[Draft]:
    holders: list[Person] = []
    for state in states:
        person = ask.film.person_by_id.get(state.subject) if is_with_person(state) else None
        if person is not None and (not holders or holders[-1] is not person):
            holders.append(person)
    if not 1 <= len(holders) <= _MOST_HANDS:
        return
    wrong = [row for _ in range(12) if (row := _some_row(ask, len(holders))) != holders]
    options = [say.row([say.name(item) for item in row]) for row in wrong]
    spans = [span_of(item) for item in seen]
    yield choice(
        template,
        {"object": say.name(thing)},
        spans,
        right=say.row([say.name(item) for item in holders]),
        wrong=[options],
    )


def _some_row(ask: Asker, length: int) -> list[Person]:
    """As many people, nobody twice in a row."""
    row: list[Person] = []
    while len(row) < length:
        row.append(ask.chance.choice([item for item in ask.film.people if not row or item is not row[-1]]))
    return row


def _end_and_origin(
    ask: Asker, template: Template, thing: Thing, states: Sequence[Relation], seen: Sequence[Event]
) -> Iterator[Draft]:
    """Holder and origin, each right or wrong: four options, none of whose halves stands out."""
    holder = ask.film.person_by_id.get(states[-1].subject)
    origins = [
        (item, ask.film.keeping(item.id)[0])
        for item in ask.film.things
        if item is not thing and ask.film.keeping(item.id)
    ]
    places = [(item, state) for item, state in origins if not is_with_person(state)]
    others = [item for item in ask.film.people if item is not holder]
    if holder is None or not places or not others:
        return
    origin, elsewhere = where(ask, thing, states[0]), where(ask, *ask.chance.choice(places))
    other = ask.chance.choice(others)
    wrong = [
        say.sentence("had", say.name(holder), elsewhere),
        say.sentence("had", say.name(other), origin),
        say.sentence("had", say.name(other), elsewhere),
    ]
    spans = [span_of(seen[0]), span_of(seen[-1])]
    yield choice(
        template,
        {"object": say.name(thing)},
        spans,
        right=say.sentence("had", say.name(holder), origin),
        wrong=[wrong],
        is_crossed=True,
    )


def spoken_reference(ask: Asker, template: Template) -> Iterator[Draft]:
    """When somebody's appointment is: those who have one only."""
    if "appointment" not in template.en:
        return  # what words refer to beyond themselves is not in the facts
    kept = [item for item in ask.film.facts.facts if item.kind == "appointment"]
    for person in ask.film.people:
        own = [item for item in kept if person.id in item.values.get("people", "").split()]
        minute = _minute(own[0].values.get("time", "")) if len(own) == 1 else None
        if minute is None:
            continue
        step, place = ask.chance.choice(_MINUTES), ask.chance.randrange(_CLOCKS)
        times = [minute + step * (number - place) for number in range(_CLOCKS)]
        options = [say.quoted(f"{time // 60 % 24:02d}:{time % 60:02d}") for time in times]
        wrong = [item for number, item in enumerate(options) if number != place]
        spans = [TimeSpan(start=start, end=end) for start, end in own[0].spans]
        yield choice(template, named(person), spans, right=options[place], wrong=[wrong], bucket=str(place))


def _minute(clock: str) -> int | None:
    """Minutes of the day."""
    hours, colon, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes) if colon and hours.isdecimal() and minutes.isdecimal() else None


def chain(ask: Asker, template: Template) -> Iterator[Draft]:
    """What the doer of a deed does later; who of those in a room is later seen with a thing."""
    if "{action}" in template.en:
        yield from _afterwards(ask, template)
    elif "later seen with" in template.en:
        yield from _later_with(ask, template)


def _afterwards(ask: Asker, template: Template) -> Iterator[Draft]:
    for event in ask.some(ask.film.named_events):
        doers = [item for person in ask.film.people for item in ask.film.times_of(person.id, event.verb_phrase)]
        if len(doers) != 1:
            continue
        later = [item for item in ask.film.deeds_of(event.actor) if item.start >= event.end]
        if not later:
            continue
        right = later[0]
        earlier = [item for item in ask.film.deeds_of(event.actor) if item.end <= event.start]
        others = [item for item in ask.film.deeds if item.kind == right.kind and item.actor != event.actor]
        pool = [
            item
            for item in [*earlier, *ask.some(others)]
            if item.other != event.actor and not any(does_so(one, item.verb_phrase) for one in later)
        ]
        wrong = alike(right, as_rare(ask, right, pool), [event], say.deed)
        spans = [span_of(event), span_of(right)]
        yield choice(template, {"action": say.does(event)}, spans, right=say.deed(right), wrong=wrong)


def _later_with(ask: Asker, template: Template) -> Iterator[Draft]:
    for place in ask.some(ask.film.places):
        inside = {
            person.id: next(item for item in ask.film.visits(person.id) if item.place == place.id)
            for person in ask.film.people
            if place.id in ask.film.rooms_of(person.id)
        }
        for thing in ask.some(ask.film.things):
            having = [item for item in ask.film.keeping(thing.id) if is_with_person(item)]
            later = {item.subject for item in having if item.subject in inside and item.end > inside[item.subject].end}
            if len(later) != 1:
                continue
            holder = later.pop()
            own = [item for item in having if item.subject == holder and item.start > inside[holder].end]
            seen = [item for item in own if ask.film.seen_within(holder, item.start, item.end) >= 1.0]
            if not seen:
                continue
            wrong = [say.name(ask.film.person_by_id[item]) for item in inside if item != holder]
            having_it = [item.clip(span_of(seen[0])) for item in ask.film.seen_spans(holder)]
            slots: dict[str, Say] = {"place": say.name(place), "object": say.name(thing)}
            spans = [span_of(inside[holder]), *[item for item in having_it if item is not None][:1]]
            yield choice(template, slots, spans, right=say.name(ask.film.person_by_id[holder]), wrong=[wrong])


def general_rule(ask: Asker, template: Template) -> Iterator[Draft]:
    """Where things with a label are put, out of all that can be opened."""
    targets = {(item.target, item.place) for item in ask.film.deeds if item.kind in ("opens", "closes") and item.target}
    rules = [item for item in ask.film.facts.facts if item.kind == "rule"]
    targets |= {(item.values.get("target", ""), item.values.get("place", "")) for item in rules}
    for rule in rules:
        own = (rule.values.get("target", ""), rule.values.get("place", ""))
        room = ask.film.place_by_id.get(own[1])
        if room is None or not own[0]:
            continue
        wrong = [
            say.put_into(target, ask.film.place_by_id[place])
            for target, place in sorted(targets - {own})
            if place in ask.film.place_by_id and target and "door" not in target
        ]
        slots = {"things": say.labelled(rule.values.get("category", ""), rule.values.get("label", ""))}
        spans = [TimeSpan(start=start, end=end) for start, end in rule.spans]
        yield choice(template, slots, spans, right=say.put_into(own[0], room), wrong=[wrong])


MAKERS: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (
        video_summary,
        part_summary,
        person_summary,
        comparison,
        followed_thing,
        spoken_reference,
        chain,
        general_rule,
    )
}
