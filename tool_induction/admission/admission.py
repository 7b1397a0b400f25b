"""Admission of compiled tools: every tool is tried, judged by the rules, and compared with the others."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tool_induction.admission.film import WORDS
from tool_induction.admission.rules import Case, entity_written_in, ignoring, notes_of, refusal_of
from tool_induction.admission.trials import (
    ExampleWorld,
    Runner,
    example_trials,
    schema_trials,
    tried,
    unread_inputs,
    words_of,
)
from tool_induction.admission.verdicts import Admission, TrialRun, Verdict
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language.model import Call, Tool, walk_steps
from tool_induction.language.types import show
from world_api.core.canonical import canonical_json, content_hash

#: A tool that found nothing, or always the same, gets more trials before it is judged.
_FIRST, _MORE = (0, 1), (2, 3, 4, 5)
_FULL = ("many", "crowded")
_FILMS = 3  #: crowded films in each turn, for a tool that found nothing and to compare two tools


def admit(
    tools: Mapping[str, CompiledTool],
    *,
    examples: Sequence[ExampleWorld] = (),
    entities: Sequence[str] = (),
    others: Sequence[str] = (),
    monotonic: Callable[[], float] = time.monotonic,
) -> Admission:
    """Try every tool and decide which of them enter a library.

    Args:
        tools: The compiled tools of one document, by name.
        examples: Real worlds to try them on as well. Tools may write, so use sessions that are not kept.
        entities: Entities of the induction's examples.
        others: Other entities of the same kinds; tools must work with those.
        monotonic: A clock in seconds. No verdict depends on it; a run of more than an hour ends as disturbed.

    Returns:
        A verdict for each tool, in the order of ``tools``. A failing tool raises nothing.
    """
    verdicts: dict[str, Verdict] = {}
    for name in tools:
        verdicts[name] = _verdict(tools, name, examples, tuple(entities), tuple(others), monotonic)
    _refuse_callers(tools, verdicts)
    taken = [name for name in tools if verdicts[name].admitted]
    runs = {name: verdicts[name].runs for name in taken}
    same = _duplicates(tools, taken, runs=runs, monotonic=monotonic)
    for name, other in same.near.items():
        note = f"it answers as {other!r} does if intervals do not overlap or repeat"
        verdicts[name] = replace(verdicts[name], notes=(*verdicts[name].notes, note))
    for name, (kept, how) in same.dropped.items():
        why = "its plan is the same" if how == "plan" else "it gave the same answers in all trials"
        verdicts[name] = replace(
            verdicts[name],
            admitted=False,
            reason="duplicate",
            explanation=f"it does what {kept!r} does: {why}",
            suggestion=f"drop it, or make it answer what {kept!r} does not",
            kept=kept,
        )
    return Admission(verdicts=tuple(verdicts.values()))


def _verdict(
    tools: Mapping[str, CompiledTool],
    name: str,
    examples: Sequence[ExampleWorld],
    entities: tuple[str, ...],
    others: tuple[str, ...],
    monotonic: Callable[[], float],
) -> Verdict:
    tool = tools[name].tool
    texts = others or WORDS
    run = partial(tried, tools, name, monotonic=monotonic)
    runs = _runs(run, tool, texts, _FIRST)
    case = Case(compiled=tools[name], runs=runs)
    found = any(map(case.found, case.filled))
    if len(case.varying()) < len(case.own_outputs()) or not found:
        more = _runs(run, tool, texts, _MORE, films=1 if found else _FILMS)
        runs = (*runs, *(one for one in more if one.world in _FULL))
    real = tuple(run(trial) for example in examples for trial in example_trials(tool, example))
    # With one entity alone every input would be the same.
    with_entities = _runs(run, tool, entities, _FIRST) if len(set(entities)) > 1 else ()
    case = Case(
        compiled=tools[name],
        runs=(*runs, *real),
        entity_runs=tuple(one for one in with_entities if one.world == "many"),
        entity=entity_written_in(tool, entities),
    )
    refusal, unread = refusal_of(case), list[str]()
    if refusal is None:
        unread = unread_inputs(run, tool, texts)
        refusal = ignoring(tool, unread)
    notes = (*notes_of(case), *(f"the input {item} changed nothing in the trials" for item in unread))
    explanation = f"it did what it declares in {len(case.runs)} runs"
    verdict = Verdict(tool=name, admitted=True, reason="admitted", explanation=explanation, notes=notes, runs=case.runs)
    return verdict if refusal is None else replace(verdict, admitted=False, **vars(refusal))


def _runs(
    run: Runner, tool: Tool, texts: Sequence[str], turns: Sequence[int], *, films: int = 1
) -> tuple[TrialRun, ...]:
    return tuple(map(run, schema_trials(tool, texts=texts, turns=turns, films=films)))


def _refuse_callers(tools: Mapping[str, CompiledTool], verdicts: dict[str, Verdict]) -> None:
    """Refuse tools that call a refused one."""
    changed = True
    while changed:
        changed = False
        for name, verdict in verdicts.items():
            lost = [target for target in _callees(tools[name].tool) if not verdicts[target].admitted]
            if verdict.admitted and lost:
                changed = True
                verdicts[name] = replace(
                    verdict,
                    admitted=False,
                    reason="broken_callee",
                    explanation=f"it calls {lost[0]!r}, which is refused ({verdicts[lost[0]].reason})",
                    suggestion=f"mend {lost[0]!r}, or call the operations themselves",
                )


_TURNS = (0, 1, 2, 3)
_MIN_ANSWERS = 3  #: different answers that two tools must have in common before they count as the same


def _callees(tool: Tool) -> list[str]:
    """Return the names of the tools that a tool calls."""
    return [step.target for step in walk_steps(tool.steps) if isinstance(step, Call) and step.kind == "tool"]


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
class _Duplicates:
    """The duplicates of a library.

    ``dropped``: each duplicate with the tool that is kept and the evidence (``plan`` or ``behaviour``). ``near``: each tool that
    differs from another one only on crowded films, with that one.
    """

    dropped: Mapping[str, tuple[str, str]]
    near: Mapping[str, str]


def _duplicates(
    tools: Mapping[str, CompiledTool],
    names: Sequence[str],
    *,
    runs: Mapping[str, Sequence[TrialRun]] | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> _Duplicates:
    """Find tools that do what another one does, as far as trials can tell.

    The cheaper one is kept, of equals the first. A tool that another one of ``names`` calls is never dropped.

    Args:
        tools: The tools by name.
        names: Those to compare.
        runs: The runs of each tool so far; those on real worlds are compared too.
        monotonic: A clock in seconds.
    """
    called = {target for name in names for target in _callees(tools[name].tool)}
    alike, near = _by_behaviour(tools, names, runs or {}, monotonic)
    dropped: dict[str, tuple[str, str]] = {}
    for how, groups in (("plan", _by_plan(tools, names)), ("behaviour", alike)):
        for group in groups:
            rest = [name for name in group if name not in dropped]
            if len(rest) < 2:
                continue
            kept = min(rest, key=lambda name: (name not in called, *_calls(tools[name]), names.index(name)))
            dropped |= {name: (kept, how) for name in rest if name != kept and name not in called}
    return _Duplicates(dropped=dropped, near={one: other for one, other in near.items() if one not in dropped})


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
    return canonical_json([inputs, sorted(show(item.type) for item in tool.outputs)])


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
    return canonical_json([run.status, outputs])
