"""``videoworld eval run``, ``videoworld eval score`` and ``videoworld compare``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.commands import (
    USUAL_BUDGET,
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
from eval.commands import JudgePromptOption, end_command
from world_api.commands.cli import JsonOption, StoreOption, WithoutOption, help_sections
from world_api.core.faults import EvalFault
from world_api.installation import program_name
from world_api.options import DEFAULT_STORE
from world_api.terminal import note, progress_bars, show

if TYPE_CHECKING:
    from eval.runs.experiment import RunOutcome
    from eval.runs.scoring import Scored


def run(
    what: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG.yaml|RUN", help="A configuration, or the folder of a run that is to go on."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Put something else into the configuration; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="RUN", help="The run's folder; by default runs/NAME.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be asked, what it may cost, and what it could show.")
    ] = False,
    pilot: Annotated[
        Path | None, typer.Option(metavar="RUN", help="With --dry-run: take costs per question from that run.")
    ] = None,
    effect: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="With --dry-run: the true difference for which the power is computed."),
    ] = 0.1,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration with comments, and leave.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree that frames are sent to an endpoint.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment and score it; the same command continues a run that was stopped.

    Finished questions are never asked again. Ctrl-C finishes the questions that have begun; a second one stops at once.
    """
    if example:
        from eval.runs.configuration import EXAMPLE

        sys.stdout.write(EXAMPLE)
        return
    if what is None:
        hint = "`videoworld eval run --example` prints one"
        raise EvalFault("configuration_missing", "no configuration is given", hint=hint)
    if dry_run:
        from eval.runs.estimate import estimate_run
        from eval.runs.experiment import open_experiment
        from world_api.core.execution import SystemClock

        found = open_experiment(what, overrides=tuple(settings or ()), out=out)
        expected = estimate_run(found, pilot=pilot, effect=effect, clock=SystemClock(), environment=os.environ)
        show(expected.record(), as_json=as_json, text=expected.text)
        return
    from eval.runs.scoring import begin_run

    done = begin_run(what, settings=tuple(settings or ()), out=out, yes=yes, as_json=as_json)
    show(done.record(), as_json=as_json, text=lambda: _run_text(done.outcome, done.scored))
    end_command(done.fault, interrupted=done.outcome.ended.interrupted, as_json=as_json)


def _run_text(outcome: RunOutcome, scored: Scored | None) -> str:
    from eval.runs.scheduler import progress_summary, progress_text

    lines = [progress_text(outcome.tally)]
    if scored is not None and scored.damaged:
        lines.append(
            f"WARNING: {len(scored.damaged):,} episodes cannot be read and count as wrong: {scored.damaged[0]} ..."
        )
    if outcome.complete:
        lines.append(f"next: {program_name()} eval report {outcome.folder.root}")
    else:
        lines.append(f"{progress_summary(outcome.tally)}; go on with: {program_name()} eval run {outcome.folder.root}")
    return "\n".join(lines)


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
    judge_prompt: JudgePromptOption = None,
    parallel: Annotated[
        int,
        typer.Option(
            "--concurrency", "--parallel", min=1, max=64, help="So many answers are put to the judge at a time."
        ),
    ] = 4,
    as_json: JsonOption = False,
) -> None:
    """Score a run's episodes again. No question is asked again; equal episodes get equal scores.

    What a judge says is kept in the run, and is not asked again.
    """
    from eval.runs.configuration import JudgePart
    from eval.runs.records import RunFolder, read_manifest
    from eval.runs.scoring import configured_judge, judge_part_of, score_run
    from eval.scoring import ModelJudge, answer_judge
    from world_api.core.execution import SystemClock

    if run.is_file():
        what = f"{run.name} is a file, and scores are written into a run; a bundle stays as it was packed"
        hint = f"`videoworld eval bundle --open {run.name} --out FOLDER`, then `videoworld eval score FOLDER`"
        raise EvalFault("bundle_is_whole", what, hint=hint)
    folder = RunFolder(run)
    manifest, clock = read_manifest(folder.manifest), SystemClock()
    part = JudgePart.model_construct(model=judge_model) if judge_model is not None else judge_part_of(manifest)
    given: dict[str, Any] = {"prompt": judge_prompt, "clock": clock, "environment": os.environ}
    if part is None:
        judge = answer_judge(None, record=folder.verdicts, **given)
    else:
        judge = configured_judge(part, folder, models=[manifest.model], say=note, **given)
    with progress_bars(" samples") as bars:
        scored = score_run(folder, judge=judge, workers=parallel, progress=bars.update)
    counts = judge.counts.record() if isinstance(judge, ModelJudge) else None
    show({**scored.record(), "judging": counts}, as_json=as_json, text=lambda: _score_text(scored, counts))


