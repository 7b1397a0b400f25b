"""Asking: one question, or many at once, each in a session of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass

from controller.episode import Episode
from controller.questions import Question
from controller.records.journal import Journal
from controller.records.recording import answer_recorded
from controller.records.running import place_of_error, run_system
from controller.systems.context import SystemBuilder, SystemContext
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.session.session import Session

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
