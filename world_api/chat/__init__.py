"""The one chat model behind ``world_api.core.ports.ChatModel``.

``models`` gives a model by name: any OpenAI-compatible endpoint over one of two ``wires``, or the rule-based one that needs no server.
``transport`` sends requests with retries within a deadline. ``recording`` records, replays and caches exchanges.
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
    "usage": "CURRENCY IMAGE_TOKENS LOW_DETAIL_IMAGE_TOKENS Price Prices Usage estimate_tokens usage_of",
    "transport": "Endpoint NotAReply",
    "wires": "ChatCompletionsWire ChatWire ResponsesWire wire_named",
    "models": "OpenAIChatModel WireChoice chat_model endpoint_model takes_images window_of",
    "capabilities": "CHECKS Capabilities Check cache_folder capabilities_of keep_finding read_finding",
    "rule_based": "RULE_BASED RuleBasedChatModel",
    "recording": (
        "CachingChatModel Exchange RecordingChatModel RecordingClock ReplayChatModel ReplayClock "
        "append_line check_schema first_difference read_exchanges read_lines"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
