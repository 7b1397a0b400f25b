"""Consistency: what the outputs of one answer say of each other and of the length of the film, without any other fact.

An end is not before its start, a share is at most the whole, a list is as long as its count. Of a tool only the names
and units of its outputs are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tool_induction.admission.arguments import is_moment
from tool_induction.admission.findings import (
    NEGATIONS,
    SCALES,
    SHARES,
    TOTAL,
    Finding,
    is_evidence,
    own_outputs,
    span_of,
    unit_of,
)
from tool_induction.admission.intents import (
    AROUND,
    COUNT,
    DISTINCT,
    EDGES,
    FIRST,
    LAST,
    PRESENCE,
    SECONDS,
    Intent,
    edge_of,
    words_in,
)
from tool_induction.admission.probes import EXACT
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from world_api.core.canonical import canonical_json

if TYPE_CHECKING:
    from tool_induction.admission.trials import TrialRun

#: Words of a name that say how something is given, and not of what.
_PLAIN = frozenset(
    "is was are a an the of in at on ever any time times timestamp when moment interval span spans".split()
)
_SIGNED = frozenset("negative between difference offset relative 负".split())  #: of a duration that may be below 0
_LENGTH = SECONDS | frozenset("length lasts".split())
_OFF = 0.05  #: share by which a duration may differ from that of the interval beside it
_ROUNDING = 0.005  #: share by which a rounded number may exceed what it is at most

Outputs = list[tuple[model.Output, Json]]


def inconsistencies(intent: Intent, run: TrialRun, duration: float) -> Iterator[Finding]:
    """Yield what cannot be so in one answer, which ended as ``ok``, about a film of ``duration`` seconds."""
    outputs = [(item, value) for item, value in own_outputs(intent.tool, run) if value not in run.arguments.values()]
    yield from _out_of_range(outputs, duration)
    yield from _ends(intent, outputs)
    yield from _presence(intent, outputs)
    yield from _lengths(intent, outputs)


def _differs(item: model.Output, value: Json, why: str, *, certain: bool = False, kind: str = "agrees") -> Finding:
    shown = f"it says {item.name} = {canonical_json(value)[:60]}; {why}"
    return Finding(about=f"{item.name} {kind}", difference=shown, certain=certain, flaw="inconsistent")


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _out_of_range(outputs: Outputs, duration: float) -> Iterator[Finding]:
    """Yield shares outside of the whole, negative amounts, and times and durations that the film has not."""
    for item, value in outputs:
        own, unit, said = words_in(item.name), unit_of(item), words_in(item.description)
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        most: float | None = None
        named = unit_of(item, by_name=True)
        if is_moment(item.name, item.type):
            most = duration + EXACT
        elif own & {"confidence", "probability"}:
            most, named = 1.0, unit
        elif unit in SHARES and not own & (COUNT | SECONDS):
            most = SHARES[unit]
        elif unit in SCALES and own & SECONDS and types.plain(item.type) != types.INT:
            most = (duration + EXACT) * SCALES[unit]
        is_signed = bool((own | said) & _SIGNED)
        is_amount = most is not None or bool(own & COUNT and types.plain(item.type) == types.INT)
        if most is not None and value > most * (1 + _ROUNDING):
            why = f"it is at most {most:g}" + ("" if unit in SHARES else f": the film has {duration:.1f} s")
            is_certain = is_moment(item.name, item.type) or (unit in SHARES and bool(named))
            yield _differs(item, value, why, certain=is_certain, kind="range")
        elif is_amount and value < 0 and not is_signed:
            yield _differs(item, value, "it cannot be negative", certain=is_moment(item.name, item.type), kind="range")
        elif is_amount:
            yield Finding(about=f"{item.name} range")


def _rest(name: str, *left_out: frozenset[str]) -> frozenset[str]:
    """Return the words of a name that say what it is of."""
    return words_in(name).difference(_PLAIN, *left_out)


def _ends(intent: Intent, outputs: Outputs) -> Iterator[Finding]:
    """Yield starts that are after their ends, first times after last ones, and durations of another length than their interval."""
    inputs = frozenset[str]().union(*(words_in(item.name) for item in intent.tool.inputs))
    times = [(item, value) for item, value in outputs if is_moment(item.name, item.type) and _is_number(value)]
    pairs: list[tuple[frozenset[str], float, float]] = []
    for one, start in times:
        for other, end in times:
            edges = edge_of(one.name) == "start" and edge_of(other.name) == "end"
            is_one = edges and _rest(one.name, EDGES) == _rest(other.name, EDGES)
            order = words_in(one.name) & FIRST and words_in(other.name) & LAST and not inputs & (FIRST | LAST)
            is_one = is_one or bool(order and _rest(one.name, FIRST) == _rest(other.name, LAST))
            if is_one and isinstance(start, int | float) and isinstance(end, int | float):
                why = f"{other.name} = {end:g} is before it"
                yield _differs(one, start, why, certain=True) if start > end else Finding(about=f"{one.name} agrees")
                pairs += [(_rest(one.name, EDGES), start, end)] if edges else []
    for item, value in outputs:
        if isinstance(value, dict) and (span := span_of(value)) is not None:
            pairs.append((_rest(item.name), span.start, span.end))
    for item, value in outputs:
        unit, own = unit_of(item), words_in(item.name)
        rest = _rest(item.name, _LENGTH, frozenset(SCALES))
        said = words_in(item.description) | own
        if len(pairs) != 1 or unit not in SCALES or not own & _LENGTH or said & (TOTAL | COUNT | AROUND):
            continue
        about, start, end = pairs[0]
        if rest <= about and types.plain(item.type) != types.INT and isinstance(value, int | float):
            long = (end - start) * SCALES[unit]
            why = f"beside it stands {start:g} to {end:g} s"
            is_off = abs(value - long) > max(EXACT * SCALES[unit], _OFF * long)
            yield _differs(item, value, why) if is_off else Finding(about=f"{item.name} agrees")


def _presence(intent: Intent, outputs: Outputs) -> Iterator[Finding]:
    """Yield booleans of presence that times and counts beside them contradict."""
    if any(is_moment(item.name, item.type) for item in intent.tool.inputs):
        return  # what is given beside it may be about the whole film
    for item, value in outputs:
        own = words_in(item.name)
        if types.plain(item.type) != types.BOOL or not own & PRESENCE or own - PRESENCE - _PLAIN or own & NEGATIONS:
            continue
        for other, given in outputs:
            rest = words_in(other.name) - PRESENCE - _PLAIN
            is_time = is_moment(other.name, other.type) and not rest - EDGES - FIRST - LAST
            is_count = types.plain(other.type) == types.INT and words_in(other.name) & COUNT and not rest - COUNT
            if is_time or is_count:
                agrees = bool(value) if is_time else bool(value) is bool(given)
                why = f"beside it stands {other.name} = {canonical_json(given)[:40]}"
                yield Finding(about=f"{item.name} agrees") if agrees else _differs(item, value, why)


def _lengths(intent: Intent, outputs: Outputs) -> Iterator[Finding]:
    """Yield counts that are not the length of the list that they are of, as far as that is clear."""
    lists = [(item, value) for item, value in outputs if isinstance(value, list) and not is_evidence(item)]
    for item, count in outputs:
        own = words_in(item.name)
        if types.plain(item.type) != types.INT or not own & COUNT or not isinstance(count, int):
            continue
        rest = own - COUNT - _PLAIN
        named = [(one, value) for one, value in lists if rest and rest & words_in(one.name)]
        mine = named if named else lists if not rest else []
        if len(mine) != 1 or (intent.said | own | words_in(item.description)) & DISTINCT:
            continue
        other, value = mine[0]
        agrees = len(value) == count
        why = f"{other.name} beside it has {len(value)} items"
        yield Finding(about=f"{item.name} agrees") if agrees else _differs(item, count, why)
