"""``videoworld compare``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.commands import (
    CallsOption,
    ExposureOption,
    ModelOption,
    MoneyOption,
    PricesOption,
    RoundsOption,
    SecondsOption,
    TokensOption,
    WireOption,
)
from eval.commands.options import end_command
from world_api.commands.cli import DEFAULT_STORE, JsonOption, StoreOption, command_app, show, under_headings

if TYPE_CHECKING:
    from eval.report.own_video import Compared

_USUAL_LIBRARY = "hand_A"
_ROUNDS, _CALLS, _TOKENS, _SECONDS = 12, 40, 200_000, 600.0

app = command_app()


@app.command(
    cls=under_headings(
        {
            "Systems": ("tools", "exposure", "seeds"),
            "Model": ("model", "wire", "prices", "judge"),
            "Budget": ("rounds", "calls", "max_tokens", "seconds", "money"),
        }
    )
)
def compare(
    video: Annotated[Path, typer.Argument(metavar="VIDEO", help="Your video.")],
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS.jsonl", help="Your questions, one JSON object a line; `question` is all that is needed."
        ),
    ],
    tools: Annotated[
        list[str] | None,
        typer.Option("--tools", metavar="LIBRARY", help="A tool library, by name or folder; repeat it for several."),
    ] = None,
    exposure: ExposureOption = None,
    seeds: Annotated[list[int] | None, typer.Option("--seed", min=0, help="A seed; repeat it for several.")] = None,
    model: ModelOption = None,
    wire: WireOption = "auto",
    prices: PricesOption = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="MODEL", help="Who scores open answers; else they are scored by their words."),
    ] = None,
    rounds: RoundsOption = _ROUNDS,
    calls: CallsOption = _CALLS,
    max_tokens: TokensOption = _TOKENS,
    seconds: SecondsOption = _SECONDS,
    money: MoneyOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for run and report; by default comparisons/NAME."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare flat against hierarchical tool use on your own video, as one HTML file.

    Your questions are asked twice: with the sixteen operations alone, and with a tool library beside them. Answers that you
    know are scored; where you know none, both answers are shown. Run it again and it goes on where it stopped.
    """
    from eval.report.own_video import OwnComparison, compare_own
    from eval.runs.progress import progress_display
    from world_api.commands.cli import progress_bars
    from world_api.core.ports import SystemClock

    budget = {"rounds": rounds, "calls": calls, "tokens": max_tokens, "seconds": seconds}
    wanted = OwnComparison(
        video=video,
        questions=questions,
        out=out if out is not None else Path("comparisons") / video.stem,
        store=store,
        libraries=tools or [_USUAL_LIBRARY],
        model=model or "rule-based",
        wire=wire,
        exposure=exposure,
        seeds=seeds or [1],
        judge=judge,
        prices=prices,
        budget=budget | ({} if money is None else {"money": money}),
    )
    clock = SystemClock()
    with progress_bars() as bars, progress_display(clock, as_json=as_json) as watch:
        compared = compare_own(wanted, clock=clock, environment=os.environ, shown=watch, building=bars)
    show(_record(compared), as_json=as_json, text=lambda: _text(compared))
    ended = compared.outcome.ended
    end_command(ended.fault, interrupted=ended.interrupted, as_json=as_json)


def _record(compared: Compared) -> dict[str, Any]:
    from eval.commands.results import record_of

    written = compared.written
    return compared.outcome.record() | {"report": None if written is None else record_of(written)}


def _text(compared: Compared) -> str:
    from eval.commands.results import text_of
    from eval.runs.progress import progress_text

    told = progress_text(compared.outcome.tally)
    return (
        f"{told}\nnot finished: run the same command again"
        if compared.written is None
        else f"{told}\n{text_of(compared.written)}"
    )
