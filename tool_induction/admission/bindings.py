"""What the plan of a tool binds: what its answer rests on, which inputs matter, which words of the examples it holds."""

from __future__ import annotations

from collections.abc import Sequence

from tool_induction.admission.asking import VIDEO
from tool_induction.admission.verdicts import Refusal
from tool_induction.compiler.lint import lint_entities
from tool_induction.language.diagnostics import Findings
from tool_induction.language.expressions import Const, names, walk
from tool_induction.language.model import (
    Block,
    Call,
    JudgeStep,
    Output,
    Require,
    Step,
    Tool,
    binds,
    blocks,
    values,
    walk_steps,
)
from tool_induction.language.types import BOOL, EnumType, plain


def fixed_answer(tool: Tool) -> Output | None:
    """The first output, where neither a call nor an input has a part in its value: it says the same on every video.

    A yes, or one of a few words, that is only reached when a ``require`` lets the run pass follows from that condition.
    """
    if not tool.outputs or tool.outputs[0].source is None:
        return None
    first = tool.outputs[0]
    moving = _moving(tool)
    if names(tool.outputs[0].source) & (moving | {item.name for item in tool.inputs}):
        return None
    is_word = plain(first.type) == BOOL or isinstance(plain(first.type), EnumType)
    if is_word and any(isinstance(step, Require) and names(step.condition) & moving for step in walk_steps(tool.steps)):
        return None
    return first


def _moving(tool: Tool) -> set[str]:
    """The names whose values a call, a judgement or an input has a part in."""
    found = {item.name for item in tool.inputs}

    def visit(steps: tuple[Step, ...], *, moved: bool) -> None:
        for step in steps:
            rests = moved or any(names(value) & found for _, value in values(step))
            for block in blocks(step):
                visit(block, moved=rests)
            inner = [name for block in blocks(step) for one in block for name in binds(one)]
            if (
                rests
                or isinstance(step, Call | JudgeStep)
                or (isinstance(step, Block) and any(name in found for name in inner))
            ):
                found.update(binds(step))

    visit(tool.steps, moved=False)
    return found


def entity_written_in(tool: Tool, entities: Sequence[str]) -> str:
    """A text that a step or an output holds as a constant, and in which an entity of the examples stands; or nothing.

    What people read (names, descriptions, reasons) and defaults of inputs do not count: they bind nobody.
    """
    findings = Findings()
    lint_entities(tool, entities, findings)
    for item in findings.items:
        place = item.path[len(tool.path) :]
        if place[-1:] != ("reason",) and (place[:1] == ("steps",) or (place[:1] == ("outputs",) and "from" in place)):
            return str(item.found)
    return ""


def has_fraction_written_in(tool: Tool, value: object) -> bool:
    """Whether a number that is no whole one stands in the tool itself."""
    if not isinstance(value, float) or value.is_integer():
        return False
    held = [inner for step in walk_steps(tool.steps) for _, inner in values(step)]
    held += [item.source for item in tool.outputs if item.source is not None]
    return any(isinstance(node, Const) and node.value == value for whole in held for node in walk(whole))


def ignoring(tool: Tool, unread: Sequence[str]) -> Refusal | None:
    """Whether a tool that must be told what to look for looks for the same whatever it is told."""
    wanted = [item.name for item in tool.inputs if item.required and item.name != VIDEO]
    if not wanted or not set(wanted) <= set(unread):
        return None
    return Refusal(
        reason="ignores_inputs",
        explanation=f"nothing it did depended on {', '.join(wanted)}, although each was varied on several films",
        suggestion="use what is asked for in the steps, or leave out inputs that nothing reads",
    )
