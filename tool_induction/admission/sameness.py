"""Which tools of a library do the same: by their plan, and by what they answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tool_induction.admission.film import WORDS
from tool_induction.admission.trials import schema_trials, tried, words_of
from tool_induction.compiler.compiling import CompiledTool
from tool_induction.compiler.frozen import frozen_form
from tool_induction.language.model import Call, Tool, walk_steps
from tool_induction.language.types import show
from world_api.core.canonical import canonical, content_hash

_TURNS = (0, 1, 2, 3)


def plan_hash(tool: Tool) -> str:
    """The hash of what a tool does and gives, without its name and its words for people."""
    plan = frozen_form(replace(tool, name="tool", description=""))
    plan["outputs"] = {name: _bound(output) for name, output in plan["outputs"].items()}
    plan["inputs"] = {name: _wordless(given) for name, given in plan["inputs"].items()}
    return content_hash(plan)


def _bound(output: Any) -> Any:
    return output.get("from") if isinstance(output, dict) else output


def _wordless(given: Any) -> Any:
    if not isinstance(given, dict):
        return {"type": given}
    return {key: value for key, value in given.items() if key != "description"}


def duplicates(tools: Mapping[str, CompiledTool], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """For each tool that does what another one does: which is kept, and how one can tell (``plan`` or ``behaviour``).

    The cheaper one is kept, of equals the first. A tool that another one of ``names`` calls is never dropped.
    """
    called = {
        step.target
        for name in names
        for step in walk_steps(tools[name].tool.steps)
        if isinstance(step, Call) and step.kind == "tool"
    }
    dropped: dict[str, tuple[str, str]] = {}
    for how, groups in (("plan", _by_plan(tools, names)), ("behaviour", _by_behaviour(tools, names))):
        for group in groups:
            rest = [name for name in group if name not in dropped]
            if len(rest) < 2:
                continue
            kept = min(rest, key=lambda name: (name not in called, *_cost(tools[name]), names.index(name)))
            dropped |= {name: (kept, how) for name in rest if name != kept and name not in called}
    return dropped


def _cost(compiled: CompiledTool) -> tuple[float, float]:
    return (compiled.price.expected.calls, compiled.price.most.calls)


def _by_plan(tools: Mapping[str, CompiledTool], names: Sequence[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[plan_hash(tools[name].tool)].append(name)
    return list(groups.values())


def _by_behaviour(tools: Mapping[str, CompiledTool], names: Sequence[str]) -> list[list[str]]:
    """Tools that take and give the same types, and gave the same answers to all that was asked of them."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        alike[_signature(tools[name].tool)].append(name)
    groups: dict[str, list[str]] = defaultdict(list)
    for signature, candidates in alike.items():
        if len(candidates) > 1:
            words = tuple(dict.fromkeys(word for name in candidates for word in words_of(tools[name].tool)))
            for name in candidates:
                groups[signature + behaviour(tools, name, words)].append(name)
    return list(groups.values())


def _signature(tool: Tool) -> str:
    inputs = [[show(item.type), item.required] for item in tool.inputs]
    return canonical([inputs, sorted(show(item.type) for item in tool.outputs)])


def behaviour(tools: Mapping[str, CompiledTool], name: str, words: Sequence[str] = ()) -> str:
    """The hash of a tool's answers to the same questions; names of outputs do not count."""
    trials = schema_trials(tools[name].tool, texts=WORDS, words=words, turns=_TURNS)
    runs = [tried(tools, name, trial) for trial in trials]
    return content_hash([[run.status, sorted(map(canonical, run.outputs.values()))] for run in runs])
