"""JSON files inside a zip archive, read within bounds and never unpacked to disk."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from eval.datasets.reading import bad, json_of, unreadable
from world_api.core.faults import EvalFault

MAX_FILES = 10_000
MAX_FILE_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
#: What reading a damaged archive may raise, beside ``OSError``. RuntimeError: it wants a password, or is packed in a way that the
#: standard library does not read; ``struct.error``: it ends within a header.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    RuntimeError,
    ValueError,
    EOFError,
    OverflowError,
)
_AS_PUBLISHED = "give the archive as it was published"


def json_files(path: Path) -> dict[str, Any]:
    """The JSON files of an archive, by their names.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``.
    """
    found: dict[str, Any] = {}
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            if len(archive.infolist()) > MAX_FILES:
                raise EvalFault(
                    "dataset_too_large", f"{path.name} holds more than {MAX_FILES:,} entries", hint="unpack it"
                )
            for info in archive.infolist():
                if info.is_dir() or not info.filename.lower().endswith(".json"):
                    continue
                with archive.open(info) as file:
                    content = file.read(MAX_FILE_BYTES + 1)  # what is there, whatever the archive says of it
                total += len(content)
                if len(content) > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
                    raise EvalFault(
                        "dataset_too_large", f"{path.name} holds more than can be read", hint="unpack it, give a file"
                    )
                name = PurePosixPath(info.filename).name
                if name in found:
                    raise bad(f"{path.name} holds two files named {name[:60]!r}", _AS_PUBLISHED)
                found[name] = json_of(content, f"{path.name}, {info.filename}")
    except OSError as error:
        raise unreadable(path, error) from None
    except UNREADABLE as error:
        raise bad(f"{path.name} is not an archive that can be read: {str(error)[:120]}", _AS_PUBLISHED) from None
    return found
