"""How several facts of a film stand to each other, compared with the answers of a tool.

Their order, the time between them, which of two is there longer or more often, when both are, what happens while another thing
does, and the scenes that hold one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.admission.arguments import is_moment
from tool_induction.admission.facts import Fact
from tool_induction.admission.findings import (
    LESS,
    MORE,
    MORE_OR_LESS,
    NEGATIONS,
    OFF,
    ORDER,
    SCALES,
    UNTIL,
    Finding,
    film_has,
    near,
    outside,
    own_outputs,
    unit_of,
)
from tool_induction.admission.intents import (
    LAST,
    PLACES,
    PRESENCE,
    REPEATED,
    ROLES,
    SECONDS,
    TOGETHER,
    Intent,
    edge_of,
    words_in,
)
from tool_induction.admission.probes import EXACT, ROUGH, Probe
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from world_api.core.canonical import canonical_json
from world_api.core.spans import TimeSpan, merge_spans

if TYPE_CHECKING:
    from tool_induction.admission.trials import TrialRun

_FIRST_OF_TWO = frozenset("first one a former 第一".split())
_OTHER = frozenset("other second two b latter 第二 另一".split())
_GAP = frozenset("between gap apart pause 间隔".split())
_WHILE = frozenset("while during when whenever 期间 时".split())
_SHARE_OFF = 0.25  #: of a duration of two things, which are compared


def of_several(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield what the run of a probe says of several facts, and of the scenes that one of them is in."""
    facts, outputs = probe.each, own_outputs(intent.tool, run)
    if not facts or probe.is_of_sides:
        return
    are_looks = len(facts) > 1 and {fact.kind for fact in facts} == {"looks"}
    if are_looks and run.status in ("ok", "partial") and not run.failed_calls:
        yield from _cites_each(probe, run)
    if run.status != "ok":
        return
    yield from _scenes(intent, probe, run)
    yield from _at_the_same_time(intent, probe, run)
    yield from _between(intent, probe, run)
    if are_looks:
        yield from _compared(intent, probe, run)
    is_of_order = not are_looks or bool(intent.said & ORDER and not intent.said & MORE_OR_LESS)
    if len(facts) > 1 and len({fact.kind for fact in facts}) == 1 and is_of_order:
        yield from _related(probe, outputs, probe.existence)


