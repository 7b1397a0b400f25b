"""Running a system that anybody may have written: whatever it raises is named, and costs nobody else anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from controller.episode import Episode, Task
from controller.questions import Question
from controller.records.journal import Journal
from controller.records.recorder import answer_recorded
from controller.systems.base import LoopSystem, System, SystemBuilder, SystemContext
from controller.systems.registry import build_system
from controller.toolsets import Toolset
from world_api.core.canonical import json_line
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.core.last_resort import internal_fault
from world_api.world.sessions.session import Session


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


#: Opens the session that a question is answered in.
Opener = Callable[[Question], Session]


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An episode, and its name where it was recorded."""

    episode: Episode
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """The fault for which there is no episode of a question."""

    question: Question
    fault: VideoWorldError


def answer(
    question: Question,
    session: Session,
    *,
    system: str,
    context: SystemContext,
    journal: Journal | None = None,
    build: SystemBuilder | None = None,
    when_broken_off: Callable[[str], object] | None = None,
) -> Answered:
    """Answer a question, and record it where a journal is given; ``when_broken_off`` is told the name of a record without an end.

    Raises:
        VideoWorldError: no episode came about; what the system refuses, or the journal; ``system_failed``.
    """
    if journal is None:
        return Answered(episode=run_system(system, context, question, session, build=build))
    episode, name = answer_recorded(
        question,
        session,
        system=system,
        context=context,
        journal=journal,
        build=build,
        when_broken_off=when_broken_off,
    )
    return Answered(episode=episode, name=name)


def opened(open_session: Opener, question: Question) -> Session:
    """The session of a question.

    Raises:
        EpisodeFault: ``session_failed``, for whatever has no name.
        VideoWorldError: what it refuses.
    """
    try:
        return open_session(question)
    except VideoWorldError:
        raise
    # The opener is the caller's: what it raises for one question must not cost the answers to the others.
    except (Exception, SystemExit) as error:
        raise EpisodeFault(
            "session_failed",
            f"no session could be opened: {place_of_error(error)}",
            hint="see that the world can be read",
        ) from error


def answer_many(
    questions: Sequence[Question],
    *,
    open_session: Opener,
    system: str,
    context: SystemContext,
    journal: Journal | None = None,
    build: SystemBuilder | None = None,
    at_once: int = 8,
) -> list[Answered | Unanswered]:
    """Answer questions side by side; the answers stand in the order of the questions, whichever was there first.

    ``open_session`` is called once a question, in a thread. Give each question a session of its own (``name=None`` keeps what
    it writes in memory), so that no question sees what another one wrote. Model and clock of the context are used by all
    threads. A question that comes to no episode, for whatever reason, is ``Unanswered``; the others are answered all the same.
    """

    def one(question: Question) -> Answered | Unanswered:
        try:
            session = opened(open_session, question)
            return answer(question, session, system=system, context=context, journal=journal, build=build)
        except VideoWorldError as fault:
            return Unanswered(question=question, fault=fault)

    with ThreadPoolExecutor(max_workers=max(1, at_once), thread_name_prefix="asking") as pool:
        try:
            waiting = [pool.submit(copy_context().run, one, question) for question in questions]
            return [future.result() for future in waiting]
        except BaseException:  # Ctrl-C among them: what has not begun shall not begin
            pool.shutdown(wait=False, cancel_futures=True)
            raise
