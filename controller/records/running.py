"""Running a system that anybody may have written: whatever it raises is named, and costs nobody else anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.episode import Episode, Task
from controller.questions import Question
from controller.systems.context import System, SystemBuilder, SystemContext
from controller.systems.looping import LoopSystem
from controller.systems.registry import build_system
from controller.toolsets import Toolset
from world_api.core.canonical import json_line
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.core.last_resort import internal_fault
from world_api.session.session import Session


def run_system(
    system: str, context: SystemContext, question: Question, session: Session, *, build: SystemBuilder | None = None
) -> Episode:
    """Build a system and let it answer.

    Raises:
        EpisodeFault: ``system_failed``, for whatever it raises that has no name, and what it gives back that is no episode;
            ``no_price``.
        VideoWorldError: its own.
    """
    refuse_unpriced(context)
    try:
        made = build(context) if build is not None else build_system(system, context)
        episode: object = made.answer(question, session)
        if not isinstance(episode, Episode):
            raise _failed(system, f"gave back a {type(episode).__name__} and no episode")
        json_line(episode.record())  # one that cannot be stored could not be compared either
    except VideoWorldError:
        raise
    # A system is code of other hands. What it forgot, sys.exit among it, must cost this episode alone, by name and place.
    except (Exception, SystemExit) as error:
        raise _failed(system, f"broke: {place_of_error(error)}") from error
    return episode


def task_of(
    made: Sequence[System], question: Question, session: Session, *, bare: Task, taken: Mapping[str, Any]
) -> Task:
    """The task as a system records it, with its settings; the bare one of a system that was not made or does not say.

    Material that it has ``taken`` already is given again, and nothing is made.
    """
    for system in made:
        if isinstance(system, LoopSystem):
            try:
                again = replace(system, context=replace(system.context, ground=_Taken(taken)))
                return again.task(question, session)
            # It is asked for its settings beside its run; where it cannot tell them, its run tells why.
            except Exception:  # noqa: BLE001 - see above
                return bare
    return bare


class _Taken:
    """A ground that gives what was taken, and makes nothing."""

    def __init__(self, taken: Mapping[str, Any]) -> None:
        self._values = taken

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        raise EpisodeFault("not_taken", "tools are made once")

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._values:
            raise EpisodeFault("not_taken", f"{name[:64]!r} was not taken yet")
        return self._values[name]


def refuse_unpriced(context: SystemContext) -> None:
    """Refuse a budget of money that nobody could keep, before anything is asked.

    Raises:
        EpisodeFault: ``no_price``.
    """
    if context.budget.money is not None and context.prices.of(context.model.name) is None:
        raise EpisodeFault(
            "no_price",
            f"a budget of money needs the price of {context.model.name!r}",
            hint="give prices, or no budget of money",
        )


def place_of_error(error: BaseException) -> str:
    """The type of an error and where it was raised; its text may hold anything."""
    return internal_fault(error).message if isinstance(error, Exception) else type(error).__name__


def _failed(system: str, what: str) -> EpisodeFault:
    return EpisodeFault(
        "system_failed",
        f"the system {system[:64]!r} {what}",
        hint="this is a defect of the system, not of what was asked; report it to whoever wrote it",
    )
