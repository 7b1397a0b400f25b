"""Phase 2: a frozen chat model answers questions about a video by calling tools.

``build_system`` returns one of the compared systems; a system answers a ``Question`` in a session and returns an
``Episode``. ``answer_recorded`` also stores the episode in a ``Journal``; ``replay_recorded`` runs a stored one again,
offline. The public names are those in ``__all__``; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from controller.answers import Question
    from controller.episode import Accounts, Budget, Episode, accounts_of, episode_from_record
    from controller.episode_tools import AtomicTools, CombinedTools, OneVideo, Toolset
    from controller.prompts import FirstCall, Preamble
    from controller.records.journal import Journal
    from controller.records.recorder import Answered, Unanswered, answer_many, answer_recorded
    from controller.records.replay import replay_recorded
    from controller.systems.base import LoopSystem, OwnCalls, Setup, System, SystemContext
    from controller.systems.registry import build_system, system_names
    from controller.systems.tool_systems import flat, hier

__getattr__, __dir__, __all__ = lazy_names(__name__)
