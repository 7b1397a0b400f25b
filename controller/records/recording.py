"""Answering a question with any system while everything it takes is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from controller.episode import Episode, FaultRecord, Library, RoundRecord, Task
from controller.ground import Ground
from controller.questions import Question
from controller.records.conditions import Conditions
from controller.records.journal import Journal, Recording, label_for
from controller.systems.context import SystemBuilder, SystemContext
from controller.systems.registry import build_system
from controller.toolsets import Toolset
from world_api.backends.chat.prompts import PromptHashes, noting_prompts
from world_api.backends.chat.recording import Exchange, RecordingChatModel
from world_api.backends.chat.usage import usage_of
from world_api.backends.clocks import RecordingClock
from world_api.core.canonical import content_hash, json_line, parse_json
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.world.sessions.session import Session


def answer_recorded(
    question: Question,
    session: Session,
    *,
    system: str,
    context: SystemContext,
    journal: Journal,
    build: SystemBuilder | None = None,
) -> tuple[Episode, str]:
    """Answer a question and record the episode; the episode and its name in the journal.

    ``system`` is a name of the registry; one that is not there is built by ``build``. An episode that is broken off, by a person
    or by a fault that it cannot outlive, is recorded as failed too; one that never began is not.

    Raises:
        EpisodeFault: ``record_not_writable``, ``as_of_mismatch``, and what the system refuses.
        VideoWorldError: the fault that broke it off.
    """
    builder = build or (lambda given: build_system(system, given))
    library = Library(name=context.library.name, hash=context.library.hash) if context.library is not None else None
    task = Task.of(question, session, system=system, library=library)
    tape = _Tape(context.ground, begin=lambda: journal.begin(label_for(task, context.clock.now())))
    clock = RecordingClock(context.clock)
    model = RecordingChatModel(context.model, clock=context.clock, keep=tape.keep)
    conditions = Conditions.of(system, context, groups=session.groups)
    with noting_prompts() as prompts:
        try:
            episode = builder(replace(context, model=model, clock=clock, ground=tape)).answer(question, session)
        except (VideoWorldError, KeyboardInterrupt) as failure:
            if tape.begun or isinstance(failure, KeyboardInterrupt):
                episode = _broken_off(task, context, tape.exchanges, prompts, failure)
                ended = replace(conditions, prompts=prompts, broken_off=True)
                tape.recording.finish(episode, ended, clock.readings)
            raise
    tape.recording.finish(episode, replace(conditions, prompts=prompts), clock.readings)
    return episode, tape.recording.name


class _Tape:
    """The ground of an episode that is recorded; the recording takes its name when there is something to keep."""

    def __init__(self, ground: Ground, *, begin: Callable[[], Recording]) -> None:
        self.exchanges: list[Exchange] = []
        self._ground = ground
        self._begin = begin
        self._recording: Recording | None = None
        self._taken: dict[str, Any] = {}
        self._lock = Lock()  # a system may ask several models at a time

    @property
    def begun(self) -> bool:
        """Whether anything was kept, or could have been paid for."""
        return self._recording is not None

    @property
    def recording(self) -> Recording:
        """The recording, under a name from now on."""
        with self._lock:
            if self._recording is None:
                self._recording = self._begin()
                for name, value in self._taken.items():
                    self._recording.keep_material(name, value)
            return self._recording

    def keep(self, exchange: Exchange) -> None:
        """Keep an exchange with the model."""
        recording = self.recording
        with self._lock:
            self.exchanges.append(exchange)
            recording.keep(exchange)

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """The toolset."""
        toolset = self._ground.tools(make)
        _ = self.recording  # from here on an interrupted episode is worth a record
        return toolset

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """The value as it reads back from its record, so that a replay builds on the same."""
        value = parse_json(json_line(self._ground.material(name, make)))
        with self._lock:
            if name in self._taken:
                raise EpisodeFault(
                    "material_taken_twice", f"the system takes {name!r} twice", hint="give each material its own name"
                )
            self._taken[name] = value
            if self._recording is not None:
                self._recording.keep_material(name, value)
        return value


def _broken_off(
    task: Task,
    context: SystemContext,
    exchanges: Sequence[Exchange],
    prompts: PromptHashes,
    failure: VideoWorldError | KeyboardInterrupt,
) -> Episode:
    """What its exchanges tell of an episode that did not come to its end: the talk and its price, without the calls."""
    last = exchanges[-1].request if exchanges else {}
    tools: list[dict[str, Any]] = next(
        (exchange.request["tools"] for exchange in exchanges if "tools" in exchange.request), []
    )
    if isinstance(failure, KeyboardInterrupt):
        fault = FaultRecord(code="interrupted", message="the episode was interrupted", hint="ask again")
    else:
        fault = FaultRecord.of(failure)
    return Episode(
        task=task,
        model=context.model.name,
        prompt_hash=content_hash(prompts),
        language=context.language,
        tools=tools,
        tools_hash=content_hash(tools),
        budget=context.budget,
        prices={},
        messages=last.get("messages", []),
        rounds=[
            RoundRecord(
                number=number,
                tools_offered="tools" in exchange.request,
                usage=usage_of(exchange.request, exchange.reply),
                finish_reason=None,
                problems=[],
            )
            for number, exchange in enumerate(exchanges, start=1)
            if exchange.reply is not None
        ],
        calls=[],
        outcome="failed",
        reason=fault.code,
        fault=fault,
        value=None,
        answer=None,
        spans=[],
    )
