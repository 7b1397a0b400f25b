"""Answering questions with any system: one at a time or many in parallel, with or without recording.

Systems may be third-party code. Any error in one becomes a named fault and does not affect other episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

from controller.answers import Question
from controller.episode import CallRecord, Episode, FaultRecord, Library, Task, refuse_unpriced
from controller.episode_tools import Toolset, split_result
from controller.records.journal import Conditions, EpisodeWriter, Journal, label_for, with_rounds
from controller.systems.base import EpisodeInputs, SystemBuilder, SystemContext
from controller.systems.tool_systems import build_system
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import PromptHashes, noting_prompts
from world_api.chat.recording import Exchange, RecordingChatModel, RecordingClock
from world_api.core.canonical import content_hash, json_line, parse_json
from world_api.core.cost import Spent, ledger_beside
from world_api.core.execution import ordered_map
from world_api.core.faults import EpisodeFault, VideoWorldError, as_stored, internal_fault, tool_result_or_error
from world_api.session.session import Session


def run_system(
    system: str, context: SystemContext, question: Question, session: Session, *, build: SystemBuilder | None = None
) -> Episode:
    """Build a system, by ``build`` or by its name, and return its episode for a question.

    Raises EpisodeFault: ``system_failed``, if the system raises any other error or returns no episode; ``no_price``;
    VideoWorldError: the faults of the system.
    """
    refuse_unpriced(context.budget, context.model.name, context.prices)
    try:
        made = build(context) if build is not None else build_system(system, context)
        episode: object = made.answer(question, session)
        if not isinstance(episode, Episode):
            raise _failed(system, f"gave back a {type(episode).__name__} and no episode")
        json_line(episode.record())  # one that cannot be stored could not be compared either
    except VideoWorldError:
        raise
    # Third-party code may raise anything, also SystemExit; this must not affect other episodes.
    except (Exception, SystemExit) as error:
        raise _failed(system, f"broke: {_place(error)}") from error
    return episode


def _failed(system: str, what: str) -> EpisodeFault:
    return EpisodeFault(
        "system_failed",
        f"the system {system[:64]!r} {what}",
        hint="this is a defect of the system, not of what was asked; report it to its author",
    )


def _place(error: BaseException) -> str:
    """Return the type of an error and where it was raised, without its message, which may contain anything."""
    return internal_fault(error).message if isinstance(error, Exception) else type(error).__name__


#: Opens the session that a question is answered in.
Opener = Callable[[Question], Session]


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An episode, and its name in the journal if it was recorded."""

    episode: Episode
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A question without an episode, and the fault that is the reason."""

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
    """Answer a question, and record the episode if a journal is given.

    ``when_broken_off`` is called with the name of the record if the episode is interrupted.

    Raises VideoWorldError: the faults of the system and of the journal; ``system_failed``.
    """
    if journal is None:
        return Answered(episode=run_system(system, context, question, session, build=build))
    episode, name = answer_recorded(
        question, session, system=system, context=context, journal=journal, build=build, when_broken_off=when_broken_off
    )
    return Answered(episode=episode, name=name)


def opened(open_session: Opener, question: Question) -> Session:
    """Open the session of a question.

    Raises VideoWorldError: the faults of ``open_session``; EpisodeFault: ``session_failed``, for any other error.
    """
    try:
        return open_session(question)
    except VideoWorldError:
        raise
    # The opener is the caller's: an error in it for one question must not affect the others.
    except (Exception, SystemExit) as error:
        raise EpisodeFault(
            "session_failed",
            f"no session could be opened: {_place(error)}",
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
    """Answer questions in parallel, ``at_once`` at a time; the answers are in the order of the questions.

    ``open_session`` is called once per question, in a thread. Give each question its own session (``name=None`` keeps
    its writes in memory), so that no question sees the writes of another. All threads use the model and the clock of
    the context. A question without an episode gives ``Unanswered`` and does not affect the others.
    """

    def one(question: Question) -> Answered | Unanswered:
        try:
            session = opened(open_session, question)
            return answer(question, session, system=system, context=context, journal=journal, build=build)
        except VideoWorldError as fault:
            return Unanswered(question=question, fault=fault)

    return list(ordered_map(one, questions, width=max(1, at_once)))


def answer_recorded(
    question: Question,
    session: Session,
    *,
    system: str,
    context: SystemContext,
    journal: Journal,
    build: SystemBuilder | None = None,
    when_broken_off: Callable[[str], object] | None = None,
) -> tuple[Episode, str]:
    """Answer a question and record the episode; return it and its name in the journal.

    ``system`` is a name of the registry, or any name if ``build`` is given. An episode that is interrupted, by the user
    or by a fault, is recorded as failed, and ``when_broken_off`` is called with its name; it is not recorded if no
    request was made.

    Raises EpisodeFault: ``record_not_writable``, ``as_of_mismatch``, ``no_price``, ``system_failed``, and those of the
    system; VideoWorldError: the fault that interrupted it.
    """
    task = Task.of(question, session, system=system, library=Library.of(context.library))
    conditions = Conditions.of(system, context, groups=session.groups)
    clock = RecordingClock(context.clock)
    with noting_prompts() as prompts:

        def begin() -> EpisodeWriter:
            recording = journal.begin(label_for(task, context.clock.now()))
            recording.start(_begun(recorder.task, context, prompts), replace(conditions, prompts=dict(prompts)))
            return recording

        recorder = EpisodeRecorder(context.inputs, task, begin=begin)
        model = RecordingChatModel(
            context.model, clock=context.clock, keep=recorder.keep, before=lambda: recorder.recording
        )
        wrapped = replace(context, model=model, clock=clock, inputs=recorder)
        try:
            episode = run_system(system, wrapped, question, session, build=build)
        except (VideoWorldError, KeyboardInterrupt) as failure:
            if recorder.begun:
                ended = _broken_off(recorder, context, prompts, failure)
                there = replace(conditions, prompts=prompts, broken_off=True)
                recorder.recording.finish(ended, there, clock.readings)
                if when_broken_off is not None:
                    when_broken_off(recorder.recording.name)
            raise
    recorder.recording.finish(episode, replace(conditions, prompts=prompts), clock.readings)
    return episode, recorder.recording.name


class EpisodeRecorder(EpisodeInputs):
    """Records an episode: its inputs, tool calls and exchanges with models.

    The record is created at the first request to any model, at the latest at the end. An episode that is interrupted
    before any request has none.
    """

    def __init__(self, inputs: EpisodeInputs, task: Task, *, begin: Callable[[], EpisodeWriter]) -> None:
        self.task = task  #: as far as it is known
        self.exchanges: list[Exchange] = []
        self._calls: list[tuple[str, dict[str, Any], Any, Sequence[Spent], int]] = []
        self._inputs = inputs
        self._begin = begin
        self._recording: EpisodeWriter | None = None
        self._taken: dict[str, Any] = {}  #: the material so far
        self._lock = Lock()  # a system may ask several models at a time

    @property
    def begun(self) -> bool:
        """Whether the record exists: a request was made, or is about to be."""
        return self._recording is not None

    @property
    def recording(self) -> EpisodeWriter:
        """The writer of the record; the first use creates it and stores the materials so far."""
        with self._lock:
            if self._recording is None:
                self._recording = self._begin()
                for name, value in self._taken.items():
                    self._recording.keep_material(name, value)
            return self._recording

    def keep(self, exchange: Exchange) -> None:
        """Store an exchange with the model."""
        recording = self.recording
        with self._lock:
            self.exchanges.append(exchange)
            recording.keep(exchange)

    def note(self, name: str, arguments: dict[str, Any], result: Any, spent: Sequence[Spent]) -> None:
        """Remember a tool call; if it made requests to models (``spent``), create the record first."""
        if spent:
            _ = self.recording  # a model was asked
        with self._lock:
            self._calls.append((name, arguments, result, spent, len(self.exchanges)))

    @property
    def calls(self) -> list[CallRecord]:
        """The tool calls so far, which are known even if the system is interrupted."""
        records = []
        with self._lock:
            made = list(self._calls)
        for number, (name, arguments, result, spent, rounds) in enumerate(made):
            found, inner_calls, origins = split_result(tool_result_or_error(partial(as_stored, result)))
            records.append(
                CallRecord(
                    id=f"call_{number}", round=rounds, tool=name, written=arguments, arguments=arguments, result=found,
                    inner_calls=inner_calls, origins=origins, ran=True, problem=None, note=None, spent=list(spent),
                )
            )  # fmt: skip
        return records

    def start(self, task: Task) -> None:
        """Replace the initial task by the system's own, which contains its settings."""
        self.task = task

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """Return the toolset; its calls are remembered."""
        return _RecordingTools(self._inputs.tools(make), self)

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the value of ``make`` as it reads back from JSON. Raises EpisodeFault: ``material_taken_twice``."""
        value = parse_json(json_line(self._inputs.material(name, make)))
        with self._lock:
            if name in self._taken:
                raise EpisodeFault(
                    "material_taken_twice", f"the system takes {name!r} twice", hint="give each material its own name"
                )
            self._taken[name] = value
            if self._recording is not None:
                self._recording.keep_material(name, value)
        return value


@dataclass(frozen=True)
class _RecordingTools:
    """Tools whose calls the recorder remembers, with the requests that they made."""

    tools: Toolset
    recorder: EpisodeRecorder

    def get_tools(self) -> Sequence[ToolDeclaration]:
        return self.tools.get_tools()

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {"error": {"code": "not_finished", "message": "the call was broken off", "hint": ""}}
        book = None
        try:
            with ledger_beside() as book:
                result = self.tools.call_tool(name, arguments)
        finally:
            self.recorder.note(name, arguments, result, book.items if book is not None else ())
        return result


_NOT_FINISHED = FaultRecord(
    code="not_finished",
    message="the episode has no end: it still runs, or its process died",
    hint="ask the question again if it does not run any more",
)
_INTERRUPTED = FaultRecord(code="interrupted", message="the episode was interrupted", hint="ask again")


def _begun(task: Task, context: SystemContext, prompts: PromptHashes) -> Episode:
    """Return the episode as it is before its first request: failed, with the reason ``not_finished``."""
    price = context.prices.of(context.model.name)
    return Episode(
        task=task,
        model=context.model.name,
        prompt_hash=content_hash(prompts),
        language=context.language,
        tools=[],
        tools_hash=content_hash([]),
        budget=context.budget,
        prices={context.model.name: price} if price is not None else {},
        outcome="failed",
        reason=_NOT_FINISHED.code,
        fault=_NOT_FINISHED,
    )


def _broken_off(
    recorder: EpisodeRecorder,
    context: SystemContext,
    prompts: PromptHashes,
    failure: VideoWorldError | KeyboardInterrupt,
) -> Episode:
    """Return the record of an interrupted episode, made from its exchanges and calls so far."""
    beginning, calls = _begun(recorder.task, context, prompts), recorder.calls
    fault = _INTERRUPTED if isinstance(failure, KeyboardInterrupt) else FaultRecord.of(failure)
    prices_of_calls = {item.model: context.prices.of(item.model) for call in calls for item in call.spent}
    prices = beginning.prices | {model: price for model, price in prices_of_calls.items() if price is not None}
    ended = replace(beginning, prices=dict(sorted(prices.items())), calls=calls, reason=fault.code, fault=fault)
    return with_rounds(ended, recorder.exchanges)
