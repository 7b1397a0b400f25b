"""How an episode opens: calls that the system makes itself, and the first message with what they brought.

What was found stands in the message as ``data_from_video``, like any result. A result names pictures by their hash
(``{"frames": [{"time", "picture": "sha256:..."}]}``); the record keeps the names, a request carries the pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from controller.conversation.opening import FirstCall
from controller.conversation.replies import ToolCall
from world_api.backends.chat.prompts import DATA, data_line
from world_api.core.canonical import json_line
from world_api.core.faults import BackendFault, EpisodeFault

PICTURE = "sha256:"
#: The ``data:`` address of a picture that is named by its hash.
Pictures = Callable[[str], str]


def no_pictures(name: str) -> str:
    """Where no result has pictures.

    Raises:
        EpisodeFault: ``no_such_picture``.
    """
    raise EpisodeFault("no_such_picture", f"there is no picture {name[:80]}")


class PictureBook:
    """Puts pictures where messages name them; each is asked for once."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._addresses: dict[str, str] = {}

    def put_into(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The messages as they are sent."""
        return [self._message(dict(message)) for message in messages]

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        content = message.get("content")
        if message.get("role") != "user" or not isinstance(content, list):
            return message
        return {**message, "content": [self._part(part) for part in content]}

    def _part(self, part: dict[str, Any]) -> dict[str, Any]:
        if part.get("type") != "image_url":
            return part
        name = part["image_url"]["url"]
        if name not in self._addresses:
            self._addresses[name] = self._pictures(name)
        return {**part, "image_url": {**part["image_url"], "url": self._addresses[name]}}


def first_call(number: int, first: FirstCall) -> ToolCall:
    """A system's own call as a call of the conversation."""
    return ToolCall(
        id=f"first_{number + 1}", tool=first.tool, arguments=first.arguments, written=json_line(first.arguments)
    )


def refuse_failed(first: FirstCall, result: Mapping[str, Any]) -> None:
    """End an episode whose system could not do what it rests on.

    Raises:
        BackendFault: the fault of the call.
    """
    error = result.get("error")
    if first.needed and isinstance(error, Mapping):
        raise BackendFault(str(error.get("code")), str(error.get("message")), hint=str(error.get("hint", "")))


def first_message(question: str, gathered: Sequence[tuple[str, Mapping[str, Any]]]) -> str | list[dict[str, Any]]:
    """The content of the first message: the question, what was found as data, and the pictures that it names."""
    lines = [data_line({"found_by": tool, DATA: result}) for tool, result in gathered]
    text = "\n\n".join([question, *lines])
    pictures = [part for _, result in gathered for part in _pictures_in(result)]
    return [{"type": "text", "text": text}, *pictures] if pictures else text


def _pictures_in(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for frame in result.get("frames", ()):
        if not str(frame.get("picture")).startswith(PICTURE):
            continue
        yield {"type": "text", "text": f"{frame['time']} s"}
        yield {"type": "image_url", "image_url": {"url": frame["picture"]}}
