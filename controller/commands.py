"""The commands ``videoworld ask``, ``videoworld replay`` and ``videoworld show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from controller.options import Budget, Kind
from world_api.commands.cli import (
    AllowJudgeOption,
    AsOfOption,
    JsonOption,
    JudgeModelOption,
    JudgeRecordOption,
    StoreOption,
    WithOption,
    WithoutOption,
    help_sections,
    read_arguments,
    with_vision_options,
)
from world_api.core.ports import WireChoice
from world_api.options import DEFAULT_STORE, DEFAULT_VISION, VisionOptions
from world_api.terminal import note, progress_bars, show

if TYPE_CHECKING:
    from controller.episode import Episode
    from controller.records.journal import DamagedEntry, Journal, JournalEntry
    from world_api.session.session import Session


#: The options that ``ask --help`` shows, and the headings of all of them in ``--help-all``.
FIRST = "tools model profile kind option as_of record html store as_json"
HEADINGS = {
    "Question": "kind option may_abstain as_of language",
    "System": "system tools exposure domain settings groups without allow_judge judge_model judge_record",
    "Model": "model wire cache prices",
    "Budget": "rounds calls max_tokens seconds money window digest_tokens",
    "Perception": "profile vision_model embedding_model frames side look_language looks yes",
    "World": "store session commit",
}


ExposureOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="How a library is shown, for systems that have one.")
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL", help="A model on the endpoint of OPENAI_BASE_URL; or rule-based, which needs none (default)."
    ),
]
WireOption = Annotated[
    WireChoice,
    typer.Option(
        help="The API that is spoken; auto: Chat Completions, unless the model wants another; json: calls as JSON, for servers "
        "without tool calling."
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="USD per million tokens by model, as JSON or YAML; without it no money is reported."
    ),
]
RoundsOption = Annotated[int, typer.Option(min=0, help="Most requests to the model.")]
CallsOption = Annotated[int, typer.Option(min=0, help="Most tool calls.")]
TokensOption = Annotated[
    int, typer.Option("--tokens", "--max-tokens", min=0, help="Most tokens, sent and written together.")
]
SecondsOption = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="Most wall time; the last request, for the best answer so far, comes on top (10 to 120 seconds).",
    ),
]
MoneyOption = Annotated[float | None, typer.Option(min=0, metavar="USD", help="Most money; needs --prices.")]


USUAL_BUDGET = Budget()


@help_sections(FIRST, HEADINGS)
@with_vision_options("prices")
def ask(
    video: Annotated[str, typer.Argument(metavar="ID|VIDEO", help="A world's id, or a video to build first.")],
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to find out, in English or Chinese.")],
    kind: Annotated[
        Kind, typer.Option(help="The type of the answer; it is asked for and checked in that type.")
    ] = "open",
    option: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A choice, or a thing to be ordered; repeatable.")
    ] = None,
    may_abstain: Annotated[
        bool,
        typer.Option("--may-abstain", help='Allow "it is not there" and "it cannot be told" as answers, of any type.'),
    ] = False,
    as_of: AsOfOption = None,
    language: Annotated[
        Literal["auto", "en", "zh"], typer.Option(help="Of the prompts; auto: that of the question.")
    ] = "auto",
    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who answers, such as flat, hier, direct, blind; by default hier with --tools, else flat.",
        ),
    ] = None,
    tools: Annotated[str | None, typer.Option(metavar="LIBRARY", help="A tool library, by name or folder.")] = None,
    exposure: ExposureOption = None,
    domain: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A domain: some systems are given it; its worked examples are never asked."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A further setting of the system, read as JSON; repeatable."),
    ] = None,
    groups: WithOption = None,
    without: WithoutOption = None,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    model: ModelOption = None,
    wire: WireOption = "auto",
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep replies there, and take equal requests from there.")
    ] = None,
    prices: PricesOption = None,
    rounds: RoundsOption = USUAL_BUDGET.rounds,
    calls: CallsOption = USUAL_BUDGET.calls,
    max_tokens: TokensOption = USUAL_BUDGET.tokens,
    seconds: SecondsOption = USUAL_BUDGET.seconds,
    money: MoneyOption = None,
    window: Annotated[
        int | None,
        typer.Option(min=1, metavar="TOKENS", help="The model's context window; old results are folded to fit."),
    ] = None,
    digest_tokens: Annotated[
        int,
        typer.Option(
            min=0, metavar="TOKENS", help="Tokens, about, of the digest of the world at the start; 0 for none."
        ),
    ] = USUAL_BUDGET.digest_tokens,
    vision: VisionOptions = DEFAULT_VISION,
    store: StoreOption = DEFAULT_STORE,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="SESSION",
            help="Session whose writes are seen and added to; by default a fresh one, of which nothing is kept.",
        ),
    ] = None,
    commit: Annotated[
        bool,
        typer.Option("--commit", help="Once answered, add what the session wrote to the world, for later sessions."),
    ] = False,
    record: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Record the episode there, for replay.")] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the answer as a page: the world, and the evidence of each call in it."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a question about a video."""
    from controller.answers import Question
    from controller.asking import Asking, AskOptions
    from controller.display import summary_record, summary_text
    from world_api.api import ensure_world
    from world_api.core.execution import SystemClock

    query = Question(text=question, kind=kind, options=tuple(option or ()), as_of=as_of, may_abstain=may_abstain)
    options = AskOptions(
        store=store, system=system, tools=tools, exposure=exposure, domain=domain,
        settings=read_arguments(settings, None, {}), groups=[*(groups or ()), *(without or ())],
        allow_judge=allow_judge, judge_model=judge_model, judge_record=judge_record,
        model=model, wire=wire, cache=cache, prices=prices,
        budget=Budget(
            rounds=rounds, calls=calls, tokens=max_tokens, seconds=seconds, money=money, window=window,
            digest_tokens=digest_tokens,
        ),
        language=language, vision=vision, session=session, commit=commit, record=record,
    )  # fmt: skip
    if html is not None:
        from world_api.page.world_page import refuse_other_file

        refuse_other_file(html)
    asking = Asking(query, options)
    asking.confirm(video)
    with progress_bars() as bars:
        video_id = ensure_world(video, store, progress=bars, clock=SystemClock(), profile=vision.base)
    asked = asking.answer(video_id, say=note)
    episode, name, committed = asked.episode, asked.recorded_as, asked.committed
    summary = summary_record(episode, recorded_as=name)
    show(
        summary | ({} if committed is None else {"committed": committed}),
        as_json=as_json,
        text=lambda: summary_text(episode, recorded_as=name, committed=committed),
    )
    if html is not None:  # after the answer, which a full disk shall not cost
        _write_page(episode, asked.session, html)


