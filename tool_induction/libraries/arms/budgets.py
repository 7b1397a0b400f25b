"""How the calls of a composite are shared out over its steps, so that it takes what its counterpart takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tool_induction import limits
from tool_induction.libraries.arms.outlays import Kind, Outlay, Planned
from world_api.operations import Operation

#: Operations that begin a tool: they give stretches, and need none.
SOURCES = ("list_scenes", "search_segments_by_text", "search_segments_by_semantics", "scan_segments")
#: A kind of call is taken for another where the tool's seconds change by no more than this share.
_NO_MATTER = 0.1
#: How often a step to spare parts a loop in two.
_PARTED = 0.15


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What the steps of a composite do: one source, loops of so many calls of a kind, and judge steps of so many items.

    ``others`` are steps that call nothing.
    """

    source: str
    loops: list[tuple[Kind, int]]
    judges: list[int]
    others: int


def share_out(
    does: Planned, aim: Outlay, *, steps: int, operations: Mapping[str, Operation], kinds: list[Kind], chance: Random
) -> Budget:
    """A budget of so many steps, more only where fewer cannot take as much.

    ``operations`` are those that are on, ``kinds`` what may be done for each of some stretches.
    """
    calls = _callable(does.calls, kinds)
    _make_up(calls, aim, kinds)
    source = _source(calls, operations, chance)
    judges = _parts(does.judged, limits.MAX_JUDGED_ITEMS)
    loops = [
        (kind, part) for kind, count in sorted(calls.items()) for part in _parts(count, limits.MAX_LOOP_ITEMS) if part
    ]
    while 1 + len(loops) + len(judges) > steps and _join(loops, aim):
        pass
    spare = max(0, steps - 1 - len(loops) - len(judges))
    for _ in range(spare):
        wide = [place for place, (_, count) in enumerate(loops) if count > 1]
        if wide and chance.random() < _PARTED:
            kind, count = loops.pop(chance.choice(wide))
            part = chance.randint(1, count - 1)
            loops += [(kind, part), (kind, count - part)]
            spare -= 1
    return Budget(source=source, loops=loops, judges=judges, others=spare)


def _callable(calls: Counter[Kind], kinds: list[Kind]) -> Counter[Kind]:
    """The calls as those that there is an operation for: where none is of just that kind, the nearest."""
    found: Counter[Kind] = Counter()
    for kind, count in calls.items():
        found[_nearest(kind, kinds)] += count
    return found


def _make_up(calls: Counter[Kind], aim: Outlay, kinds: list[Kind]) -> None:
    """What the branches that were not taken have more of: looks, and calls. Cheap ones make it up."""
    plain = [kind for kind in kinds if not kind.tokens]
    for looks in (1, 0):
        cheap = [kind for kind in plain if bool(kind.looks) == bool(looks)]
        lacking = aim.looks - sum(kind.looks * count for kind, count in calls.items())
        if not looks:
            lacking = aim.calls - sum(calls.values())
        if cheap and lacking > 0:
            calls[min(cheap, key=lambda kind: kind.seconds)] += lacking


def _source(calls: Counter[Kind], operations: Mapping[str, Operation], chance: Random) -> str:
    """The first step; its call is taken out of the others."""
    names = [name for name in SOURCES if name in operations]
    same = [name for name in names if calls[Kind.of(operations[name])] > 0]
    name = chance.choice(same or names)
    kind = Kind.of(operations[name])
    if not same:
        free = [other for other, count in calls.items() if count and not other.tokens and not other.looks]
        kind = _nearest(kind, free) if free else kind
    calls[kind] -= 1
    return name


def _join(loops: list[tuple[Kind, int]], aim: Outlay) -> bool:
    """Make one loop of the two that are most alike, if that is no matter."""
    pairs = [
        (abs(kind.seconds - other.seconds) * count, place, into)
        for place, (kind, count) in enumerate(loops)
        for into, (other, there) in enumerate(loops)
        if place != into
        and (kind.tokens, kind.looks) == (other.tokens, other.looks)
        and count + there <= limits.MAX_LOOP_ITEMS
    ]
    harm, place, into = min(pairs, default=(math.inf, 0, 0))
    if harm > _NO_MATTER * aim.seconds:
        return False
    loops[into] = (loops[into][0], loops[into][1] + loops[place][1])
    del loops[place]
    return True


def _parts(count: int, most: int) -> list[int]:
    """A number in parts of at most so much."""
    return [min(most, count - at) for at in range(0, count, most)]


def _nearest(kind: Kind, kinds: list[Kind]) -> Kind:
    return min(kinds, key=lambda other: _apart(kind, other))


def _apart(one: Kind, other: Kind) -> tuple[float, int, float]:
    return abs(one.tokens - other.tokens), abs(one.looks - other.looks), abs(math.log(one.seconds / other.seconds))
