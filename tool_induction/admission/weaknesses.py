"""Weaknesses of a tool: named warnings that refuse nothing, with what would correct them; here those that its plan shows.

What a tool promises is compared with what its plan can do, apart from what it answers in trials: the operations behind an
output, the fields that are read on the way, and expressions that cannot mean what is said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tool_induction.admission.arguments import is_moment
from tool_induction.admission.intents import COUNT, DISTINCT, PRESENCE, SECONDS, Intent, words_in
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model, types
from tool_induction.language.expressions import (
    Arithmetic,
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    JsonRecord,
    Name,
    names,
    to_text,
    walk,
)

#: The list is closed: what a warning of admission is about.
Flaw = Literal[
    "dead_input", "one_valued", "short_lists", "rough_times", "one_of_several", "one_left_out",
    "other_channel", "other_person", "other_amount", "inconsistent", "fewer_if_wider", "not_symmetric", "changed_by_later",
    "wrong_side", "finds_nothing", "no_effect", "not_compared", "keeps_unknown", "drops_unknown",
    "counts_doubles", "failure_as_zero", "wrong_unit", "same_call", "confirms_itself", "farthest", "partly_wrong",
    "sampled",
]  # fmt: skip

FLAWS: frozenset[str] = frozenset(get_args(Flaw))
_SEARCHES = frozenset(
    {"search_segments_by_text", "search_segments_by_semantics", "search_similar_to_example", "scan_segments"}
)
#: Fields of a hit by which it can be verified without another operation.
_VERIFYING = frozenset({"matching_lines", "as_given", "lacks"})
_DOUBLES = "may_be"
_MARK = "~"  #: begins an origin that is neither an operation nor a field
_LOST, _REPLACED = f"{_MARK}lost ", f"{_MARK}replaced "  #: a call that may fail; its default where it did
_SAMPLED = f"{_MARK}sampled "  #: moments, with the seconds from one to the next
_DENSE = 2.0  #: seconds between moments that leave out next to nothing
UNITS: Mapping[str, frozenset[str]] = {
    "minutes": frozenset("minute minutes 分钟".split()),
    "hours": frozenset("hour hours 小时".split()),
    "milliseconds": frozenset("millisecond milliseconds ms 毫秒".split()),
}
_IN_SECONDS = frozenset("second seconds 秒".split())
_OF_TIME = _IN_SECONDS | frozenset("time timestamp start end duration".split())
_NEAREST = re.compile(
    r"\b(?:nearest|closest|previous|next|(?:right|just|immediately|directly|shortly) (?:before|after))\b|最近|紧接",
    re.IGNORECASE,
)
_UNKNOWN = frozenset("unknown uncalibrated".split())  #: what a tool says it leaves out on purpose
_BOTH = 2  #: a default and a bound
_LESS, _MORE = ("<", "<="), (">", ">=")

#: what would correct each of them
MEND: Mapping[Flaw, str] = {
    "dead_input": "give it to the call or the filter that finds the answer",
    "one_valued": "look at the conditions that decide it, and compute it before any 'require' that ends the tool without it",
    "short_lists": "raise top_k or max_items, or promise no more than what is looked at",
    "rough_times": "take the times of the line, the detection or the action itself, not those of the segment that holds it",
    "one_of_several": "add up everything that fits, or say in the outputs and the description which one it is about",
    "one_left_out": "look at what belongs to each of the things, with that thing's own words",
    "other_channel": 'keep only lines of the source that is meant: item.source == "speech", or "screen_text"',
    "other_person": "take the entity_id of the deed or of the moment itself, not who is detected at that time",
    "other_amount": "compute what the output's name says, or name it after what is computed",
    "inconsistent": "bind the outputs that belong together to one item or list, and check their unit",
    "fewer_if_wider": "keep what lies in the interval, from its start to its end, and fold it after that",
    "not_symmetric": "compute both sides in the same way from their own input, and compare strictly (< and not <=)",
    "changed_by_later": "pick by time among all that fits, and add up or count all of it",
    "wrong_side": "compare with the end of what comes before and the start of what comes after, and let no window reach beyond it",
    "finds_nothing": "look at the conditions and thresholds of the filters: one of them leaves nothing",
    "no_effect": "compare with what is asked for, or leave the filter out",
    "not_compared": "name the inputs after what they are (looks, event, words), and the outputs after what they say "
    "(start_time, seconds, count, seen), and let the description begin with it",
    "keeps_unknown": "verify the hits with detect_objects, recognize_actions or their matching_lines",
    "drops_unknown": "keep what is unknown with default(1), or say in the description that it is left out",
    "counts_doubles": "add an output that says how many entities have a may_be",
    "failure_as_zero": "leave 'on_error' out of this call, or let the output be optional and null where the call failed",
    "wrong_unit": "turn it into seconds first, by * or /",
    "same_call": "give it the time or the id of the item, or make the call once, before the loop",
    "confirms_itself": "verify the hit by another operation, such as detect_objects, recognize_actions or describe_segment",
    "farthest": "use pick_latest of what comes before a moment, and pick_earliest of what comes after it",
    "partly_wrong": "look at what sets these questions apart: several occurrences, several things that look so, or times that overlap",
    "sampled": "give the call the whole time_range or search for it, or end as 'partial' where no sample shows it",
}


@dataclass(frozen=True, kw_only=True)
class Weakness:
    """A named warning about one tool: what is wrong, and what would correct it."""

    code: Flaw
    message: str
    suggestion: str

    def record(self) -> dict[str, str]:
        """Return the warning as JSON."""
        return {"code": self.code, "message": self.message, "suggestion": self.suggestion}


def warning(flaw: Flaw, message: str) -> Weakness:
    """Return a warning with the suggestion that belongs to its flaw."""
    return Weakness(code=flaw, message=message, suggestion=MEND[flaw])


def unverified(name: str, tools: Mapping[str, CompiledTool]) -> Iterator[str]:
    """Yield a sentence if an output claims what only hits of a search support. It is a note: such a tool may be of use."""
    tool, origins = tools[name].tool, origins_of(name, tools)
    conditions = [step.condition for step in model.walk_steps(tool.steps) if isinstance(step, model.Require | model.If)]
    if any(_others(behind(condition, origins)) for condition in conditions):
        return
    for item in tool.outputs:
        rests = set() if item.source is None else behind(item.source, origins)
        own, kind = words_in(item.name), types.plain(item.type)
        claims = is_moment(item.name, item.type) or own & COUNT or (kind == types.BOOL and own & PRESENCE)
        if claims and rests & _SEARCHES and not _others(rests):
            yield (
                f"the output {item.name} rests on hits of a search that nothing verifies: a hit is about the words, and need "
                "not show the thing; detect_objects, recognize_actions or its matching_lines would tell"
            )
            return


def weaknesses(name: str, tools: Mapping[str, CompiledTool]) -> Iterator[Weakness]:
    """Yield the weaknesses that the plan of a tool shows."""
    tool, origins = tools[name].tool, origins_of(name, tools)
    yield from _thresholds(tool, origins)
    yield from _doubles(tool, origins)
    yield from _failures(tool, origins)
    yield from _units(tool)
    yield from _same_calls(tool)
    yield from _confirmations(tool, origins)
    yield from _farthest(tool)
    yield from _samples(tool, origins)


def _samples(tool: model.Tool, origins: Mapping[str, set[str]]) -> Iterator[Weakness]:
    """Yield answers that rest on moments some seconds apart, although they speak of the time between them, too."""
    for item in tool.outputs:
        rests, own, kind = (
            set() if item.source is None else behind(item.source, origins),
            words_in(item.name),
            types.plain(item.type),
        )
        steps = sorted(one.removeprefix(_SAMPLED) for one in rests if one.startswith(_SAMPLED))
        claims = kind == types.BOOL or own & COUNT or is_moment(item.name, item.type) or own & SECONDS
        if steps and claims:
            yield warning(
                "sampled",
                f"{item.name} rests on moments {steps[0]} s apart: what is there only between two of them is taken for absent",
            )
            return


def _thresholds(tool: model.Tool, origins: Mapping[str, set[str]]) -> Iterator[Weakness]:
    """Yield thresholds of confidence that leave out next to nothing, or everything whose confidence is unknown."""
    for step in model.walk_steps(tool.steps):
        given = dict(step.params) if isinstance(step, model.Aggregate) and step.operation == "filter_by_score" else None
        if isinstance(step, model.Aggregate) and given is not None:
            rests = behind(step.inputs, origins)
            is_unverified = rests & _SEARCHES and not _others(rests - _VERIFYING)
            if (
                is_unverified
                and given.get("key", Const("confidence")) == Const("confidence")
                and "keep_null" not in given
            ):
                yield warning(
                    "keeps_unknown",
                    "filter_by_score keeps hits whose confidence is unknown, as that of most hits is: few are left out",
                )
    for node in (node for value in _expressions(tool) for node in walk(value) if isinstance(node, Compare)):
        low, high = (node.left, node.right) if node.op in _MORE else (node.right, node.left)
        if node.op not in (*_LESS, *_MORE) or not isinstance(low, Filtered) or low.name != "default":
            continue
        numbers = [
            one.value for one in (*low.arguments, high) if isinstance(one, Const) and isinstance(one.value, int | float)
        ]
        is_confidence = isinstance(low.value, Field) and low.value.key == "confidence"
        is_on_purpose = words_in(tool.description) & _UNKNOWN or "未知" in tool.description
        if is_confidence and len(numbers) == _BOTH and numbers[0] < numbers[1] and not is_on_purpose:
            yield warning(
                "drops_unknown",
                f"{to_text(node)} leaves out what has no confidence; in a world without them nothing is left",
            )


def _doubles(tool: model.Tool, origins: Mapping[str, set[str]]) -> Iterator[Weakness]:
    intent = Intent(tool=tool)
    counted = [item for item in tool.outputs if item.source is not None and words_in(item.name) & COUNT]
    if intent.counts and intent.said & DISTINCT and counted:
        rests = set().union(*(behind(item.source, origins) for item in tool.outputs if item.source is not None))
        if "list_entities" in rests and _DOUBLES not in rests:
            yield warning(
                "counts_doubles",
                "it counts each entity as another thing: one that is seen again may be a new entity, and may_be "
                "names its likes",
            )


def _failures(tool: model.Tool, origins: Mapping[str, set[str]]) -> Iterator[Weakness]:
    """Yield numbers and booleans into which the default of a failed call goes."""
    for item in tool.outputs:
        kind = types.plain(item.type)
        rests = set() if item.source is None else behind(item.source, origins)
        lost = sorted(one.removeprefix(_REPLACED) for one in rests if one.startswith(_REPLACED))
        if lost and (types.is_numeric(kind) or kind == types.BOOL):
            yield warning(
                "failure_as_zero",
                f"where the call {lost[0]} fails its default is used, and {item.name} says the same as where nothing is found",
            )
            return


def _units(tool: model.Tool) -> Iterator[Weakness]:
    """Yield inputs in minutes, hours or milliseconds that are added to, or compared with, what is in seconds."""
    units = {
        item.name: unit for item in tool.inputs if types.is_numeric(types.plain(item.type)) and (unit := _unit_of(item))
    }
    for name, unit in units.items():
        for node in (node for value in _expressions(tool) for node in walk(value)):
            is_sum = isinstance(node, Arithmetic) and node.op in "+-"
            is_order = isinstance(node, Compare) and node.op in (*_LESS, *_MORE)
            if (
                not isinstance(node, Arithmetic | Compare)
                or not (is_sum or is_order)
                or Name(name) not in (node.left, node.right)
            ):
                continue
            other = node.right if node.left == Name(name) else node.left
            said = frozenset[str]().union(
                *(words_in(one.key) for one in walk(other) if isinstance(one, Field)), *map(words_in, names(other))
            )
            if said & _OF_TIME and not (isinstance(other, Name) and units.get(other.name) == unit):
                yield warning(
                    "wrong_unit",
                    f"{to_text(node)} takes {name}, which is in {unit}, together with seconds",
                )
                break


def _unit_of(item: model.Input) -> str:
    """Return the unit other than seconds that an input's name, else its description, says it is in; empty if there is none."""
    for said in (words_in(item.name), words_in(item.description)):
        if said & _IN_SECONDS:
            return ""
        for unit, words in UNITS.items():
            if said & words:
                return unit
    return ""


