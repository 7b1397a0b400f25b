"""Pass 6: advice that stops nothing. A tool may be correct and still not worth exposing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tool_induction.compiler.frozen import frozen_form
from tool_induction.language.diagnostics import Findings
from tool_induction.language.model import Call, Tool, walk_steps
from tool_induction.language.types import RecordType, plain
from world_api.core.canonical import canonical

MAX_INPUTS = 6
MIN_DESCRIPTION_WORDS = 6
#: identifiers only an earlier call can give
_ID_INPUTS = ("entity_id", "segment_id", "scene_id", "memory_id", "event_ids")


def lint(tool: Tool, findings: Findings) -> None:
    """Note what makes one tool less useful than it could be."""
    calls = [step for step in walk_steps(tool.steps) if isinstance(step, Call)]
    if len(calls) == 1 and calls[0].loop is None and len(tool.steps) == 1:
        findings.add(
            "L_WRAPPER",
            (*tool.path, "steps"),
            f"the tool only wraps {calls[0].target}; the caller can call that itself",
            found=calls[0].target,
        )
    if len(tool.inputs) > MAX_INPUTS:
        findings.add(
            "L_TOO_MANY_INPUTS",
            (*tool.path, "inputs"),
            f"{len(tool.inputs)} inputs are more than a caller fills in well",
            found=str(len(tool.inputs)),
            expected=f"at most {MAX_INPUTS}",
            suggestion="write into the steps what a question does not say",
        )
    for item in tool.inputs:
        if item.name in _ID_INPUTS:
            findings.add(
                "L_UNKNOWABLE_ID",
                item.path,
                f"a caller that has only the question does not know a {item.name}",
                found=item.name,
                suggestion="take a description instead and look the id up",
            )
    if not any(_carries_evidence(tool, index) for index in range(len(tool.outputs))):
        findings.add(
            "L_NO_EVIDENCE",
            (*tool.path, "outputs"),
            "no output is a time or evidence, so the answer cannot be looked at again",
            suggestion='add an output such as "start_time": "Time", or evidence from collect_evidence',
        )
    if len(tool.description.split()) < MIN_DESCRIPTION_WORDS and len(tool.description) < 20:
        findings.add(
            "L_DESCRIPTION",
            (*tool.path, "description"),
            "the description does not say what the tool is for, and when not to use it",
            found=tool.description,
        )


def _carries_evidence(tool: Tool, index: int) -> bool:
    output = tool.outputs[index]
    if "evidence" in output.name or "time" in output.name:
        return True
    type_ = plain(output.type)
    item = plain(getattr(type_, "item", type_))
    return isinstance(item, RecordType) and bool({"start_time", "evidence", "timestamp"} & set(item.keys))


def lint_library(tools: Mapping[str, Tool], findings: Mapping[str, Findings]) -> None:
    """Note tools that do what another one of the library does."""
    seen: dict[str, str] = {}
    for name, tool in tools.items():
        plan = canonical(_plan(tool))
        if plan in seen:
            findings[name].add(
                "L_DUPLICATE", (*tool.path, "steps"), f"these are the steps of {seen[plan]!r}", found=seen[plan]
            )
        seen.setdefault(plan, name)


def _plan(tool: Tool) -> Any:
    return frozen_form(replace(tool, name="tool", description=""))["steps"]
