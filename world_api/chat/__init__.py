"""Chat models behind the protocol ``world_api.core.ports.ChatModel``.

``models`` returns a model by its name: on any OpenAI-compatible endpoint, over one of two APIs (``wires``), or the
rule-based one, which needs no server. ``transport`` sends requests with retries within a deadline. ``recording``
records, replays and caches exchanges. ``capabilities`` tests what an endpoint supports. ``messages`` reads
and builds messages and prompts, and counts tokens and money. Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.chat.capabilities import (
        CHECKS,
        Capabilities,
        Check,
        capabilities_of,
        keep_finding,
    )
    from world_api.chat.json_wire import JsonCalls
    from world_api.chat.messages import (
        DATA,
        IMAGE_TOKENS,
        LOW_DETAIL_IMAGE_TOKENS,
        MAX_RESULT_CHARACTERS,
        Call,
        Page,
        Price,
        Prices,
        ResultPages,
        Usage,
        completion,
        data_line,
        estimate_tokens,
        first_page,
        from_cache,
        usage_of,
    )
    from world_api.chat.models import OpenAIChatModel, chat_model, endpoint_model, images_and_window
    from world_api.chat.recording import (
        CachingChatModel,
        Exchange,
        RecordingChatModel,
        RecordingClock,
        ReplayChatModel,
        append_line,
        read_exchanges,
        read_lines,
    )
    from world_api.chat.rule_based import RuleBasedChatModel
    from world_api.chat.transport import Endpoint, NotAReply
    from world_api.chat.wires import ChatCompletionsWire, ChatWire, ResponsesWire, wire_named

__getattr__, __dir__, __all__ = lazy_names(__name__)
