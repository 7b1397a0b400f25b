"""The one chat model behind ``world_api.core.ports.ChatModel``.

``models`` gives a model by name: any OpenAI-compatible endpoint over one of two ``wires``, or the rule-based one that needs no server.
``transport`` sends requests with retries within a deadline. ``recording`` records, replays, scripts and caches exchanges.
``capabilities`` finds out what an endpoint supports. ``messages`` and ``prompts`` build and read messages, ``usage`` counts tokens and
money. Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {
    "messages": (
        "Call CARRIED OptionalSettings call_position checked_reply completion first_choice first_message "
        "from_cache json_objects text_of"
    ),
    "prompts": "DATA PromptFiles data_line noting_prompts",
    "usage": "CURRENCY IMAGE_TOKENS LOW_DETAIL_IMAGE_TOKENS Price Prices Tokens Usage estimate_tokens usage_of",
    "transport": "Endpoint NotAReply",
    "wires": "ChatCompletionsWire ResponsesWire Wire wire_named",
    "models": "OpenAIChatModel WireChoice chat_model endpoint_model takes_images window_of",
    "capabilities": "CHECKS Capabilities Check cache_folder capabilities_of keep_finding read_finding",
    "rule_based": "RULE_BASED RuleBasedChatModel",
    "recording": (
        "CachingChatModel Exchange RecordingChatModel RecordingClock ReplayChatModel ReplayClock "
        "ScriptedChatModel append_line check_schema first_difference read_exchanges read_lines"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "CARRIED", "CHECKS", "CURRENCY", "DATA", "IMAGE_TOKENS", "LOW_DETAIL_IMAGE_TOKENS", "RULE_BASED",
    "CachingChatModel", "Call", "Capabilities", "ChatCompletionsWire", "Check", "Endpoint", "Exchange", "NotAReply",
    "OpenAIChatModel", "OptionalSettings", "Price", "Prices", "PromptFiles", "RecordingChatModel", "RecordingClock",
    "ReplayChatModel", "ReplayClock", "ResponsesWire", "RuleBasedChatModel", "ScriptedChatModel", "Tokens", "Usage",
    "Wire", "WireChoice", "append_line", "cache_folder", "call_position", "capabilities_of", "chat_model",
    "check_schema", "checked_reply", "completion", "data_line", "endpoint_model", "estimate_tokens", "first_choice",
    "first_difference", "first_message", "from_cache", "json_objects", "keep_finding", "noting_prompts",
    "read_exchanges", "read_finding", "read_lines", "takes_images", "text_of", "usage_of", "window_of",
    "wire_named",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
