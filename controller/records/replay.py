"""Running a recorded episode again, offline.

A replay builds the system again and gives it the recorded replies, tool results, materials and clock readings; it needs
no endpoint, no world and no video. It proves that the record follows from its parts: the bytes are equal, or the first
difference is named.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, cast

from pydantic import TypeAdapter, ValidationError

from controller.answers import SUBMIT_ANSWER, Question
from controller.episode import CallRecord, Episode, Task
from controller.episode_tools import TRACE, Toolset
from controller.records.journal import Conditions, Journal, JournalEntry
from controller.records.recorder import run_system
from controller.systems.base import EpisodeInputs, SystemBuilder, SystemContext
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import READ_MORE, Price, Prices
from world_api.chat.recording import Exchange, ReplayChatModel, ReplayClock, damaged, first_difference
from world_api.core.canonical import canonical_json, json_line
from world_api.core.cost import charge
from world_api.core.faults import EpisodeFault
from world_api.session.session import Session

if TYPE_CHECKING:
    from tool_induction.domains import Domain


class RecordedInputs(EpisodeInputs):
    """Inputs that return what an episode recorded; nothing is created."""

    def __init__(self, episode: Episode, materials: Mapping[str, Any]) -> None:
        self._materials = materials
        self.recorded_tools = RecordedTools(episode.tool_calls, offered=offered_tools(episode))
        self.untaken = set(materials)

    def tools(self, make: Callable[[], Toolset]) -> Toolset:
        """Return the recorded toolset."""
        return self.recorded_tools

    def material(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the recorded value. Raises EpisodeFault: ``replay_mismatch``, if none was recorded under the name."""
        if name not in self._materials:
            raise _mismatch(f"the replay takes the material {name[:64]!r}, which was not recorded")
        self.untaken.discard(name)
        return self._materials[name]


class RecordedTools:
    """A toolset that returns the recorded results of calls; equal calls get theirs in recorded order."""

    def __init__(self, calls: Sequence[CallRecord], *, offered: Sequence[ToolDeclaration]) -> None:
        self._waiting: dict[tuple[str, str], deque[CallRecord]] = defaultdict(deque)
        for call in calls:
            if call.tool != READ_MORE:  # the loop makes pages itself
                self._waiting[call.tool, canonical_json(call.arguments)].append(call)
        self._offered = offered
        self._lock = Lock()

    @property
    def left(self) -> int:
        """The number of recorded calls that were not made again."""
        return sum(map(len, self._waiting.values()))

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the recorded declarations."""
        return self._offered

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the recorded result, and charge the recorded requests of the call again.

        Raises EpisodeFault: ``replay_mismatch``, if no such call, or no further one, was recorded.
        """
        with self._lock:
            waiting = self._waiting.get((name, canonical_json(arguments)))
            call = waiting.popleft() if waiting else None
        if call is None:
            raise _mismatch(f"the replay calls {name[:64]} with arguments that were not recorded")
        for item in call.spent:
            charge(item)
        if not call.inner_calls and not call.origins:
            return call.result
        return {**call.result, TRACE: {"kind": "tool", **call.origins, "children": call.inner_calls}}


class RecordedSession:
    """A session without a world, with only those attributes that its task recorded."""

    def __init__(self, task: Task, *, groups: frozenset[str]) -> None:
        self.name, self.video_id, self.world_hash = task.session, task.video_id, task.world_hash
        self.as_of, self.revision, self.groups = task.question.as_of, task.revision, groups
        self.perception: dict[str, Any] | None = task.settings.get("perception")
        self.stood_in: dict[str, Any] | None = task.settings.get("stood_in")

    def __getattr__(self, name: str) -> NoReturn:
        raise _mismatch(f"the system uses the session's {name[:64]}, which is in no record")


@dataclass
class NamedJudge:
    """A judge with a name only; its answers are in the recorded results."""

    name: str

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """Raise, since a replay makes no request. Raises EpisodeFault: ``replay_mismatch``."""
        raise _mismatch("the system asks its judge outside a tool call, which is in no record")


def offered_tools(recorded: Episode) -> list[ToolDeclaration]:
    """Return the tools of a recorded episode without ``submit_answer`` and ``read_more``, which belong to the loop.

    Raises EpisodeFault: ``recording_damaged``.
    """
    try:
        functions = [item["function"] for item in recorded.tools]
        return [
            ToolDeclaration(
                name=function["name"],
                description=function["description"],
                parameters=function["parameters"],
                writes=True,  # so that the recorded results are given one after the other, in the order of the calls
            )
            for function in functions
            if function["name"] not in (SUBMIT_ANSWER, READ_MORE)
        ]
    except (KeyError, TypeError):
        raise damaged("a recorded declaration is not whole") from None