def _score_text(scored: Scored, counts: dict[str, Any] | None) -> str:
    who = ", ".join(f"{name} {count:,}" for name, count in scored.scorers.items())
    lines = [f"{scored.samples:,} samples scored, {scored.right:,} right; by {who or 'no scorer'}"]
    if counts is not None:
        lines.append(
            f"judged: {counts['asked']:,} by new requests, {counts['remembered']:,} from file; {counts['given_up']:,} counted as "
            "wrong, since no reply could be read"
        )
    lines += [f"counted as wrong, since it cannot be read: {name}" for name in scored.damaged]
    return "\n".join(lines)


_USUAL_LIBRARY = "hand_A"


@help_sections(
    "tools model judge prices money seeds out store as_json",
    {
        "Systems": "tools exposure without seeds",
        "Model": "model wire prices judge",
        "Budget": "rounds calls max_tokens seconds money",
    },
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
        typer.Option(metavar="LIBRARY", help="A tool library, by name or folder; repeatable."),
    ] = None,
    exposure: ExposureOption = None,
    without: WithoutOption = None,
    seeds: Annotated[list[int] | None, typer.Option("--seed", min=0, help="A seed; repeatable.")] = None,
    model: ModelOption = None,
    wire: WireOption = "auto",
    prices: PricesOption = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge-model",
            "--judge",
            metavar="MODEL",
            help="Who scores open answers; else they are scored by their words.",
        ),
    ] = None,
    rounds: RoundsOption = USUAL_BUDGET.rounds,
    calls: CallsOption = USUAL_BUDGET.calls,
    max_tokens: TokensOption = USUAL_BUDGET.tokens,
    seconds: SecondsOption = USUAL_BUDGET.seconds,
    money: MoneyOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for run and report; by default comparisons/NAME.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Compare flat against hierarchical tool use on your own video, as one HTML file.

    Your questions are asked twice: with the sixteen operations alone, and with a tool library beside them. Answers that you
    know are scored; where you know none, both answers are shown. Run it again and it continues where it stopped.
    """
    from eval.commands.results import record_of, text_of
    from eval.report.own_video import compare_own
    from eval.runs.scheduler import progress_text
    from world_api.operations import WITHOUT

    budget = {"rounds": rounds, "calls": calls, "tokens": max_tokens, "seconds": seconds, "money": money}
    settings = {
        "model": model or "rule-based",
        "wire": wire,
        "without": [name.removeprefix(WITHOUT) for name in without or ()],
        "seeds": seeds or [1],
        "budgets": {"usual": {key: value for key, value in budget.items() if value is not None}},
        "prices": None if prices is None else str(prices.resolve()),
        "judge": judge,
    }
    done, written = compare_own(
        video, questions, out if out is not None else Path("comparisons") / video.stem, store=store,
        libraries=tools or [_USUAL_LIBRARY], exposure=exposure, settings=settings, as_json=as_json,
    )  # fmt: skip
    text = progress_text(done.outcome.tally)
    text += "\n" + ("not finished: run the same command again" if written is None else text_of(written))
    report = None if written is None else record_of(written)
    show(done.record() | {"report": report}, as_json=as_json, text=lambda: text)
    end_command(done.fault, interrupted=done.outcome.ended.interrupted, as_json=as_json)
