"""Pass 6a: advice that stops nothing. A tool may be correct and still not worth exposing."""

from __future__ import annotations

from tool_induction.advice.likeness import lint_wrapper
from tool_induction.language.diagnostics import Findings
from tool_induction.language.model import Call, Tool, walk_steps
from tool_induction.language.syntax import Name
from tool_induction.language.types import TIME, ListType, RecordType, plain

MAX_INPUTS = 6
MIN_DESCRIPTION_WORDS = 6


def lint(tool: Tool, findings: Findings) -> None:
    """Note what makes one tool less useful than it could be."""
    lint_wrapper(tool, findings)
    if len(tool.inputs) > MAX_INPUTS:
        findings.add(
            "L_TOO_MANY_INPUTS",
            (*tool.path, "inputs"),
            f"{len(tool.inputs)} inputs are more than a caller fills in well",
            found=str(len(tool.inputs)),
            expected=f"at most {MAX_INPUTS}",
            suggestion="write into the steps what a question does not say",
        )
    unknowable = _unknowable(tool)
    for item in tool.inputs:
        if item.name in unknowable:
            findings.add(
                "L_UNKNOWABLE_ID",
                item.path,
                f"a caller that has only the question does not know a {unknowable[item.name]}",
                found=item.name,
                suggestion="take a description instead and look the id up",
            )
    if not any(_carries_evidence(tool, index) for index in range(len(tool.outputs))):
        findings.add(
            "L_NO_EVIDENCE",
            (*tool.path, "outputs"),
            "no output is a time or evidence, so the answer cannot be looked at again",
            suggestion="add an output bound to a time of what was found, or to evidence from collect_evidence",
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
    item = plain(type_.item) if isinstance(type_, ListType) else type_
    if item == TIME:
        return True
    return isinstance(item, RecordType) and bool({"start_time", "evidence", "timestamp"} & set(item.keys))


def _unknowable(tool: Tool) -> dict[str, str]:
    """Inputs that only an earlier call could give: called an id, or handed on as one."""
    found = {item.name: item.name for item in tool.inputs if _is_id(item.name)}
    for step in walk_steps(tool.steps):
        for name, value in step.params if isinstance(step, Call) and step.kind == "api" else ():
            if _is_id(name) and isinstance(value, Name):
                found.setdefault(value.name, name)
    return found


def _is_id(name: str) -> bool:
    return name.endswith(("_id", "_ids")) and name != "video_id"
