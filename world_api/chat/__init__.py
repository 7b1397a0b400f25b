"""The one chat model behind ``world_api.core.ports.ChatModel``.

``models`` gives a model by name: any OpenAI-compatible endpoint over one of two ``wires``, or the rule-based one that needs no server.
``transport`` sends requests with retries within a deadline. ``recording`` records, replays and caches exchanges.
``capabilities`` finds out what an endpoint supports. ``messages`` and ``prompts`` build and read messages, ``usage`` counts tokens and
money. Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.chat.capabilities import CHECKS as CHECKS
    from world_api.chat.capabilities import Capabilities as Capabilities
    from world_api.chat.capabilities import Check as Check
    from world_api.chat.capabilities import cache_folder as cache_folder
    from world_api.chat.capabilities import capabilities_of as capabilities_of
    from world_api.chat.capabilities import keep_finding as keep_finding
    from world_api.chat.capabilities import read_finding as read_finding
    from world_api.chat.messages import CARRIED as CARRIED
    from world_api.chat.messages import Call as Call
    from world_api.chat.messages import OptionalSettings as OptionalSettings
    from world_api.chat.messages import call_position as call_position
    from world_api.chat.messages import checked_reply as checked_reply
    from world_api.chat.messages import completion as completion
    from world_api.chat.messages import first_choice as first_choice
    from world_api.chat.messages import first_message as first_message
    from world_api.chat.messages import from_cache as from_cache
    from world_api.chat.messages import json_objects as json_objects
    from world_api.chat.messages import text_of as text_of
    from world_api.chat.models import OpenAIChatModel as OpenAIChatModel
    from world_api.chat.models import WireChoice as WireChoice
    from world_api.chat.models import chat_model as chat_model
    from world_api.chat.models import endpoint_model as endpoint_model
    from world_api.chat.models import takes_images as takes_images
    from world_api.chat.models import window_of as window_of
    from world_api.chat.prompts import DATA as DATA
    from world_api.chat.prompts import PromptFiles as PromptFiles
    from world_api.chat.prompts import data_line as data_line
    from world_api.chat.prompts import noting_prompts as noting_prompts
    from world_api.chat.recording import CachingChatModel as CachingChatModel
    from world_api.chat.recording import Exchange as Exchange
    from world_api.chat.recording import RecordingChatModel as RecordingChatModel
    from world_api.chat.recording import RecordingClock as RecordingClock
    from world_api.chat.recording import ReplayChatModel as ReplayChatModel
    from world_api.chat.recording import ReplayClock as ReplayClock
    from world_api.chat.recording import append_line as append_line
    from world_api.chat.recording import check_schema as check_schema
    from world_api.chat.recording import first_difference as first_difference
    from world_api.chat.recording import read_exchanges as read_exchanges
    from world_api.chat.recording import read_lines as read_lines
    from world_api.chat.rule_based import RULE_BASED as RULE_BASED
    from world_api.chat.rule_based import RuleBasedChatModel as RuleBasedChatModel
    from world_api.chat.transport import Endpoint as Endpoint
    from world_api.chat.transport import NotAReply as NotAReply
    from world_api.chat.usage import CURRENCY as CURRENCY
    from world_api.chat.usage import IMAGE_TOKENS as IMAGE_TOKENS
    from world_api.chat.usage import LOW_DETAIL_IMAGE_TOKENS as LOW_DETAIL_IMAGE_TOKENS
    from world_api.chat.usage import Price as Price
    from world_api.chat.usage import Prices as Prices
    from world_api.chat.usage import Usage as Usage
    from world_api.chat.usage import estimate_tokens as estimate_tokens
    from world_api.chat.usage import usage_of as usage_of
    from world_api.chat.wires import ChatCompletionsWire as ChatCompletionsWire
    from world_api.chat.wires import ChatWire as ChatWire
    from world_api.chat.wires import ResponsesWire as ResponsesWire
    from world_api.chat.wires import wire_named as wire_named

__getattr__, __dir__, __all__ = lazy_names(__name__)
