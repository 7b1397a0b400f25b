"""``videoworld eval judge``: how far a judge of open answers agrees with people."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from world_api.exposure.cli import JsonOption, command_app, show

app = command_app()


@app.command()
def judge(
    judge_model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Who judges: a model on the endpoint of OPENAI_BASE_URL. Without it: token F1."
        ),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your labelled pairs; without it those shipped.")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A published judge's prompt, in place of our own.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep verdicts there; what it holds is not asked again.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides the order of judging, and the draws of intervals.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure a judge against labelled pairs."""
    from eval.scoring.judging.agreement import measure_agreement
    from eval.scoring.judging.by_words import WordsJudge
    from eval.scoring.judging.choosing import judge_of
    from eval.scoring.judging.pairs import read_pairs, shipped_pairs
    from world_api.backends.clocks import SystemClock

    labelled = shipped_pairs() if pairs is None else read_pairs(pairs)
    chosen = judge_of(judge_model, prompt=prompt, record=record, clock=SystemClock(), environment=os.environ)
    found = measure_agreement(chosen or WordsJudge(), labelled, seed=seed)
    show(found.record(), as_json=as_json, text=lambda: found.text)
