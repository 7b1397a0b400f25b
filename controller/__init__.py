"""Phase 2: a frozen chat model answers questions about a video by calling tools.

``flat`` and ``hier`` are the systems that are compared; each runs the loop with a toolset and gives back an ``Episode``.
``answer_recorded`` stores one in a ``Journal``, ``replay_recorded`` runs it again offline. The public surface is what ``__all__``
names; it loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller.budgets import Budget
    from controller.episode import Episode, episode_from_record
    from controller.questions import Question
    from controller.records.journal import Journal
    from controller.records.recording import answer_recorded
    from controller.records.replay import replay_recorded
    from controller.systems import System, flat, hier
    from controller.toolsets import AtomicTools, CombinedTools, OneVideo, Toolset

_HOMES = {
    "AtomicTools": "controller.toolsets",
    "Budget": "controller.budgets",
    "CombinedTools": "controller.toolsets",
    "Episode": "controller.episode",
    "Journal": "controller.records.journal",
    "OneVideo": "controller.toolsets",
    "Question": "controller.questions",
    "System": "controller.systems",
    "Toolset": "controller.toolsets",
    "answer_recorded": "controller.records.recording",
    "episode_from_record": "controller.episode",
    "flat": "controller.systems",
    "hier": "controller.systems",
    "replay_recorded": "controller.records.replay",
}

__all__ = [
    "AtomicTools",
    "Budget",
    "CombinedTools",
    "Episode",
    "Journal",
    "OneVideo",
    "Question",
    "System",
    "Toolset",
    "answer_recorded",
    "episode_from_record",
    "flat",
    "hier",
    "replay_recorded",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'controller' has no attribute {name!r}")
    return getattr(import_module(home), name)
