"""Admission of compiled tools: every tool is tried, judged by the rules, and compared with the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tool_induction.admission.duplicates import duplicates
from tool_induction.admission.film import WORDS
from tool_induction.admission.rules import Case, entity_written_in, ignoring, notes_of, refusal_of
from tool_induction.admission.trials import (
    ExampleWorld,
    Runner,
    example_trials,
    schema_trials,
    tried,
    unread_inputs,
)
from tool_induction.admission.verdicts import Admission, TrialRun, Verdict
from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.model import Call, Tool, walk_steps

#: A tool that found nothing, or always the same, gets more trials before it is judged.
_FIRST, _MORE = (0, 1), (2, 3, 4, 5)
_FULL = ("many", "crowded")
_FILMS = 3  #: crowded films in each turn, for a tool that found nothing


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
    same_as = duplicates(tools, taken, runs=runs, monotonic=monotonic)
    for name, other in same_as.near.items():
        note = f"it answers as {other!r} does if intervals do not overlap or repeat"
        verdicts[name] = replace(verdicts[name], notes=(*verdicts[name].notes, note))
    for name, (kept, how) in same_as.dropped.items():
        same = "its plan is the same" if how == "plan" else "it gave the same answers in all trials"
        verdicts[name] = replace(
            verdicts[name],
            admitted=False,
            reason="duplicate",
            explanation=f"it does what {kept!r} does: {same}",
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
    if refusal is None:
        return Verdict(
            tool=name,
            admitted=True,
            reason="admitted",
            explanation=f"it did what it declares in {len(case.runs)} runs",
            notes=notes,
            runs=case.runs,
        )
    return Verdict(
        tool=name,
        admitted=False,
        reason=refusal.reason,
        explanation=refusal.explanation,
        suggestion=refusal.suggestion,
        notes=notes,
        runs=case.runs,
    )


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


def _callees(tool: Tool) -> list[str]:
    return [step.target for step in walk_steps(tool.steps) if isinstance(step, Call) and step.kind == "tool"]
