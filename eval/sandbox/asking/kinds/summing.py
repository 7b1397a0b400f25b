"""What a stretch is about, what one person does in all, how two people compare.

Options are rows of events of one form and one length; the wrong ones happen in the film too, elsewhere or by others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from eval.sandbox.asking.drafts import Asker, Draft, choice
from eval.sandbox.asking.kinds.alike import as_rare
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.kinds.ordering import unrelated_rows
from eval.sandbox.asking.known import span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Event, Person, Visit
from tool_induction.domains.domain import Template
from world_api.core.spans import TimeSpan

#: A row holds so many events: enough that one event that was missed decides nothing.
_ROW = 3
_MOST_WRONG = 12
_CLEARLY_MORE = 1.5
_LOOKED_AT = 120  #: deeds, of a long film
_COMING_AND_GOING = ("enters", "leaves")


def part_summary(ask: Asker) -> Iterator[Draft]:
    """What happens in a stretch, in a room's only scene, or in a third of the video."""
    for template in ask.templates("part_summary"):
        if "{start_time}" in template.en:
            for scene in ask.some(ask.known.facts.scenes):
                slots = {"start_time": parts.moment(scene.start), "end_time": parts.moment(scene.end)}
                yield from _of_stretch(ask, template, slots, scene, _scenes_but(ask, scene), ask.known.deeds)
        elif "{place}" in template.en:
            standing = [item for item in ask.known.deeds if item.kind not in _COMING_AND_GOING]  # they name the room
            for scene in ask.some(_only_scenes(ask)):
                slots = {"place": parts.place(ask.known.place_by_id[scene.place])}
                yield from _of_stretch(ask, template, slots, scene, _scenes_but(ask, scene), standing)
        elif "short account" in template.en:
            length = ask.known.facts.duration / 3
            thirds = [Visit(subject="", place="", start=length * n, end=length * (n + 1)) for n in range(3)]
            for number, one in enumerate(thirds):
                others = [item for item in thirds if item is not one]
                yield from _of_stretch(ask, template, {"part": parts.third(number)}, one, others, ask.known.told)


def _scenes_but(ask: Asker, scene: Visit) -> list[Visit]:
    return [item for item in ask.some(ask.known.facts.scenes, _MOST_WRONG) if item is not scene]


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
    right = _row_of(ask, _inside(pool, stretch))
    clauses = {item.clause for item in _inside(pool, stretch)}
    wrong = [row for other in others if (row := _row_of(ask, _inside(pool, other)))]
    clear = [row for row in wrong if sum(item.clause not in clauses for item in row) >= _ROW - 1]
    if right:
        spans = [span_of(item) for item in right]
        yield choice(template, slots, spans, right=_clauses(right), wrong=[[_clauses(row) for row in clear]])


def _inside(pool: Sequence[Event], stretch: Visit) -> list[Event]:
    return [item for item in pool if stretch.start <= item.start and item.end <= stretch.end]


def _row_of(ask: Asker, events: Sequence[Event]) -> list[Event]:
    """Some of the events in their order, no two of the same words; none where there are too few."""
    distinct = list({item.clause: item for item in events}.values())
    if len(distinct) < _ROW:
        return []
    return sorted(ask.chance.sample(distinct, _ROW), key=lambda item: item.start)


def _clauses(row: Sequence[Event]) -> Say:
    return parts.row([parts.clause(item) for item in row])


def person_summary(ask: Asker) -> Iterator[Draft]:
    """What somebody does: rows of deeds that only one person does, the wrong ones of others."""
    for template in ask.templates("person_summary"):
        for person in ask.some(ask.known.people):
            if "everything" in template.en and not _ROW <= len(ask.known.deeds_of(person.id)) <= _ROW + 1:
                continue  # no row of that length is everything
            right = _own_row(ask, person)
            wrong = [
                row for other in ask.some(ask.known.people) if other is not person and (row := _own_row(ask, other))
            ]
            if right:
                spans = [span_of(item) for item in right]
                rows = [[_deeds(row) for row in wrong]]
                yield choice(template, named(person), spans, right=_deeds(right), wrong=rows)


def _own_row(ask: Asker, person: Person) -> list[Event]:
    """Deeds that nobody else does and nobody else is named in."""
    own = [item for item in ask.known.deeds_of(person.id) if not item.other]
    return _row_of(ask, [item for item in own if ask.known.is_only_of(person.id, item.verb_phrase)])


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
    """A deed of one of them, said of either; and a deed of neither or of both, said of either."""
    doer, idle = ask.chance.sample((one, other), 2)
    usable = [item for item in ask.some(ask.known.deeds, _LOOKED_AT) if item.other not in (one.id, other.id)]
    only = [item for item in usable if item.actor == doer.id and not ask.known.times_of(idle.id, item.verb_phrase)]
    if not only:
        return
    right = ask.chance.choice(only)
    same = [
        item
        for item in usable
        if item.kind == right.kind
        and item.verb_phrase != right.verb_phrase
        and bool(ask.known.times_of(one.id, item.verb_phrase)) == bool(ask.known.times_of(other.id, item.verb_phrase))
    ]
    for decoy in ask.some(same, 1):
        wrong = [parts.differ(idle, right, doer), parts.differ(doer, decoy, idle), parts.differ(idle, decoy, doer)]
        yield choice(template, slots, [span_of(right)], right=parts.differ(doer, right, idle), wrong=[wrong])


def _busier(ask: Asker, template: Template, slots: dict[str, Say], one: Person, other: Person) -> Iterator[Draft]:
    """Who does clearly more, and what; either with the deeds of either."""
    more, less = sorted((one, other), key=lambda item: -len(ask.known.deeds_of(item.id)))
    if len(ask.known.deeds_of(more.id)) < _CLEARLY_MORE * max(2, len(ask.known.deeds_of(less.id))):
        return
    mine, theirs = _own_row(ask, more), _own_row(ask, less)
    if mine and theirs:
        wrong = [parts.busy(less, _deeds(mine)), parts.busy(more, _deeds(theirs)), parts.busy(less, _deeds(theirs))]
        spans = [span_of(item) for item in mine]
        yield choice(template, slots, spans, right=parts.busy(more, _deeds(mine)), wrong=[wrong])


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
    wrong = [item for item in as_rare(ask, right, not_both) if item.kind == right.kind]
    tiers = [[parts.both(item) for item in wrong]]
    yield choice(template, slots, spans, right=parts.both(right), wrong=tiers)
