"""What a stretch is about, what one person does in all, how two people compare.

Options are rows of events of one form and one length; the wrong ones happen in the film too, elsewhere or by others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from eval.sandbox.asking.drafts import Asker, Draft, choice
from eval.sandbox.asking.kinds.alike import Shape, as_rare, shape
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.kinds.ordering import unrelated_rows
from eval.sandbox.asking.known import span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Event, Person, Visit
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


def part_summary(ask: Asker) -> Iterator[Draft]:
    """What happens in a stretch, in a room's only scene, or in a third of the video."""
    for template in ask.templates("part_summary"):
        if "{start_time}" in template.en:
            for scene in ask.some(ask.known.facts.scenes):
                slots = {"start_time": parts.moment(scene.start), "end_time": parts.moment(scene.end)}
                yield from _of_stretch(ask, template, slots, scene, ask.known.facts.scenes, ask.known.deeds)
        elif "{place}" in template.en:
            standing = [item for item in ask.known.deeds if item.kind not in _COMING_AND_GOING]  # they name the room
            for scene in ask.some(_only_scenes(ask)):
                slots = {"place": parts.place(ask.known.place_by_id[scene.place])}
                yield from _of_stretch(ask, template, slots, scene, ask.known.facts.scenes, standing)
        elif "short account" in template.en:
            length = ask.known.facts.duration / 3
            thirds = [Visit(subject="", place="", start=length * n, end=length * (n + 1)) for n in range(3)]
            for number, one in enumerate(thirds):
                yield from _of_stretch(ask, template, {"part": parts.third(number)}, one, thirds, ask.known.told)


def _only_scenes(ask: Asker) -> list[Visit]:
    """The scenes of rooms that are shown once."""
    rooms = [scene.place for scene in ask.known.facts.scenes]
    return [
        scene
        for scene in ask.known.facts.scenes
        if rooms.count(scene.place) == 1 and scene.place in ask.known.place_by_id
    ]


def _of_stretch(
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
    return parts.row([parts.clause(item) for item in row])


def person_summary(ask: Asker) -> Iterator[Draft]:
    """What somebody does: rows of deeds that only one person does, the wrong ones of others."""
    for template in ask.templates("person_summary"):
        for person in ask.some(ask.known.people):
            if "everything" in template.en and not _ROW <= len(ask.known.deeds_of(person.id)) <= _ROW + 1:
                continue  # no row of that length is everything
            right, *wrong = [_any_row(ask, _own(ask, one)) for one in (person, *_but(ask, person))]
            if right:
                spans = [span_of(item) for item in right]
                rows = [[_deeds(row) for row in wrong if row]]
                yield choice(template, named(person), spans, right=_deeds(right), wrong=rows)


def _but(ask: Asker, person: Person) -> list[Person]:
    return [item for item in ask.some(ask.known.people) if item is not person]


def _any_row(ask: Asker, events: Sequence[Event]) -> list[Event]:
    """Some of the events in their order, no two of the same words; none where there are too few."""
    distinct = list({item.clause: item for item in events}.values())
    return sorted(ask.chance.sample(distinct, _ROW), key=lambda item: item.start) if len(distinct) >= _ROW else []


def _own(ask: Asker, person: Person) -> list[Event]:
    """Deeds that nobody else does and nobody else is named in."""
    own = [item for item in ask.known.deeds_of(person.id) if not item.other]
    return [item for item in own if ask.known.is_only_of(person.id, item.verb_phrase)]


def _deeds(row: Sequence[Event]) -> Say:
    return parts.row([parts.deed(item) for item in row])


def comparison(ask: Asker) -> Iterator[Draft]:
    """What one does and the other never does, or what both do."""
    for template in ask.templates("comparison"):
        pairs = list(permutations(ask.known.people, 2))
        for one, other in ask.chance.choices(pairs, k=ask.most // 2) if pairs else []:
            slots = {"person": parts.person(one), "other_person": parts.person(other)}
            if "differ" in template.en:
                yield from _difference(ask, template, slots, one, other)
            elif "in common" in template.en:
                yield from _common(ask, template, slots, one, other)
            elif "busier" in template.en:
                yield from _busier(ask, template, slots, one, other)


def _difference(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    """A deed of one of them, said of either; and a deed of neither, said of either."""
    doer, idle = ask.chance.sample((one, other), 2)
    usable = [item for item in ask.some(ask.known.deeds, _LOOKED_AT) if item.other not in (one.id, other.id)]
    only = [item for item in usable if item.actor == doer.id and not ask.known.times_of(idle.id, item.verb_phrase)]
    if not only:
        return
    right = ask.chance.choice(only)
    same = [
        item
        for item in usable
        if shape(item) == shape(right) and not any(ask.known.times_of(who.id, item.verb_phrase) for who in (one, other))
    ]
    for decoy in ask.some(as_rare(ask, right, same), 1):
        wrong = [parts.differ(idle, right, doer), parts.differ(doer, decoy, idle), parts.differ(idle, decoy, doer)]
        yield choice(
            template, slots, [span_of(right)], right=parts.differ(doer, right, idle), wrong=[wrong], is_crossed=True
        )


def _busier(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    """Who does clearly more, and what; either with the deeds of either."""
    more, less = sorted((one, other), key=lambda item: -len(ask.known.deeds_of(item.id)))
    if len(ask.known.deeds_of(more.id)) < _CLEARLY_MORE * max(2, len(ask.known.deeds_of(less.id))):
        return
    rows = _matched(ask, [_own(ask, more), _own(ask, less)], fewest=2)
    if rows:
        mine, theirs = rows
        wrong = [parts.busy(less, _deeds(mine)), parts.busy(more, _deeds(theirs)), parts.busy(less, _deeds(theirs))]
        spans = [span_of(item) for item in mine]
        yield choice(template, slots, spans, right=parts.busy(more, _deeds(mine)), wrong=[wrong], is_crossed=True)


def video_summary(ask: Asker) -> Iterator[Draft]:
    """The story in its order: the same events in other orders are wrong. "What is it about" has no such answer."""
    for template in ask.templates("video_summary"):
        if "from beginning to end" not in template.en:
            continue
        for row in unrelated_rows(ask, (4,)):
            others = [ask.chance.sample(row, len(row)) for _ in range(8)]
            wrong = [_clauses(item) for item in others if item != row]
            yield choice(template, {}, [span_of(item) for item in row], right=_clauses(row), wrong=[wrong])


def _common(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    usable = [item for item in ask.some(ask.known.deeds, _LOOKED_AT) if item.other not in (one.id, other.id)]
    shared = [item for item in usable if item.actor == one.id and ask.known.times_of(other.id, item.verb_phrase)]
    if not shared:
        return
    right = ask.chance.choice(list({item.verb_phrase: item for item in shared}.values()))
    not_both = [
        item
        for item in usable
        if not (ask.known.times_of(one.id, item.verb_phrase) and ask.known.times_of(other.id, item.verb_phrase))
    ]
    spans: list[TimeSpan] = [span_of(ask.known.times_of(person.id, right.verb_phrase)[0]) for person in (one, other)]
    many = _doers(ask, right)  # what more people do is likelier done by both
    wrong = [item for item in not_both if shape(item) == shape(right) and abs(_doers(ask, item) - many) <= 1]
    tiers = [[parts.both(item) for item in wrong]]
    yield choice(template, slots, spans, right=parts.both(right), wrong=tiers)


def _doers(ask: Asker, event: Event) -> int:
    """How many people do what an event's words say."""
    return sum(bool(ask.known.times_of(person.id, event.verb_phrase)) for person in ask.known.people)
