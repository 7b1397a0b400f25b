"""Toolsets: the tools that a model may call, and wrappers that combine and restrict them.

A toolset declares tools (``get_tools``) and runs calls (``call_tool``). A fault that the model can act on is returned
as ``{"error": {code, message, hint}}``; no arguments of a model make a call raise. A tool that is composed of
operations may return its inner calls under ``trace``, which is recorded and not shown to the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

from tool_induction import limits
from tool_induction.judge.judges import JUDGEMENT, Judge, chosen, item_text, question_text
from tool_induction.library_tools import ToolDeclaration
from world_api.core.canonical import closed_object
from world_api.core.faults import INTERNAL_FAULT, OperationFault, ToolFault, tool_result_or_error
from world_api.operations import EVERY_OPERATION, operations_for, run
from world_api.schemas.formats import VIDEO, lean_schema, plain_schema, without_video
from world_api.session.session import Session

TRACE = "trace"


def refused(code: str, message: str, hint: str) -> dict[str, Any]:
    """Return the result of a call that is not run: ``{"error": ...}``."""
    return {**OperationFault(code, message, hint=hint).record()}


class Toolset(Protocol):
    """Tools that can be offered and called."""

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the declarations, in the order in which they are offered."""

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run a tool. Return its result, or ``{"error": ...}`` for a fault; no fault of the call is raised."""


@dataclass(frozen=True)
class AtomicTools:
    """The operations on one session: the sixteen, and those of the optional groups that the session includes."""

    session: Session

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return one declaration per operation, first the sixteen in the published order."""
        return [
            ToolDeclaration(
                name=name,
                description=item.summary,
                parameters=plain_schema(item.parameters_schema()),
                writes=item.state == "writes",
            )
            for name, item in operations_for(self.session.groups).items()
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run an operation; its faults and internal errors are returned as ``{"error": ...}``."""
        return tool_result_or_error(lambda: run(self.session, name, arguments))


class CombinedTools:
    """Several toolsets as one, in the given order. Raises ToolFault: ``duplicate_tool``, if two offer the same name."""

    def __init__(self, toolsets: Sequence[Toolset]) -> None:
        self._owner: dict[str, Toolset] = {}
        self._tools: list[ToolDeclaration] = []
        for toolset in toolsets:
            for tool in toolset.get_tools():
                if tool.name in self._owner:
                    raise ToolFault(
                        "duplicate_tool",
                        f"two toolsets offer {tool.name!r}",
                        hint="rename the tool in its library; operations keep their names",
                    )
                self._owner[tool.name] = toolset
                self._tools.append(tool)

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the declarations of all toolsets."""
        return self._tools

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run the tool in the toolset that offers it; return the fault ``unknown_tool`` if none does."""
        owner = self._owner.get(name)
        if owner is None:
            return refused("unknown_tool", f"there is no tool {name[:64]!r}", "call one of the tools offered")
        return owner.call_tool(name, arguments)


@dataclass(frozen=True)
class OneVideo:
    """Confines a toolset to the video of the question, which calls need not name; one that names another returns a fault."""

    toolset: Toolset
    video_id: str

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the declarations of the wrapped toolset without the parameter ``video_id``."""
        return [replace(tool, parameters=without_video(tool.parameters)) for tool in self.toolset.get_tools()]

    @cached_property
    def _take_video(self) -> frozenset[str]:
        return frozenset(
            tool.name for tool in self.toolset.get_tools() if VIDEO in tool.parameters.get("properties", {})
        )

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run the call with the video filled in, or return the fault ``wrong_video`` if it names another video."""
        video_id = arguments.get(VIDEO, self.video_id)
        if video_id != self.video_id:
            what = f"the question is about {self.video_id!r}, not about {str(video_id)[:64]!r}"
            return refused("wrong_video", what, f"leave out video_id, or use {self.video_id!r}")
        given = {key: value for key, value in arguments.items() if key != VIDEO}
        if name not in self._take_video:
            return self.toolset.call_tool(name, given)
        result = self.toolset.call_tool(name, {VIDEO: video_id, **given})
        error = result.get("error")
        if not isinstance(error, Mapping) or error.get("code") != "bad_arguments":
            return result
        hint = _THE_VIDEO.sub("", str(error.get("hint", ""))).removesuffix(", ")
        return {**result, "error": {**error, "hint": "it takes no arguments" if hint.endswith(": ") else hint}}


#: The parameter ``video_id`` in the list of parameters of a fault's hint, with its type if that is stated.
_THE_VIDEO = re.compile(rf"(?<=: ){VIDEO}(?:: \w+)?\??(?:, |\Z)|, {VIDEO}(?:: \w+)?\??(?=,|\Z)")


@dataclass(frozen=True)
class JudgedItems:
    """Offers the judge as a tool, for systems without a library. The judge sees texts only."""

    name = "judge_items"
    judge: Judge

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the one declaration; its description contains the name of the judge and its price."""
        text = {"type": "string", "minLength": 1}
        properties = {
            "question": {**text, "description": "A closed question about each item."},
            "answers": {
                "type": "array",
                "items": {**text, "maxLength": limits.MAX_ANSWER_CHARACTERS},
                "minItems": limits.MIN_ANSWERS,
                "maxItems": limits.MAX_ANSWERS,
                "description": "The answers that may be given, such as yes and no.",
            },
            "items": {
                "type": "array",
                "items": text,
                "minItems": 1,
                "maxItems": limits.MAX_JUDGED_ITEMS,  # that of a judge step
                "description": "Texts to be judged, for instance captions or lines that operations gave.",
            },
        }
        description = (
            "Have a small model answer a closed question about each of some texts. It sees the texts only, not the video. "
            f"(A model call and at most {JUDGEMENT.tokens} tokens an item; judged by {self.judge.name}.)"
        )
        return [
            ToolDeclaration(name=self.name, description=description, parameters=closed_object(properties), in_turn=True)
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the items with their answers, and the cost at most; or ``{"error": ...}``."""
        return tool_result_or_error(lambda: self._judged(arguments))

    def _judged(self, arguments: dict[str, Any]) -> dict[str, Any]:
        from jsonschema import Draft202012Validator

        [declared] = self.get_tools()
        wrong = next(iter(Draft202012Validator(declared.parameters).iter_errors(arguments)), None)
        if wrong is not None:
            raise ToolFault("bad_arguments", f"{self.name}: {wrong.message[:200]}", hint="see its declaration")
        question, answers = question_text(arguments["question"]), arguments["answers"]
        texts = [item_text(item) for item in arguments["items"]]
        said = self.judge.answer(question, answers, texts)
        judged = [
            {"item": item, "answer": chosen(answer, answers, judge=self.judge.name)}
            for item, answer in zip(texts, said, strict=True)
        ]
        return {"judged": judged, "evidence": [], "cost": JUDGEMENT.times(len(judged)).record()}


def judging_tokens(result: Mapping[str, Any]) -> int:
    """Return the tokens in a result's cost: of judging, and the price of looks inside a tool; 0 without a cost (operations)."""
    cost = result.get("cost")
    tokens = cost.get("tokens") if isinstance(cost, Mapping) else None
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def split_result(result: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Split a result into its content, the calls of operations inside it, and the origins of its outputs and evidence."""
    found = {key: value for key, value in result.items() if key != TRACE}
    nodes = list(_nodes(result.get(TRACE)))
    tool = next((node for node in nodes if node.get("kind") == "tool"), {})  # the tool that was called
    origins = {key: tool[key] for key in ("outputs", "evidence") if tool.get(key)}
    calls = [node for node in nodes if node.get("kind", "call") == "call"]
    return found, [{key: value for key, value in call.items() if key != "children"} for call in calls], origins


def _nodes(trace: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the nodes of a trace: a tree whose nodes have ``kind`` and ``children``, or a list of calls."""
    for node in trace if isinstance(trace, list) else [trace]:
        if isinstance(node, Mapping):
            yield node
            yield from _nodes(node.get("children", []))


# --- exposures: which tools the requests of an episode declare, and operations called on demand -----------------------

#: all: operations and tools; tools: the library's tools only; tools-first: operations are declared once the tools did not help;
#: on-demand: operations are described and called through two fixed tools
Exposure = Literal["all", "tools", "tools-first", "on-demand"]


def exposure_named(name: Any) -> Any:
    """Return the name of an exposure as it is written today: records from before have ``tools_first``."""
    return name.replace("_", "-") if isinstance(name, str) else name


class PastCall(Protocol):
    """What decides which tools the next request declares: a call that was answered."""

    @property
    def tool(self) -> str:
        """The name of the tool."""

    @property
    def ran(self) -> bool:
        """Whether the call was executed."""

    @property
    def result(self) -> Mapping[str, Any]:
        """Its result, or the message to the model."""


#: Returns the names of the tools that the next request does not declare, given the calls so far.
Hidden = Callable[[Sequence[PastCall]], Collection[str]]

#: The status of a tool that found nothing or could not do its work.
_FRUITLESS = frozenset({"empty", "error", "budget_exhausted"})


def nothing_hidden(calls: Sequence[PastCall]) -> Collection[str]:
    """Return no names: every tool is declared in every request."""
    return ()


def operations_hidden(calls: Sequence[PastCall], *, after: int | None = None) -> Collection[str]:
    """Return the names of the operations, which are not declared until the tools did not help.

    That is so once a tool found nothing or failed, or ``after`` tools ran; never if ``after`` is None. A call that was itself wrong
    (an unknown tool, bad arguments) ran nothing, and neither judging nor an operation is a tool.
    """
    if after is None:
        return EVERY_OPERATION.keys()
    ran = 0
    for call in calls:
        error = call.result.get("error")
        # Another call would not avoid a defect. A result without a status says what was wrong with the call.
        is_defect = isinstance(error, Mapping) and error.get("code") == INTERNAL_FAULT
        if call.ran and call.tool not in _NO_TOOLS and (is_defect or "status" in call.result):
            ran += 1
            if is_defect or _is_fruitless(call.result) or ran >= after:
                return ()
    return EVERY_OPERATION.keys()


def _is_fruitless(result: Mapping[str, Any]) -> bool:
    """Whether a tool failed, found nothing, or cannot tell and shows nothing."""
    status = result.get("status")
    return status in _FRUITLESS or (status == "partial" and not result.get("evidence"))


DESCRIBE_OPERATION, CALL_OPERATION = "describe_operation", "call_operation"
_NO_TOOLS = frozenset({*EVERY_OPERATION, JudgedItems.name, DESCRIBE_OPERATION, CALL_OPERATION})


@dataclass(frozen=True)
class OperationsOnDemand:
    """Describes the operations, and lets them be called through ``call_operation``: two declarations that stay the same.

    The loop runs a call of ``call_operation`` as the call of the operation (``operation_called``); only one that names none
    comes here.
    """

    operations: Toolset

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the declarations of the two tools; the first lists the names of the operations."""
        names = {"type": "string", "enum": [tool.name for tool in self.operations.get_tools()]}
        call = closed_object({"name": {"type": "string"}, "arguments": {"type": "object"}})
        describe = "Describe a single operation: what it does, and its parameters."
        return [
            ToolDeclaration(name=DESCRIBE_OPERATION, description=describe, parameters=closed_object({"name": names})),
            ToolDeclaration(name=CALL_OPERATION, description="Call a single operation.", parameters=call),
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the declaration of an operation, or a fault."""
        declared = {tool.name: tool for tool in self.operations.get_tools()}
        tool = declared.get(str(arguments.get("name")))
        if tool is None:
            return refused("unknown_operation", "name is not that of an operation", f"one of: {', '.join(declared)}")
        if name == CALL_OPERATION:
            what = f"{tool.name} needs its arguments as an object"
            return refused("bad_arguments", what, f"send name and arguments; {DESCRIBE_OPERATION} names the parameters")
        about = EVERY_OPERATION[tool.name].description
        return {"name": tool.name, "description": about, "parameters": lean_schema(tool.parameters)}


def operation_called(
    name: str, arguments: Mapping[str, Any], known: Collection[str]
) -> tuple[str, dict[str, Any]] | None:
    """Return operation and arguments of a call of ``call_operation``; None for other calls, and if it names none of ``known``."""
    operation, given = arguments.get("name"), arguments.get("arguments")
    if name != CALL_OPERATION or not isinstance(given, dict) or operation not in EVERY_OPERATION.keys() & set(known):
        return None
    return str(operation), given
