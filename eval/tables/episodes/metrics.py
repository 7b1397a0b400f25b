"""The figures of one episode.

*Calls* are those that the model made and that ran; what a system does by itself before the first round, and the submission of
the answer, are none. *Malformed* counts the slips of replies and calls, but for calls that were well formed and only made
before. *Empty* counts calls that ran and found nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from controller.accounts import PARTS, Account, Part, accounts_of, total
from controller.answers import SUBMIT_ANSWER
from controller.episode import CallRecord, Episode
from controller.toolsets import JudgedItems
from eval.tables.rows import Spend, ToolUse
from tool_induction.runtime.answers.asking import listed_under
from world_api.operations import EVERY_OPERATION

_WELL_FORMED = frozenset({"asked_before"})
#: what a system may offer that is neither an operation nor a tool of a library
_OWN = frozenset({SUBMIT_ANSWER, JudgedItems.name, "compose_tool"})
#: the one text that an operation without a list is called for
_TOLD = {"describe_segment": "caption", "query_entity_state": "answer"}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is counted of an episode."""

    rounds: int
    calls: int
    inner_calls: int
    malformed: int
    empty: int
    seconds: float | None
    spend: Mapping[str, Mapping[str, Spend]]
    tools: tuple[ToolUse, ...]
    offered: tuple[str, ...]


def figures_of(episode: Episode, hashes: Mapping[str, str]) -> Figures:
    """The figures of an episode; ``hashes`` are those of the documents of its library's tools, by name."""
    made = [call for call in episode.tool_calls if call.round > 0]
    slips = episode.slips
    offered = _offered(episode)
    return Figures(
        rounds=len(episode.rounds),
        calls=len(made),
        inner_calls=sum(len(call.inner_calls) for call in made),
        malformed=sum(number for slip, number in slips.items() if slip not in _WELL_FORMED),
        empty=sum(found_nothing(call) for call in made),
        seconds=episode.timings.seconds if episode.timings is not None else None,
        spend=spend_of(episode),
        tools=_uses(made, hashes),
        offered=offered,
    )


def spend_of(episode: Episode) -> dict[str, dict[str, Spend]]:
    """Tokens and money, logical and physical, by what they went to and in all."""
    accounts = accounts_of(episode)
    return {way: _spends(held) for way, held in (("logical", accounts.logical), ("physical", accounts.physical))}


def _spends(held: Mapping[Part, Account]) -> dict[str, Spend]:
    return {**{part: _spend(held[part]) for part in PARTS}, "total": _spend(total(held))}


_NOTHING_SPENT = Spend()


def _spend(account: Account) -> Spend:
    if account == Account():
        return _NOTHING_SPENT  # most parts of most episodes: one object for all
    return Spend(
        tokens_in=account.prompt,
        tokens_out=account.completion,
        cached=account.cached,
        money=account.money,
        estimated=account.estimated,
        is_least=account.is_least,
    )


def found_nothing(call: CallRecord) -> bool:
    """Whether a call ran without a fault and came back with nothing."""
    if call.failed:
        return False
    result = call.result
    if isinstance(result.get("status"), str):  # a tool says so itself
        return bool(result["status"] == "empty")
    if call.tool not in EVERY_OPERATION:
        return False
    held = result.get(_holder(call.tool))
    return held in ([], "")


@lru_cache(maxsize=64)
def _holder(operation: str) -> str:
    """Under which key an operation gives what it is called for; ``""`` for one that always gives something."""
    return _TOLD.get(operation) or listed_under(operation) or ""


def _uses(made: Sequence[CallRecord], hashes: Mapping[str, str]) -> tuple[ToolUse, ...]:
    calls: dict[str, list[CallRecord]] = {}
    for call in made:
        calls.setdefault(call.tool, []).append(call)
    return tuple(
        ToolUse(
            name=name,
            hash=hashes.get(name),
            calls=len(own),
            failed=sum(call.failed for call in own),
            empty=sum(found_nothing(call) for call in own),
            inner_calls=sum(len(call.inner_calls) for call in own),
        )
        for name, own in sorted(calls.items())
    )


def _offered(episode: Episode) -> tuple[str, ...]:
    """The tools of a library that the model was offered."""
    names = (_name_of(tool) for tool in episode.tools)
    return tuple(name for name in names if name is not None and name not in _OWN and name not in EVERY_OPERATION)


def _name_of(tool: Mapping[str, Any]) -> str | None:
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None
