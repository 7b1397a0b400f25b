"""Phase 2: a frozen chat model answers questions about a video by calling tools.

``build_system`` returns one of the compared systems; a system answers a ``Question`` in a session and returns an
``Episode``. ``answer_recorded`` also stores the episode in a ``Journal``; ``replay_recorded`` runs a stored one again,
offline. The public names are those in ``__all__``; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from controller.answers import Question as Question
    from controller.episode import Accounts as Accounts
    from controller.episode import Budget as Budget
    from controller.episode import Episode as Episode
    from controller.episode import accounts_of as accounts_of
    from controller.episode import episode_from_record as episode_from_record
    from controller.episode_tools import AtomicTools as AtomicTools
    from controller.episode_tools import CombinedTools as CombinedTools
    from controller.episode_tools import OneVideo as OneVideo
    from controller.episode_tools import Toolset as Toolset
    from controller.prompts import FirstCall as FirstCall
    from controller.prompts import Preamble as Preamble
    from controller.records.journal import Journal as Journal
    from controller.records.recorder import Answered as Answered
    from controller.records.recorder import Unanswered as Unanswered
    from controller.records.recorder import answer_many as answer_many
    from controller.records.recorder import answer_recorded as answer_recorded
    from controller.records.replay import replay_recorded as replay_recorded
    from controller.systems.base import LoopSystem as LoopSystem
    from controller.systems.base import OwnCalls as OwnCalls
    from controller.systems.base import Setup as Setup
    from controller.systems.base import System as System
    from controller.systems.base import SystemContext as SystemContext
    from controller.systems.registry import build_system as build_system
    from controller.systems.registry import system_names as system_names
    from controller.systems.tool_systems import flat as flat
    from controller.systems.tool_systems import hier as hier

__getattr__, __dir__, __all__ = lazy_names(__name__)
