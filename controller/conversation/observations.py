"""What the model is shown of a result, and how it is told of its own slips.

Text from the video reaches the model only inside ``data_from_video``, as JSON: it can quote instructions, but it cannot
leave its field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.conversation.replies import Problem, ToolCall
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import ErrorBody, ErrorRecord

MAX_RESULT_CHARACTERS = 8_000
_SHORTEST_TEXT = 200  #: characters; texts are not cut below this
_WIDE = 16  #: entries; narrower objects are taken for records, which are not halved
_QUOTED = 300
_BOOK_KEEPING = frozenset({"calls", "cost"})  #: what an induced tool says of its own price

_SLIPS: dict[Problem, tuple[str, str]] = {
    "no_choices": ("your last reply held no choices", "reply again: call a tool or submit_answer"),
    "bad_message": ("your last reply held no message", "reply again: call a tool or submit_answer"),
    "empty_reply": ("your last reply held neither text nor a tool call", "call a tool, or submit_answer to end"),
    "call_in_text": ("your last reply wrote a tool call as text", "call the tool through tool_calls, or submit_answer"),
    "bad_call": ("this tool call names no function", "send function.name and function.arguments"),
    "arguments_not_json": ("the arguments are not JSON in a string", "send one JSON object as the arguments"),
    "arguments_not_object": ("the arguments are not a JSON object", "send one JSON object as the arguments"),
    "unknown_tool": ("there is no tool of this name", "call one of the tools offered"),
    "missing_call_id": ("the call came without an id; it ran under the id given here", "send an id with each call"),
    "duplicate_call_id": ("the call's id was used before; it ran under the id given here", "send distinct ids"),
    "repeated_call": ("the same call was sent twice under one id; it ran once", "see the first result"),
    "too_many_calls": ("too many calls in one reply; those beyond the limit did not run", "send fewer calls at once"),
    "bad_answer": ("the answer cannot be taken", "send {answer: text, spans: [{start_time, end_time}]} in seconds"),
    "second_answer": ("an answer was already given", "answer once"),
    "early_answer": ("it is too early for an answer", "do first what the instructions say comes first"),
    "call_after_answer": ("an answer was already given; this call did not run", "call what you need before you answer"),
}


def slip(problem: Problem, detail: str = "") -> ErrorRecord:
    """A slip as an observation: ``{"error": {code, message, hint}}``."""
    message, hint = _SLIPS[problem]
    return {"error": {"code": problem, "message": f"{message}: {detail}" if detail else message, "hint": hint}}


def call_slip(call: ToolCall, problem: Problem) -> ErrorRecord:
    """A slip in a call, quoting what was written."""
    quoted = {"arguments_not_json": call.written, "arguments_not_object": call.written, "unknown_tool": call.tool}
    detail = f"{quoted[problem]!r}" if problem in quoted else ""
    return slip(problem, detail if len(detail) <= _QUOTED else detail[:_QUOTED] + "...")


def budget_spent(limit: str) -> ErrorRecord:
    """The observation for a call that no longer fits the budget."""
    return {
        "error": {
            "code": "budget_spent",
            "message": f"the budget of {limit} is spent; this call did not run",
            "hint": "answer from what is known",
        }
    }


def tool_message(
    call_id: str,
    result: dict[str, Any],
    *,
    is_data: bool,
    notice: ErrorBody | None = None,
    limit: int = MAX_RESULT_CHARACTERS,
) -> dict[str, Any]:
    """The message that answers a call.

    What a tool found (``is_data``) is marked as data from the video; faults stand as they are. Beyond ``limit``
    characters the result is cut, and the message says so.
    """
    shown, cut = shorten({key: value for key, value in result.items() if key not in _BOOK_KEEPING}, limit)
    body: dict[str, Any] = {"data_from_video": shown} if is_data and set(shown) != {"error"} else dict(shown)
    if cut:
        hint = "ask for less: a narrower time_range, a smaller top_k, a more exact query"
        body["cut"] = {"note": cut, "hint": hint}
    if notice is not None:
        body["notice"] = notice
    return {"role": "tool", "tool_call_id": call_id, "content": json_line(body)}


def shorten(result: dict[str, Any], limit: int) -> tuple[dict[str, Any], str]:
    """A result that fits ``limit`` characters of JSON, and what was left out (empty when nothing was).

    The largest list or text is halved, again and again, so that the shape stays and the first entries (the best, or
    the earliest) survive. Where that is not enough, wide objects are halved too, and at last only what fits is kept.
    """
    size = len(json_line(result))
    if size <= limit:
        return result, ""
    shown: dict[str, Any] = parse_json(json_line(result))
    for weigh in (_list_or_text, _wide_object):
        while len(json_line(shown)) > limit and _halve_largest(shown, weigh):
            pass
    if len(json_line(shown)) > limit:
        shown = _what_fits(shown, limit)
    return shown, f"{len(json_line(shown))} of {size} characters are shown; long lists and texts are cut at their end"


def _what_fits(result: dict[str, Any], limit: int) -> dict[str, Any]:
    """The entries that fit, in order; of one that does not, its name if that fits."""
    shown: dict[str, Any] = {}
    left = limit - len("{}")
    for key, value in result.items():
        for kept in (value, "..."):
            length = len(json_line({key: kept})) - len("{}") + len(",")
            if length <= left:
                shown[key] = kept
                left -= length
                break
    return shown


def _halve_largest(root: dict[str, Any], weigh: Callable[[Any], int]) -> bool:
    """Halve what weighs most; False when nothing weighs anything."""
    best: tuple[int, Any, Any] | None = None
    nodes: list[Any] = [root]
    while nodes:
        node = nodes.pop()
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            weight = weigh(value)
            if weight and (best is None or weight > best[0]):
                best = (weight, node, key)
            if isinstance(value, dict | list):
                nodes.append(value)
    if best is None:
        return False
    _, holder, key = best
    value = holder[key]
    holder[key] = _first_half(value)
    return True


def _first_half(value: Any) -> Any:
    half = len(value) // 2
    if isinstance(value, dict):
        return dict(list(value.items())[:half])
    return value[:half] + "..." if isinstance(value, str) else value[:half]


def _list_or_text(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if len(value) > _SHORTEST_TEXT else 0
    if isinstance(value, list) and len(value) > 1:
        return len(json_line(value))
    return 0


def _wide_object(value: Any) -> int:
    return len(json_line(value)) if isinstance(value, dict) and len(value) > _WIDE else 0
