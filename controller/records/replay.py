"""Recording an episode while it runs, and running it again offline from its recording.

A replay runs the loop anew with the recorded replies, tool results and clock readings, and needs neither
endpoint nor world. It proves that the record follows from what was recorded: the bytes are equal or a difference is named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.conversation.prompting import Prompts
from controller.episode import CallRecord, Episode, FaultRecord, Opening, RoundRecord, Task
from controller.loop import run_episode
from controller.questions import Question
from controller.records.journal import Entry, Journal, label_for
from controller.systems import ToolUser
from controller.toolsets import TRACE
from tool_induction.toolset import ToolDeclaration
from world_api.backends.chat.recording import Exchange, RecordingChatModel, ReplayChatModel
from world_api.backends.chat.usage import usage_of
from world_api.backends.clocks import RecordingClock, ReplayClock
from world_api.core.canonical import content_hash, json_line
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.core.ports import ChatModel, Clock
from world_api.world.sessions.session import Session

SystemFactory = Callable[[ChatModel, Clock], ToolUser]


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """An episode that was run again, and whether its record is byte for byte the recorded one."""

    episode: Episode
    identical: bool


def answer_recorded(
    question: Question, session: Session, *, system: SystemFactory, model: ChatModel, clock: Clock, journal: Journal
) -> tuple[Episode, str]:
    """Answer a question and record the episode; the episode and its name in the journal.

    An episode that is broken off, by a person or by a fault that it cannot outlive, is recorded as failed too.

    Raises:
        EpisodeFault: ``record_not_writable``.
        VideoWorldError: the fault that broke it off.
    """
    taped = RecordingClock(clock)
    asked = system(model, clock)
    asked.tools(session)  # a library that cannot be offered is refused before a name is taken
    task = asked.task(question, session)
    recording = journal.begin(label_for(task, clock.now()))
    exchanges: list[Exchange] = []

    def keep(exchange: Exchange) -> None:
        exchanges.append(exchange)
        recording.keep(exchange)

    answering = system(RecordingChatModel(model, clock=clock, keep=keep), taped)
    try:
        episode = answering.answer(question, session)
    except (VideoWorldError, KeyboardInterrupt) as failure:
        recording.finish(_broken_off(answering, task, exchanges, failure), taped.readings)
        raise
    recording.finish(episode, taped.readings)
    return episode, recording.name


def replay_recorded(
    journal: Journal, name: str, *, question: Question | None = None, prompts: Prompts | None = None
) -> Replayed:
    """Run a recorded episode again, with its own question unless another is given.

    Raises:
        EpisodeFault: ``replay_mismatch``, when the run wants a reply, a result or a time that was not recorded;
            ``unknown_episode``, ``recording_missing``, ``recording_damaged``, ``recording_schema``.
    """
    entry = journal.find(name)
    return replay_entry(entry, journal.exchanges(name), question=question, prompts=prompts)


def replay_entry(
    entry: Entry, exchanges: Sequence[Exchange], *, question: Question | None = None, prompts: Prompts | None = None
) -> Replayed:
    """The same, on an entry and its exchanges."""
    recorded = entry.episode
    task = recorded.task if question is None else replace(recorded.task, question=question)
    episode = run_episode(
        task,
        model=ReplayChatModel(exchanges, name=recorded.model),
        tools=RecordedTools(recorded.tool_calls, offered=_offered(recorded)),
        budget=recorded.budget,
        clock=ReplayClock(entry.readings),
        prompts=prompts or Prompts(language=recorded.language),
        opening=recorded.opening,
    )
    return Replayed(episode=episode, identical=json_line(episode.record()) == json_line(recorded.record()))


def _broken_off(
    system: ToolUser, task: Task, exchanges: Sequence[Exchange], failure: VideoWorldError | KeyboardInterrupt
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
        model=system.model.name,
        prompt_hash=system.prompts.hash,
        language=system.prompts.language,
        opening=Opening(),
        tools=tools,
        tools_hash=content_hash(tools),
        budget=system.budget,
        prices={},
        messages=last.get("messages", []),
        rounds=[
            RoundRecord(
                number=number,
                tools_offered="tools" in exchange.request,
                usage=usage_of(exchange.request, exchange.reply),
                finish_reason=None,
                problem=None,
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


class RecordedTools:
    """A toolset that gives the recorded results to the recorded calls, in their order."""

    def __init__(self, calls: Sequence[CallRecord], *, offered: Sequence[ToolDeclaration]) -> None:
        self._calls = deque(calls)
        self._offered = offered

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """The recorded declarations."""
        return self._offered

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The recorded result.

        Raises:
            EpisodeFault: ``replay_mismatch``, when this is not the call that was recorded next.
        """
        call = self._calls.popleft() if self._calls else None
        if call is None or (call.tool, call.arguments) != (name, arguments):
            raise EpisodeFault(
                "replay_mismatch",
                f"the replay calls {name} where the recording " + (f"called {call.tool}" if call else "called nothing"),
                hint="the recording was made by another version of the loop; run the question again",
            )
        if not call.inner_calls and not call.origins:
            return call.result
        return {**call.result, TRACE: {"kind": "tool", **call.origins, "children": call.inner_calls}}


def _offered(recorded: Episode) -> list[ToolDeclaration]:
    """The tools of a recorded episode; the loop itself adds ``submit_answer``, last.

    Raises:
        EpisodeFault: ``recording_damaged``.
    """
    try:
        return [
            ToolDeclaration(
                name=item["function"]["name"],
                description=item["function"]["description"],
                parameters=item["function"]["parameters"],
                writes=True,  # so that recorded results are given in the order of the calls
            )
            for item in recorded.tools[:-1]
        ]
    except (KeyError, TypeError):
        raise EpisodeFault(
            "recording_damaged", "a recorded declaration is not whole", hint="restore the episode from a copy"
        ) from None