def _same_calls(tool: model.Tool) -> Iterator[Weakness]:
    """Yield calls in a loop that read nothing of the loop's item."""
    for step in model.walk_steps(tool.steps):
        loop = step.loop if isinstance(step, model.Call | model.Block) else None
        if loop is None:
            continue
        inner = list(model.walk_steps(step.body)) if isinstance(step, model.Block) else [step]
        changing = {loop.variable, *(name for one in inner if one is not step for name in model.binds(one))}
        for one in (one for one in inner if isinstance(one, model.Call)):
            read = frozenset[str]().union(*(names(value) for _, value in model.values(one)))
            inside = read if one is not step else read - names(loop.over)
            if not inside & changing and len(one.params) > 1:
                yield warning(
                    "same_call",
                    f"{one.target} reads nothing of {loop.variable!r}: for every item of {to_text(loop.over)} it is the "
                    "same call",
                )


def _confirmations(tool: model.Tool, origins: Mapping[str, set[str]]) -> Iterator[Weakness]:
    """Yield searches that are done again, within what the same search has found."""
    for step in model.walk_steps(tool.steps):
        within = dict(step.params).get("time_range") if isinstance(step, model.Call) else None
        if not isinstance(step, model.Call) or not isinstance(within, JsonRecord):
            continue
        ends = dict(within.entries)
        bases = [
            {node.base for node in walk(ends.get(key, Const(None))) if isinstance(node, Field) and node.key == key}
            for key in ("start_time", "end_time")
        ]
        if any(_search_of(step) in behind(base, origins) for base in bases[0] & bases[1]):
            yield warning(
                "confirms_itself",
                f"{step.save_as} is the search by which the hit was found, done again within the hit: it nearly always agrees",
            )


