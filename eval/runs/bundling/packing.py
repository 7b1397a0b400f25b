"""Packing a run into one file."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from eval.runs.bundling.layout import (
    CONTENTS,
    FILES,
    FOLDERS,
    Contents,
    Part,
    check_path,
    check_sizes,
    head,
    read_contents,
)
from eval.runs.places import RunFolder
from eval.runs.reading import Run, read_run
from world_api.core.faults import EvalFault
from world_api.world.files import hash_file, not_writable, open_regular

_LEVEL = 6
_BLOCK = 1 << 20
_MODE = 0o644 << 16


def pack(folder: RunFolder, out: Path) -> Contents:
    """Write the bundle of a run; the same files, the same bytes. What is in it.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``; ``not_scored``; ``bundle_exists``; ``run_changed``: it was written to meanwhile;
            ``bundle_refused``: it holds what no bundle may: links, names that are not taken, or too much.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    run = read_run(folder.root)
    _refuse_unscored(run)
    if out.exists():
        raise EvalFault("bundle_exists", f"{out.name} is there already", hint="give another name with --out")
    parts = {path: Part(bytes=file.stat().st_size, sha256=hash_file(file)) for path, file in _files(folder)}
    contents = Contents(run=run.manifest.name, parts=dict(sorted(parts.items())))
    read_contents(contents.encoded())  # what will not be opened is not written
    unfinished = out.with_name(f".{out.name}.{uuid4().hex[:8]}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _write(unfinished, folder, contents)
        unfinished.replace(out)
    except OSError as error:
        raise not_writable(out, error) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return contents


def _refuse_unscored(run: Run) -> None:
    without = run.unscored
    if without or not run.samples:
        raise EvalFault(
            "not_scored",
            f"{without} of {len(run.samples)} samples have no score" if run.samples else "no sample is finished",
            hint="`videoworld eval score RUN` scores what is finished",
        )


def _files(folder: RunFolder) -> Iterator[tuple[str, Path]]:
    """The files that are packed, by their paths in the bundle. Hidden ones, and what else is no file, stay where they are.

    A link is refused: what it points to may be of anywhere, and a run without it may lack an episode.
    """
    for name in FILES:
        _refuse_link(folder.root, name)
        if (folder.root / name).is_file():
            yield name, folder.root / name
    for name in FOLDERS:
        for place in (Path(name), *Path(name).parents):
            _refuse_link(folder.root, place.as_posix())
        yield from sorted(_inside(folder.root, folder.root / name))


def _inside(root: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            file = Path(at, name)
            path = file.relative_to(root).as_posix()
            if name.startswith("."):
                continue
            _refuse_link(root, path)
            if file.is_file():
                check_path(path)
                yield path, file


def _refuse_link(root: Path, path: str) -> None:
    if path != "." and (root / path).is_symlink():
        raise EvalFault(
            "bundle_refused", f"{path} is a link", hint="put the file or folder itself there: bundles follow no links"
        )


def _write(target: Path, folder: RunFolder, contents: Contents) -> None:
    """The archive after a first line that is filled in once the hash of all the rest is known."""
    blank = head("0" * 64)
    with target.open("w+b") as file:
        file.write(blank)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            archive.writestr(_entry(CONTENTS), contents.encoded(), compresslevel=_LEVEL)
            for path, part in contents.parts.items():
                _add(archive, path, folder.root / path, part)
            check_sizes(contents, packed=sum(entry.compress_size for entry in archive.infolist()))
        file.flush()
        file.seek(len(blank))
        digest = hashlib.sha256()
        while block := file.read(_BLOCK):
            digest.update(block)
        file.seek(0)
        file.write(head(digest.hexdigest()))
        file.flush()
        os.fsync(file.fileno())


def _add(archive: zipfile.ZipFile, path: str, source: Path, part: Part) -> None:
    entry = _entry(path)
    entry.file_size = part.bytes
    with open_regular(source) as file, archive.open(entry, "w") as target:
        shutil.copyfileobj(file, target, _BLOCK)
    if entry.file_size != part.bytes or hash_file(source) != part.sha256:
        raise EvalFault("run_changed", f"{path} was written while it was packed", hint="wait until the run is through")


def _entry(path: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _MODE
    entry.create_system = 3  # the same wherever it is made
    return entry
