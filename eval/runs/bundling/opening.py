"""Opening a bundle: every byte is looked at before anything is believed, and nothing lands outside the folder."""

from __future__ import annotations

import atexit
import functools
import hashlib
import lzma
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4

from eval.runs.bundling.layout import (
    CONTENTS,
    CONTENTS_SLACK,
    MAGIC,
    MOST_CONTENTS_BYTES,
    MOST_TIMES,
    Contents,
    Part,
    check_sizes,
    damaged,
    read_contents,
    read_head,
    refused,
)
from world_api.core.faults import EvalFault, StoreFault
from world_api.world.files import not_writable, open_regular

_BLOCK = 1 << 20
_MOST_HEAD = 200
#: What an archive that somebody else made may raise where it is not whole.
_UNREADABLE = (
    OSError,  # a place before its beginning
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OverflowError,
    ValueError,
    RuntimeError,  # it wants a password, or is packed in a way that is not read here
)


def open_bundle(bundle: Path, out: Path) -> Contents:
    """Unpack a bundle into a folder that is not there yet: a run, as far as tables, report and scores go. What is in it.

    Raises:
        EvalFault: ``no_such_bundle``, ``not_a_bundle``; ``bundle_damaged``, naming the part of which a byte was changed;
            ``bundle_refused``: what no run became; ``bundle_exists``: the folder is there; ``other_schema_version``.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise EvalFault(
            "bundle_exists", f"{out.name} is there already", hint="give a folder that is empty or not there"
        )
    unfinished = out.with_name(f".{out.name}.{uuid4().hex[:8]}.part")
    try:
        with _checked(bundle) as (archive, contents):
            unfinished.mkdir(parents=True)
            _refuse_full(unfinished, contents)
            for path, part in contents.parts.items():
                _unpack(archive, path, part, unfinished / path)
        if out.exists():
            out.rmdir()
        unfinished.rename(out)
    except OSError as error:
        raise not_writable(out, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return contents


def contents_of(bundle: Path) -> Contents:
    """What is in a bundle, all of it checked, nothing unpacked.

    Raises:
        EvalFault: as ``open_bundle``.
    """
    with _checked(bundle) as (archive, contents):
        for path, part in contents.parts.items():
            _unpack(archive, path, part, None)
    return contents


def is_bundle(path: Path) -> bool:
    """Whether a path is a file that begins as a bundle does."""
    try:
        with open_regular(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@functools.cache
def unpacked(bundle: Path) -> Path:
    """The folder of a bundle's run, unpacked for as long as this process lives.

    Raises:
        EvalFault, StoreFault: as ``open_bundle``.
    """
    holder = Path(tempfile.mkdtemp(prefix="videoworld-bundle-"))
    atexit.register(shutil.rmtree, holder, ignore_errors=True)
    folder = holder / (bundle.stem or "run")
    open_bundle(bundle, folder)
    return folder


@contextmanager
def _checked(bundle: Path) -> Iterator[tuple[zipfile.ZipFile, Contents]]:
    """The archive of a bundle whose every byte is as it was written, and what it should hold."""
    try:
        file = open_regular(bundle)
    except OSError as error:
        raise EvalFault(
            "no_such_bundle",
            f"cannot read {bundle.name}: {error.strerror}",
            hint="give a file of `videoworld eval bundle`",
        ) from None
    with file:
        wanted = read_head(file.readline(_MOST_HEAD))
        digest = hashlib.sha256()
        while block := file.read(_BLOCK):
            digest.update(block)
        whole = digest.hexdigest() == wanted
        try:
            archive = zipfile.ZipFile(file)
            contents = _contents(archive)
        except _UNREADABLE as error:
            raise damaged(f"the archive of {bundle.name} is not what was written: {str(error)[:120]}") from None
        if not whole:
            raise _changed(archive, contents)
        yield archive, contents


def _contents(archive: zipfile.ZipFile) -> Contents:
    """What an archive should hold, and does, no more and no less."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if CONTENTS not in names:
        raise damaged(f"the archive has no {CONTENTS}")
    if len(set(names)) < len(names):
        raise refused("a part is in the archive twice")
    most = min(MOST_CONTENTS_BYTES, archive.getinfo(CONTENTS).compress_size * MOST_TIMES + CONTENTS_SLACK)
    with archive.open(CONTENTS) as part:
        data = part.read(most + 1)
    if len(data) > most:
        raise refused(f"{CONTENTS} is too large")
    contents = read_contents(data)
    check_sizes(contents, packed=sum(entry.compress_size for entry in entries))
    unlike = sorted(set(names) - {CONTENTS} ^ set(contents.parts))
    if unlike:
        raise damaged(f"{unlike[0][:80]!r} is {'not in the archive' if unlike[0] in contents.parts else 'in no list'}")
    return contents


def _refuse_full(folder: Path, contents: Contents) -> None:
    """Refuse to begin what the disk cannot hold.

    Raises:
        StoreFault: ``disk_full``.
    """
    whole, free = sum(part.bytes for part in contents.parts.values()), shutil.disk_usage(folder).free
    if whole > free:
        raise StoreFault(
            "disk_full",
            f"the bundle unpacks to {whole:,} bytes, {free:,} are free",
            hint="free some space, or another --out",
        )


def _unpack(archive: zipfile.ZipFile, path: str, part: Part, target: Path | None) -> None:
    """Write a part, which has just the bytes it should; no more of it is unpacked than that.

    Raises:
        EvalFault: ``bundle_damaged``.
        OSError: it cannot be written.
    """
    digest, left = hashlib.sha256(), part.bytes
    sink: IO[bytes] | None = None
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        sink = os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "wb")
    try:
        for block in _blocks(archive, path, most=left + 1):
            left -= len(block)
            if left < 0:
                break
            digest.update(block)
            if sink is not None:
                sink.write(block)
    finally:
        if sink is not None:
            sink.close()
    if left != 0 or digest.hexdigest() != part.sha256:
        raise damaged(f"{path} is not what was packed")


def _blocks(archive: zipfile.ZipFile, path: str, *, most: int) -> Iterator[bytes]:
    """The bytes of a part, at most so many.

    Raises:
        EvalFault: ``bundle_damaged``.
    """
    try:
        with archive.open(path) as source:
            while block := source.read(min(_BLOCK, most)):
                most -= len(block)
                yield block
    except _UNREADABLE:
        raise damaged(f"{path} is not what was packed") from None


def _changed(archive: zipfile.ZipFile, contents: Contents) -> EvalFault:
    """The fault of an archive in which something was changed, with the part where it is in one."""
    for path, part in contents.parts.items():
        try:
            _unpack(archive, path, part, None)
        except EvalFault as fault:
            return fault
    return damaged("something around the parts is not what was written: the hash of the whole differs")