def _search_of(step: model.Call) -> str:
    """Return the origin that stands for a search and what it asks for, wherever it looks; empty for any other call."""
    asked = [f"{key}={to_text(value)}" for key, value in step.params if key not in ("video_id", "top_k", "time_range")]
    return f"{_MARK}{step.target} {' '.join(asked)}" if step.target in _SEARCHES else ""


def _farthest(tool: model.Tool) -> Iterator[Weakness]:
    """Yield picks of the earliest of what comes before a moment, or the latest of what comes after it, if the nearest is promised."""
    promised = _NEAREST.search(tool.description)
    if promised is None:
        return
    sides = {step.save_as: _side(step.where) for step in model.walk_steps(tool.steps) if isinstance(step, model.Filter)}
    wrong = {"pick_earliest": "before", "pick_latest": "after"}
    for step in model.walk_steps(tool.steps):
        if isinstance(step, model.Aggregate) and isinstance(step.inputs, Name) and step.operation in wrong:
            side = wrong[step.operation]
            if sides.get(step.inputs.name) == side:
                yield warning(
                    "farthest",
                    f"{step.operation} of {step.inputs.name} is the farthest of what comes {side} the moment, and the "
                    f"description says {promised[0]!r}",
                )


def _side(where: Expr) -> str:
    """Return on which side of a moment a condition keeps items; empty for neither or both."""
    found = set()
    for node in (node for node in walk(where) if isinstance(node, Compare) and node.op in (*_LESS, *_MORE)):
        for one, is_less in ((node.left, node.op in _LESS), (node.right, node.op in _MORE)):
            if isinstance(one, Field) and one.base == Name("item") and "time" in one.key:
                found.add("before" if is_less else "after")
    return found.pop() if len(found) == 1 else ""


