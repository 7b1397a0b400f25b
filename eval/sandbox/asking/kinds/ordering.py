"""What comes before what: pairs, sequences, what is next to an event, what lies between two.

Events that are compared share nobody and nothing, so that no habit of life (one picks up before one puts down) gives the order
away; the wrong options of a choice are other deeds of the same film.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eval.sandbox.asking.drafts import Asker, Draft, choice, yes_or_no
from eval.sandbox.asking.kinds.alike import (
    RIGHT,
    alike,
    as_rare,
    names_the_same,
    neighbour,
    related,
    says_the_same,
    shape,
)
from eval.sandbox.asking.kinds.locating import named
from eval.sandbox.asking.known import APART, span_of
from eval.sandbox.asking.phrases import Say, parts
from eval.sandbox.facts import Event, Place
from tool_induction.domains.domain import Template

#: Between two events that a question names there are at most so many others (of whoever it is about).
_BETWEEN = 60.0
_ORDERED = (3, 4)


def pair_order(ask: Asker) -> Iterator[Draft]:
    """Which of two events comes first, or whether one does."""
    for template in ask.templates("pair_order"):
        for event, other in _unrelated_pairs(ask):
            first = event.start < other.start
            spans = [span_of(event), span_of(other)]
            if template.split == "induction":
                slots = {"event": parts.clause(event), "other_event": parts.clause(other)}
                right, wrong = (event, other) if first else (other, event)
                options = [[parts.clause(wrong)]]
                said = parts.clause(right)
                yield choice(template, slots, spans, right=said, wrong=options, bucket=str(first), fewest=2)
            else:
                slots = {"event": parts.doing(event), "other_event": parts.doing(other)}
                yield yes_or_no(template, first, slots, spans)


def _unrelated_pairs(ask: Asker) -> Iterator[tuple[Event, Event]]:
    told = ask.known.told
    for event in ask.some(told):
        others = [item for item in told if not related(event, item) and _apart(event, item)]
        for other in ask.some((item for item in others if shape(item) == shape(event)), 1):
            yield (event, other) if ask.chance.random() < 0.5 else (other, event)


def _apart(one: Event, other: Event) -> bool:
    """Whether one is clearly over before the other begins."""
    return one.end + APART <= other.start or other.end + APART <= one.start


def sequence_order(ask: Asker) -> Iterator[Draft]:
    """Three or four events of different people with different things, in their order."""
    for template in ask.templates("sequence_order"):
        for row in unrelated_rows(ask, _ORDERED):
            spans = tuple(span_of(item) for item in row)
            order = tuple(parts.clause(item) for item in row)
            yield Draft(template=template, kind="order", slots={}, spans=spans, order=order)


def unrelated_rows(ask: Asker, lengths: Sequence[int]) -> Iterator[list[Event]]:
    """Rows of events of one kind in their order, of different people with different things, clearly one after the other."""
    by_shape: dict[tuple[str, bool, bool, bool], list[Event]] = {}
    for event in ask.known.told:
        by_shape.setdefault(shape(event), []).append(event)
    for _ in range(ask.most // 2 if by_shape else 0):
        chosen: list[Event] = []
        for event in ask.some(by_shape[ask.chance.choice(sorted(by_shape))]):
            if all(not related(event, item) and _apart(event, item) for item in chosen):
                chosen.append(event)
        length = ask.chance.choice(lengths)
        if len(chosen) >= min(lengths):
            yield sorted(chosen[:length], key=lambda item: item.start)


def just_before(ask: Asker) -> Iterator[Draft]:
    """What somebody does right before an event, or what happens at all."""
    yield from _beside(ask, "just_before", -1)


def just_after(ask: Asker) -> Iterator[Draft]:
    """What happens right after an event, what somebody does then, or how they react to it."""
    for template in ask.templates("just_after"):
        if "react" in template.en:
            yield from _reaction(ask, template)
    yield from _beside(ask, "just_after", 1)


def _beside(ask: Asker, kind: str, step: int) -> Iterator[Draft]:
    for template in ask.templates(kind):
        if "react" in template.en:
            continue
        as_clause = "{event}?" in template.en and "lead up" not in template.en
        for event in ask.some(ask.known.told):
            said = parts.clause(event) if as_clause else parts.doing(event)
            if "{person}" not in template.en:
                found = neighbour(ask.known.around(event, RIGHT), event, step)
                if found is not None and ask.known.is_told(found) and not related(found, event):
                    wrong = alike(found, ask.some(ask.known.told), [event], parts.clause)
                    spans = [span_of(event), span_of(found)]
                    yield choice(template, {"event": said}, spans, right=parts.clause(found), wrong=wrong)
                continue
            for person in ask.some(ask.known.people, 2):
                around = [item for item in ask.known.around(event, RIGHT) if item.actor == person.id]
                found = neighbour(around, event, step)
                if found is not None and ask.known.is_deed(found) and not related(found, event):
                    slots = {**named(person), "event": said}
                    yield _one_deed(ask, template, slots, found, [event])


def _one_deed(
    ask: Asker,
    template: Template,
    slots: Mapping[str, Say],
    right: Event,
    anchors: Sequence[Event],
    *,
    also: Sequence[Event] = (),
) -> Draft:
    """Which deed of somebody; the wrong ones are others of the same person, then such as only others do.

    ``also`` are deeds that would be right as well.
    """
    own = [item for item in ask.known.deeds_of(right.actor) if not any(says_the_same(item, one) for one in also)]
    tiers = alike(right, ask.some(as_rare(ask, right, own)), anchors, parts.deed)
    theirs = [item for item in ask.known.deeds if right.actor not in (item.actor, item.other)]
    never = [item for item in ask.some(theirs) if not ask.known.times_of(right.actor, item.verb_phrase)]
    same = [item for item in as_rare(ask, right, never) if shape(item) == shape(right)]
    tiers.append([parts.deed(item) for item in same if names_the_same(item, right, anchors)])
    return choice(template, slots, [span_of(right)], right=parts.deed(right), wrong=tiers)


def _reaction(ask: Asker, template: Template) -> Iterator[Draft]:
    """What somebody does because of an event."""
    for cause, effect, _ in ask.some(ask.known.caused):
        if effect.actor != cause.actor and ask.known.is_clear(cause) and ask.known.is_deed(effect):
            slots = {**named(ask.known.person_by_id[effect.actor]), "event": parts.doing(cause)}
            yield _one_deed(ask, template, slots, effect, [cause])


def between(ask: Asker) -> Iterator[Draft]:
    """What happens between two events, where somebody goes, what somebody does."""
    for template in ask.templates("between"):
        asks_where = "go between" in template.en
        went: list[tuple[Mapping[str, Say], tuple[Event, Place]]] = []
        for event, other in _near_pairs(ask):
            slots = {"event": parts.doing(event), "other_event": parts.doing(other)}
            inside = [item for item in ask.known.events if event.end <= item.start and item.end <= other.start]
            if "{person}" not in template.en:
                yield from _happens(ask, template, slots, inside, [event, other])
                continue
            for person in ask.some(ask.known.people, 2):
                asked = {**slots, **named(person)}
                if person.id in (event.actor, event.other, other.actor, other.other):
                    continue  # what somebody goes on with can be guessed
                own = [item for item in inside if item.actor == person.id]
                if asks_where:
                    gone = _goes(ask, own)
                    went += [(asked, gone)] if gone is not None else []
                elif deeds := [item for item in own if ask.known.is_deed(item)]:
                    yield _one_deed(ask, template, asked, ask.chance.choice(deeds), [event, other], also=deeds)
        rooms = {place.id: place for _, (_, place) in went}  # others are never right: they would be told by that
        for asked, (entered, place) in went:
            wrong = [parts.place(item) for item in rooms.values() if item is not place]
            yield choice(template, asked, [span_of(entered)], right=parts.place(place), wrong=[wrong])


def _near_pairs(ask: Asker) -> Iterator[tuple[Event, Event]]:
    for event in ask.some(ask.known.told):
        later = [item for item in ask.known.told if APART <= item.start - event.end <= _BETWEEN]
        for other in ask.some(later, 1):
            yield event, other


def _happens(
    ask: Asker, template: Template, slots: Mapping[str, Say], inside: Sequence[Event], anchors: Sequence[Event]
) -> Iterator[Draft]:
    told = [item for item in inside if ask.known.is_told(item) and not any(related(item, one) for one in anchors)]
    if told:
        right = ask.chance.choice(told)
        start, end = anchors[0].start - APART, anchors[1].end + APART
        outside = [item for item in ask.known.told if item.end <= start or item.start >= end]
        wrong = alike(right, ask.some(outside), anchors, parts.clause)
        yield choice(template, slots, [span_of(right)], right=parts.clause(right), wrong=wrong)


def _goes(ask: Asker, own: Sequence[Event]) -> tuple[Event, Place] | None:
    """Where somebody is seen to go, who comes into one room only meanwhile."""
    entered = [item for item in own if item.kind == "enters"]
    if len({item.place for item in entered}) != 1 or len({item.place for item in own}) != 1:
        return None
    place = ask.known.place_by_id.get(entered[0].place)
    return None if place is None else (entered[0], place)
