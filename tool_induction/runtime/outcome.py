"""What a run found out: the values of its outputs, a summary line, evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tool_induction.aggregates.functions import evidence_of
from tool_induction.language.evaluation import Json, evaluate, weight
from tool_induction.language.model import Output, Tool, binds, values, walk_steps
from tool_induction.language.syntax import Expr, Field, Index, Name, names, walk
from tool_induction.language.types import INT, STRING, TIME, plain
from tool_induction.runtime.origins.origin import NO_CALLS, NOTHING, Calls, Origin
from tool_induction.runtime.presenting import text_of
from tool_induction.runtime.steps.inheriting import completed
from world_api.core.faults import ToolFault, VideoWorldError

_SUMMARY = 200
_LARGEST = 500_000  #: values of one output
_MOST_EVIDENCE = 1_000  #: pieces gathered before the best are chosen


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run of one tool ended: at a ``require`` (``stopped``), by a ``fault``, or at its end.

    ``cited`` is the evidence of each output by itself, with repetitions.
    """

    status: str
    reason: str
    summary: str
    outputs: dict[str, Json]
    evidence: list[Json]
    cited: Mapping[str, list[Json]]
    fault: VideoWorldError | None = None
    stopped: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A run of one tool: its outcome, where its outputs came from, and the calls behind the requirements it met."""

    outcome: Outcome
    origin: Origin = NOTHING
    held: Calls = NO_CALLS


def outcome_of(
    tool: Tool, scope: Mapping[str, Json], *, status: str, reason: str, fault: VideoWorldError | None
) -> Outcome:
    """The outcome of a run whose names stand in ``scope``; outputs that cannot be told are null."""
    inputs = {item.name for item in tool.inputs}
    outputs: dict[str, Json] = {}
    found_out = False
    for output in tool.outputs:
        try:
            value = _value(output, scope)
        except VideoWorldError as unreadable:
            value = None
            if status == "ok":
                status, reason, fault = "error", unreadable.message, unreadable
        outputs[output.name] = value
        told = output.source is not None and bool(names(output.source) - inputs)
        found_out = found_out or (told and value not in (None, [], ""))
    if status == "error" and found_out:
        status = "partial"
    cited = {} if status in ("empty", "error") else _cited(tool, scope)
    evidence = [] if status in ("empty", "error") else _evidence(tool, scope, cited)
    summary = _summary(tool, outputs, status, reason)
    return Outcome(
        status=status,
        reason=reason,
        summary=summary,
        outputs=outputs,
        evidence=evidence,
        cited=cited,
        fault=_kept(fault, status),
    )


def _kept(fault: VideoWorldError | None, status: str) -> VideoWorldError | None:
    return fault if status in ("error", "partial") else None


def _value(output: Output, scope: Mapping[str, Json]) -> Json:
    source = output.source
    if source is None or not names(source) <= set(scope):
        return None
    value = evaluate(source, scope)
    if weight(value, most=_LARGEST) > _LARGEST:
        raise ToolFault("output_too_large", f"the output {output.name!r} holds more than {_LARGEST} values")
    value = completed(value, output.type)
    wanted = plain(output.type)
    if wanted == STRING and not isinstance(value, str | None):
        return text_of(value)
    if wanted == INT and isinstance(value, float):
        if not value.is_integer():
            raise ToolFault("bad_output", f"the output {output.name!r} is {value}, not a whole number")
        return int(value)
    return value


def _cited(tool: Tool, scope: Mapping[str, Json]) -> dict[str, list[Json]]:
    """The evidence of what each output is made of."""
    at: dict[Expr, list[Json]] = {}
    cited: dict[str, list[Json]] = {}
    for output in tool.outputs:
        paths = () if output.source is None else _paths(output.source)
        for path in paths:
            if path not in at:
                at[path] = _evidence_at(path, scope)
        cited[output.name] = [piece for path in paths for piece in at[path]]
    return cited


def _evidence(tool: Tool, scope: Mapping[str, Json], cited: Mapping[str, list[Json]]) -> list[Json]:
    """The evidence of what the outputs are made of; where that carries none, of what it was made from in turn.

    An empty list, or nothing, is where that ends: what it was made from is what did not match.
    """
    found = [piece for pieces in cited.values() for piece in pieces]
    sources = [output.source for output in tool.outputs if output.source is not None]
    level = {name for source in sources for name in names(source)}
    made_by = {} if found else {name: step for step in walk_steps(tool.steps) for name in binds(step)}
    seen: set[str] = set()
    while level and not found:
        seen |= level
        level = {name for name in level if scope.get(name) not in ([], None)}
        level = {name for made in level & made_by.keys() for _, value in values(made_by[made]) for name in names(value)}
        level = level - seen & scope.keys()
        found = [piece for name in sorted(level) for piece in evidence_of([scope[name]], most=_MOST_EVIDENCE)]
    return evidence_of(found, most=_MOST_EVIDENCE)


def _evidence_at(part: Expr, scope: Mapping[str, Json]) -> list[Json]:
    if not names(part) <= set(scope):
        return []
    try:
        return evidence_of([evaluate(part, scope)], most=_MOST_EVIDENCE)
    except VideoWorldError:
        return []


def _paths(source: Expr) -> list[Expr]:
    """Every path a value reads, and every record on its way."""
    return [node for node in walk(source) if isinstance(node, Name | Field | Index)]


def _summary(tool: Tool, outputs: Mapping[str, Json], status: str, reason: str) -> str:
    """One short line that states the answer."""
    parts: list[str] = []
    for output in tool.outputs:
        value = outputs.get(output.name)
        if output.name == "evidence" or value in (None, [], ""):
            continue
        parts.append(f"{output.name}: {_short(value, output)}")
    answer = ", ".join(parts)
    if status == "ok":
        line = answer or "done"
    else:
        line = f"{status}: {reason}" if reason else status
        line = f"{line} ({answer})" if answer and status in ("partial", "budget_exhausted") else line
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 3] + "..."


def _short(value: Json, output: Output) -> str:
    if isinstance(value, list):
        return f"{len(value)} item{'s' * (len(value) != 1)}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        unit = " s" if plain(output.type) == TIME or output.name.endswith(("_time", "_seconds", "duration")) else ""
        return f"{round(value, 2):g}{unit}"
    if isinstance(value, str):
        return value if len(value) <= 80 else value[:77] + "..."
    return text_of(value)[:80]
