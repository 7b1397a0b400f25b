"""``videoworld eval report``, ``bundle``, ``export``, ``judge`` and ``label``: commands for the results of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eval.commands import JudgePromptOption, RunArgument, RunOrBundle
from world_api.commands.cli import JsonOption
from world_api.core.faults import EvalFault
from world_api.terminal import progress_bars, show

if TYPE_CHECKING:
    from eval.report import WrittenReport
    from eval.runs.stored_run import Gone
    from eval.scoring.labels import ArmAnswer


_MOST_FRAMES = 400


def report(
    run: RunOrBundle,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for the report; by default RUN/report, or beside the bundle."),
    ] = None,
    frames: Annotated[int, typer.Option(min=0, max=5000, help="Most pictures on the page; 0 for none.")] = _MOST_FRAMES,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where worlds are, for pictures; by default that of the run's configuration."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run: one HTML file that needs nothing else, and its tables as LaTeX and CSV."""
    from eval.report import Choices, write_report

    with progress_bars(" episodes") as bars:
        written = write_report(
            run, out, choices=Choices(most_frames=frames, store=store), progress=partial(bars.update, "episodes")
        )
    show(record_of(written), as_json=as_json, text=lambda: text_of(written))


def record_of(written: WrittenReport) -> dict[str, Any]:
    """Return the files and counts of a report that was written, as JSON."""
    return {**asdict(written), "page": str(written.page)}


def text_of(written: WrittenReport) -> str:
    """Return the files and counts of a report that was written, as text for the terminal."""
    first = (
        f"{written.page}: {written.episodes:,} episodes, {written.pictures:,} pictures, {written.bytes / 1e6:.1f} MB"
    )
    damaged = f"\n{written.damaged:,} episodes could not be read; the page names the reasons" if written.damaged else ""
    return first + f"\n{written.page.parent / 'tables'}: {written.tables} tables as LaTeX and CSV" + damaged


