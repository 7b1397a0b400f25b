"""The log of an induction: every emission as it came, and what was made of it, a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tool_induction.inducing.drafts import Slot, Version
from tool_induction.inducing.rounds import Induction, Round

SCHEMA_VERSION = 1


def log_lines(induction: Induction) -> Iterator[dict[str, Any]]:
    """One record an emission, in order; the last one says how each tool stands in the end."""
    for item in induction.rounds:
        yield {"schema_version": SCHEMA_VERSION, **_emission(item)}
    yield {
        "schema_version": SCHEMA_VERSION,
        "ending": induction.ending,
        "yields": induction.yields(),
        "tools": [tool_record(slot) for slot in induction.draft.slots],
        "retired": [tool_record(slot) for slot in induction.draft.retired],
    }


def tool_record(slot: Slot) -> dict[str, Any]:
    """How a tool stands in the end, and through which versions it came."""
    current = slot.current
    return {
        "slot": slot.number,
        "tool": slot.name,
        "standing": current.standing,
        "reason": current.reason(),
        "faults": [item.line() for item in current.faults()],
        "from_round": current.round,
        "versions": [_version(version) for version in slot.versions],
        "verdict": None if current.verdict is None else current.verdict.record(),
    }


def _version(version: Version) -> dict[str, Any]:
    return {
        "round": version.round,
        "standing": version.standing,
        "reason": version.reason(),
        "diagnostics": [item.record() for item in version.diagnostics],
    }


def _emission(item: Round) -> dict[str, Any]:
    answer = item.answer
    return {
        "round": item.number,
        "kind": item.kind,
        "asked_for": list(item.asked_for),
        "request_hash": None if answer is None else answer.request_hash,
        "mode": None if answer is None else answer.mode,
        "finish_reason": None if answer is None else answer.finish_reason,
        "raw": item.text,
        "parsed": [
            {
                "tool": tool.name,
                "slot": slot,
                "start": tool.start,
                "end": tool.end,
                "fault": tool.fault,
                "cut_off": tool.cut_off,
            }
            for tool, slot in zip(item.written.tools, item.slots, strict=True)
        ],
        "left_out": [
            {"start": part.start, "end": part.end, "why": part.why, "tools": list(part.tools), "text": part.text}
            for part in item.written.left_out
        ],
        "notes": [note.record() for note in item.notes],
        "standings": item.standings,
        "usage": None if answer is None else answer.usage.record(),
        "seconds": None if answer is None else answer.seconds,
    }
