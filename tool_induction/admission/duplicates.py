"""Duplicate tools of a library: found by their plans and by their answers."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tool_induction.admission.film import WORDS
from tool_induction.admission.trials import schema_trials, tried, words_of
from tool_induction.admission.verdicts import TrialRun
from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.model import Call, Tool, walk_steps
from tool_induction.language.types import show
from world_api.core.canonical import canonical, content_hash

_TURNS = (0, 1, 2, 3)
_FILMS = 3  #: crowded films in each turn
_MIN_ANSWERS = 3  #: different answers that two tools must have in common before they count as the same


def _plan_hash(tool: Tool) -> str:
    """Return the hash of a tool's inputs, steps and outputs, without its name and descriptions."""
    plan = replace(tool, name="tool", description="").document()
    plan["outputs"] = {
        name: output.get("from") if isinstance(output, dict) else output for name, output in plan["outputs"].items()
    }
    for name, given in plan["inputs"].items():
        whole = given if isinstance(given, dict) else {"type": given}
        plan["inputs"][name] = {key: value for key, value in whole.items() if key != "description"}
    return content_hash(plan)


@dataclass(frozen=True, kw_only=True)
class Sameness:
    """The duplicates of a library.

    ``dropped``: each duplicate with the tool that is kept and the evidence (``plan`` or ``behaviour``). ``near``: each tool that
    differs from another one only on crowded films, with that one.
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
    """Find tools that do what another one does, as far as trials can tell.

    The cheaper one is kept, of equals the first. A tool that another one of ``names`` calls is never dropped.

    Args:
        tools: The tools by name.
        names: Those to compare.
        runs: The runs of each tool so far; those on real worlds are compared too.
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
            kept = min(rest, key=lambda name: (name not in called, *_calls(tools[name]), names.index(name)))
            dropped |= {name: (kept, how) for name in rest if name != kept and name not in called}
    return Sameness(dropped=dropped, near={one: other for one, other in near.items() if one not in dropped})


def _calls(compiled: CompiledTool) -> tuple[float, float]:
    return (compiled.price.expected.calls, compiled.price.most.calls)


def _by_plan(tools: Mapping[str, CompiledTool], names: Sequence[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[_plan_hash(tools[name].tool)].append(name)
    return list(groups.values())


def _by_behaviour(
    tools: Mapping[str, CompiledTool],
    names: Sequence[str],
    runs: Mapping[str, Sequence[TrialRun]],
    monotonic: Callable[[], float],
) -> tuple[list[list[str]], dict[str, str]]:
    """Return groups of tools with the same types that never differed, and pairs that differed only on crowded films."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        alike[_signature(tools[name].tool)].append(name)
    groups: list[list[str]] = []
    near: dict[str, str] = {}
    for candidates in alike.values():
        if len(candidates) < 2:
            continue
        words = tuple(dict.fromkeys(word for name in candidates for word in words_of(tools[name].tool)))
        answers = {
            name: [*_answers(tools, name, words, monotonic), *(run for run in runs.get(name, ()) if run.example)]
            for name in candidates
        }
        own: list[list[str]] = []
        for name in candidates:
            same = next((group for group in own if _differ(answers[group[0]], answers[name]) is None), None)
            if same is not None:
                same.append(name)
                continue
            close = next((group[0] for group in own if _differ(answers[group[0]], answers[name]) == "seldom"), None)
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
    """Compare the answers of two tools: None for the same, ``seldom`` if they differ only on crowded films.

    Runs with different arguments, as on real worlds, are not compared. Tools with too few answers count as differing seldom.
    """
    pairs = [
        (first, second)
        for first, second in zip(one, other, strict=False)
        if (first.world, list(first.arguments.values())) == (second.world, list(second.arguments.values()))
        and not (first.disturbed or second.disturbed)
    ]
    by_name = {*one[0].outputs} == {*other[0].outputs} if one and other else False
    differing = {first.world for first, second in pairs if _answer_of(first, by_name) != _answer_of(second, by_name)}
    if differing:
        real = {first.world for first, _ in pairs if first.example}
        return "seldom" if differing <= {"crowded"} | real else "often"
    return (
        None
        if len({_answer_of(first, by_name) for first, _ in pairs if first.status == "ok"}) >= _MIN_ANSWERS
        else "seldom"
    )


def _answer_of(run: TrialRun, by_name: bool) -> str:
    """Return the answer of a run; outputs are compared in their order if two tools name them differently."""
    outputs = sorted(run.outputs.items()) if by_name else list(run.outputs.values())
    return canonical([run.status, outputs])
