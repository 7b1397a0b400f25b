"""The Python interface, ``import videoworld as vw``: build or open a world, look at it, ask about it.

``build`` and ``open`` return a ``World``; docs/python.md shows its use. What waits has an async variant with the prefix
``a``: ``abuild``, ``World.aask``. The other names are the parts that these functions are made of. Each name is imported at
its first use. The command ``videoworld`` is in ``videoworld.command``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from controller import (
        Budget as Budget,
        Episode as Episode,
        Journal as Journal,
        Question as Question,
        SystemContext as SystemContext,
        answer_recorded as answer_recorded,
        build_system as build_system,
        replay_recorded as replay_recorded,
    )
    from eval.datasets import load_dataset as load_dataset
    from eval.runs import read_run as read_run
    from eval.runs.scoring import ScoredRun as ScoredRun
    from eval.scoring import score_value as score_value
    from tool_induction import (
        LibraryTools as LibraryTools,
        compile_document as compile_document,
        load_library as load_library,
        run_tool as run_tool,
    )
    from videoworld.command import main as main
    from videoworld.results import Result as Result, WorldEpisode as WorldEpisode
    from videoworld.runs import (
        ainduce as ainduce,
        arun_experiment as arun_experiment,
        induce as induce,
        run_experiment as run_experiment,
    )
    from videoworld.world import (
        World as World,
        abuild as abuild,
        build as build,
        open as open,  # noqa: A004
    )
    from world_api import (
        OPERATIONS as OPERATIONS,
        BuildOptions as BuildOptions,
        SystemClock as SystemClock,
        build_world as build_world,
        list_worlds as list_worlds,
        open_session as open_session,
        run as run,
    )
    from world_api.chat import RuleBasedChatModel as RuleBasedChatModel, chat_model as chat_model
    from world_api.core.faults import VideoWorldError as VideoWorldError
    from world_api.options import VisionOptions as VisionOptions

__getattr__, _, __all__ = lazy_names(__name__)


def __dir__() -> list[str]:
    return __all__
