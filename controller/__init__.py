"""Phase 2: a frozen chat model answers questions about a video by calling tools.

``build_system`` makes one of the systems that are compared; each answers a ``Question`` on a session and gives back an ``Episode``.
``answer_recorded`` stores one in a ``Journal``, ``replay_recorded`` runs it again offline. The public surface is what ``__all__``
names; it loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller.accounts import Accounts, accounts_of
    from controller.episode import Episode, episode_from_record
    from controller.episode_budget import Budget
    from controller.episode_tools import AtomicTools, CombinedTools, OneVideo, Toolset
    from controller.prompts import FirstCall, Preamble
    from controller.questions import Question
    from controller.records import Answered, Journal, Unanswered, answer_many, answer_recorded, replay_recorded
    from controller.systems import (
        LoopSystem,
        OwnCalls,
        Setup,
        System,
        SystemContext,
        build_system,
        flat,
        hier,
        system_names,
    )

_MODULES = {
    "accounts": "Accounts accounts_of",
    "episode_budget": "Budget",
    "episode": "Episode episode_from_record",
    "prompts": "FirstCall Preamble",
    "questions": "Question",
    "records": "Answered Journal Unanswered answer_many answer_recorded replay_recorded",
    "systems": "LoopSystem OwnCalls Setup System SystemContext build_system flat hier system_names",
    "episode_tools": "AtomicTools CombinedTools OneVideo Toolset",
}
_HOMES = {name: f"controller.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Accounts", "Answered", "AtomicTools", "Budget", "CombinedTools", "Episode", "FirstCall", "Journal", "LoopSystem",
    "OneVideo", "OwnCalls", "Preamble", "Question", "Setup", "System", "SystemContext", "Toolset", "Unanswered",
    "accounts_of", "answer_many", "answer_recorded", "build_system", "episode_from_record", "flat", "hier",
    "replay_recorded", "system_names",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'controller' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
