"""Which tools of a library do the same: by their plan, and by what they answer."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tool_induction.admission.film import WORDS
from tool_induction.admission.trials import schema_trials, tried, words_of
from tool_induction.admission.verdicts import TrialRun
from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.model import Call, Tool, walk_steps
from tool_induction.language.types import show
from world_api.core.canonical import canonical, content_hash

_TURNS = (0, 1, 2, 3)
_FILMS = 3  #: crowded films in each turn
_TELLING = 3  #: different answers that two tools must have in common before they are called the same


def plan_hash(tool: Tool) -> str:
    """The hash of what a tool does and gives, without its name and its words for people."""
    plan = replace(tool, name="tool", description="").document()
    plan["outputs"] = {name: _bound(output) for name, output in plan["outputs"].items()}
    plan["inputs"] = {name: _wordless(given) for name, given in plan["inputs"].items()}
    return content_hash(plan)


def _bound(output: Any) -> Any:
    return output.get("from") if isinstance(output, dict) else output


def _wordless(given: Any) -> Any:
    if not isinstance(given, dict):
        return {"type": given}
    return {key: value for key, value in given.items() if key != "description"}


@dataclass(frozen=True, kw_only=True)
class Sameness:
    """What of a library is there twice.

    ``dropped``: for each tool that does what another one does, which is kept and how one can tell (``plan`` or
    ``behaviour``). ``near``: for each tool that answered as another one did wherever stretches neither overlap nor
    repeat, and otherwise differently, the other one.
    """

    dropped: Mapping[str, tuple[str, str]]
    near: Mapping[str, str]


def duplicates(
    tools: Mapping[str, CompiledTool],
    names: Sequence[str],
    *,
    runs: Mapping[str, Sequence[TrialRun]] | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Sameness:
    """Which tools do what another one does, as far as trials can tell: they differ in none of them.

    The cheaper one is kept, of equals the first. A tool that another one of ``names`` calls is never dropped.

    Args:
        tools: The tools by name.
        names: Those to compare.
        runs: The runs that were made to judge each; those on real worlds are compared too.
        monotonic: A clock in seconds.
    """
    called = {
        step.target
        for name in names
        for step in walk_steps(tools[name].tool.steps)
        if isinstance(step, Call) and step.kind == "tool"
    }
    alike, near = _by_behaviour(tools, names, runs or {}, monotonic)
    dropped: dict[str, tuple[str, str]] = {}
    for how, groups in (("plan", _by_plan(tools, names)), ("behaviour", alike)):
        for group in groups:
            rest = [name for name in group if name not in dropped]
            if len(rest) < 2:
                continue
            kept = min(rest, key=lambda name: (name not in called, *_cost(tools[name]), names.index(name)))
            dropped |= {name: (kept, how) for name in rest if name != kept and name not in called}
    return Sameness(dropped=dropped, near={one: other for one, other in near.items() if one not in dropped})


def _cost(compiled: CompiledTool) -> tuple[float, float]:
    return (compiled.price.expected.calls, compiled.price.most.calls)


def _by_plan(tools: Mapping[str, CompiledTool], names: Sequence[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[plan_hash(tools[name].tool)].append(name)
    return list(groups.values())


def _by_behaviour(
    tools: Mapping[str, CompiledTool],
    names: Sequence[str],
    runs: Mapping[str, Sequence[TrialRun]],
    monotonic: Callable[[], float],
) -> tuple[list[list[str]], dict[str, str]]:
    """Groups of tools that take and give the same types and differed nowhere; and those that differed little."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        alike[_signature(tools[name].tool)].append(name)
    groups: list[list[str]] = []
    near: dict[str, str] = {}
    for candidates in alike.values():
        if len(candidates) < 2:
            continue
        words = tuple(dict.fromkeys(word for name in candidates for word in words_of(tools[name].tool)))
        told = {
            name: [*_answers(tools, name, words, monotonic), *(run for run in runs.get(name, ()) if run.example)]
            for name in candidates
        }
        own: list[list[str]] = []
        for name in candidates:
            same = next((group for group in own if _differ(told[group[0]], told[name]) is None), None)
            if same is not None:
                same.append(name)
                continue
            close = next((group[0] for group in own if _differ(told[group[0]], told[name]) == "seldom"), None)
            if close is not None:
                near[name] = close
            own.append([name])
        groups.extend(own)
    return groups, near


def _signature(tool: Tool) -> str:
    inputs = [[show(item.type), item.required] for item in tool.inputs]
    return canonical([inputs, sorted(show(item.type) for item in tool.outputs)])


def _answers(
    tools: Mapping[str, CompiledTool], name: str, words: Sequence[str], monotonic: Callable[[], float]
) -> list[TrialRun]:
    trials = schema_trials(tools[name].tool, texts=WORDS, words=words, turns=_TURNS, films=_FILMS)
    return [tried(tools, name, trial, monotonic=monotonic) for trial in trials]


def _differ(one: Sequence[TrialRun], other: Sequence[TrialRun]) -> Literal["often", "seldom"] | None:
    """Whether two tools answered the same questions differently, and if so whether on neat worlds too.

    On real worlds they may have been asked differently; such runs say nothing. Neither do those of tools that found too
    little to tell them apart.
    """
    pairs = [
        (first, second)
        for first, second in zip(one, other, strict=False)
        if (first.world, list(first.arguments.values())) == (second.world, list(second.arguments.values()))
        and not (first.disturbed or second.disturbed)
    ]
    by_name = {*one[0].outputs} == {*other[0].outputs} if one and other else False
    differing = {first.world for first, second in pairs if _told(first, by_name) != _told(second, by_name)}
    if differing:
        real = {first.world for first, _ in pairs if first.example}
        return "seldom" if differing <= {"crowded"} | real else "often"
    return None if len({_told(first, by_name) for first, _ in pairs if first.status == "ok"}) >= _TELLING else "seldom"


def _told(run: TrialRun, by_name: bool) -> str:
    """What a run gave; where two tools name their outputs differently, in the order in which they stand."""
    outputs = sorted(run.outputs.items()) if by_name else list(run.outputs.values())
    return canonical([run.status, outputs])


def behaviour(tools: Mapping[str, CompiledTool], name: str, words: Sequence[str] = ()) -> str:
    """The hash of a tool's answers to the same questions."""
    return content_hash([_told(run, by_name=True) for run in _answers(tools, name, words, time.monotonic)])
