"""Running a recorded episode again offline.

A replay builds the system anew and gives it recorded replies, tool results, materials and clock readings. It needs
neither endpoint nor world nor video. It proves that the record follows from what was recorded: the bytes are equal or a
difference is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from controller.episode import Episode
from controller.questions import Question
from controller.records.conditions import Conditions
from controller.records.files import damaged
from controller.records.journal import Entry, Journal
from controller.records.running import run_system
from controller.records.stand_ins import RecordedGround, RecordedModel, RecordedSession, SilentJudge
from controller.systems.context import SystemBuilder, SystemContext
from tool_induction.domains import Domain
from tool_induction.library import ToolLibrary
from world_api.backends.chat.prices import Price, Prices
from world_api.backends.chat.recording import Exchange, first_difference
from world_api.backends.clocks import ReplayClock
from world_api.core.canonical import json_line
from world_api.core.faults import EpisodeFault


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """An episode that was run again, and whether its record is byte for byte the recorded one; else where it first differs."""

    name: str
    episode: Episode
    identical: bool
    difference: str | None = None


def replay_recorded(
    journal: Journal, name: str, *, question: Question | None = None, build: SystemBuilder | None = None
) -> Replayed:
    """Run a recorded episode again, with its own question unless another is given.

    Raises:
        EpisodeFault: ``prompt_changed``; ``loop_changed`` or ``replay_mismatch``, when the run wants a reply, a result, a
            material or a time that was not recorded, or leaves one; ``broken_off_episode``; ``unknown_episode``,
            ``unknown_system``, ``recording_missing``, ``recording_damaged``, ``recording_schema``.
    """
    return replay_found(journal, journal.find(name), question=question, build=build)


def replay_found(
    journal: Journal, entry: Entry, *, question: Question | None = None, build: SystemBuilder | None = None
) -> Replayed:
    """The same, on an entry that was found."""
    taken = journal.taken(entry)
    if not entry.timed:
        raise damaged(f"the times of {entry.name} are not there")
    return replay_entry(entry, taken.exchanges, materials=taken.materials, question=question, build=build)


def replay_entry(
    entry: Entry,
    exchanges: Sequence[Exchange],
    *,
    materials: Mapping[str, Any] | None = None,
    question: Question | None = None,
    build: SystemBuilder | None = None,
) -> Replayed:
    """The same, on an entry, its exchanges and its materials."""
    recorded, conditions = entry.episode, entry.conditions
    _refuse_what_changed(conditions)
    model, clock = RecordedModel(exchanges, name=recorded.model), ReplayClock(entry.readings)
    ground = RecordedGround(recorded, materials or {})
    context = SystemContext(
        model=model,
        clock=clock,
        budget=recorded.budget,
        prices=_prices(recorded),
        language=conditions.language,
        library=_library(conditions),
        judge=SilentJudge(conditions.judge) if conditions.judge is not None else None,
        domain=_domain(conditions),
        options=conditions.options,
        takes_images=conditions.takes_images,
        ground=ground,
    )
    session = RecordedSession(recorded.task, groups=frozenset(conditions.groups))
    asked = question or recorded.task.question
    try:
        episode = run_system(conditions.system, context, asked, session, build=build)
        again, kept = episode.record(), recorded.record()
        identical = json_line(again) == json_line(kept)
        if identical:
            _refuse_left({"exchange": model.left, **ground.left, "clock reading": clock.left})
    except EpisodeFault as fault:
        if fault.code == "replay_mismatch" and conditions.is_other_loop():
            raise _loop_changed(conditions, fault.message) from None
        raise
    return Replayed(
        name=entry.name,
        episode=episode,
        identical=identical,
        difference=None if identical else _difference(kept, again, conditions),
    )


def _refuse_left(left: Mapping[str, int]) -> None:
    """Refuse a record of more than happened.

    Raises:
        EpisodeFault: ``replay_mismatch``.
    """
    told = [f"{number} x {what}" for what, number in left.items() if number]
    if told:
        raise EpisodeFault(
            "replay_mismatch",
            "more was recorded than the replay asks for: " + ", ".join(told),
            hint="the record was added to, or made by another version of the system; run the question again",
        )


def _prices(recorded: Episode) -> Prices:
    """The prices that were used; a budget of money had one of the model, also where nothing came to be paid."""
    known = dict(recorded.prices)
    if recorded.budget.money is not None:
        known.setdefault(recorded.model, Price(prompt=0.0, cached=0.0, completion=0.0))
    return Prices(models=known)


def _refuse_what_changed(conditions: Conditions) -> None:
    """Refuse by name what cannot give the same bytes.

    Raises:
        EpisodeFault: ``broken_off_episode``, ``prompt_changed``.
    """
    if conditions.broken_off:
        raise EpisodeFault(
            "broken_off_episode",
            "the episode was broken off and has no end that could be reached again",
            hint="`videoworld show` shows what there is of it",
        )
    changed = conditions.changed_prompts()
    if changed:
        raise EpisodeFault(
            "prompt_changed",
            "prompts have changed since the recording: " + ", ".join(changed),
            hint=f"replay it with the prompts of version {conditions.version}, or ask the question again",
        )


def _loop_changed(conditions: Conditions, what: str) -> EpisodeFault:
    return EpisodeFault(
        "loop_changed",
        f"recorded by another version of the loop ({conditions.version}, {conditions.loop[:12]}), and this one differs: {what}",
        hint="replay it with the version that recorded it, or ask the question again",
    )


def _difference(kept: dict[str, Any], again: dict[str, Any], conditions: Conditions) -> str:
    """Where the records first differ, and what may be to blame."""
    where = first_difference(kept, again)
    if conditions.is_other_loop():
        return f"{where} (recorded by another version of the loop: {conditions.version}, {conditions.loop[:12]})"
    return where


def _library(conditions: Conditions) -> ToolLibrary | None:
    """The library by name and hash; its tools are not needed, since their results are recorded."""
    library = conditions.library
    return None if library is None else ToolLibrary(name=library.name, hash=library.hash, tools={})


def _domain(conditions: Conditions) -> Domain | None:
    if conditions.domain is None:
        return None
    try:
        return TypeAdapter(Domain).validate_python(conditions.domain)
    except ValidationError:
        raise EpisodeFault(
            "recording_damaged", "the recorded domain is not whole", hint="restore the episode from a copy"
        ) from None
