"""Admission: every tool is tried, judged, and compared with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tool_induction.admission.film import WORDS
from tool_induction.admission.judging import Case, notes_of, refusal_of
from tool_induction.admission.sameness import duplicates
from tool_induction.admission.trials import ExampleWorld, example_trials, schema_trials, tried, unread_inputs
from tool_induction.admission.verdicts import Admission, TrialRun, Verdict
from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.model import Call, Tool, walk_steps

#: a tool that told nothing, or always the same, is asked more before it is judged
_FIRST, _MORE = (0, 1), (2, 3, 4, 5)


def admit(
    tools: Mapping[str, CompiledTool],
    *,
    examples: Sequence[ExampleWorld] = (),
    entities: Sequence[str] = (),
    others: Sequence[str] = (),
) -> Admission:
    """Try every tool and say which of them are taken into a library.

    Args:
        tools: The compiled tools of one document, by name.
        examples: Real worlds to try them on as well. Tools may write: hand in sessions that are thrown away.
        entities: What the examples of the induction speak of.
        others: Things of the same kind that they do not speak of; tools must work with those.

    Returns:
        A verdict for each tool, in the order of ``tools``. Nothing a tool does raises.
    """
    verdicts: dict[str, Verdict] = {}
    for name in tools:
        verdicts[name] = _verdict(tools, name, examples, tuple(entities), tuple(others))
    _refuse_callers(tools, verdicts)
    taken = [name for name in tools if verdicts[name].admitted]
    for name, (kept, how) in duplicates(tools, taken).items():
        same = "its plan is the same" if how == "plan" else "it gave the same answers to all that was asked"
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
) -> Verdict:
    tool = tools[name].tool
    texts = others or WORDS
    runs = _runs(tools, name, texts, _FIRST)
    case = Case(compiled=tools[name], runs=runs)
    if len(case.varying()) < len(case.own_outputs()) or not any(map(case.found, case.filled)):
        runs = (*runs, *(run for run in _runs(tools, name, texts, _MORE) if run.world == "many"))
    real = tuple(tried(tools, name, trial) for example in examples for trial in example_trials(tool, example))
    with_entities = _runs(tools, name, entities, _FIRST) if entities else ()
    case = Case(
        compiled=tools[name],
        runs=(*runs, *real),
        entity_runs=tuple(run for run in with_entities if run.world == "many"),
    )
    refusal = refusal_of(case)
    if refusal is None:
        return Verdict(
            tool=name,
            admitted=True,
            reason="admitted",
            explanation=f"it did what it declares in {len(case.runs)} runs",
            notes=(
                *notes_of(case),
                *(f"the input {item} changed nothing in the trials" for item in unread_inputs(tools, name, texts)),
            ),
            runs=case.runs,
        )
    return Verdict(
        tool=name,
        admitted=False,
        reason=refusal.reason,
        explanation=refusal.explanation,
        suggestion=refusal.suggestion,
        notes=notes_of(case),
        runs=case.runs,
    )


def _runs(
    tools: Mapping[str, CompiledTool], name: str, texts: Sequence[str], turns: Sequence[int]
) -> tuple[TrialRun, ...]:
    return tuple(tried(tools, name, trial) for trial in schema_trials(tools[name].tool, texts=texts, turns=turns))


def _refuse_callers(tools: Mapping[str, CompiledTool], verdicts: dict[str, Verdict]) -> None:
    """A tool that calls a refused one could not run without it."""
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
