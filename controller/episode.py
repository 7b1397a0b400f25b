"""The record of one episode: the question, the calls and replies, the answer.

Its content is determined by the question, the model's replies and the tool results, so that a replay gives the same
bytes. Wall times are kept apart, in ``Timings``. Field names are those of the JSON form.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from controller.episode_budget import Budget
from controller.evidence import DIGEST, CitedSpan
from controller.questions import Question
from controller.replies import Problem
from world_api.chat.recording import check_schema
from world_api.chat.usage import Price, Usage
from world_api.core.cost import Spent
from world_api.core.faults import INTERNAL_FAULT, EpisodeFault, VideoWorldError

if TYPE_CHECKING:
    from tool_induction.library import ToolLibrary
    from world_api.session.session import Session

SCHEMA_VERSION = 3

#: submitted: by ``submit_answer``; prose: as text, before a limit; forced: at a limit; failed: no answer.
Outcome = Literal["submitted", "prose", "forced", "failed"]


@dataclass(frozen=True, kw_only=True)
class Library:
    """Name and content hash of the tool library of an episode."""

    name: str
    hash: str

    @classmethod
    def of(cls, library: ToolLibrary | None) -> Library | None:
        """Return the name and hash of a library; None if there is none."""
        return None if library is None else cls(name=library.name, hash=library.hash)


@dataclass(frozen=True, kw_only=True)
class Task:
    """The question, the world as the session saw it at the start, and the system.

    ``settings`` is the system's own configuration (exposure, library arm, domain, profile ...), as JSON.
    """

    question: Question
    video_id: str
    world_hash: str
    session: str
    revision: int  #: of the session's overlay, before the first call
    system: str
    settings: dict[str, Any] = field(default_factory=dict)
    library: Library | None = None

    @classmethod
    def of(
        cls,
        question: Question,
        session: Session,
        *,
        system: str,
        settings: dict[str, Any] | None = None,
        library: Library | None = None,
    ) -> Task:
        """Return the task of answering a question in a session.

        Raises EpisodeFault: ``as_of_mismatch``, if the causal cut of the session is not that of the question.
        """
        if question.as_of != session.as_of:
            raise EpisodeFault(
                "as_of_mismatch",
                f"the question is asked as of {question.as_of}, the session is open as of {session.as_of}",
                hint="open the session as of the question's moment",
            )
        return cls(
            question=question,
            video_id=session.video_id,
            world_hash=session.world_hash,
            session=session.name,
            revision=session.revision,
            system=system,
            settings=settings or {},
            library=library,
        )


@dataclass(frozen=True, kw_only=True)
class FaultRecord:
    """The fault that ended an episode."""

    code: str
    message: str
    hint: str

    @classmethod
    def of(cls, fault: VideoWorldError) -> FaultRecord:
        """Return the record of a fault."""
        return cls(code=fault.code, message=fault.message, hint=fault.hint)


@dataclass(frozen=True, kw_only=True)
class RoundRecord:
    """One request to the model.

    ``problems`` are the faults of the reply as a whole; ``thought`` is the reasoning text of the reply, if the server
    sends any. ``physical`` is False if the reply came from the request cache. ``folded`` counts the old results that
    were shortened to summaries for this request.
    """

    number: int
    tools_offered: bool
    usage: Usage
    finish_reason: str | None
    problems: list[Problem]
    thought: str | None = None
    physical: bool = True
    folded: int = 0


@dataclass(frozen=True, kw_only=True)
class CallRecord:
    """One tool call: as the model wrote it, as it ran, and the whole result.

    ``ran`` is False if the call was not executed; ``result`` is then the message to the model. ``inner_calls`` are the
    operations that an induced tool called, in the order of its plan. ``origins`` gives, for each output and each shown
    piece of evidence, the numbers of the inner calls that it came from. ``spent`` are the requests to perception models
    and to the judge during the call.
    """

    id: str
    round: int
    tool: str
    written: Any
    arguments: dict[str, Any]
    result: dict[str, Any]
    inner_calls: list[dict[str, Any]]
    ran: bool
    problem: Problem | None
    note: Problem | None
    origins: dict[str, Any] = field(default_factory=dict)
    spent: list[Spent] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether the result is only a fault; a tool of several steps may report a fault beside its outputs."""
        return "error" in self.result and self.result.get("status", "error") == "error"


