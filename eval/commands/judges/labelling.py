"""``videoworld eval label``: answers of a run for people to label, so that its judge can be measured on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.runs.reading import Run
    from eval.scoring.judging.labelling import GivenAnswer

app = command_app()


@app.command()
def label(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the answers are written to.")],
    per_arm: Annotated[int, typer.Option(min=1, help="So many answers of each arm.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Decides which answers, and their order.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Draw open answers of a run to be labelled by people, without saying whose they are.

    Set "right" of each to true or false, then measure the judge: videoworld eval judge --judge-model M --pairs FILE.
    """
    from eval.runs.reading import read_run
    from eval.scoring.judging.labelling import draw_to_label, write_to_label
    from eval.scoring.judging.pairs import arms_beside
    from world_api.core.faults import EvalFault

    labels, arms = draw_to_label(_answers(read_run(run)), per_arm=per_arm, seed=seed)
    if not arms:
        raise EvalFault("nothing_to_compare", "the run holds no open answer", hint="ask questions of kind open")
    write_to_label(out, labels, arms)
    record = {"pairs": len(arms), "file": str(out), "arms": str(arms_beside(out))}
    show(
        record, as_json=as_json, text=lambda: f"{len(arms)} answers to label in {out}; whose they are: {record['arms']}"
    )


def _answers(run: Run) -> Iterator[GivenAnswer]:
    from eval.scoring.judging.labelling import GivenAnswer
    from world_api.core.faults import EpisodeFault

    for cell, lines in run.by_cell():
        for line in lines:
            try:
                episode = run.episode(line)
            except EpisodeFault:  # what cannot be read counts as wrong elsewhere; nobody can label it
                continue
            if episode is not None:
                yield GivenAnswer(arm=cell.arm.name, item=run.item(line), value=episode.value, answer=episode.answer)
