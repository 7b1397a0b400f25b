"""What a tool has to say: outputs shaped for a language model, a summary line, evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tool_induction.aggregates.items import evidence_of
from tool_induction.language.canonical import canonical_json
from tool_induction.language.evaluation import Json, as_text, evaluate
from tool_induction.language.model import Output, Tool, binds, values, walk_steps
from tool_induction.language.syntax import Expr, Field, Index, Name, names, walk
from tool_induction.language.types import INT, STRING, TIME, ListType, plain
from tool_induction.runtime.inheriting import completed
from world_api.core.faults import ToolFault, VideoWorldError

_SUMMARY = 200
_HIDDEN = ("parent", "evidence")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run of one tool ended: at a ``require`` (``stopped``), by a ``fault``, or at its end."""

    status: str
    reason: str
    summary: str
    outputs: dict[str, Json]
    evidence: list[Json]
    fault: VideoWorldError | None = None
    stopped: bool = False


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
    evidence = _evidence(tool, scope, status)
    summary = _summary(tool, outputs, status, reason)
    return Outcome(
        status=status, reason=reason, summary=summary, outputs=outputs, evidence=evidence, fault=_kept(fault, status)
    )


def _kept(fault: VideoWorldError | None, status: str) -> VideoWorldError | None:
    return fault if status in ("error", "partial") else None


def _value(output: Output, scope: Mapping[str, Json]) -> Json:
    source = output.source
    if source is None or not names(source) <= set(scope):
        return None
    value = completed(evaluate(source, scope), output.type)
    wanted = plain(output.type)
    if wanted == STRING and not isinstance(value, str | None):
        return text_of(value)
    if wanted == INT and isinstance(value, float):
        if not value.is_integer():
            raise ToolFault("bad_output", f"the output {output.name!r} is {value}, not a whole number")
        return int(value)
    return value


def text_of(value: Json) -> str:
    """A list or record as readable text."""
    if isinstance(value, list):
        return "; ".join(text_of(item) for item in value)
    if isinstance(value, dict):
        if "frame_time" in value and "source" in value:
            sure = value.get("confidence")
            tail = "" if sure is None else f", confidence {as_text(sure)}"
            return f"{as_text(value.get('start_time'))}-{as_text(value.get('end_time'))} s ({value['source']}{tail})"
        return ", ".join(
            f"{key} {text_of(item)}" for key, item in value.items() if key not in _HIDDEN and item is not None
        )
    return as_text(value)


def _evidence(tool: Tool, scope: Mapping[str, Json], status: str) -> list[Json]:
    """The evidence of what the outputs are made of; where that carries none, of what it was made from in turn."""
    if status in ("empty", "error"):
        return []
    made_by = {name: step for step in walk_steps(tool.steps) for name in binds(step)}
    found: list[Json] = []
    level: set[str] = set()
    for output in tool.outputs:
        if output.source is not None:
            found.extend(piece for part in _paths(output.source) for piece in _evidence_at(part, scope))
            level |= names(output.source)
    seen: set[str] = set()
    while level and not found:
        seen |= level
        level = {name for made in level & made_by.keys() for _, value in values(made_by[made]) for name in names(value)}
        level = level - seen & scope.keys()
        found = [piece for name in sorted(level) for piece in evidence_of([scope[name]])]
    return evidence_of(found)


def _evidence_at(part: Expr, scope: Mapping[str, Json]) -> list[Json]:
    if not names(part) <= set(scope):
        return []
    try:
        return evidence_of([evaluate(part, scope)])
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


def presented(value: Json, output: Output, *, most_items: int, most_characters: int, notes: list[str]) -> Json:
    """An output as a model sees it: rounded, without bookkeeping, no longer than allowed."""
    value = _rounded(value, keep_evidence=isinstance(plain(output.type), ListType) and "evidence" in output.name)
    if isinstance(value, list) and len(value) > most_items:
        notes.append(f"{output.name}: {most_items} of {len(value)} entries are shown")
        return value[:most_items]
    if isinstance(value, str) and len(value) > most_characters:
        notes.append(f"{output.name}: {most_characters} of {len(value)} characters are shown")
        return value[:most_characters]
    return value


def _rounded(value: Json, *, keep_evidence: bool) -> Json:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, list):
        return [_rounded(item, keep_evidence=keep_evidence) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item, keep_evidence=keep_evidence) for key, item in value.items() if key not in _HIDDEN}
    return value


def cited(evidence: list[Json], most: int) -> list[Json]:
    """The evidence that is shown: each stretch and source once, the first ``most``."""
    kept: dict[str, Json] = {}
    for piece in evidence:
        if isinstance(piece, dict):
            where = canonical_json([piece.get(key) for key in ("video_id", "start_time", "end_time", "source")])
            kept.setdefault(where, piece)
    return list(kept.values())[:most]