def bundle(
    what: Annotated[
        Path, typer.Argument(metavar="RUN|BUNDLE", help="The folder of a run; with --open or --check, a bundle.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The file to write; with --open, the folder to unpack to.")
    ] = None,
    unpack: Annotated[bool, typer.Option("--open", help="Unpack a bundle into a folder.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only see whether every byte is as it was packed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Pack a run into one file from which every table can be made again, without videos, keys or network.

    report, compare, diff, transfer and export take a bundle in place of a run.
    """
    from eval.runs.bundle import SUFFIX, contents_of, open_bundle, pack
    from eval.runs.records import RunFolder
    from eval.runs.stored_run import Gone, read_run

    gone = Gone()
    if check:
        contents, done = contents_of(what), "checked"
    elif unpack:
        if out is None:
            raise EvalFault("no_folder", "no folder to unpack to is given", hint="add --out FOLDER")
        contents, done = open_bundle(what, out), f"unpacked into {out}"
    else:
        target = out or Path(what.resolve().name + SUFFIX)
        contents, done = pack(RunFolder(what), target), f"packed into {target}"
        gone = read_run(what).gone()
    record = {
        "run": contents.run,
        "hash": contents.hash,
        "parts": len(contents.parts),
        "bytes": contents.size,
        "pictures": sum(path.startswith("report/frames/") and path.endswith(".jpg") for path in contents.parts),
        "episodes_gone": dict(gone.episodes),
        "recordings_gone": gone.recordings,
    }
    show(record, as_json=as_json, text=lambda: _bundle_text(record, done, gone))


def _bundle_text(record: dict[str, Any], done: str, gone: Gone) -> str:
    lines = [f"{record['run']}: {record['parts']:,} parts, {record['bytes']:,} bytes, {done}", f"hash {record['hash']}"]
    if not record["pictures"]:
        lines.append("it has no pictures: `videoworld eval report RUN` keeps those it shows, for bundles made after it")
    if gone.episodes:
        arms = ", ".join(f"{arm} {number:,}" for arm, number in sorted(gone.episodes.items()))
        lines.append(
            f"WARNING: the episodes of {sum(gone.episodes.values()):,} samples are deleted or damaged ({arms}); "
            "they count as wrong in every table made of this bundle"
        )
    if gone.recordings:
        lines.append(f"WARNING: the recordings of {gone.recordings:,} episodes are gone: they cannot be replayed")
    if gone.episodes or gone.recordings:
        lines.append("`videoworld eval run RUN` asks what is gone again; then pack the run once more")
    return "\n".join(lines)


def export(
    run: RunArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="FILE.eval or FILE.json: one log; a folder: a log for each arm, dataset, world, budget.",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Write a run as logs that `inspect view` opens: samples, messages, tool calls, scores, tokens. Seeds are epochs.

    Needs the extra `inspect`.
    """
    from eval.inspect_logs import export_run
    from eval.runs.stored_run import read_run

    files: list[dict[str, Any]] = [
        {"file": str(path), "samples": samples} for path, samples in export_run(read_run(run), out)
    ]
    lines = [f"{item['file']}: {item['samples']:,} samples" for item in files]
    lines.append(f"next: inspect view --log-dir {Path(str(files[0]['file'])).parent}")
    show({"run": str(run), "logs": files}, as_json=as_json, text=lambda: "\n".join(lines))


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
        Path | None,
        typer.Option(
            "--judge-record", "--record", metavar="FILE", help="Keep verdicts there; what it holds is not asked again."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides the order of judging, and the draws of intervals.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure a judge against labelled pairs."""
    from eval.scoring.judge import WordsJudge, answer_judge
    from eval.scoring.labels import measure_agreement, read_pairs, shipped_pairs
    from world_api.core.execution import SystemClock

    labelled = shipped_pairs() if pairs is None else read_pairs(pairs)
    chosen = answer_judge(judge_model, prompt=prompt, record=record, clock=SystemClock(), environment=os.environ)
    found = measure_agreement(chosen or WordsJudge(), labelled, seed=seed)
    show(found.record(), as_json=as_json, text=lambda: found.text)


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
    with --take FILE the run's tables say how far its scorers agree with them.
    """
    from eval.runs.scoring import answers_of
    from eval.runs.stored_run import read_run
    from eval.scoring import AnswerToScore

    if (out is None) == (take is None):
        raise EvalFault("bad_options", "nothing to do, or two things at once", hint="give either --out or --take")
    found = answers_of(read_run(run))
    answers = ((cell.arm.name, one) for cell, _, one in found if isinstance(one, AnswerToScore))
    record, text = {}, ""
    if out is not None:
        record = _drawn(answers, run, out, per_arm=per_arm, seed=seed)
        text = f"{record['pairs']} answers to label in {record['file']}; whose they are: {record['arms']}"
    if take is not None:
        record = _taken(answers, run, take, by=by)
        others = record["not_of_this_run"]
        text = f"{record['taken']} answers labelled, {record['right']} of them right"
        text += f"; {others} are of no answer of this run" if others else ""
        text += f"; {record['labelled']} in all in {record['labels']}"
    show(record, as_json=as_json, text=lambda: text)


def _drawn(answers: Iterable[ArmAnswer], run: Path, out: Path, *, per_arm: int, seed: int) -> dict[str, Any]:
    from eval.scoring.labels import arms_beside, draw_to_label, write_to_label
    from eval.tables.study import LABELS

    if out.resolve() == (run / LABELS).resolve():
        what = f"{LABELS} of a run is for what was labelled"
        raise EvalFault("bad_options", what, hint="draw into another file, then --take it")
    labels, arms = draw_to_label(answers, per_arm=per_arm, seed=seed)
    if not arms:
        raise EvalFault("nothing_to_compare", "the run holds no open answer", hint="ask questions of kind open")
    write_to_label(out, labels, arms)
    return {"pairs": len(arms), "file": str(out), "arms": str(arms_beside(out))}


def _taken(answers: Iterable[ArmAnswer], run: Path, take: Path, *, by: str) -> dict[str, Any]:
    from eval.scoring.labels import merged, of_these, own_pairs, pairs_text, read_pairs
    from eval.tables.study import LABELS
    from world_api.core.files import write_atomically

    if not run.is_dir():
        raise EvalFault("no_such_run", f"{run.name} is no folder of a run", hint="open a bundle as a folder first")
    pairs = read_pairs(take)
    own = of_these(answers, pairs)
    if not own:
        what = f"none of the {len(pairs)} pairs in {take.name} is an answer of this run"
        raise EvalFault("bad_pairs", what, hint="take what `videoworld eval label RUN --out FILE` drew of the same run")
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