def _scenes(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether the ends and the number of a scene are those of one that holds the occurrence that is meant."""
    fact, scenes = probe.each[0], [one.spans[0] for one in probe.film if one.kind == "scene"]
    if len(probe.each) > 1 or probe.is_bounded or fact.existence != "present" or intent.side(probe.arguments):
        return
    for item, value in own_outputs(intent.tool, run):
        own, which = words_in(item.name), intent.which(item.name, probe.arguments)
        spans = {"first": fact.spans[:1], "last": fact.spans[-1:]}.get(which, fact.spans)
        holding = [place for span in spans for place in near(span, scenes, 0)]
        if not own & {"scene", "场景"} or not holding or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        if is_moment(item.name, item.type) and edge_of(item.name):
            known = [getattr(scenes[place], edge_of(item.name)) for place in holding]
        elif types.plain(item.type) == types.INT and own & {"number", "index"}:
            known = [float(place + step) for place in holding for step in (0, 1)]
        else:
            continue
        says = f"asked for {fact.text!r} it says {item.name} = {value:g}; its scenes have {', '.join(f'{one:g}' for one in known[:4])}"
        yield Finding(
            about=f"{item.name} scene", difference="" if any(abs(value - one) <= EXACT for one in known) else says
        )


def _at_the_same_time(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether an answer is right about one being there while something is done, which is done once."""
    deed = next((fact for fact in probe.each if fact.kind == "deed" and len(fact.spans) == 1), None)
    looks = next((fact for fact in probe.each if fact.kind == "looks"), None)
    if deed is None or looks is None or not intent.said & _WHILE:
        return
    for item, value in own_outputs(intent.tool, run):
        if types.plain(item.type) == types.BOOL and words_in(item.name) & (PRESENCE | TOGETHER):
            is_there = bool(near(deed.spans[0], looks.spans, 0))
            says = f"asked for {looks.text!r} while {deed.text!r} it says {item.name} = {canonical_json(value)}"
            about = f"{item.name} {'then' if is_there else 'not then'}"
            yield Finding(about=about, difference="" if value is is_there else f"{says}; {film_has(looks, probe)}")


def _between(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether what is listed of the time between two events is from that time."""
    if "between" in intent.said and len(probe.each) == 2 and all(len(fact.spans) == 1 for fact in probe.each):
        first, last = sorted((fact.spans[0] for fact in probe.each), key=lambda span: span.start)
        if first.end < last.start and not probe.is_bounded:
            between = replace(probe, bounds=TimeSpan(start=first.end, end=last.start))
            yield from outside(intent, between, run, is_between=True)


def _cites_each(probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether something is cited of each of several things that are there, never together."""
    for place, fact in enumerate(probe.each):
        if fact.spans and run.cited:
            is_cited = any(near(piece, fact.spans, 0) for piece in run.cited)
            asked = " and ".join(repr(one.text) for one in probe.each)
            says = f"asked for {asked} it cites nothing of {fact.text!r}; {film_has(fact, probe)}"
            yield Finding(
                about=f"thing {place}", difference="" if is_cited else says, certain=False, flaw="one_left_out"
            )


def _compared(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether the outputs say rightly which of two things is there longer, or more often."""
    one, other = probe.each[:2]
    yield from _shared(intent, probe, run)
    is_often = bool(intent.said & REPEATED)
    sizes = [len(fact.spans) if is_often else fact.seconds for fact in (one, other)]
    if min(sizes) * (1 + _SHARE_OFF) > max(sizes):
        return
    # One of them is there longer, and the other one more often.
    is_against = (one.seconds - other.seconds) * (len(one.spans) - len(other.spans)) < 0
    for item in intent.tool.outputs:
        own, kind, value = words_in(item.name), types.plain(item.type), run.outputs.get(item.name)
        is_named = own & (MORE | LESS)
        more, less = (bool((own if is_named else intent.said) & words) for words in (MORE, LESS))
        said = _which_of(value, one.text, other.text, is_other=bool(own & _OTHER))
        is_text = kind in (types.BOOL, types.STRING) or isinstance(kind, types.EnumType)
        if more is less or said is None or not is_text or not (is_named or item is intent.tool.outputs[0]):
            continue
        is_one = (sizes[0] > sizes[1]) is more
        sides = f"{sizes[0]:g} and {sizes[1]:g} {'times' if is_often else 's'}"
        asked = f"asked for {one.text!r} and {other.text!r} it says {item.name} = {canonical_json(value)[:60]}"
        says = "" if said is is_one else f"{asked}; in all the film has {sides}"
        kind_of = "apart" if is_against else "first" if is_one else "other"
        yield Finding(about=f"{item.name} {kind_of}", difference=says)


def _shared(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether the outputs say rightly how long two things are there at the same time, or whether they ever are."""
    one, other = (fact.spans for fact in probe.each[:2])
    common = [cut for span in one for piece in other if (cut := span.clip(piece)) is not None]
    seconds = sum(span.duration for span in merge_spans(common))
    for item in intent.tool.outputs:
        own, value = words_in(item.name), run.outputs.get(item.name)
        is_meant = bool((own | (intent.said if item is intent.tool.outputs[0] else frozenset())) & TOGETHER)
        kind, unit = types.plain(item.type), unit_of(item)
        if not is_meant or intent.said & (MORE | LESS | NEGATIONS) or probe.is_bounded or value is None:
            continue
        if kind == types.BOOL and not own & ROLES["looks"]:
            is_right = bool(value) is (seconds > 0)
        elif edge_of(item.name) and kind == types.TIME and seconds and intent.said & TOGETHER - {"both"}:
            # "both" alone may mean the moment by which both have been seen
            is_right = bool(near(TimeSpan(start=float(value), end=float(value)), common, 2 * EXACT))
        elif types.is_numeric(kind) and kind not in (types.INT, types.TIME) and own & SECONDS and unit in SCALES:
            is_right = abs(float(value) / SCALES[unit] - seconds) <= max(2 * EXACT, OFF * seconds)
        else:
            continue
        asked = " and ".join(repr(fact.text) for fact in probe.each[:2])
        where = ", ".join(f"{span.start:.1f} to {span.end:.1f}" for span in merge_spans(common)) or "never"
        given = f"{item.name} = {canonical_json(value)[:60]}"
        says = f"asked for {asked} it says {given}; they are there together {seconds:.1f} s: {where}"
        yield Finding(about=f"{item.name} {'together' if seconds else 'apart'}", difference="" if is_right else says)


def _which_of(value: Json, one: str, other: str, *, is_other: bool) -> bool | None:
    """Return whether a value names the first of two things, or says yes about it; None if it says neither."""
    if isinstance(value, bool):
        return value is not is_other
    if not isinstance(value, str):
        return None
    found = [text in value for text in (one, other)]
    if found == [False, False]:
        found = [bool(words_in(value) & words) for words in (_FIRST_OF_TWO, _OTHER)]
    return found[0] if found[0] is not found[1] else None


def _related(probe: Probe, outputs: Sequence[tuple[model.Output, Json]], existence: str) -> Iterator[Finding]:
    """Yield what the outputs say of the order of several facts, each of which happens once."""
    facts = probe.each
    present = sorted((fact for fact in facts if fact.spans), key=lambda fact: fact.spans[0].start)
    absent = [fact for fact in facts if not fact.spans]
    shown = ", ".join(f"{fact.text!r} {film_has(fact, probe)}" for fact in (*present, *absent))
    of_inputs = frozenset[str]().union(*map(words_in, probe.facts))
    for item, value in outputs:
        own, kind = words_in(item.name), types.plain(item.type)
        right: bool | None = None
        named = [
            fact for name, fact in probe.facts.items() if isinstance(fact, Fact) and _is_named_after(own, name, probe)
        ]
        is_time = is_moment(item.name, item.type) and isinstance(value, int | float)
        if is_time and len(named) == 1 and not own & PLACES and isinstance(value, int | float):
            moment = TimeSpan(start=float(max(0.0, value)), end=float(max(0.0, value)))
            right = bool(near(moment, named[0].within(probe.bounds), ROUGH))
        elif (
            own & _GAP and len(facts) == 2 and not absent and types.is_numeric(kind) and isinstance(value, int | float)
        ):
            ends = [edge - other for edge in _edges(facts[0]) for other in _edges(facts[1])]
            right = any(abs(abs(value / SCALES.get(unit_of(item), 1.0)) - abs(one)) <= 2 * EXACT for one in ends)
        elif (
            own & UNTIL and own & SECONDS and len(facts) == 2 and isinstance(value, int | float) and kind != types.BOOL
        ):
            waits = [facts[1].spans[0].start - edge for edge in _edges(facts[0])] if not absent else []
            scale = SCALES.get(unit_of(item), 1.0)
            right = any(abs(value / scale - one) <= 2 * EXACT for one in waits)
        elif kind == types.BOOL and "same" in own and len(facts) == 2 and all(fact.doers for fact in facts):
            right = value is bool({*facts[0].doers} & {*facts[1].doers})
        elif kind == types.BOOL and own & ORDER and len(facts) == 2:
            in_order = not absent and present[0] is facts[0]
            right = not absent and value is (
                in_order if not own & {"after", "later", "other", "second"} else not in_order
            )
        elif own & ((ORDER | LAST) - of_inputs) and (text := _text_of(value)):
            places = sorted((text.find(fact.text), fact.text) for fact in facts if fact.text in text)
            if len(places) == 1 and len(facts) == 2:
                wanted = present[-1] if own & (LAST | {"later", "second"}) else present[0]
                right = not absent and places[0][1] == wanted.text
            elif len(places) == len(present) and not absent:
                right = [name for _, name in places] == [fact.text for fact in present]
        if right is not None:
            says = f"asked for {len(facts)} events it says {item.name} = {canonical_json(value)[:60]}; {shown}"
            given = "in order" if present == [fact for fact in facts if fact.spans] else "in another order"
            yield Finding(about=f"{item.name} {existence} {given}", difference="" if right else says)


def _is_named_after(own: frozenset[str], name: str, probe: Probe) -> bool:
    """Whether the words of an output's name are those of one input and of no other one that has a fact."""
    others = frozenset[str]().union(*(words_in(other) for other in probe.facts if other != name))
    return bool(own & (words_in(name) - others))


def _edges(fact: Fact) -> tuple[float, ...]:
    return tuple(edge for span in fact.spans for edge in (span.start, span.end))


def _text_of(value: Json) -> str:
    """Return a text, or the texts of a list one after the other; empty for anything else."""
    if isinstance(value, list):
        return "; ".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""
