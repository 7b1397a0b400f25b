"""Answering a question with any system while everything it takes is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from controller.episode import CallRecord, Episode, Library, Task
from controller.questions import Question
from controller.records.conditions import Conditions
from controller.records.journal import Journal, Recording, begun, broken_off, label_for
from controller.runner import refuse_unpriced, run_system, task_of
from controller.systems.base import System, SystemBuilder, SystemContext
from controller.systems.registry import build_system
from controller.toolsets import Ground, Toolset, split_result
from tool_induction.toolset import ToolDeclaration
from world_api.backends.chat.prompts import noting_prompts
from world_api.backends.chat.recording import Exchange, RecordingChatModel
from world_api.backends.clocks import RecordingClock
from world_api.core.ambient.spending import Spent, ledger_beside
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.core.last_resort import as_stored, observed
from world_api.core.ports import ChatModel, Clock
from world_api.world.sessions.session import Session


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
    """Answer a question and record the episode; the episode and its name in the journal.

    ``system`` is a name of the registry; one that is not there is built by ``build``. An episode that is broken off, by a person
    or by a fault that it cannot outlive, is recorded as failed too, and ``when_broken_off`` is told its name; one that never came
    to its first request is not.

    Raises:
        EpisodeFault: ``record_not_writable``, ``as_of_mismatch``, ``no_price``, ``system_failed``, and what the system refuses.
        VideoWorldError: the fault that broke it off.
    """
    refuse_unpriced(context)
    library = Library(name=context.library.name, hash=context.library.hash) if context.library is not None else None
    task = Task.of(question, session, system=system, library=library)
    conditions = Conditions.of(system, context, groups=session.groups)
    clock, held = RecordingClock(context.clock), list[System]()
    with noting_prompts() as prompts:

        def start() -> Recording:
            recording = journal.begin(label_for(task, context.clock.now()))
            recording.start(beginning(), replace(conditions, prompts=dict(prompts)))
            return recording

        def beginning() -> Episode:
            return begun(task_of(held, question, session, bare=task, taken=tape.taken), context, prompts)

        def builder(given: SystemContext) -> System:
            held.append(build(given) if build is not None else build_system(system, given))
            return held[0]

        tape = _Tape(context.ground, begin=start)
        model = _TapedModel(context.model, clock=context.clock, tape=tape)
        wrapped = replace(context, model=model, clock=clock, ground=tape)
        try:
            episode = run_system(system, wrapped, question, session, build=builder)
        except (VideoWorldError, KeyboardInterrupt) as failure:
            if tape.begun:
                ended = broken_off(beginning(), context, exchanges=tape.exchanges, calls=tape.calls, failure=failure)
                there = replace(conditions, prompts=prompts, broken_off=True)
                tape.recording.finish(ended, there, clock.readings)
                if when_broken_off is not None:
                    when_broken_off(tape.recording.name)
            raise
    tape.recording.finish(episode, replace(conditions, prompts=prompts), clock.readings)
    return episode, tape.recording.name


class _Tape:
    """The ground of an episode that is recorded; the recording takes its name with the first request to a model."""

    def __init__(self, ground: Ground, *, begin: Callable[[], Recording]) -> None:
        self.exchanges: list[Exchange] = []
        self._calls: list[tuple[str, dict[str, Any], Any, Sequence[Spent], int]] = []
        self._ground = ground
        self._begin = begin
        self._recording: Recording | None = None
        self.taken: dict[str, Any] = {}  #: the material so far
        self._lock = Lock()  # a system may ask several models at a time

    @property
    def begun(self) -> bool:
        """Whether anything could have been paid for."""
        return self._recording is not None

    @property
    def recording(self) -> Recording:
        """The recording, under a name from now on."""
        with self._lock:
            if self._recording is None:
                self._recording = self._begin()
                for name, value in self.taken.items():
                    self._recording.keep_material(name, value)
            return self._recording

    def keep(self, exchange: Exchange) -> None:
        """Keep an exchange with the model."""
        recording = self.recording
        with self._lock:
            self.exchanges.append(exchange)
            recording.keep(exchange)

    def note(self, name: str, arguments: dict[str, Any], result: Any, spent: Sequence[Spent]) -> None:
        """Keep in mind a call that was made."""
        if spent:
            _ = self.recording  # a model was asked
        with self._lock:
            self._calls.append((name, arguments, result, spent, len(self.exchanges)))

    @property
    def calls(self) -> list[CallRecord]:
        """The calls as they were made, known apart from a system that does not come to its end."""
        with self._lock:
            made = list(self._calls)
        return [_call_record(number, *call) for number, call in enumerate(made)]

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """The toolset."""
        return _TapedTools(self._ground.tools(make), self)

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """The value as it reads back from its record, so that a replay builds on the same."""
        value = parse_json(json_line(self._ground.material(name, make)))
        with self._lock:
            if name in self.taken:
                raise EpisodeFault(
                    "material_taken_twice", f"the system takes {name!r} twice", hint="give each material its own name"
                )
            self.taken[name] = value
            if self._recording is not None:
                self._recording.keep_material(name, value)
        return value


class _TapedModel(RecordingChatModel):
    """A model whose exchanges are kept; the recording begins before the first request, which may be paid for and never answered."""

    def __init__(self, model: ChatModel, *, clock: Clock, tape: _Tape) -> None:
        super().__init__(model, clock=clock, keep=tape.keep)
        self._tape = tape

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The other model's reply.

        Raises:
            EpisodeFault: ``record_not_writable``.
            BackendFault: the other model's.
        """
        _ = self._tape.recording
        return super().complete(request)


class _TapedTools:
    """Tools whose calls are kept in mind, with what they spent."""

    def __init__(self, tools: Toolset, tape: _Tape) -> None:
        self._tools = tools
        self._tape = tape

    def get_tools(self) -> Sequence[ToolDeclaration]:
        return self._tools.get_tools()

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {"error": {"code": "not_finished", "message": "the call was broken off", "hint": ""}}
        book = None
        try:
            with ledger_beside() as book:
                result = self._tools.call_tool(name, arguments)
        finally:
            self._tape.note(name, arguments, result, book.items if book is not None else ())
        return result


def _call_record(
    number: int, name: str, arguments: dict[str, Any], result: Any, spent: Sequence[Spent], rounds: int
) -> CallRecord:
    found, inner_calls, origins = split_result(observed(lambda: as_stored(result)))
    return CallRecord(
        id=f"call_{number}",
        round=rounds,
        tool=name,
        written=arguments,
        arguments=arguments,
        result=found,
        inner_calls=inner_calls,
        origins=origins,
        ran=True,
        problem=None,
        note=None,
        spent=list(spent),
    )
