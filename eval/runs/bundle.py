"""A run as one file: packed with hashes; every byte is checked when it is opened.

::

    videoworld-bundle 1 SHA256       a line; the hash is of every byte after it
    a zip archive:
        bundle.json                  schema version, the run's name, every part with its size and SHA-256
        config.yaml, manifest.json, items.jsonl, samples.jsonl, scores.jsonl, verdicts.jsonl,
        labels.json
        episodes/CELL/...            the journals
        libraries/NAME/...           the tool libraries
        report/frames/...            pictures of the moments that the report shows

A zip reader ignores the line before the archive. Parts are sorted by path and have no times or owners, so that the same
run gives the same bytes.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any
from uuid import uuid4

from pydantic import BaseModel, Field, ValidationError

from eval.datasets.files import UNREADABLE
from eval.runs.records import RunFolder
from eval.runs.stored_run import read_run
from world_api.core.canonical import canonical_json, content_hash, parse_json
from world_api.core.faults import EvalFault, StoreFault
from world_api.core.files import hash_file, not_writable, open_regular

SCHEMA_VERSION = 1
MAGIC = b"videoworld-bundle "
SUFFIX = ".vwbundle"
CONTENTS = "bundle.json"
#: Limits beyond any real run, since a small file could unpack to fill the disk.
MOST_PARTS = 200_000
MOST_BYTES = 64 * 2**30
MOST_CONTENTS_BYTES = 32 * 2**20
MOST_TIMES = 100  #: largest ratio of unpacked to packed size; journals have about 10, zip bombs about 1000
SLACK = 64 * 2**20  #: bytes that are always allowed
CONTENTS_SLACK = 2**20  #: the same for ``bundle.json``, which is read into memory

_HEAD = re.compile(rb"videoworld-bundle (\d{1,4}) ([0-9a-f]{64})\n")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,254}")
#: The files and whole folders of a run that a bundle contains.
FILES = (
    "config.yaml", "manifest.json", "items.jsonl", "samples.jsonl", "scores.jsonl", "verdicts.jsonl", "labels.json",
)  # fmt: skip
FOLDERS = ("episodes", "libraries", "report/frames")


class PackedFile(BaseModel, extra="forbid", strict=True, frozen=True):
    """A file of the bundle: its size in bytes and its SHA-256."""

    bytes: int = Field(ge=0, le=MOST_BYTES)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Contents(BaseModel, extra="forbid", strict=True, frozen=True):
    """The files of a bundle (``parts``, by path) and the name of the run."""

    run: str = Field(max_length=300)
    parts: dict[str, PackedFile] = Field(max_length=MOST_PARTS)

    @property
    def hash(self) -> str:
        """SHA-256 over the paths and hashes of all files."""
        return content_hash({path: part.sha256 for path, part in self.parts.items()})

    @property
    def size(self) -> int:
        """The size of all files together, in bytes."""
        return sum(part.bytes for part in self.parts.values())

    def encoded(self) -> bytes:
        """Return the bytes of ``bundle.json``."""
        record = {"schema_version": SCHEMA_VERSION, "hash": self.hash, **self.model_dump()}
        return canonical_json(record).encode() + b"\n"


def _check_sizes(contents: Contents, *, packed: int) -> None:
    """Raise EvalFault ``bundle_refused`` if contents are too large to unpack; ``packed`` is their compressed size in bytes."""
    if contents.size > MOST_BYTES:
        raise _refused(f"it would unpack to more than {MOST_BYTES // 2**30} GiB")
    if contents.size > packed * MOST_TIMES + SLACK:
        raise _refused(f"its {packed:,} bytes would unpack to {contents.size:,}")


def read_contents(data: bytes) -> Contents:
    """Read ``bundle.json``.

    Raises EvalFault: ``bundle_damaged``, ``other_schema_version``, ``bundle_refused``: a path is not one of a run's
    folder.
    """
    try:
        record: Any = parse_json(data.decode())
    except ValueError:
        raise _damaged(f"{CONTENTS} is not JSON") from None
    _check_version(record.pop("schema_version", None) if isinstance(record, dict) else None)
    digest = record.pop("hash", None)
    try:
        read = Contents.model_validate(record)
    except ValidationError as error:
        raise _damaged(f"{CONTENTS} is not whole: {'.'.join(map(str, error.errors()[0]['loc']))}") from None
    for path in read.parts:
        _check_path(path)
        if any(parent.as_posix() in read.parts for parent in PurePosixPath(path).parents):
            raise _refused(f"{path[:80]!r} is within another part")
    if read.hash != digest:
        raise _damaged(f"the hash in {CONTENTS} is not that of its parts")
    return read


def read_head(line: bytes) -> str:
    """Return the hash in ``line``, a bundle's first. Raises EvalFault: ``not_a_bundle``, ``other_schema_version``."""
    found = _HEAD.fullmatch(line)
    if found is None:
        hint = "give a file that `videoworld eval bundle` wrote, whole and unchanged"
        raise EvalFault("not_a_bundle", "the file does not begin as a bundle does", hint=hint)
    _check_version(int(found[1]))
    return found[2].decode()


