"""Parts of a long film as films of their own, for questions that name the part they ask about.

The cast of a film is at most eight people, so that in an hour nearly every deed happens more than once and few questions about
the whole film have one answer only. Within twenty minutes many have.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from eval.sandbox.facts import FilmFacts, Relation, Visit
from world_api.core.spans import TimeSpan

_Lasting = TypeVar("_Lasting", Visit, Relation)

LONG = 3600.0  #: seconds; shorter films are asked about as a whole only
_LENGTH = 900.0  #: seconds that a window lasts at least
_GAP = 4.0  #: seconds without a scene (a card): a window begins and ends in such a gap, so that no event lies across its ends


def windows_of(facts: FilmFacts) -> tuple[TimeSpan, ...]:
    """Return consecutive windows of a long film, in whole seconds; none of a film shorter than ``LONG``."""
    if facts.duration < LONG or not facts.scenes:
        return ()
    scenes = sorted(facts.scenes, key=lambda item: item.start)
    gaps = [
        float(round((one.end + other.start) / 2)) for one, other in pairwise(scenes) if other.start - one.end >= _GAP
    ]
    if facts.duration - scenes[-1].end >= _GAP:
        gaps.append(float(round((scenes[-1].end + facts.duration) / 2)))
    found: list[TimeSpan] = []
    start = 0.0
    for gap in gaps:
        if gap - start >= _LENGTH:
            found.append(TimeSpan(start=start, end=gap))
            start = gap
    return tuple(found)


def facts_within(facts: FilmFacts, window: TimeSpan) -> FilmFacts:
    """Return what is true of a window: people, things and places stay, what happens outside is left out, times stay as they are.

    Relations are cut to the window, so that the first and last state of a thing are those at its ends. Of facts learned from several
    moments those with at least one moment in the window are kept, with all their moments.
    """
    events = tuple(item for item in facts.events if _is_inside(item.start, item.end, window))
    names = {item.id for item in events}
    return replace(
        facts,
        scenes=_cut(facts.scenes, window),
        visits=_cut(facts.visits, window),
        events=events,
        relations=_cut(facts.relations, window),
        causes=tuple(item for item in facts.causes if item.cause in names and item.effect in names),
        facts=tuple(
            item for item in facts.facts if any(start < window.end and end > window.start for start, end in item.spans)
        ),
        written=tuple(item for item in facts.written if _is_inside(item.start, item.end, window)),
    )


def _is_inside(start: float, end: float, window: TimeSpan) -> bool:
    return window.start <= start and end <= window.end


def _cut(items: tuple[_Lasting, ...], window: TimeSpan) -> tuple[_Lasting, ...]:
    return tuple(
        replace(item, start=max(item.start, window.start), end=min(item.end, window.end))
        for item in items
        if item.start < window.end and item.end > window.start
    )
