"""``videoworld ask``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from controller.budgets import Budget
from controller.commands import options as given
from tool_induction.judging.options import AllowJudgeOption, JudgeModelOption, JudgeRecordOption
from world_api.core.faults import EpisodeFault
from world_api.exposure.cli import (
    DEFAULT_STORE,
    AsOfOption,
    JsonOption,
    StoreOption,
    WithOption,
    command_app,
    note,
    show,
    under_headings,
)
from world_api.exposure.perceiving import options as looking

if TYPE_CHECKING:
    from pathlib import Path

    from controller.asking import Answered

_USUAL = Budget()

app = command_app()


@app.command(cls=under_headings(given.HEADINGS))
def ask(
    video: given.VideoArgument,
    question: given.QuestionArgument,
    kind: given.KindOption = "open",
    option: given.ChoicesOption = None,
    as_of: AsOfOption = None,
    language: given.LanguageOption = "auto",
    system: given.SystemOption = None,
    tools: given.LibraryOption = None,
    exposure: given.ExposureOption = None,
    domain: given.DomainOption = None,
    settings: given.SettingsOption = None,
    groups: WithOption = None,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    model: given.ModelOption = None,
    wire: given.WireOption = "auto",
    cache: given.CacheOption = None,
    prices: given.PricesOption = None,
    rounds: given.RoundsOption = _USUAL.rounds,
    calls: given.CallsOption = _USUAL.calls,
    max_tokens: given.TokensOption = _USUAL.tokens,
    seconds: given.SecondsOption = _USUAL.seconds,
    money: given.MoneyOption = None,
    window: given.WindowOption = None,
    digest_tokens: given.DigestOption = _USUAL.digest_tokens,
    profile: looking.PerceptionOption = looking.Perception.CLASSICAL,
    vision_model: looking.VisionModelOption = None,
    embedding_model: looking.EmbeddingModelOption = None,
    frames: looking.FramesOption = looking.DEFAULT_FRAMES,
    side: looking.SideOption = looking.DEFAULT_SIDE,
    look_language: looking.LookLanguageOption = None,
    looks: looking.LooksOption = looking.DEFAULT_LOOKS,
    yes: looking.YesOption = False,
    store: StoreOption = DEFAULT_STORE,
    session: given.OwnSessionOption = None,
    commit: given.CommitOption = False,
    record: given.RecordOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a question about a video."""
    from controller.asking import answer
    from controller.conversation.prompting import language_of
    from controller.questions import Question
    from controller.records.journal import Journal
    from controller.records.running import refuse_unpriced
    from controller.systems import SystemContext, build_system
    from tool_induction.domains.loading import load_domain
    from tool_induction.judging.options import judge_of
    from tool_induction.library import load_library
    from world_api.api import ensure_world, open_session
    from world_api.backends.clocks import SystemClock
    from world_api.exposure.models import chat_model, takes_images, window_of
    from world_api.exposure.perceiving.consent import agree_to_looking, prices_in
    from world_api.exposure.progress import progress_bars
    from world_api.session.commits import forget_reserved, reserve_session

    asked = Question(text=question, kind=kind, options=tuple(option or ()), as_of=as_of)
    clock, environment = SystemClock(), os.environ
    spoken = language_of(asked.text) if language == "auto" else language
    eyes = looking.eyes_of(
        looking.EyeChoices(
            profile=profile.value, model=model, vision_model=vision_model, embedding_model=embedding_model,
            frames=frames, side=side, looks=looks, language=look_language or spoken,
        ),
        clock=clock,
        environment=environment,
    )  # fmt: skip
    context = SystemContext(
        model=chat_model(model, clock=clock, environment=environment, wire=wire, cache=cache),
        clock=clock,
        budget=Budget(
            rounds=rounds, calls=calls, tokens=max_tokens, seconds=seconds, money=money,
            window=window or window_of(model, environment=environment),
            digest_tokens=digest_tokens,
        ),
        prices=prices_in(prices),
        language=spoken,
        library=load_library(tools, allow_judge=allow_judge, groups=groups or ()) if tools is not None else None,
        judge=judge_of(allow_judge, judge_model, judge_record, clock=clock, environment=environment),
        domain=load_domain(domain) if domain is not None else None,
        options=given.system_settings(settings, exposure=exposure),
        takes_images=takes_images(model, environment=environment),
    )  # fmt: skip
    name = system or ("hier" if tools is not None else "flat")
    build_system(name, context)  # refuse what cannot be combined before anything is built
    refuse_unpriced(context)
    agree_to_looking(store, video, eyes, context.prices, yes=yes)
    with progress_bars() as bars:
        video_id = ensure_world(video, store, progress=bars, clock=clock)
    # Without a name the session is fresh and lives in memory, unless it has to be stored to be committed.
    fresh = reserve_session(store, video_id, "ask") if session is None and commit else None
    session_name = session if fresh is None else fresh
    try:
        opened = open_session(store, video_id, as_of=as_of, name=session_name, groups=groups or (), seeing=eyes)
        opened.view.world.verify()  # a model would take a damaged world for one in which nothing is there
        journal = Journal(record) if record is not None else None
        answered = answer(
            asked, opened, system=name, context=context, journal=journal, when_broken_off=_tell_broken_off
        )
        _refuse_failed(answered)
    except BaseException:
        if fresh is not None:
            forget_reserved(store, video_id, fresh)
        raise
    committed = _commit(store, video_id, session_name) if commit and session_name is not None else None
    if fresh is not None:
        forget_reserved(store, video_id, fresh)
    _tell(answered, committed, as_json=as_json)


def _tell_broken_off(name: str) -> None:
    note(f"recorded as {name}")


def _refuse_failed(answered: Answered) -> None:
    """End with the fault of an episode that has no answer; where it was recorded, say so.

    Raises:
        EpisodeFault: that fault.
    """
    fault = answered.episode.fault
    if fault is None:
        return
    if answered.name is not None:
        note(f"recorded as {answered.name}")
    raise EpisodeFault(fault.code, fault.message, hint=fault.hint)


def _tell(answered: Answered, committed: dict[str, Any] | None, *, as_json: bool) -> None:
    from controller.summary import summarise, tell

    episode, name = answered.episode, answered.name
    summary = summarise(episode, recorded_as=name) | ({} if committed is None else {"committed": committed})
    show(summary, as_json=as_json, text=lambda: tell(episode, recorded_as=name, committed=committed))


def _commit(store: Path, video_id: str, session: str) -> dict[str, Any]:
    """What the session wrote is the world's from now on; how much that was."""
    from world_api.core.faults import StoreFault
    from world_api.session.commits import commit_session

    try:
        return commit_session(store, video_id, session).record()
    except StoreFault as fault:
        if fault.code != "no_such_session":
            fault.add_note(f"what was written stays: videoworld session commit {video_id} {session}")
            raise
        return {"video_id": video_id, "session": session, "memories": 0, "entities": 0}
