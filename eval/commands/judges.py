"""``videoworld eval judge`` and ``eval label``: a judge of open answers measured against people."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eval.commands.options import JudgePromptOption, RunArgument
from world_api.commands.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.runs.reading import Run
    from eval.scoring.labels import GivenAnswer


judge_app = command_app()


@judge_app.command()
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
    prompt: JudgePromptOption = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep verdicts there; what it holds is not asked again.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides the order of judging, and the draws of intervals.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure a judge against labelled pairs."""
    from eval.scoring.agreement import measure_agreement
    from eval.scoring.judge import WordsJudge, judge_of
    from eval.scoring.labels import read_pairs, shipped_pairs
    from world_api.core.ports import SystemClock

    labelled = shipped_pairs() if pairs is None else read_pairs(pairs)
    chosen = judge_of(judge_model, prompt=prompt, record=record, clock=SystemClock(), environment=os.environ)
    found = measure_agreement(chosen or WordsJudge(), labelled, seed=seed)
    show(found.record(), as_json=as_json, text=lambda: found.text)


label_app = command_app()


@label_app.command()
def label(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw answers, and write them there to be labelled.")
    ] = None,
    take: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take labels from there into the run, for its tables.")
    ] = None,
    per_arm: Annotated[int, typer.Option(min=1, help="So many answers of each arm.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Decides which answers, and their order.")] = 0,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who labelled what is taken.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Draw open answers of a run to be labelled by people, without saying whose they are; take the labels back.

    Set "right" of each to true or false. Then videoworld eval judge --judge-model M --pairs FILE measures a judge on them, and
    with --take FILE the run's tables tell how far its scorers agree with them.
    """
    from eval.runs.reading import read_run
    from world_api.core.faults import EvalFault

    if (out is None) == (take is None):
        raise EvalFault("bad_options", "nothing to do, or two things at once", hint="give either --out or --take")
    answers = _answers(read_run(run))
    record: dict[str, Any] = {}
    if out is not None:
        record = _drawn(answers, run, out, per_arm=per_arm, seed=seed)
    if take is not None:
        record = _taken(answers, run, take, by=by)
    show(record, as_json=as_json, text=lambda: _label_text(record))


def _drawn(answers: Iterator[GivenAnswer], run: Path, out: Path, *, per_arm: int, seed: int) -> dict[str, Any]:
    from eval.scoring.labels import arms_beside, draw_to_label, write_to_label
    from eval.tables.study import LABELS
    from world_api.core.faults import EvalFault

    if out.resolve() == (run / LABELS).resolve():
        raise EvalFault(
            "bad_options", f"{LABELS} of a run is for what was labelled", hint="draw into another file, then --take it"
        )
    labels, arms = draw_to_label(answers, per_arm=per_arm, seed=seed)
    if not arms:
        raise EvalFault("nothing_to_compare", "the run holds no open answer", hint="ask questions of kind open")
    write_to_label(out, labels, arms)
    return {"pairs": len(arms), "file": str(out), "arms": str(arms_beside(out))}


def _taken(answers: Iterator[GivenAnswer], run: Path, take: Path, *, by: str) -> dict[str, Any]:
    from eval.scoring.labels import merged, of_these, own_pairs, pairs_text, read_pairs
    from eval.tables.study import LABELS
    from world_api.core.faults import EvalFault
    from world_api.world.files import write_atomically

    if not run.is_dir():
        raise EvalFault("no_such_run", f"{run.name} is no folder of a run", hint="open a bundle as a folder first")
    pairs = read_pairs(take)
    own = of_these(answers, pairs)
    if not own:
        raise EvalFault(
            "bad_pairs",
            f"none of the {len(pairs)} pairs in {take.name} is an answer of this run",
            hint="take what `videoworld eval label RUN --out FILE` drew of the same run",
        )
    file = run / LABELS
    kept = merged(own_pairs(file) if file.exists() else (), own, by=by)
    write_atomically(file, pairs_text(pair.record() for pair in kept).encode())
    return {
        "taken": len(own),
        "right": sum(pair.right for pair in own),
        "not_of_this_run": len(pairs) - len(own),
        "labelled": len(kept),
        "labels": str(file),
    }


def _label_text(record: dict[str, Any]) -> str:
    if "pairs" in record:
        return f"{record['pairs']} answers to label in {record['file']}; whose they are: {record['arms']}"
    others = f"; {record['not_of_this_run']} are of no answer of this run" if record["not_of_this_run"] else ""
    return (
        f"{record['taken']} answers labelled, {record['right']} of them right{others}; "
        f"{record['labelled']} in all in {record['labels']}"
    )


def _answers(run: Run) -> Iterator[GivenAnswer]:
    from eval.scoring.labels import GivenAnswer
    from world_api.core.faults import EpisodeFault

    for cell, lines in run.by_cell():
        for line in lines:
            try:
                episode = run.episode(line)
            except EpisodeFault:  # what cannot be read counts as wrong elsewhere; nobody can label it
                continue
            if episode is not None:
                yield GivenAnswer(
                    sample=line.sample,
                    arm=cell.arm.name,
                    item=run.item(line),
                    value=episode.value,
                    answer=episode.answer,
                )
