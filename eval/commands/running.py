"""``videoworld eval run``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.core.faults import EvalFault, VideoWorldError
from world_api.exposure.cli import JsonOption, command_app, note, show

if TYPE_CHECKING:
    from eval.runs.judging import Judging
    from eval.runs.running.experiment import Given, Outcome
    from eval.runs.scoring import Scored

app = command_app()


@app.command()
def run(
    what: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG.yaml|RUN", help="A configuration, or the folder of a run that is to go on."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put something else into the configuration; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="The run's folder; by default runs/NAME.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be asked, what it may cost, and what it could show.")
    ] = False,
    pilot: Annotated[
        Path | None,
        typer.Option("--pilot", metavar="RUN", help="With --dry-run: take costs per question from that run."),
    ] = None,
    effect: Annotated[
        float,
        typer.Option("--effect", min=0.0, max=1.0, help="With --dry-run: the true difference the power is told for."),
    ] = 0.1,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration with comments, and leave.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree that frames are sent to an endpoint.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment; run it again and it goes on where it stopped.

    Finished questions are never asked again. Ctrl-C waits for what is under way.
    """
    if example:
        from eval.runs.configuration.example import EXAMPLE

        sys.stdout.write(EXAMPLE)
        return
    from eval.runs.running.experiment import given, run_experiment
    from eval.runs.running.showing import shown
    from world_api.backends.clocks import SystemClock
    from world_api.exposure.progress import progress_bars

    if what is None:
        raise EvalFault(
            "configuration_missing", "no configuration is given", hint="`videoworld eval run --example` prints one"
        )
    clock = SystemClock()
    found = given(what, overrides=tuple(settings or ()), out=out)
    if dry_run:
        from eval.runs.planning.estimating import estimate

        told = estimate(found, pilot=pilot, effect=effect, clock=clock, environment=os.environ)
        show(told.record(), as_json=as_json, text=told.text)
        return
    _refuse_unagreed(found.configuration.document.perception is not None, yes=yes)
    _judging(found)  # a judge that cannot be had is told before hours of questions, and not after them
    with progress_bars() as bars, shown(clock, as_json=as_json) as watch:
        outcome = run_experiment(found, clock=clock, environment=os.environ, shown=watch, building=bars)
    scored, unscored = _scored(found)
    if scored is not None:
        outcome.tally.settle(scored.arms)
    record: dict[str, Any] = outcome.record() | {
        "scored": scored.record() if scored is not None else None,
        "not_scored": unscored.record()["error"] if unscored is not None else None,
    }
    show(record, as_json=as_json, text=lambda: _text(outcome, scored))
    _leave(outcome, unscored, as_json=as_json)


def _judging(what: Given) -> Judging:
    """The judge of the configuration.

    Raises:
        EvalFault, BackendFault: it cannot be had.
    """
    from eval.runs.judging import judging_of
    from world_api.backends.clocks import SystemClock

    document = what.configuration.document
    return judging_of(document.judge, what.folder, models=[document.model], clock=SystemClock(), environment=os.environ)


def _scored(what: Given) -> tuple[Scored | None, VideoWorldError | None]:
    """What is finished, scored; or why it could not be: what was asked stands all the same."""
    from eval.runs.judging import AT_ONCE
    from eval.runs.scoring import score_run

    try:
        judging = _judging(what)
        for told in judging.notes:
            note(told)
        return score_run(what.folder, judge=judging.judge, workers=AT_ONCE), None
    except VideoWorldError as fault:
        return None, fault


def _refuse_unagreed(looks: bool, *, yes: bool) -> None:
    if looks and not yes:
        raise EvalFault(
            "consent_needed",
            "the configuration has a model look at frames, which are sent to the endpoint",
            hint="see with --dry-run what that may take, then add --yes",
        )


def _text(outcome: Outcome, scored: Scored | None) -> str:
    from eval.runs.running.showing import head_of, line_of

    lines = [line_of(outcome.tally)]
    if scored is not None and scored.damaged:
        lines.append(
            f"WARNING: {len(scored.damaged):,} episodes cannot be read and count as wrong: {scored.damaged[0]} ..."
        )
    if outcome.complete:
        lines.append(f"next: videoworld eval report {outcome.folder.root}")
    else:
        lines.append(f"{head_of(outcome.tally)}; go on with: videoworld eval run {outcome.folder.root}")
    return "\n".join(lines)


def _leave(outcome: Outcome, unscored: VideoWorldError | None, *, as_json: bool) -> None:
    """End with the status of how it ended."""
    if outcome.ended.interrupted:
        raise KeyboardInterrupt
    fault = outcome.ended.fault or unscored
    if fault is not None:
        if as_json:
            raise typer.Exit(1)  # the record tells it
        raise fault
