"""Relations: what must hold between the answers of any tool, if it is asked the same in another way.

A wider interval holds no less, two things that change places change the answer, and what happens after the end of a film
changes nothing of what came before. Of a tool only the words of its outputs are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations

from tool_induction.admission import trials
from tool_induction.admission.arguments import bound_of, is_moment
from tool_induction.admission.consistency import is_evidence
from tool_induction.admission.findings import (
    MORE_OR_LESS,
    NEGATIONS,
    ORDER,
    SCALES,
    STATISTICS,
    TOTAL,
    span_of,
    unit_of,
)
from tool_induction.admission.intents import AROUND, COUNT, EDGES, PRESENCE, SECONDS, TOGETHER, Intent, words_in
from tool_induction.admission.probes import EXACT, Probe
from tool_induction.admission.weaknesses import Flaw, Weakness
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model, types
from tool_induction.language.evaluation import Json
from world_api.core.canonical import canonical_json

_TWO = 2  #: things that are compared
_AT_LEAST = 2  #: pairs of answers that must not agree before it is named
_ASKED_AGAIN = 6  #: questions that are asked about a longer film, too
#: Words of outputs, or of a tool, whose numbers need not grow with what is looked at.
_NOT_GROWING = (
    NEGATIONS
    | STATISTICS
    | frozenset("share ratio rate per percent percentage fraction density until wait remaining".split())
)
_MEND: Mapping[Flaw, str] = {
    "fewer_if_wider": "keep what lies in the interval, from its start to its end, and fold it after that",
    "not_symmetric": "compute both sides in the same way from their own input, and compare strictly (< and not <=)",
    "changed_by_later": "pick by time among all that fits, and add up or count all of it",
}

Runs = Sequence[trials.TrialRun]
RunOf = Callable[[Mapping[str, CompiledTool]], trials.Runner]


def wider(tool: model.Tool, runs: Runs) -> Iterator[Weakness]:
    """Yield that a tool says less of an interval than of a part of it."""
    bounds = [item.name for item in tool.inputs if bound_of(item.name, item.type) or _is_interval(item)]
    groups: dict[str, list[tuple[trials.TrialRun, Probe]]] = defaultdict(list)
    for run in runs if bounds else ():
        if run.probe is not None and not run.disturbed and run.status in ("ok", "empty"):
            rest = {key: value for key, value in run.arguments.items() if key not in bounds}
            groups[canonical_json([run.world, rest])].append((run, run.probe))
    pairs = [
        (narrow, wide)
        for group in groups.values()
        for (narrow, one), (wide, other) in permutations(group, 2)
        if one.bounds != other.bounds and one.bounds.start >= other.bounds.start and one.bounds.end <= other.bounds.end
    ]
    yield from _named("fewer_if_wider", [_less(Intent(tool=tool), *pair, what="in a wider interval") for pair in pairs])


def _is_interval(item: model.Input) -> bool:
    kind = types.plain(item.type)
    return isinstance(kind, types.RecordType) and kind.name == types.INTERVAL.name


def _less(intent: Intent, one: trials.TrialRun, other: trials.TrialRun, *, what: str, is_exact: bool = False) -> str:
    """Return what the answer ``other``, about all that ``one`` is about and more, has less than ``one``; empty if nothing.

    ``is_exact``: the first time stays the same.
    """
    if one.status != "ok":
        return ""
    asked = {key: value for key, value in one.arguments.items() if other.arguments.get(key) != value}
    shown = f"{canonical_json(asked)[:90]} and {canonical_json({key: other.arguments.get(key) for key in asked})[:90]}"
    about = f"asked {shown}" if asked else f"asked {canonical_json(dict(one.arguments))[:90]}"
    if other.status == "empty":
        found = any(_is_growing(item) and one.outputs.get(item.name) for item in intent.tool.outputs)
        return f"{about}, it finds something and {what} nothing" if found else ""
    for item in intent.tool.outputs:
        values = one.outputs.get(item.name), other.outputs.get(item.name)
        if (
            not is_evidence(item)
            and item.source is not None
            and _shrinks(intent, item, *values, which=intent.which(item.name, one.arguments), is_exact=is_exact)
        ):
            shown = " and ".join(canonical_json(value)[:40] for value in values)
            return f"{about}, it says {item.name} = {shown} {what}"
    return ""


def _is_growing(item: model.Output) -> bool:
    """Whether an output is a number or a list that is of everything that fits."""
    own, kind = words_in(item.name), types.plain(item.type)
    is_amount = (kind == types.INT and own & COUNT) or (
        own & SECONDS and unit_of(item) in SCALES and types.is_numeric(kind)
    )
    is_list = isinstance(kind, types.ListType) and not is_evidence(item)
    said = own & (_NOT_GROWING | AROUND - EDGES)
    return bool(is_amount or is_list) and not is_moment(item.name, item.type) and not said


def _shrinks(intent: Intent, item: model.Output, one: Json, other: Json, *, which: str, is_exact: bool) -> bool:
    own, kind = words_in(item.name), types.plain(item.type)
    said = intent.said & _NOT_GROWING
    if kind == types.BOOL:
        return own <= PRESENCE | {"is", "was"} and one is True and other is False and not said
    if one is None or isinstance(one, dict):
        return False
    span, later = span_of(one), span_of(other)
    if is_moment(item.name, item.type) and span is not None and later is not None:
        if own & (AROUND - EDGES) or intent.side({}) or said:
            return False
        early, late = later.start < span.start - EXACT, later.start > span.start + EXACT
        return (which == "first" and (late or (is_exact and early))) or (which == "last" and early)
    is_pure = _is_growing(item) and not said
    if isinstance(one, list):
        whole = frozenset("all every each list".split())
        return is_pure and bool((intent.said | own) & whole) and isinstance(other, list) and len(other) < len(one)
    is_whole = kind == types.INT or bool((own | intent.said) & (TOTAL | TOGETHER | {"long", "much", "many"}))
    if not (is_pure and is_whole and isinstance(one, int | float) and isinstance(other, int | float)):
        return False
    return other < one - (0 if kind == types.INT else EXACT)


def _named(flaw: Flaw, found: Sequence[str]) -> Iterator[Weakness]:
    wrong = [one for one in found if one]
    if len(wrong) >= _AT_LEAST:
        message = f"{wrong[0]} (in {len(wrong)} of {len(found)} pairs of runs on films that are known)"
        yield Weakness(code=flaw, message=message, suggestion=_MEND[flaw])


def swapped(
    tool: model.Tool, runs: Runs, run: trials.Runner, worlds: Sequence[trials.ExampleWorld]
) -> Iterator[Weakness]:
    """Yield that a tool that orders or compares two things says the same whichever comes first, or puts one before itself."""
    intent, found = Intent(tool=tool), list[str]()
    pairs = [one for one in runs if one.probe is not None and len(one.probe.facts) == _TWO and not one.probe.is_bounded]
    pairs = [one for one in pairs if _are_of_one_role(one) and one.status == "ok" and not one.disturbed]
    for one, other in combinations(pairs, 2):
        names = [*one.probe.facts] if one.probe is not None else []
        given = [[run.arguments[name] for name in names] for run in (one, other)]
        if one.world == other.world and given[0] == given[1][::-1]:
            found.append(_same_both_ways(intent, one, other, given[0]))
    open_worlds = {world.name: world.open for world in worlds}
    booleans = [item for item in tool.outputs if _relates(item)]
    for one in pairs[:: max(1, len(pairs) // _TWO)][:_TWO] if booleans else ():
        if (
            one.probe is not None
            and one.world in open_worlds
            and all(fact.existence == "present" for fact in one.probe.each)
        ):
            first, second = one.probe.facts
            given_twice = {**one.arguments, second: one.arguments[first]}
            call, state = open_worlds[one.world]()
            same = run(trials.Trial(world=one.world, call=call, state=state, arguments=given_twice, probe=one.probe))
            said = [item.name for item in booleans if same.status == "ok" and same.outputs.get(item.name) is True]
            found.append(f"asked for {one.arguments[first]!r} twice it says {said[0]} = true" if said else "")
    yield from _named("not_symmetric", found)


def _are_of_one_role(run: trials.TrialRun) -> bool:
    facts = [] if run.probe is None else [*run.probe.facts.values()]
    return (
        all(not isinstance(fact, tuple) for fact in facts) and len({getattr(fact, "kind", "") for fact in facts}) == 1
    )


def _relates(item: model.Output) -> bool:
    """Whether an output is a boolean that one of two things is before, or more than, the other."""
    own = words_in(item.name)
    return (
        types.plain(item.type) == types.BOOL and bool(own & (ORDER | MORE_OR_LESS)) and not own & (TOGETHER | NEGATIONS)
    )


def _same_both_ways(intent: Intent, one: trials.TrialRun, other: trials.TrialRun, given: Sequence[str]) -> str:
    asked = " and ".join(map(repr, given))
    of_inputs = frozenset[str]().union(*(words_in(item.name) for item in intent.tool.inputs))
    for item in intent.tool.outputs:
        own, kind = words_in(item.name), types.plain(item.type)
        values = one.outputs.get(item.name), other.outputs.get(item.name)
        shown = f"asked for {asked}, and the other way round, it says {item.name} = "
        if _relates(item) and values[0] is values[1] is True:
            return f"{shown}true both times"
        if own & TOGETHER and kind != types.BOOL and types.is_numeric(kind):
            first, second = (value if isinstance(value, int | float) else 0.0 for value in values)
            if abs(first - second) > EXACT:
                return f"{shown}{first:g} and {second:g}"
        is_choice = own & ((ORDER | MORE_OR_LESS) - of_inputs) and kind == types.STRING
        named = [[text for text in given if isinstance(value, str) and text in value] for value in values]
        if is_choice and [len(texts) for texts in named] == [1, 1] and named[0] != named[1]:
            return f"{shown}{values[0]!r} and {values[1]!r}"
    return ""


def longer(name: str, tools: Mapping[str, CompiledTool], runs: Runs, run: trials.Runner) -> Iterator[Weakness]:
    """Yield that a tool says another first time, or less, of a film that is the same and has more at its end."""
    tool, world = tools[name].tool, trials.longer_world()
    base, found = trials.staged_worlds()[0].name, list[str]()
    answered = [(one, one.probe) for one in runs if one.world == base and one.probe is not None and one.status == "ok"]
    asked = [
        one
        for one, probe in answered
        if not probe.is_bounded and probe.moment is None and all(fact.existence == "present" for fact in probe.each)
    ]
    for one in asked[:: max(1, len(asked) // _ASKED_AGAIN)][:_ASKED_AGAIN]:
        call, state = world.open()
        given = {**one.arguments, "video_id": world.video_id}
        more = run(
            trials.Trial(world=world.name, call=call, state=state, arguments=given, example=True, probe=one.probe)
        )
        if more.status in ("ok", "empty"):
            pair = replace(more, arguments=one.arguments)
            found.append(_less(Intent(tool=tool), one, pair, what="in a film with more at its end", is_exact=True))
    yield from _named("changed_by_later", found)