@dataclass(frozen=True, kw_only=True)
class RoundTiming:
    """Seconds that a round's request and each of its tool calls took."""

    model_seconds: float
    tool_seconds: list[float]


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Wall times of an episode."""

    started_at: str
    seconds: float
    rounds: list[RoundTiming]


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One question with its answer, or the reason why there is none.

    ``value`` is the answer in the type of the question (see ``Question``), ``answer`` its text. ``prices`` are the
    known prices of the models that were used, in USD per million tokens, so that money can be computed again.
    """

    schema_version: Literal[3] = 3
    task: Task
    model: str
    prompt_hash: str
    language: str  #: of the prompts
    tools: list[dict[str, Any]]  #: the declarations, ``submit_answer`` last, whether a round offered them or not
    tools_hash: str
    budget: Budget
    prices: dict[str, Price]
    messages: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[RoundRecord] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    outcome: Outcome
    reason: str | None  #: why it was forced or failed: a limit, ``malformed_replies``, ``no_answer`` or a fault's code
    fault: FaultRecord | None
    value: Any = None
    answer: str | None = None
    spans: list[CitedSpan] = field(default_factory=list)
    timings: Timings | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all rounds; estimated if those of any round are."""
        return functools.reduce(lambda total, item: total + item.usage, self.rounds, Usage())

    @property
    def tool_calls(self) -> list[CallRecord]:
        """The calls that ran, in order."""
        return [call for call in self.calls if call.ran]

    @property
    def slips(self) -> dict[str, int]:
        """How often each kind of malformed reply or call occurred."""
        problems: list[Problem | None] = [problem for item in self.rounds for problem in item.problems]
        problems += [problem for call in self.calls for problem in (call.problem, call.note)]
        return dict(sorted(Counter(problem for problem in problems if problem is not None).items()))

    @property
    def internal_faults(self) -> int:
        """The number of calls that ended in an error of the program itself."""
        errors = [call.result.get("error") for call in self.calls if call.ran]
        return sum(isinstance(error, dict) and error.get("code") == INTERNAL_FAULT for error in errors)

    def tools_that_gave(self, span: CitedSpan) -> list[str]:
        """Return the names of the tools that returned a cited span, with ``digest`` first if the digest contains it."""
        digest = [DIGEST] if DIGEST in span.returned_by else []
        return list(dict.fromkeys([*digest, *(call.tool for call in self.calls if call.id in span.returned_by)]))

    def record(self) -> dict[str, Any]:
        """Return the JSON form, without the timings."""
        return cast(dict[str, Any], _adapter().dump_python(self, mode="json", exclude={"timings"}))


def episode_from_record(record: dict[str, Any]) -> Episode:
    """Read an episode from its JSON form. Raises EpisodeFault: ``recording_schema``, ``recording_damaged``."""
    check_schema(record, SCHEMA_VERSION, "the episode")
    try:
        episode = _adapter().validate_python(record)
    except ValidationError as error:
        raise _damaged(".".join(map(str, error.errors()[0]["loc"]))) from None
    except EpisodeFault as fault:
        where = "budget" if fault.code == "bad_budget" else "task.question"
        raise _damaged(f"{where}: {fault.message}") from None
    written = episode.record()
    changed = [key for key in sorted(written.keys() | record.keys()) if written.get(key) != record.get(key)]
    if changed:  # else an unknown field would be lost silently, and a missing one filled in
        raise _damaged(changed[0])
    return episode


def _damaged(where: str) -> EpisodeFault:
    return EpisodeFault(
        "recording_damaged", f"the episode's record is not whole: {where}", hint="restore it from a copy"
    )


@functools.cache
def _adapter() -> TypeAdapter[Episode]:
    return TypeAdapter(Episode)