def _expressions(tool: model.Tool) -> list[Expr]:
    """Return all values of a tool's steps and outputs."""
    steps = [value for step in model.walk_steps(tool.steps) for _, value in model.values(step)]
    return [*steps, *(item.source for item in tool.outputs if item.source is not None)]


def _others(rests: set[str]) -> set[str]:
    """Return the operations besides searches, and the fields of hits, that something was verified by."""
    found = rests - _SEARCHES - {"list_scenes", "get_video_metadata", "get_segment", _DOUBLES}
    return {one for one in found if not one.startswith(_MARK)}


def origins_of(name: str, tools: Mapping[str, CompiledTool]) -> dict[str, set[str]]:
    """Return, by saved name, the operations that its value was computed from, and the fields of ``_VERIFYING`` that were read.

    Origins that begin with ``_MARK`` say what was searched for, which calls may have failed, and that it rests on an input or a
    judgement.
    """
    tool = tools[name].tool
    found: dict[str, set[str]] = defaultdict(set, {item.name: {f"{_MARK}input"} for item in tool.inputs})

    def visit(steps: tuple[model.Step, ...], outer: set[str]) -> None:
        for step in steps:
            own = set(outer)
            for _, value in model.values(step):
                own |= behind(value, found)
            if isinstance(step, model.Call | model.Block) and step.loop is not None:
                own |= behind(step.loop.over, found)
                found[step.loop.variable] |= own
            if isinstance(step, model.Call):
                own |= {step.target if step.kind == "api" else f"{_MARK}{step.target}"}
                own |= _of_tool(step.target, tools) if step.kind == "tool" and step.target in tools else set()
                own |= {_search_of(step)} - {""}
                own |= {_LOST + step.save_as} if step.on_error == "null" and step.loop is None else set()
            own |= {f"{_MARK}judge"} if isinstance(step, model.JudgeStep) else set()
            if isinstance(step, model.Aggregate) and step.operation == "sample_times":
                apart = dict(step.params).get("step", Const(1.0))
                is_dense = isinstance(apart, Const) and isinstance(apart.value, int | float) and apart.value <= _DENSE
                own |= set() if is_dense else {_SAMPLED + to_text(apart)}
            for block in model.blocks(step):
                visit(block, own if not isinstance(step, model.If) else outer)
                own |= {one for inner in block for bound in model.binds(inner) for one in found[bound]}
            for bound in model.binds(step):
                found[bound] |= own

    visit(tool.steps, set())
    return found


def _of_tool(name: str, tools: Mapping[str, CompiledTool]) -> set[str]:
    origins = origins_of(name, tools)
    sources = [item.source for item in tools[name].tool.outputs if item.source is not None]
    return set().union(*(behind(source, origins) for source in sources))


def behind(value: Expr, origins: Mapping[str, set[str]]) -> set[str]:
    """Return the operations and other origins behind all names of an expression, and the fields of hits that it reads."""
    found = {node.key for node in walk(value) if isinstance(node, Field) and node.key in {*_VERIFYING, _DOUBLES}}
    for node in walk(value):
        if isinstance(node, Filtered) and node.name == "default":
            lost = {one for name in names(node.value) for one in origins.get(name, set()) if one.startswith(_LOST)}
            found |= {_REPLACED + one.removeprefix(_LOST) for one in lost}
    return found.union(*(origins.get(name, set()) for name in names(value)))
