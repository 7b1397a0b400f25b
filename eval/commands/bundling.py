"""``videoworld eval bundle``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from world_api.core.faults import EvalFault
from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.runs.bundling.layout import Contents
    from eval.runs.reading import Gone

app = command_app()


@app.command()
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
    from eval.runs.bundling.layout import SUFFIX
    from eval.runs.bundling.opening import contents_of, open_bundle
    from eval.runs.bundling.packing import pack
    from eval.runs.places import RunFolder
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
        "bytes": sum(part.bytes for part in contents.parts.values()),
        "pictures": _pictures(contents),
        "episodes_gone": dict(gone.episodes),
        "recordings_gone": gone.recordings,
    }
    show(record, as_json=as_json, text=lambda: _text(contents, done, gone))


def _pictures(contents: Contents) -> int:
    return sum(path.startswith("report/frames/") for path in contents.parts)


def _text(contents: Contents, done: str, gone: Gone) -> str:
    size = sum(part.bytes for part in contents.parts.values())
    lines = [f"{contents.run}: {len(contents.parts):,} parts, {size:,} bytes, {done}", f"hash {contents.hash}"]
    if not _pictures(contents):
        lines.append("it has no pictures: `videoworld eval report RUN` keeps those it shows, for bundles made after it")
    return "\n".join([*lines, *_lacks(gone)])


def _lacks(gone: Gone) -> Iterator[str]:
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
