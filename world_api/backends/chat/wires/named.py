"""The wires, by name."""

from __future__ import annotations

from typing import Literal

from world_api.backends.chat.wires.chat_completions import ChatCompletionsWire
from world_api.backends.chat.wires.port import Wire
from world_api.backends.chat.wires.responses import ResponsesWire

WireName = Literal["chat", "responses"]


def wire_named(name: WireName) -> Wire:
    """A wire for one model on one endpoint; it learns what its server refuses."""
    return ChatCompletionsWire() if name == "chat" else ResponsesWire()
