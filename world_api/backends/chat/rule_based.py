"""A small deterministic chat model that needs no endpoint.

It reads the question by rules (English or Chinese) and acts only through the tools in the request, like any other
model behind the port. It is there to try the whole chain out; what it answers is no result, and it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from world_api.backends.chat.completions import Call, completion
from world_api.backends.chat.rules.asked import Asked, read_asked, text_of
from world_api.backends.chat.rules.plans import Conclusion
from world_api.backends.chat.rules.results import read_result
from world_api.backends.chat.rules.tools import KNOWN, Facts, OfferedTool, fitting_call, offered_tools
from world_api.backends.chat.rules.typed import typed_plan, words_of
from world_api.core.lexicon import words

RULE_BASED = "rule-based"
_ANSWER_TOOL = "submit_answer"
_NOTHING: Mapping[str, Any] = {}
#: Under which keys a system gives what it gathered.
_MATERIAL = ("captions", "lines")


@dataclass(frozen=True, kw_only=True)
class _Done:
    """A call of this conversation and what came back."""

    tool: str
    result: Mapping[str, Any]


class RuleBasedChatModel:
    """Plans by rules. It keeps nothing between requests: each reply follows from the messages and the tools alone."""

    def __init__(self) -> None:
        self.name = RULE_BASED

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next calls of the plan, or its conclusion; in words where ``submit_answer`` is not on offer."""
        messages = [item for item in request.get("messages") or () if isinstance(item, Mapping)]
        tools = offered_tools(request)
        done = [*_material(messages), *_calls_made(messages)]
        asked = read_asked(messages, _answer_schema(tools))
        step = _next_step(asked, tools, done)
        if isinstance(step, Conclusion):
            return _conclude(step, asked, tools, number=len(done) + 1)
        return _reply(calls=[replace(call, id=f"call_{len(done) + place}") for place, call in enumerate(step, start=1)])


def _answer_schema(tools: Mapping[str, OfferedTool]) -> Mapping[str, Any] | None:
    """The schema of the answer, where one can be submitted."""
    tool = tools.get(_ANSWER_TOOL)
    properties = tool.parameters.get("properties") if tool is not None else None
    schema = properties.get("answer") if isinstance(properties, Mapping) else None
    return schema if isinstance(schema, Mapping) else None


def _next_step(asked: Asked, tools: Mapping[str, OfferedTool], done: list[_Done]) -> list[Call] | Conclusion:
    """Run the plan from its start: calls already made are answered from the conversation, the next ones are the step.

    What is not on offer is answered with nothing, so that the plan goes on without it.
    """
    plan = typed_plan(asked, partial(_library_call, tools=tools, done=done))
    made = list(done)
    answered: list[Mapping[str, Any]] | None = None
    while True:
        try:
            calls = next(plan) if answered is None else plan.send(answered)
        except StopIteration as end:
            conclusion: Conclusion = end.value
            return conclusion
        earlier = [_take(made, call.tool) for call in calls]
        wanted = [call for call, item in zip(calls, earlier, strict=True) if item is None and call.tool in tools]
        if wanted:
            return wanted
        answered = [item.result if item is not None else {} for item in earlier]


def _take(made: list[_Done], tool: str) -> _Done | None:
    """The first call of a tool that is not yet accounted for."""
    found = next((item for item in made if item.tool == tool), None)
    if found is not None:
        made.remove(found)
    return found


def _library_call(facts: Facts, *, tools: Mapping[str, OfferedTool], done: list[_Done]) -> Call | None:
    """The call of a tool beyond the known ones that fits; where none is on offer any more, the one that was made."""
    fitting = fitting_call(list(tools.values()), facts)
    used = next((item.tool for item in done if item.tool not in KNOWN), None)
    return fitting if fitting is not None or used is None else Call(tool=used, arguments={})


def _calls_made(messages: list[Mapping[str, Any]]) -> list[_Done]:
    """The calls of the conversation with their results, in order."""
    contents = {item.get("tool_call_id"): item.get("content") for item in messages if item.get("role") == "tool"}
    done = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            name = str(call.get("function", {}).get("name"))
            done.append(_Done(tool=name, result=read_result(contents.get(call.get("id")))))
    return done


def _material(messages: list[Mapping[str, Any]]) -> list[_Done]:
    """What the question came with, as if it had been searched for: captions and lines of speech, the fitting ones first."""
    first = next((text for item in messages if item.get("role") == "user" and (text := text_of(item))), "")
    given = [line.startswith("{") for line in first.splitlines()]
    wanted = {word for line, data in zip(first.splitlines(), given, strict=True) if not data for word in words(line)}
    found = [read_result(line) for line, data in zip(first.splitlines(), given, strict=True) if data]
    told = [
        item for result in found for key in _MATERIAL for item in result.get(key) or () if isinstance(item, Mapping)
    ]
    hits = [{**item, "snippet": str(item.get("caption") or item.get("text"))} for item in told]
    hits.sort(key=lambda hit: -len(wanted & set(words(hit["snippet"]))))
    return [_Done(tool="search_segments_by_text", result={"candidates": hits})] if hits else []


def _conclude(conclusion: Conclusion, asked: Asked, tools: Mapping[str, OfferedTool], *, number: int) -> dict[str, Any]:
    is_open = asked.kind == "open"
    if _ANSWER_TOOL not in tools:
        return _reply(content=conclusion.text if is_open else words_of(conclusion.value))
    answer = conclusion.text if is_open else conclusion.value
    spans = [{"start_time": span.start, "end_time": span.end} for span in conclusion.spans]
    return _reply(calls=[Call(tool=_ANSWER_TOOL, arguments={"answer": answer, "spans": spans}, id=f"call_{number}")])


def _reply(*, content: str | None = None, calls: list[Call] | None = None) -> dict[str, Any]:
    return completion(model=RULE_BASED, content=content, calls=calls or (), usage=(0, 0))