def _write_page(episode: Episode, session: Session, path: Path) -> None:
    """Write the page of the world with the question, the answer, and the calls with their evidence."""
    from controller.display import page_record
    from world_api.page.world_page import write_world_page

    write_world_page(session.view, path, episode=page_record(episode))
    note(f"written to {path}")


EpisodeArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="The folder that --record made, or of a run; FOLDER/ID is one of its episodes."
    ),
]
NameArgument = Annotated[str | None, typer.Argument(metavar="ID", help="Which of its episodes.")]


def replay(episode: EpisodeArgument, name: NameArgument = None, as_json: JsonOption = False) -> None:
    """Run recorded episodes again, offline, and compare byte for byte.

    Of a folder, all of them. Neither an endpoint nor the world is needed. Ends with status 1 unless there is an episode and every
    one is the same.
    """
    from controller.records.journal import locate_episode

    journal, name = locate_episode(episode, name)
    entries = journal.scan() if name is None else [journal.find(name)]
    found = [_replayed(journal, entry) for entry in entries]
    unfinished = journal.unfinished() if name is None else []
    record = {"episodes": found, "unfinished": unfinished}
    show(record, as_json=as_json, text=lambda: _replay_text(found, unfinished))
    if not found or not all(item["identical"] for item in found):
        raise typer.Exit(1)


def _replayed(journal: Journal, found: JournalEntry | DamagedEntry) -> dict[str, Any]:
    """Return the result of a replay as JSON, or the fault if the episode cannot be replayed."""
    from controller.records.journal import DamagedEntry
    from controller.records.replay import replay_recorded
    from world_api.core.faults import VideoWorldError

    try:
        if isinstance(found, DamagedEntry):
            raise found.fault
        done = replay_recorded(journal, found)
    except VideoWorldError as fault:
        return {"name": found.name, "identical": False, "difference": None, **fault.record()}
    return {"name": found.name, "identical": done.identical, "difference": done.difference, "error": None}


def _replay_text(found: list[dict[str, Any]], unfinished: list[str]) -> str:
    lines = []
    for item in found:
        result = "identical" if item["identical"] else f"differs at {item['difference']}"
        if (error := item["error"]) is not None:
            result = f"refused: {error['message']} [{error['code']}]\n  hint: {error['hint']}"
        lines.append(f"{item['name']}  {result}")
    lines += [f"{name}  not finished" for name in unfinished]
    return "\n".join(lines if found else [*lines, "no episode is finished"])


def show_episode(
    episode: EpisodeArgument,
    name: NameArgument = None,
    only: Annotated[
        int | None,
        typer.Option("--round", min=0, metavar="N", help="This round only; 0 is what came before the first."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Whole thoughts, arguments and results.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a recorded episode: question, rounds, calls, answer, evidence, cost.

    One that is not finished is shown as far as it came. Of a folder with several, their list; it ends with status 1 where one
    of them is damaged.
    """
    from dataclasses import asdict

    from controller.display import episode_page, list_of, summary_record
    from controller.records.journal import DamagedEntry, locate_episode

    journal, name = locate_episode(episode, name)
    unfinished = journal.unfinished()
    if name is None:
        scanned = list(journal.scan())
        found = [item for item in scanned if not isinstance(item, DamagedEntry)]
        broken = [item for item in scanned if isinstance(item, DamagedEntry)]
        if broken or unfinished or len(found) != 1:
            listing = {
                "episodes": [
                    {
                        "name": item.name,
                        "question": item.episode.task.question.text,
                        "system": item.episode.task.system,
                        "outcome": item.episode.outcome,
                        "answer": item.episode.answer,
                    }
                    for item in found
                ],
                "unfinished": unfinished,
                "damaged": [{"name": item.name, **item.fault.record()} for item in broken],
            }
            lines = [list_of(found, unfinished)] if found or unfinished or not broken else []
            lines += [f"{item.name}  damaged: {item.fault.message}" for item in broken]
            show(listing, as_json=as_json, text=lambda: "\n".join(lines))
            if broken:
                raise typer.Exit(1)
            return
        name = found[0].name
    if name in unfinished:
        entry = journal.beginning(name)  # as far as it is recorded
    else:
        entry = journal.find(name)
        journal.taken(entry)  # raises if the record is damaged
    timings = entry.episode.timings
    record = {
        "summary": summary_record(entry.episode, recorded_as=entry.name),
        "conditions": entry.conditions.record(),
        "episode": entry.episode.record(),
        "timings": asdict(timings) if timings is not None else None,
    }
    show(record, as_json=as_json, text=lambda: episode_page(entry, only=only, full=full))
