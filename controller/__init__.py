"""Phase 2: a frozen chat model answers questions about a video by calling tools.

``build_system`` returns one of the compared systems; a system answers a ``Question`` in a session and returns an
``Episode``. ``answer_recorded`` also stores the episode in a ``Journal``; ``replay_recorded`` runs a stored one again,
offline. The public names are those in ``__all__``; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from controller.answers import Question as Question
    from controller.conversation import FirstCall as FirstCall, Preamble as Preamble
    from controller.episode import (
        Accounts as Accounts,
        Episode as Episode,
        accounts_of as accounts_of,
        episode_from_record as episode_from_record,
    )
    from controller.episode_tools import (
        AtomicTools as AtomicTools,
        CombinedTools as CombinedTools,
        OneVideo as OneVideo,
        Toolset as Toolset,
    )
    from controller.options import Budget as Budget
    from controller.records.journal import Journal as Journal
    from controller.records.recorder import (
        Answered as Answered,
        Unanswered as Unanswered,
        answer_many as answer_many,
        answer_recorded as answer_recorded,
    )
    from controller.records.replay import replay_recorded as replay_recorded
    from controller.systems.base import (
        LoopSystem as LoopSystem,
        OwnCalls as OwnCalls,
        Setup as Setup,
        System as System,
        SystemContext as SystemContext,
    )
    from controller.systems.tool_systems import (
        build_system as build_system,
        flat as flat,
        hier as hier,
        system_names as system_names,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)
