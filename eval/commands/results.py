"""``videoworld eval report``, ``bundle`` and ``export``: what becomes of a run that is scored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eval.commands.options import RunArgument
from world_api.commands.cli import JsonOption, command_app, show
from world_api.core.faults import EvalFault

if TYPE_CHECKING:
    from eval.report.writing import Written
    from eval.runs.bundle import Contents
    from eval.runs.reading import Gone


report_app = command_app()

_MOST_FRAMES = 400


@report_app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or a bundle of one.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder for the report; by default RUN/report, or beside the bundle."
        ),
    ] = None,
    frames: Annotated[
        int, typer.Option("--frames", min=0, max=5000, help="Most pictures on the page; 0 for none.")
    ] = _MOST_FRAMES,
    store: Annotated[
        Path | None,
        typer.Option("--store", help="Where worlds lie, for pictures; by default that of the run's configuration."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run: one HTML file that needs nothing else, and its tables as LaTeX and CSV."""
    from eval.report.writing import Choices, write_report

    written = write_report(run, out, choices=Choices(most_frames=frames, store=store))
    show(record_of(written), as_json=as_json, text=lambda: text_of(written))


def record_of(written: Written) -> dict[str, Any]:
    """What was written, as JSON."""
    return {
        "page": str(written.page),
        "tables": written.tables,
        "episodes": written.episodes,
        "pictures": written.pictures,
        "bytes": written.bytes,
        "damaged": written.damaged,
    }


def text_of(written: Written) -> str:
    """What was written, for people."""
    told = f"{written.page}: {written.episodes:,} episodes, {written.pictures:,} pictures, {written.bytes / 1e6:.1f} MB"
    damaged = f"\n{written.damaged:,} episodes could not be read; the page names the reasons" if written.damaged else ""
    return told + f"\n{written.page.parent / 'tables'}: {written.tables} tables as LaTeX and CSV" + damaged


bundle_app = command_app()


@bundle_app.command()
def bundle(
    what: Annotated[
        Path, typer.Argument(metavar="RUN|BUNDLE", help="The folder of a run; with --open or --check, a bundle.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="The file to write; with --open, the folder to unpack to."),
    ] = None,
    unpack: Annotated[bool, typer.Option("--open", help="Unpack a bundle into a folder.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only see whether every byte is as it was packed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Pack a run into one file from which every table can be made again, without videos, keys or network.

    report, compare, diff, transfer and export take a bundle in place of a run.
    """
    from eval.runs.bundle import SUFFIX, contents_of, open_bundle, pack
    from eval.runs.files import RunFolder
    from eval.runs.reading import Gone, read_run

    gone = Gone()
    if check:
        contents, done = contents_of(what), "checked"
    elif unpack:
        if out is None:
            raise EvalFault("no_folder", "no folder to unpack to is given", hint="add --out DIR")
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
        "pictures": _pictures(contents),
        "episodes_gone": dict(gone.episodes),
        "recordings_gone": gone.recordings,
    }
    show(record, as_json=as_json, text=lambda: _bundle_text(contents, done, gone))


def _pictures(contents: Contents) -> int:
    return sum(path.startswith("report/frames/") for path in contents.parts)


def _bundle_text(contents: Contents, done: str, gone: Gone) -> str:
    lines = [f"{contents.run}: {len(contents.parts):,} parts, {contents.size:,} bytes, {done}", f"hash {contents.hash}"]
    if not _pictures(contents):
        lines.append("it has no pictures: `videoworld eval report RUN` keeps those it shows, for bundles made after it")
    return "\n".join([*lines, *_losses(gone)])


def _losses(gone: Gone) -> Iterator[str]:
    """What the run that was packed does not hold any more."""
    if gone.episodes:
        arms = ", ".join(f"{arm} {number:,}" for arm, number in sorted(gone.episodes.items()))
        yield (
            f"WARNING: the episodes of {sum(gone.episodes.values()):,} samples are deleted or damaged ({arms}); "
            "they count as wrong in every table made of this bundle"
        )
    if gone.recordings:
        yield f"WARNING: the recordings of {gone.recordings:,} episodes are gone: they cannot be replayed"
    if gone.episodes or gone.recordings:
        yield "`videoworld eval run RUN` asks what is gone again; then pack the run once more"


export_app = command_app()


@export_app.command()
def export(
    run: RunArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="PATH",
            help="FILE.eval or FILE.json: one log; a folder: a log for each arm, dataset, world, budget.",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Write a run as logs that `inspect view` opens: samples, messages, tool calls, scores, tokens. Seeds are epochs.

    Needs the extra `inspect`.
    """
    from eval.inspect_logs import export_run, require_inspect
    from eval.runs.reading import read_run

    require_inspect()
    files = [{"file": str(path), "samples": samples} for path, samples in export_run(read_run(run), out)]
    record: dict[str, Any] = {"run": str(run), "logs": files}
    show(record, as_json=as_json, text=lambda: _export_text(record))


def _export_text(record: dict[str, Any]) -> str:
    lines = [f"{item['file']}: {item['samples']:,} samples" for item in record["logs"]]
    folder = Path(record["logs"][0]["file"]).parent
    return "\n".join([*lines, f"next: inspect view --log-dir {folder}"])
