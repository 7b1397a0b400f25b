"""Weaknesses that a tool's plan shows, whatever it answers in trials: remarks that refuse nothing.

Only what an output is computed from is looked at: the operations behind it, and the fields that are read on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tool_induction.admission.arguments import is_moment
from tool_induction.admission.intents import COUNT, DISTINCT, PRESENCE, Intent, words_in
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language import model, types
from tool_induction.language.expressions import Const, Expr, Field, names, walk

_SEARCHES = frozenset(
    {"search_segments_by_text", "search_segments_by_semantics", "search_similar_to_example", "scan_segments"}
)
#: Fields of a hit by which it can be verified without another operation.
_VERIFYING = frozenset({"matching_lines", "as_given", "lacks"})
_DOUBLES = "may_be"


def weaknesses(name: str, tools: Mapping[str, CompiledTool]) -> Iterator[str]:
    """Yield a sentence for each weakness of a tool's plan."""
    tool, origins = tools[name].tool, _origins(name, tools)
    intent = Intent(tool=tool)
    conditions = [step.condition for step in model.walk_steps(tool.steps) if isinstance(step, model.Require | model.If)]
    is_verified = any(_others(_behind(condition, origins)) for condition in conditions)
    for item in tool.outputs if not is_verified else ():
        behind = set() if item.source is None else _behind(item.source, origins)
        own, kind = words_in(item.name), types.plain(item.type)
        claims = is_moment(item.name, item.type) or own & COUNT or (kind == types.BOOL and own & PRESENCE)
        if claims and behind & _SEARCHES and not _others(behind):
            yield (
                f"the output {item.name} rests on hits of a search that nothing verifies: a hit is about the words, and need "
                "not show the thing; detect_objects, recognize_actions or its matching_lines would tell"
            )
            break
    for step in model.walk_steps(tool.steps):
        if isinstance(step, model.Aggregate) and step.operation == "filter_by_score":
            given = dict(step.params)
            key = given.get("key", Const("confidence"))
            behind = _behind(step.inputs, origins)
            if (
                behind & _SEARCHES
                and not _others(behind - _VERIFYING)
                and key == Const("confidence")
                and "keep_null" not in given
            ):
                yield "filter_by_score keeps hits whose confidence is unknown, as that of most hits is: few are left out"
    counted = [item for item in tool.outputs if item.source is not None and words_in(item.name) & COUNT]
    if intent.counts and intent.said & DISTINCT and counted:
        behind = set().union(*(_behind(item.source, origins) for item in tool.outputs if item.source is not None))
        if "list_entities" in behind and _DOUBLES not in behind:
            yield "it counts each entity as another thing: one that is seen again may be a new entity, and may_be names its likes"


def _others(behind: set[str]) -> set[str]:
    """Return the operations besides searches, and the fields of hits, that something was verified by."""
    return behind - _SEARCHES - {"list_scenes", "get_video_metadata", "get_segment", _DOUBLES}


def _origins(name: str, tools: Mapping[str, CompiledTool]) -> dict[str, set[str]]:
    """Return, by saved name, the operations that its value was computed from, and the fields of ``_VERIFYING`` that were read."""
    found: dict[str, set[str]] = defaultdict(set)

    def visit(steps: tuple[model.Step, ...], outer: set[str]) -> None:
        for step in steps:
            own = set(outer)
            for _, value in model.values(step):
                own |= _behind(value, found)
            if isinstance(step, model.Call | model.Block) and step.loop is not None:
                own |= _behind(step.loop.over, found)
                found[step.loop.variable] |= own
            if isinstance(step, model.Call):
                own |= {step.target} if step.kind == "api" else _of_tool(step.target, tools)
            for block in model.blocks(step):
                visit(block, own if not isinstance(step, model.If) else outer)
                own |= {one for inner in block for bound in model.binds(inner) for one in found[bound]}
            for bound in model.binds(step):
                found[bound] |= own

    visit(tools[name].tool.steps, set())
    return found


def _of_tool(name: str, tools: Mapping[str, CompiledTool]) -> set[str]:
    origins = _origins(name, tools)
    sources = [item.source for item in tools[name].tool.outputs if item.source is not None]
    return set().union(*(_behind(source, origins) for source in sources))


def _behind(value: Expr, origins: Mapping[str, set[str]]) -> set[str]:
    """Return the operations behind all names of an expression, and the fields of hits that it reads."""
    fields = {node.key for node in walk(value) if isinstance(node, Field) and node.key in {*_VERIFYING, _DOUBLES}}
    return fields.union(*(origins.get(name, set()) for name in names(value)))
