"""Records of episodes that have no end: as they begin, and as their exchanges and calls show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controller.episode import CallRecord, Episode, FaultRecord, RoundRecord, Task
from controller.systems.base import SystemContext
from world_api.chat.messages import from_cache
from world_api.chat.prompts import PromptHashes
from world_api.chat.recording import Exchange
from world_api.chat.usage import usage_of
from world_api.core.canonical import content_hash
from world_api.core.faults import VideoWorldError

NOT_FINISHED = FaultRecord(
    code="not_finished",
    message="the episode has no end: it still runs, or its process died",
    hint="ask the question again if it does not run any more",
)
_INTERRUPTED = FaultRecord(code="interrupted", message="the episode was interrupted", hint="ask again")


def begun(task: Task, context: SystemContext, prompts: PromptHashes) -> Episode:
    """An episode at its beginning."""
    price = context.prices.of(context.model.name)
    return Episode(
        task=task,
        model=context.model.name,
        prompt_hash=content_hash(prompts),
        language=context.language,
        tools=[],
        tools_hash=content_hash([]),
        budget=context.budget,
        prices={context.model.name: price} if price is not None else {},
        outcome="failed",
        reason=NOT_FINISHED.code,
        fault=NOT_FINISHED,
    )


def broken_off(
    beginning: Episode,
    context: SystemContext,
    *,
    exchanges: Sequence[Exchange],
    calls: Sequence[CallRecord],
    failure: VideoWorldError | KeyboardInterrupt,
) -> Episode:
    """What its exchanges and calls tell of an episode that was broken off: the talk, what was made, and its price."""
    fault = _INTERRUPTED if isinstance(failure, KeyboardInterrupt) else FaultRecord.of(failure)
    prices_of_calls = {item.model: context.prices.of(item.model) for call in calls for item in call.spent}
    prices = beginning.prices | {model: price for model, price in prices_of_calls.items() if price is not None}
    ended = replace(beginning, prices=dict(sorted(prices.items())), calls=list(calls), reason=fault.code, fault=fault)
    return with_rounds(ended, exchanges)


def with_rounds(episode: Episode, exchanges: Sequence[Exchange]) -> Episode:
    """The episode with the rounds that its exchanges tell of."""
    tools: list[dict[str, Any]] = next(
        (exchange.request["tools"] for exchange in exchanges if "tools" in exchange.request), []
    )
    rounds = [
        RoundRecord(
            number=number,
            tools_offered="tools" in request,
            usage=usage_of(request, reply),
            finish_reason=None,
            problems=[],
            physical=not from_cache(reply),
        )
        for number, (request, reply) in enumerate(
            ((item.request, item.reply) for item in exchanges if item.reply is not None), start=1
        )
    ]
    messages = exchanges[-1].request.get("messages", []) if exchanges else []
    return replace(episode, tools=tools, tools_hash=content_hash(tools), messages=messages, rounds=rounds)
