"""``videoworld ask``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from controller.questions import Question
from controller.systems import BUILDERS, SystemName
from tool_induction.judging.options import AllowJudgeOption, JudgeModelOption, JudgeRecordOption
from world_api.core.faults import EpisodeFault
from world_api.exposure.cli import (
    DEFAULT_SESSION,
    DEFAULT_STORE,
    AsOfOption,
    JsonOption,
    SessionOption,
    StoreOption,
    note,
    show,
)

app = typer.Typer()


@app.command()
def ask(
    video: Annotated[str, typer.Argument(metavar="ID_OR_VIDEO_FILE", help="A world's id, or a video to build first.")],
    question: Annotated[str, typer.Argument(help="What to find out, in English or Chinese.")],
    store: StoreOption = DEFAULT_STORE,
    tools: Annotated[
        str | None, typer.Option("--tools", metavar="LIBRARY", help="A tool library, by name or folder.")
    ] = None,
    system: Annotated[
        SystemName | None,
        typer.Option(help="hier: operations and the library; flat: operations only. By default as --tools says."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="A model on the endpoint of OPENAI_BASE_URL; or rule-based, which needs none (default)."),
    ] = None,
    as_of: AsOfOption = None,
    session: SessionOption = DEFAULT_SESSION,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="DIR", help="Record the episode there, for replay.")
    ] = None,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a question about a video."""
    from controller.records.journal import Journal
    from controller.records.replay import answer_recorded
    from controller.summary import summarise, tell
    from tool_induction.judging.options import judge_of
    from tool_induction.library import load_library
    from world_api.backends.clocks import SystemClock
    from world_api.exposure.models import chat_model
    from world_api.exposure.progress import progress_bars
    from world_api.profiles import ensure_world, open_session

    asked = Question(text=question, as_of=as_of)
    clock = SystemClock()
    chat = chat_model(model, clock=clock, environment=os.environ)
    library = load_library(tools, allow_judge=allow_judge) if tools is not None else None
    judge = judge_of(allow_judge, judge_model, judge_record, clock=clock, environment=os.environ)
    builder = BUILDERS[system or ("hier" if library is not None else "flat")]
    builder(
        model=chat, clock=clock, library=library, judge=judge
    )  # refuse what cannot be combined before anything is built
    with progress_bars() as bars:
        video_id = ensure_world(video, store, progress=bars, clock=clock)
    opened = open_session(store, video_id, as_of=as_of, name=session)
    opened.view.world.verify()  # a model would take a damaged world for one in which nothing is there
    name = None
    if record is None:
        episode = builder(model=chat, clock=clock, library=library, judge=judge).answer(asked, opened)
    else:
        episode, name = answer_recorded(
            asked,
            opened,
            system=lambda chat, clock: builder(model=chat, clock=clock, library=library, judge=judge),
            model=chat,
            clock=clock,
            journal=Journal(record),
        )
    if episode.fault is not None:
        if name is not None:
            note(f"recorded as {name}")
        raise EpisodeFault(episode.fault.code, episode.fault.message, hint=episode.fault.hint)
    show(summarise(episode, recorded_as=name), as_json=as_json, text=lambda: tell(episode, recorded_as=name))
