"""Wrong options: other events of the film that read as likely as the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from eval.sandbox.asking.known import APART, does_so
from eval.sandbox.asking.phrases import Say
from eval.sandbox.facts import Event

#: What was done "right before" or "right after" lies at most so far away (seconds), with nothing in between.
RIGHT = 20.0
_COMING_AND_GOING = ("enters", "leaves")
_MOST_TAKEN = 40


def alike(
    right: Event, pool: Iterable[Event], anchors: Sequence[Event], say: Callable[[Event], Say]
) -> list[list[Say]]:
    """The pool in tiers, those first that are as near to the question as the right event is: its kind, the people and
    the things it shares with the events that the question names.
    """
    tiers: dict[int, list[Say]] = {}
    for event in pool:
        if event is right or event in anchors or says_the_same(event, right):
            continue
        tiers.setdefault(_mismatch(event, right, anchors), []).append(say(event))
    return [tiers[number][:_MOST_TAKEN] for number in sorted(tiers)]


def says_the_same(one: Event, other: Event) -> bool:
    """Whether what one says is true of the other too."""
    return one.actor == other.actor and (does_so(one, other.verb_phrase) or does_so(other, one.verb_phrase))


def _mismatch(event: Event, right: Event, anchors: Sequence[Event]) -> int:
    people = {who for item in anchors for who in (item.actor, item.other)} - {""}
    things = {item.thing for item in anchors} - {""}
    is_moving, should_move = event.kind in _COMING_AND_GOING, right.kind in _COMING_AND_GOING
    return (
        8 * (is_moving != should_move)
        + 4 * (event.kind != right.kind)
        + 2 * ((event.actor in people) != (right.actor in people))
        + 2 * ((event.thing in things) != (right.thing in things))
        + (event.place != right.place)
    )


def neighbour(events: Sequence[Event], event: Event, step: int) -> Event | None:
    """Of some events (in order of time) the one right before (-1) or right after (1) another; None where that is not clear."""
    others = [item for item in events if item is not event]
    if any(item.start < event.start < item.end or event.start <= item.start < event.end for item in others):
        return None  # something goes on meanwhile
    if step < 0:
        before = sorted((item for item in others if item.end <= event.start), key=lambda item: item.end)[-2:]
        if not before or event.start - before[-1].end > RIGHT:
            return None
        is_clear = len(before) < 2 or (before[1].end - before[0].end >= APART and before[1].start > before[0].start)
        return before[-1] if is_clear else None
    after = sorted((item for item in others if item.start >= event.end), key=lambda item: item.start)[:2]
    if not after or after[0].start - event.end > RIGHT:
        return None
    is_clear = len(after) < 2 or (after[1].start - after[0].start >= APART and after[1].end > after[0].end)
    return after[0] if is_clear else None
