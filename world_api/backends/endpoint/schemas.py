"""What a reply about pictures must hold, as JSON Schema in the strict form that servers enforce."""

from __future__ import annotations

from typing import Any

from world_api.core.ports import LookTask

_TEXT: dict[str, Any] = {"type": "string"}
_SURENESS: dict[str, Any] = {"type": ["number", "null"]}

#: The field that carries the answer of each task.
ANSWER: dict[LookTask, str] = {"caption": "caption", "answer": "answer", "state": "answer", "actions": "actions"}


def reply_schema(task: LookTask) -> dict[str, Any]:
    """The schema of a reply."""
    if task == "caption":
        return _object({"caption": _TEXT, "uncertain": _TEXT})
    if task == "actions":
        action = _object({"label": _TEXT, "confidence": _SURENESS})
        return _object({"actions": {"type": "array", "items": action}, "uncertain": _TEXT})
    return _object({"answer": _TEXT, "confidence": _SURENESS, "uncertain": _TEXT})


def response_format(task: LookTask) -> dict[str, Any]:
    """The same as a chat request asks for it."""
    schema = {"name": task, "strict": True, "schema": reply_schema(task)}
    return {"type": "json_schema", "json_schema": schema}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
