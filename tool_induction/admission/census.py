"""Census: what a film holds in all, compared with outputs that list, count or rank everything, and not one thing asked for.

What is listed is read from the words of an output, else of the tool: deeds, people, or lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tool_induction.admission.arguments import is_moment
from tool_induction.admission.facts import Fact
from tool_induction.admission.findings import (
    MORE,
    NEGATIONS,
    STATISTICS,
    Finding,
    near,
    own_outputs,
    span_of,
)
from tool_induction.admission.intents import AROUND, COUNT, DISTINCT, REPEATED, ROLES, SECONDS, WAYS, Intent, words_in
from tool_induction.admission.probes import EXACT, Probe
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from world_api.core.canonical import canonical_json
from world_api.core.spans import TimeSpan

if TYPE_CHECKING:
    from tool_induction.admission.trials import TrialRun

_MOST = MORE | {"longest", "max", "maximum"}
_SURROUNDINGS = AROUND - {"between", "during", "scene", "scenes"}


def census(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether an answer has all that is in a part of the film, if it is asked for nothing but a person, or for nothing."""
    asked = [fact for name, fact in probe.facts.items() if name]
    who = asked[0] if len(asked) == 1 and isinstance(asked[0], Fact) else None
    is_of_one = who is not None and who.kind == "looks" and who.things == frozenset({1}) and " " in who.text
    amounts = [item for item in intent.tool.inputs if item.required and not is_moment(item.name, item.type)]
    has_limits = any(types.is_numeric(types.plain(item.type)) for item in amounts)
    if (asked and not is_of_one) or has_limits or intent.said & (_SURROUNDINGS | NEGATIONS):
        return
    for item, value in own_outputs(intent.tool, run):
        kind = _kind(intent, item)
        facts = [fact for fact in probe.film if (fact.kind, fact.existence) == (kind, "present") and " " in fact.text]
        mine = [fact for fact in facts if who is None or fact.who == who.text]
        inside = [(fact, span) for fact in mine for span in fact.spans if _is_inside(span, probe.bounds)]
        if isinstance(value, list) and not (who is not None and kind != "deed") and facts:
            yield from _listed(item, value, facts, inside, probe, who)
        elif isinstance(value, int) and _is_number_of_all(item) and inside and not (who and kind != "deed"):
            yield _counted(intent, item, value, inside, probe)
    if who is None and not probe.is_bounded and intent.said & _MOST:
        yield from _ranked(intent, probe, run)


def _kind(intent: Intent, item: model.Output) -> str:
    """Return what a list or number is of: deed, looks (of people), said or written; empty if that is not clear."""
    own = words_in(item.name)
    if own & (_SURROUNDINGS | STATISTICS | SECONDS | {"evidence"} | REPEATED - COUNT):
        return ""
    for words in (own, intent.said):
        ways = [way for way, known in WAYS.items() if words & known]
        roles = [
            "deed" if words & ROLES["deed"] else "",
            "looks" if words & {"people", "persons", "person"} else "",
            *ways,
        ]
        clear = [role for role in roles if role]
        if clear:
            return clear[0] if len(clear) == 1 else ""
    return ""


def _is_number_of_all(item: model.Output) -> bool:
    """Whether an output is named as a number of what is there, and not of some of it."""
    named = COUNT | ROLES["deed"] | {"people", "persons"}
    return types.plain(item.type) == types.INT and bool(words_in(item.name) & named)


def _is_inside(span: TimeSpan, bounds: TimeSpan) -> bool:
    return bounds.start + EXACT <= span.start and span.end <= bounds.end - EXACT


def _listed(
    item: model.Output,
    value: list[Json],
    facts: list[Fact],
    inside: list[tuple[Fact, TimeSpan]],
    probe: Probe,
    who: Fact | None,
) -> Iterator[Finding]:
    text, spans = canonical_json(value), [span for one in value if (span := span_of(one)) is not None]
    named = [fact for fact in facts if fact.text in text]
    others = [fact for fact in named if who is not None and fact.who not in ("", who.text)]
    asked = f"asked about {_part(probe)}" + (f" and {who.text!r}" if who is not None else "")
    if who is not None and named:
        says = f"{asked} {item.name} has {others[0].text!r}, which only {others[0].who!r} does" if others else ""
        yield Finding(about=f"{item.name} others", difference=says, certain=False, flaw="other_person")
    missing = [one for one in inside if one[0].text not in text and not any(near(span, [one[1]], 0) for span in spans)]
    if inside and (named or spans or not value):
        lacks = f"{missing[0][0].text!r} at {missing[0][1].start:.1f} to {missing[0][1].end:.1f} s" if missing else ""
        says = f"{asked} {item.name} has {len(value)} items; the film has {lacks}, too" if missing else ""
        yield Finding(
            about=f"{item.name} all",
            difference=says,
            certain=not (says and value),
            flaw="short_lists" if value else None,
        )


def _part(probe: Probe) -> str:
    return f"{probe.bounds.start:.1f} to {probe.bounds.end:.1f} s" if probe.is_bounded else "the whole film"


def _counted(
    intent: Intent, item: model.Output, value: int, inside: list[tuple[Fact, TimeSpan]], probe: Probe
) -> Finding:
    is_of_things = inside[0][0].kind == "looks" or bool((intent.said | words_in(item.name)) & DISTINCT)
    least = len({fact.text for fact, _ in inside}) if is_of_things else len(inside)
    says = f"asked about {_part(probe)} it says {item.name} = {value}; the film has at least {least} there"
    return Finding(about=f"{item.name} all", difference=says if value < least else "")


def _ranked(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether the person that is seen longest, or most often, is the one who is named."""
    people = [
        fact for fact in probe.film if (fact.kind, fact.existence, fact.category) == ("looks", "present", "person")
    ]
    people = [fact for fact in people if " " in fact.text]
    keys = [lambda fact: len(fact.spans)]
    if not intent.said & REPEATED:
        keys = [lambda fact: fact.seconds, lambda fact: max(span.duration for span in fact.spans)]
    most = {max(people, key=key).text for key in keys} if people else set()
    for item, value in own_outputs(intent.tool, run):
        named = [fact.text for fact in people if isinstance(value, str) and fact.text in value]
        if len(named) == 1:
            says = f"it says {item.name} = {value!r}; the film has {' or '.join(map(repr, sorted(most)))}"
            yield Finding(about=f"{item.name} most", difference="" if named[0] in most else says)
