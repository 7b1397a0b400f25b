"""Tool calls written in the text of a reply, as servers leave them there when their parser for calls is off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from world_api.core.canonical import parse_json

#: How families of open models mark a call. In the middle of a sentence a mark alone is no call, with a tool's name it is.
_MARK = re.compile(
    r"^[^\S\n]*(?:<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_begin\|>)"
    r"|(?:<tool_call>|<function=|\[TOOL_CALLS\])\s*(?P<tool>[\w-]+)",
    re.MULTILINE,
)
_FENCE = re.compile(r"```\w*\s*\Z")
_OBJECT = re.compile(r"\{\s*\"")
_DECODER = json.JSONDecoder()
#: Texts that begin like an object and are none are read this often; each time the text so far may be counted through.
MOST_FAILURES = 200


def call_position(text: str, tools: Set[str]) -> int | None:
    """Where the first tool call in the text begins, its code fence included; None if the text holds no call.

    A call is a mark of one, a JSON object with the name of a tool and arguments, or a text that is nothing but an object with
    the name of a tool.
    """
    marks = (mark.start() for mark in _MARK.finditer(text) if mark["tool"] is None or mark["tool"] in tools)
    written = (start for start, value in json_objects(text) if _is_call(value, tools))
    found = [start for start in (next(marks, None), next(written, None)) if start is not None]
    if found:
        before = text[: min(found)]
        fence = _FENCE.search(before)
        return fence.start() if fence else len(before)
    try:
        whole = parse_json(re.sub(r"^```(?:json)?|```$", "", text.strip()).strip())
    except ValueError:
        return None
    return 0 if isinstance(whole, Mapping) and _name(whole) in tools else None


def json_objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects that stand in a text, each with its position; none inside another.

    After ``MOST_FAILURES`` beginnings that are no object, what follows is not read: a failure costs as much as the text is
    long, so that hostile text would take quadratic time.
    """
    match, failures = _OBJECT.search(text), 0
    while match is not None and failures < MOST_FAILURES:
        start = match.start()
        end = start + 1
        try:
            _, end = _DECODER.raw_decode(text, start)
            yield start, parse_json(text[start:end])
        except json.JSONDecodeError as error:
            end, failures = max(start + 1, error.pos), failures + 1
        except (ValueError, RecursionError):  # JSON, but not strictly: NaN, a number beyond a float, runaway nesting
            failures += 1
        match = _OBJECT.search(text, end)


def _is_call(value: Mapping[str, Any], tools: Set[str]) -> bool:
    inner = value.get("function")
    call = inner if isinstance(inner, Mapping) else value
    return _name(call) in tools and ("arguments" in call or "parameters" in call)


def _name(call: Mapping[str, Any]) -> str:
    name = call.get("name")
    return name if isinstance(name, str) else ""