def head(digest: str) -> bytes:
    """Return the first line of a bundle. ``digest``: the SHA-256, in hexadecimal, of all bytes after this line."""
    return MAGIC + f"{SCHEMA_VERSION} {digest}\n".encode()


def _check_version(version: Any) -> None:
    if version != SCHEMA_VERSION:
        what = f"the bundle has schema version {str(version)[:20]!r}; this version reads {SCHEMA_VERSION}"
        raise EvalFault("other_schema_version", what, hint="open it with the version of video-world-api that wrote it")


def _check_path(path: str) -> None:
    """Check that a path is one of a run's folder. Raises EvalFault: ``bundle_refused``."""
    pieces = path.split("/")
    inside = path in FILES or any(path.startswith(f"{folder}/") for folder in FOLDERS)
    if not inside or len(path) > 1000 or not all(_NAME.fullmatch(piece) and ".." not in piece for piece in pieces):
        raise _refused(f"{path[:80]!r} is no path of a run's folder")


def _damaged(what: str) -> EvalFault:
    return EvalFault("bundle_damaged", what, hint="fetch the bundle again, or make it again from its run")


def _refused(what: str) -> EvalFault:
    return EvalFault("bundle_refused", what, hint="such a file is not opened; see where it came from")


_BLOCK = 1 << 20


def pack(folder: RunFolder, out: Path) -> Contents:
    """Write the bundle of a run and return its contents; equal files give equal bytes.

    Raises EvalFault: ``no_such_run``, ``run_damaged``; ``not_scored``; ``bundle_exists``; ``run_changed``: a file was
    written at the same time; ``bundle_refused``: it has links, paths or sizes that are not allowed; StoreFault:
    ``store_not_writable``, ``disk_full``.
    """
    run = read_run(folder.root)
    if run.unscored or not run.samples:
        what = f"{run.unscored} of {len(run.samples)} samples have no score" if run.samples else "no sample is finished"
        raise EvalFault("not_scored", what, hint="`videoworld eval score RUN` scores what is finished")
    if out.exists():
        raise EvalFault("bundle_exists", f"{out.name} is there already", hint="give another name with --out")
    parts = {
        path: PackedFile.model_construct(bytes=file.stat().st_size, sha256=hash_file(file))
        for path, file in _files(folder)
    }
    contents = Contents.model_construct(run=run.manifest.name, parts=dict(sorted(parts.items())))
    read_contents(contents.encoded())  # a bundle that would be refused is not written
    with _unfinished(out) as part:
        out.parent.mkdir(parents=True, exist_ok=True)
        _write(part, folder, contents)
        part.replace(out)
    return contents


@contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """Yield a path beside ``out`` to write to first; if it still exists at the end, it is removed."""
    part = out.with_name(f".{out.name}.{uuid4().hex[:8]}.part")
    try:
        yield part
    except OSError as error:
        raise not_writable(out, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _files(folder: RunFolder) -> Iterator[tuple[str, Path]]:
    """Yield the files to pack with their paths in the bundle, without hidden files.

    A link is refused: it could lead outside the run, and without its target the run could lack an episode.
    """
    for name in FILES:
        _refuse_link(folder.root, name)
        if (folder.root / name).is_file():
            yield name, folder.root / name
    for name in FOLDERS:
        for place in (Path(name), *Path(name).parents):
            _refuse_link(folder.root, place.as_posix())
        for at, folders, files in os.walk(folder.root / name):
            folders[:] = [inner for inner in folders if not inner.startswith(".")]
            for file in (Path(at, inner) for inner in (*folders, *files) if not inner.startswith(".")):
                path = file.relative_to(folder.root).as_posix()
                _refuse_link(folder.root, path)
                if file.is_file():
                    _check_path(path)
                    yield path, file


def _refuse_link(root: Path, path: str) -> None:
    if path != "." and (root / path).is_symlink():
        hint = "put the file or folder itself there: bundles follow no links"
        raise EvalFault("bundle_refused", f"{path} is a link", hint=hint)


def _write(target: Path, folder: RunFolder, contents: Contents) -> None:
    """Write the archive, then its hash into the first line."""
    blank = head("0" * 64)
    with target.open("w+b") as file:
        file.write(blank)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            archive.writestr(_entry(CONTENTS), contents.encoded(), compresslevel=6)
            for path, part in contents.parts.items():
                _add(archive, path, folder.root / path, part)
            _check_sizes(contents, packed=sum(entry.compress_size for entry in archive.infolist()))
        file.flush()
        file.seek(len(blank))
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        file.write(head(digest))
        file.flush()
        os.fsync(file.fileno())


def _add(archive: zipfile.ZipFile, path: str, source: Path, part: PackedFile) -> None:
    entry = _entry(path)
    entry.file_size = part.bytes
    with open_regular(source) as file, archive.open(entry, "w") as target:
        shutil.copyfileobj(file, target, _BLOCK)
    if entry.file_size != part.bytes or hash_file(source) != part.sha256:
        raise EvalFault("run_changed", f"{path} was written while it was packed", hint="wait until the run is through")


def _entry(path: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.create_system = 3  # the same on every system
    return entry


_MOST_HEAD = 200
#: Exceptions that reading a damaged archive may raise.
_UNREADABLE = (*UNREADABLE, OSError)  # OSError: a position before its start


def open_bundle(bundle: Path, out: Path) -> Contents:
    """Unpack a bundle into a new or empty folder, from which tables, report and scores can be made; return its contents.

    Raises EvalFault: ``no_such_bundle``, ``not_a_bundle``; ``bundle_damaged``, naming the changed part;
    ``bundle_refused``: the contents are not those of a run; ``bundle_exists``: the folder is not empty;
    ``other_schema_version``; StoreFault: ``store_not_writable``, ``disk_full``.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        hint = "give a folder that is empty or not there"
        raise EvalFault("bundle_exists", f"{out.name} is there already", hint=hint)
    with _unfinished(out) as folder:
        with _checked(bundle) as (archive, contents):
            folder.mkdir(parents=True)
            if contents.size > (free := shutil.disk_usage(folder).free):
                what = f"the bundle unpacks to {contents.size:,} bytes, {free:,} are free"
                raise StoreFault("disk_full", what, hint="free some space, or another --out")
            for path, part in contents.parts.items():
                _unpack(archive, path, part, folder / path)
        if out.exists():
            out.rmdir()
        folder.rename(out)
    return contents


def contents_of(bundle: Path) -> Contents:
    """Check every byte of a bundle and return its contents; nothing is unpacked.

    Raises EvalFault: as ``open_bundle``.
    """
    with _checked(bundle) as (archive, contents):
        for path, part in contents.parts.items():
            _unpack(archive, path, part, None)
    return contents


@functools.cache
def unpacked(bundle: Path) -> Path:
    """Unpack a bundle into a temporary folder, which is removed when this process ends; return the run's folder.

    Raises EvalFault, StoreFault: as ``open_bundle``.
    """
    holder = Path(tempfile.mkdtemp(prefix="videoworld-bundle-"))
    atexit.register(shutil.rmtree, holder, ignore_errors=True)
    folder = holder / (bundle.stem or "run")
    open_bundle(bundle, folder)
    return folder


@contextmanager
def _checked(bundle: Path) -> Iterator[tuple[zipfile.ZipFile, Contents]]:
    """Yield the archive of a bundle and its contents; at the end of the block, check the hash of the whole file.

    The hash comes last, so that a changed part is named if the block finds one.
    """
    try:
        file = open_regular(bundle)
    except OSError as error:
        what = f"cannot read {bundle.name}: {error.strerror}"
        raise EvalFault("no_such_bundle", what, hint="give a file of `videoworld eval bundle`") from None
    with file:
        wanted = read_head(file.readline(_MOST_HEAD))
        whole = hashlib.file_digest(file, "sha256").hexdigest() == wanted
        try:
            archive = zipfile.ZipFile(file)
            contents = _contents(archive)
        except _UNREADABLE as error:
            raise _damaged(f"the archive of {bundle.name} is not what was written: {str(error)[:120]}") from None
        yield archive, contents
        if not whole:
            raise _damaged("something around the parts is not what was written: the hash of the whole differs")


def _contents(archive: zipfile.ZipFile) -> Contents:
    """Return the contents of an archive. Raises EvalFault: it does not hold exactly the files in them, or is too large."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if CONTENTS not in names:
        raise _damaged(f"the archive has no {CONTENTS}")
    if len(set(names)) < len(names):
        raise _refused("a part is in the archive twice")
    most = min(MOST_CONTENTS_BYTES, archive.getinfo(CONTENTS).compress_size * MOST_TIMES + CONTENTS_SLACK)
    with archive.open(CONTENTS) as part:
        data = part.read(most + 1)
    if len(data) > most:
        raise _refused(f"{CONTENTS} is too large")
    contents = read_contents(data)
    _check_sizes(contents, packed=sum(entry.compress_size for entry in entries))
    unlike = sorted(set(names) - {CONTENTS} ^ set(contents.parts))
    if unlike:
        raise _damaged(f"{unlike[0][:80]!r} is {'not in the archive' if unlike[0] in contents.parts else 'in no list'}")
    return contents


def _unpack(archive: zipfile.ZipFile, path: str, part: PackedFile, target: Path | None) -> None:
    """Unpack a file, or only read it if ``target`` is None, and compare it with its size and hash.

    Reading ends one byte after the expected size.
    """
    digest, left = hashlib.sha256(), part.bytes
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
    opened: AbstractContextManager[IO[bytes] | None] = nullcontext() if target is None else target.open("xb")
    with opened as sink:
        for block in _blocks(archive, path, most=left + 1):
            left -= len(block)
            digest.update(block)
            if sink is not None and left >= 0:
                sink.write(block)
    if left != 0 or digest.hexdigest() != part.sha256:
        raise _damaged(f"{path} is not what was packed")


def _blocks(archive: zipfile.ZipFile, path: str, *, most: int) -> Iterator[bytes]:
    """Yield the bytes of a file in the archive, at most ``most`` in all."""
    try:
        with archive.open(path) as source:
            while block := source.read(min(_BLOCK, most)):
                most -= len(block)
                yield block
    except _UNREADABLE:
        raise _damaged(f"{path} is not what was packed") from None
