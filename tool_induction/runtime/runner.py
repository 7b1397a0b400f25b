"""Running a tool: arguments in, one result record out; no fault inside a tool becomes an exception."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.compiler.declarations import asks_judge, inputs_schema
from tool_induction.judge.judges import Judge
from tool_induction.language.evaluation import Json
from tool_induction.language.model import Output
from tool_induction.language.types import plain, show
from tool_induction.runtime.calls import Caller, Memo, OperationCalls, WorldCalls, WorldState
from tool_induction.runtime.interpreter import Interpreter, JudgeCalls, no_judge
from tool_induction.runtime.limits import RunLimits, RunMeter, Unfit, check_json, fitted, validator_of
from tool_induction.runtime.parallel import Parallel
from tool_induction.runtime.results import ToolOutcome, cited, note_evidence, presented, surely
from tool_induction.runtime.trace import Trace
from world_api.core.canonical import canonical_json
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.core.identifiers import suggestion

_LIMITS = RunLimits()


def run_tool(
    tools: Mapping[str, CompiledTool],
    name: str,
    arguments: Mapping[str, Any],
    *,
    call: Caller,
    world: WorldState | None = None,
    memo: Memo | None = None,
    limits: RunLimits = _LIMITS,
    monotonic: Callable[[], float] = time.monotonic,
    trace: Trace | None = None,
    judge: Judge | None = None,
) -> dict[str, Any]:
    """Run one tool of a library.

    Args:
        tools: The library's tools by name.
        name: The tool to run.
        arguments: Its inputs by name; checked against the declared inputs.
        call: Calls an atomic operation; usually ``partial(world_api.operations.run, session)``. If
            ``limits.concurrency`` is above 1 several threads use it at a time, but never while an operation writes.
        world: The session; cached results are used only for the same world and the same written rows.
        memo: Cache of results; runs on the same world may share one.
        limits: Limits of the run.
        monotonic: A clock in seconds; several threads read it.
        trace: Records what was done, and where each output came from.
        judge: Answers the steps of type ``judge``.

    Returns:
        ``{status, summary, outputs, evidence, calls, cost, warnings}``; ``error`` if a fault stopped it; ``judged`` if
        queries contained words: those ``matched``, ``unmatched`` and ``not_judged``, and the intervals in which things
        were ``not_found`` or ``not_examined``; ``unsure`` if outputs rest on what is only possible or was not judged: for
        each of them ``range`` (of a number, as text), ``possible`` (how much), ``alternative`` (what it would be if what
        is possible fits), ``lacks`` (words), ``why``. Then the status is ``partial``.

    Raises:
        ToolFault: ``unknown_tool``, ``bad_arguments``, ``no_judge``: the call itself was wrong, nothing was run.
    """
    compiled = tools.get(name)
    if compiled is None:
        raise ToolFault("unknown_tool", f"there is no tool {name!r}", hint=suggestion(name, tools))
    checked = check_arguments(compiled, arguments)
    if judge is None and asks_judge(name, tools):
        raise no_judge()
    memo = Memo() if memo is None else memo
    meter = RunMeter(limits, monotonic)
    target = WorldCalls(call, world, most=limits.result_bytes)
    tracer = Trace(keep=False) if trace is None else trace
    calls = OperationCalls(target, meter, memo, tracer)
    judging = JudgeCalls(judge, memo, meter)
    interpreter = Interpreter(
        tools=tools,
        calls=calls,
        meter=meter,
        trace=tracer,
        judging=judging,
        parallel=Parallel(tools=tools, calls=calls, world=target, memo=memo, meter=meter)
        if limits.concurrency > 1
        else None,
        follow_origins=trace is not None,
    )
    outcome = interpreter.run(name, checked)
    record = _record(compiled, outcome, calls, interpreter.warnings, judging_cost=judging.cost)
    if unsure := {name: doubt.record(interpreter.judged.can_judge) for name, doubt in outcome.doubts.items()}:
        record["unsure"] = unsure
    if judged := interpreter.judged.record():
        record["judged"] = judged
    if trace is not None:
        note_evidence(trace.root.children[-1], record["evidence"], outcome.cited)
    return record


def check_arguments(compiled: CompiledTool, arguments: Mapping[str, Any]) -> dict[str, Json]:
    """Return the arguments converted to the types of the declared inputs: ``3.0`` becomes 3 for a whole number.

    Raises:
        ToolFault: ``bad_arguments``, with up to eight faults in the message.
    """
    given = dict(arguments)
    types = {item.name: item.type for item in compiled.tool.inputs}
    try:
        check_json(given)
        validator = validator_of(canonical_json(inputs_schema(compiled.tool)))
        errors = sorted(validator.iter_errors(given), key=lambda error: list(map(str, error.path)))
        if errors:
            raise Unfit("; ".join(list(dict.fromkeys(map(_explain, errors)))[:8]))
        return {name: fitted(value, types[name], place=name) for name, value in given.items()}
    except Unfit as why:
        wanted = ", ".join(
            f"{item.name}: {item.type_name}" + ("" if item.required else " (optional)") for item in compiled.tool.inputs
        )
        raise ToolFault("bad_arguments", f"{compiled.name}: {why}", hint=f"inputs: {wanted}") from None


def _explain(error: Any) -> str:
    """Explain a schema error in words; for one object, all missing keys give one text, all unknown keys another."""
    where = ".".join(map(str, error.path))
    place = f"{where}: " if where else ""
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{place}{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if error.validator == "additionalProperties":
        extra = [key for key in error.instance if key not in error.schema["properties"]]
        return f"{place}{', '.join(extra)} {'is not an input' if len(extra) == 1 else 'are not inputs'}"
    return f"{place}{str(error.message)[:200]}"


def _record(
    compiled: CompiledTool,
    outcome: ToolOutcome,
    calls: OperationCalls,
    warnings: list[str],
    *,
    judging_cost: Cost,
) -> dict[str, Any]:
    outputs = {
        output.name: presented(
            _deduplicated(surely(outcome.outputs[output.name], output, outcome.doubts.get(output.name)), output), output
        )
        for output in compiled.tool.outputs
    }
    record: dict[str, Any] = {
        "status": outcome.status,
        "summary": outcome.summary,
        "outputs": outputs,
        "evidence": cited(outcome.evidence),
        "calls": {"logical": calls.logical, "physical": calls.physical},
        "cost": (calls.cost + judging_cost).record(),
        "warnings": list(warnings),
    }
    if outcome.fault is not None:
        record |= dict(outcome.fault.record())
    return record


def _deduplicated(value: Json, output: Output) -> Json:
    """Return a list of evidence with each span and source once; any other output unchanged."""
    is_evidence = show(plain(output.type)) == "list<Evidence>"
    return cited(value) if is_evidence and isinstance(value, list) else value
