"""``videoworld eval score``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.core.faults import EvalFault
from world_api.exposure.cli import JsonOption, command_app, note, show

if TYPE_CHECKING:
    from eval.runs.scoring import Scored

app = command_app()


@app.command()
def score(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run; a bundle has to be opened into one first.")
    ],
    judge_model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Who judges open answers: a model on the endpoint of OPENAI_BASE_URL, or words. "
            "Without it: the judge of the run's configuration, else the verdicts that the run keeps, else words.",
        ),
    ] = None,
    judge_prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A published judge's prompt, in place of our own.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="So many answers are put to the judge at a time.")] = 4,
    as_json: JsonOption = False,
) -> None:
    """Score a run's episodes again. No model answers anew; equal episodes get equal scores.

    What a judge says is kept in the run, and is not asked again.
    """
    from eval.runs.configuration.document import JudgePart
    from eval.runs.judging import judge_part_of, judging_of
    from eval.runs.manifest import read_manifest
    from eval.runs.places import RunFolder
    from eval.runs.scoring import score_run
    from eval.scoring.judging.choosing import judge_of
    from eval.scoring.judging.judge import ModelJudge
    from world_api.backends.clocks import SystemClock

    if run.is_file():
        raise EvalFault(
            "bundle_is_whole",
            f"{run.name} is a file, and scores are written into a run; a bundle stays as it was packed",
            hint=f"`videoworld eval bundle --open {run.name} --out DIR`, then `videoworld eval score DIR`",
        )
    folder = RunFolder(run)
    manifest, clock = read_manifest(folder.manifest), SystemClock()
    part = JudgePart.model_construct(model=judge_model) if judge_model is not None else judge_part_of(manifest)
    if part is None:
        judge = judge_of(None, prompt=judge_prompt, record=folder.verdicts, clock=clock, environment=os.environ)
    else:
        judging = judging_of(
            part, folder, models=[manifest.model], prompt=judge_prompt, clock=clock, environment=os.environ
        )
        judge = judging.judge
        for told in judging.notes:
            note(told)
    scored = score_run(folder, judge=judge, workers=parallel)
    counts = judge.counts.record() if isinstance(judge, ModelJudge) else None
    show({**scored.record(), "judging": counts}, as_json=as_json, text=lambda: _text(scored, counts))


def _text(scored: Scored, counts: dict[str, Any] | None) -> str:
    who = ", ".join(f"{name} {count:,}" for name, count in scored.scorers.items())
    lines = [f"{scored.samples:,} samples scored, {scored.right:,} right; by {who or 'nobody'}"]
    if counts is not None:
        lines.append(
            f"judged: {counts['asked']:,} by new requests, {counts['remembered']:,} from file; {counts['given_up']:,} counted as "
            "wrong, since no reply could be read"
        )
    lines += [f"counted as wrong, since it cannot be read: {name}" for name in scored.damaged]
    return "\n".join(lines)