def _mismatch(what: str) -> EpisodeFault:
    return EpisodeFault(
        "replay_mismatch", what, hint="the recording was made by another version of the system; run the question again"
    )


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A replayed episode; ``difference`` is the first place where its record differs from the recorded one, or None."""

    name: str
    episode: Episode
    identical: bool
    difference: str | None = None


def replay_recorded(
    journal: Journal,
    recorded: str | JournalEntry,
    *,
    question: Question | None = None,
    build: SystemBuilder | None = None,
) -> Replayed:
    """Run a recorded episode again, given by its name or as an entry; ``question`` replaces its own question.

    Raises EpisodeFault: ``prompt_changed``; ``loop_changed`` or ``replay_mismatch``, if the run requests a reply, a
    result, a material or a time that was not recorded, or leaves one unused; ``broken_off_episode``;
    ``unknown_episode``, ``unknown_system``, ``recording_missing``, ``recording_damaged``, ``recording_schema``.
    """
    entry = journal.find(recorded) if isinstance(recorded, str) else recorded
    exchanges, materials = journal.taken(entry)
    if not entry.timed:
        raise damaged(f"the times of {entry.name} are not there")
    return replay_entry(entry, exchanges, materials=materials, question=question, build=build)


def replay_entry(
    entry: JournalEntry,
    exchanges: Sequence[Exchange],
    *,
    materials: Mapping[str, Any] | None = None,
    question: Question | None = None,
    build: SystemBuilder | None = None,
) -> Replayed:
    """Run an episode again from its entry, exchanges and materials. Raises the faults of ``replay_recorded``."""
    from tool_induction.library import ToolLibrary

    recorded, conditions = entry.episode, entry.conditions
    _refuse_what_changed(conditions)
    model, clock = ReplayChatModel(exchanges, name=recorded.model), ReplayClock(entry.readings)
    inputs = RecordedInputs(recorded, materials or {})
    context = SystemContext(
        model=model,
        clock=clock,
        budget=recorded.budget,
        prices=_prices(recorded),
        language=conditions.language,
        library=None if (one := conditions.library) is None else ToolLibrary(name=one.name, hash=one.hash, tools={}),
        judge=NamedJudge(conditions.judge) if conditions.judge is not None else None,
        domain=_domain(conditions),
        options=conditions.options,
        takes_images=conditions.takes_images,
        inputs=inputs,
    )
    session = cast(Session, RecordedSession(recorded.task, groups=frozenset(conditions.groups)))
    question = question or recorded.task.question
    try:
        episode = run_system(conditions.system, context, question, session, build=build)
        again, kept = episode.record(), recorded.record()
        identical = json_line(again) == json_line(kept)
        left = {"exchange": model.left, "call": inputs.recorded_tools.left}
        left |= {"material": len(inputs.untaken), "clock reading": clock.left}
        unused = [f"{number} x {what}" for what, number in left.items() if number]
        if identical and unused:
            raise EpisodeFault(
                "replay_mismatch",
                "more was recorded than the replay asks for: " + ", ".join(unused),
                hint="the record was added to, or made by another version of the system; run the question again",
            )
    except EpisodeFault as fault:
        if fault.code == "replay_mismatch" and conditions.is_other_loop():
            recorded_by = f"({conditions.version}, {conditions.loop[:12]})"
            raise EpisodeFault(
                "loop_changed",
                f"recorded by another version of the loop {recorded_by}, and this one differs: {fault.message}",
                hint="replay it with the version that recorded it, or ask the question again",
            ) from None
        raise
    difference = None if identical else first_difference(kept, again)
    if difference is not None and conditions.is_other_loop():
        difference += f" (recorded by another version of the loop: {conditions.version}, {conditions.loop[:12]})"
    return Replayed(name=entry.name, episode=episode, identical=identical, difference=difference)


def _prices(recorded: Episode) -> Prices:
    """Return the recorded prices; with a budget of money also one for the model (0 if it was never charged)."""
    known = dict(recorded.prices)
    if recorded.budget.money is not None:
        known.setdefault(recorded.model, Price(prompt=0.0, cached=0.0, completion=0.0))
    return Prices(models=known)


def _refuse_what_changed(conditions: Conditions) -> None:
    """Check that a replay can give the same bytes. Raises EpisodeFault: ``broken_off_episode``, ``prompt_changed``."""
    if conditions.broken_off:
        raise EpisodeFault(
            "broken_off_episode",
            "the episode was interrupted and has no end to replay",
            hint="`videoworld show` shows what there is of it",
        )
    changed = conditions.changed_prompts()
    if changed:
        raise EpisodeFault(
            "prompt_changed",
            "prompts have changed since the recording: " + ", ".join(changed),
            hint=f"replay it with the prompts of version {conditions.version}, or ask the question again",
        )


def _domain(conditions: Conditions) -> Domain | None:
    from tool_induction.domains import Domain

    try:
        return TypeAdapter(Domain | None).validate_python(conditions.domain)
    except ValidationError:
        raise damaged("the recorded domain is not whole") from None
