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
    from controller.budgets import Budget
    from controller.episode import Episode, episode_from_record
    from controller.prompts import FirstCall, Preamble
    from controller.questions import Question
    from controller.records.journal import Journal
    from controller.records.recorder import Answered, Unanswered, answer_many, answer_recorded
    from controller.records.replay import replay_recorded
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
    from controller.toolsets import AtomicTools, CombinedTools, OneVideo, Toolset

_HOMES = {
    "Accounts": "controller.accounts",
    "accounts_of": "controller.accounts",
    "Answered": "controller.records.recorder",
    "Unanswered": "controller.records.recorder",
    "answer_many": "controller.records.recorder",
    "AtomicTools": "controller.toolsets",
    "Budget": "controller.budgets",
    "CombinedTools": "controller.toolsets",
    "Episode": "controller.episode",
    "FirstCall": "controller.prompts",
    "Journal": "controller.records.journal",
    "LoopSystem": "controller.systems",
    "OneVideo": "controller.toolsets",
    "Preamble": "controller.prompts",
    "OwnCalls": "controller.systems",
    "Question": "controller.questions",
    "Setup": "controller.systems",
    "System": "controller.systems",
    "SystemContext": "controller.systems",
    "Toolset": "controller.toolsets",
    "answer_recorded": "controller.records.recorder",
    "build_system": "controller.systems",
    "episode_from_record": "controller.episode",
    "flat": "controller.systems",
    "hier": "controller.systems",
    "replay_recorded": "controller.records.replay",
    "system_names": "controller.systems",
}

__all__ = [
    "Accounts",
    "Answered",
    "AtomicTools",
    "Budget",
    "CombinedTools",
    "Episode",
    "FirstCall",
    "Journal",
    "LoopSystem",
    "OneVideo",
    "OwnCalls",
    "Preamble",
    "Question",
    "Setup",
    "System",
    "SystemContext",
    "Toolset",
    "Unanswered",
    "accounts_of",
    "answer_many",
    "answer_recorded",
    "build_system",
    "episode_from_record",
    "flat",
    "hier",
    "replay_recorded",
    "system_names",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'controller' has no attribute {name!r}")
    return getattr(import_module(home), name)
