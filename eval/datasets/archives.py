"""JSON files inside a zip archive, read within bounds and never unpacked to disk."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from eval.datasets.reading import bad, json_of, unreadable
from world_api.core.faults import EvalFault

MAX_FILES = 10_000
MAX_FILE_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
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
            for info in archive.infolist()[: MAX_FILES + 1]:
                if info.is_dir() or not info.filename.lower().endswith(".json"):
                    continue
                with archive.open(info) as file:
                    content = file.read(MAX_FILE_BYTES + 1)  # what is there, whatever the archive says of it
                total += len(content)
                if len(content) > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES or len(found) >= MAX_FILES:
                    raise EvalFault(
                        "dataset_too_large", f"{path.name} holds more than can be read", hint="unpack it, give a file"
                    )
                found[PurePosixPath(info.filename).name] = json_of(content, f"{path.name}, {info.filename}")
    except OSError as error:
        raise unreadable(path, error) from None
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as error:
        # RuntimeError: it wants a password; NotImplementedError: packed in a way that is not read here
        raise bad(f"{path.name} is not an archive that can be read: {str(error)[:120]}", _AS_PUBLISHED) from None
    return found
