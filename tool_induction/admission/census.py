"""What a film holds in all, compared with the answers of a tool.

The census is of outputs that list, count or rank everything, and not one thing asked for; what is listed is read from the words of
an output, else of the tool: deeds, people, or lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tool_induction.admission.arguments import is_moment
from tool_induction.admission.facts import Fact
from tool_induction.admission.findings import (
    MORE,
    NEGATIONS,
    STATISTICS,
    Finding,
    is_evidence,
    near,
    own_outputs,
    span_of,
)
from tool_induction.admission.intents import (
    AROUND,
    COMPANY,
    COUNT,
    DISTINCT,
    FIRST,
    LAST,
    REPEATED,
    ROLES,
    SECONDS,
    WAYS,
    Intent,
    words_in,
)
from tool_induction.admission.probes import EXACT, Probe, near_moment
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
    if who is not None and (is_of_one or who.doers):
        yield from _beside(intent, probe, run, who)
    amounts = [item for item in intent.tool.inputs if item.required and not is_moment(item.name, item.type)]
    has_limits = any(types.is_numeric(types.plain(item.type)) for item in amounts)
    if (asked and not is_of_one) or has_limits or intent.said & (_SURROUNDINGS | NEGATIONS):
        return
    for item, value in own_outputs(intent.tool, run):
        kind = _kind(intent, item)
        facts = [fact for fact in probe.film if (fact.kind, fact.existence) == (kind, "present") and " " in fact.text]
        inside = [
            (fact, span) for fact in facts for place, span in enumerate(fact.spans)
            if _is_inside(span, probe) and (who is None or fact.who == who.text or {*fact.doers[place:place + 1]} & who.ids)
        ]  # fmt: skip
        if isinstance(value, list) and not (who is not None and kind != "deed") and facts:
            yield from _listed(item, value, facts, inside, probe, who)
        elif isinstance(value, str) and probe.at is not None and inside and kind in WAYS:
            says = f"asked about {_part(probe)} it says {item.name} = {value[:60]!r}; then it is {inside[0][0].text!r}"
            is_right = any(fact.text in value for fact, _ in inside)
            yield Finding(about=f"{item.name} then", difference="" if is_right else says)
        elif isinstance(value, int) and _is_number_of_all(item) and inside and not (who and kind != "deed"):
            if intent.said & _MOST:  # the number in one of several parts, in that which has the most of them
                continue
            yield _counted(intent, item, value, inside, probe)
    if who is None and not probe.is_bounded and intent.said & (_MOST | FIRST | LAST):
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


def _is_inside(span: TimeSpan, probe: Probe) -> bool:
    """Whether something is there in all of the moment that is asked about, or begins and ends within the part that is."""
    if probe.at is not None:
        return span.start + EXACT <= probe.at <= span.end - EXACT
    return probe.bounds.start + EXACT <= span.start and span.end <= probe.bounds.end - EXACT


def _beside(intent: Intent, probe: Probe, run: TrialRun, who: Fact) -> Iterator[Finding]:
    """Yield whether those who are there beside one person hold that person, or one who is never there at the same time."""
    people = [fact for fact in probe.film if (fact.kind, fact.existence) == ("looks", "present") and " " in fact.text]
    me, mine = who.who or who.text, who.ids | {*who.doers}
    is_one = all(len(fact.ids) == 1 for fact in people if fact.text == me)
    others = [fact for fact in people if fact.text != me and not fact.ids & mine]
    beside = [one for one in others if any(a.overlaps(b) for a in one.spans for b in who.spans)]
    for item, value in own_outputs(intent.tool, run):
        own = words_in(item.name)
        is_text = isinstance(value, str | list) and not is_evidence(item)
        if not (own | words_in(intent.tool.name)) & COMPANY or not (
            own & (COMPANY | COUNT | ROLES["looks"] | {"people"}) or is_text
        ):
            continue
        asked = f"asked who is there beside {me!r}"
        if is_text:
            given = _texts(value)
            itself = [text for text in given if text == me or text in mine]
            never = [
                one
                for one in others
                if one not in beside and any(text == one.text or text in one.ids for text in given)
            ]
            says = f"{asked} {item.name} has {itself[0]!r}, which is the one asked for" if itself else ""
            more = (
                f"{asked} {item.name} has {never[0].text!r}, which is never there with it"
                if never and not itself
                else ""
            )
            yield Finding(about=f"{item.name} beside", difference=says or more, flaw="other_person")
        elif types.plain(item.type) == types.INT and own & (COUNT | COMPANY) and value and is_one and not beside:
            says = f"{asked} it says {item.name} = {value}; nothing else is ever there with it"
            yield Finding(about=f"{item.name} beside", difference=says)
        elif types.plain(item.type) == types.INT:
            yield Finding(about=f"{item.name} beside")


def _texts(value: Json) -> list[str]:
    """Return a text, or the texts of a list and of the records in it, but not those within these."""
    items = value if isinstance(value, list) else [value]
    inner = [one for item in items for one in (item.values() if isinstance(item, dict) else [item])]
    return [one for one in inner if isinstance(one, str)]


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
    if probe.at is not None and named:
        at = probe.at
        gone = [fact for fact in named if not any(near_moment(at, span) for span in fact.spans)]
        says = f"{asked} {item.name} has {gone[0].text!r}, which is not there then" if gone else ""
        yield Finding(about=f"{item.name} then", difference=says, flaw="other_person")
    missing = [
        (fact, span) for fact, span in inside
        if not (any(near(one, [span], 0) for one in spans) if spans else fact.text in text)
    ]  # fmt: skip
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
    if probe.at is not None:
        return f"{probe.at:.1f} s"
    return f"{probe.bounds.start:.1f} to {probe.bounds.end:.1f} s" if probe.is_bounded else "the whole film"


def _counted(
    intent: Intent, item: model.Output, value: int, inside: list[tuple[Fact, TimeSpan]], probe: Probe
) -> Finding:
    is_of_things = inside[0][0].kind == "looks" or bool((intent.said | words_in(item.name)) & DISTINCT)
    least = len({fact.text for fact, _ in inside}) if is_of_things else len(inside)
    is_too_many = False
    if probe.at is not None and inside[0][0].kind == "looks":  # two who look the same may be there at once
        each = [span for fact in probe.film if (fact.kind, fact.text) == ("category", "person") for span in fact.each]
        least = sum(_is_inside(span, probe) for span in each)
        is_too_many = value > sum(near_moment(probe.at, span) for span in each)
    says = f"asked about {_part(probe)} it says {item.name} = {value}; the film has {least} there"
    return Finding(about=f"{item.name} all", difference=says if value < least or is_too_many else "")


def _ranked(intent: Intent, probe: Probe, run: TrialRun) -> Iterator[Finding]:
    """Yield whether the person that is seen longest, or most often, is the one who is named."""
    people = [
        fact for fact in probe.film if (fact.kind, fact.existence, fact.category) == ("looks", "present", "person")
    ]
    people = [fact for fact in people if " " in fact.text]
    keys: list[Callable[[Fact], float]] = [lambda fact: len(fact.spans)]
    if intent.said & FIRST and not intent.said & _MOST:
        keys = [lambda fact: -fact.spans[0].start]
    elif not intent.said & _MOST:
        keys = [lambda fact: fact.spans[-1].end, lambda fact: fact.spans[0].start, lambda fact: fact.spans[-1].start]
    elif not intent.said & REPEATED:
        keys = [lambda fact: fact.seconds, lambda fact: max(span.duration for span in fact.spans)]
    most = {fact.text for key in keys for fact in people if key(fact) == max(map(key, people))}
    for item, value in own_outputs(intent.tool, run):
        named = [fact.text for fact in people if isinstance(value, str) and fact.text in value]
        if len(named) == 1:
            says = f"it says {item.name} = {value!r}; the film has {' or '.join(map(repr, sorted(most)))}"
            yield Finding(about=f"{item.name} most", difference="" if named[0] in most else says)
