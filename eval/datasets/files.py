"""Bounded, strict reading of dataset files (JSON, JSON lines, zip archives), and finding videos by name in a folder.

Files that cannot be read raise ``EvalFault``: ``dataset_unreadable``, ``dataset_too_large`` or ``bad_dataset``.
"""

from __future__ import annotations

import json
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from world_api.core.canonical import is_deep, parse_json
from world_api.core.faults import EvalFault
from world_api.core.files import open_regular
from world_api.core.identifiers import did_you_mean

#: Returns the line number of a place in a file.
LineOf = Callable[[tuple[int | str, ...]], int]
MAX_BYTES = 512 * 2**20
MAX_LINE_BYTES = 2**20
MAX_LEVELS = 20


@dataclass(frozen=True, kw_only=True)
class NumberedLine:
    """The JSON value of a line, with the line number from 1; ``fault`` is the reason why there is no value, or ""."""

    number: int
    value: Any = None
    fault: str = ""


def read_bytes(path: Path, *, most: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file. Raises EvalFault: ``dataset_unreadable``, ``dataset_too_large``."""
    try:
        with open_regular(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(content) > most:
        raise _too_large(f"{path.name} has more than {most:,} bytes", "split it, or give the file itself")
    return content


def _too_large(message: str, hint: str) -> EvalFault:
    return EvalFault("dataset_too_large", message, hint=hint)


def unreadable(path: Path, error: OSError) -> EvalFault:
    """Return the fault for a file that cannot be read."""
    message = f"{path.name} cannot be read: {error.strerror or error}"
    return EvalFault("dataset_unreadable", message, hint="give a file that is there and may be read")


def read_json(path: Path, *, most: int = MAX_BYTES) -> Any:
    """Read a JSON file. Raises EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``."""
    return json_of(read_bytes(path, most=most), path.name)


def json_of(content: bytes, name: str) -> Any:
    """Return the JSON value of bytes; ``name`` is the file name in messages. Raises EvalFault: ``bad_dataset``."""
    value, fault = _parsed(decoded(content, name))
    if fault:
        raise bad(f"{name}: {fault}", "give the file as it was published")
    return value


def decoded(content: bytes, name: str) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark. Raises EvalFault: ``bad_dataset``."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise bad(f"{name}, line {line}: it is not UTF-8", "save the file as UTF-8") from None


def _parsed(text: str) -> tuple[Any, str]:
    """Return a JSON value and "", or None and the reason why there is none."""
    try:
        value = parse_json(text)
    except ValueError as error:
        return None, f"it is not JSON: {str(error)[:120]}"
    return (None, f"it is nested more than {MAX_LEVELS} deep") if is_deep(value, levels=MAX_LEVELS) else (value, "")


def numbered_lines(path: Path) -> Iterator[NumberedLine]:
    """Yield the JSON values of a file's lines that are not empty; a line that cannot be read has a ``fault``."""
    total = 0
    try:
        with open_regular(path) as file:
            for number in count(1):
                if not (data := file.readline(MAX_LINE_BYTES + 1)):
                    return
                total += len(data)
                if total > MAX_BYTES:
                    raise _too_large(f"{path.name} has more than {MAX_BYTES:,} bytes", "split it")
                if len(data) > MAX_LINE_BYTES:
                    yield NumberedLine(number=number, fault=f"it has more than {MAX_LINE_BYTES:,} bytes")
                    while data and not data.endswith(b"\n"):  # the rest of it
                        data = file.readline(MAX_LINE_BYTES)
                        total += len(data)
                elif data.strip():
                    yield _line(number, data)
    except OSError as error:
        raise unreadable(path, error) from None


def _line(number: int, data: bytes) -> NumberedLine:
    try:
        value, fault = _parsed(data.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        value, fault = None, "it is not UTF-8"
    return NumberedLine(number=number, value=value, fault=fault)


def expanded(path: str) -> Path:
    """Return a path with ``~`` expanded. Raises EvalFault: ``bad_dataset``: this machine has no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise bad(f"there is no home folder for {path[:80]!r}", "write the whole path") from None


def bad(message: str, hint: str) -> EvalFault:
    """Return the fault ``bad_dataset`` for a file with wrong content."""
    return EvalFault("bad_dataset", message, hint=hint)


Shape = TypeVar("Shape", bound=BaseModel)


def validated(shape: type[Shape], value: object, name: str, hint: str, line: LineOf | None = None) -> Shape:
    """Return a value from a file as an instance of ``shape``. Raises EvalFault: ``bad_dataset``.

    ``name`` is the file in the message, ``hint`` the fault's; ``line`` returns the line number of a path of keys and indices.
    """
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        faults = [
            (f"line {line(item['loc'])}: " if line is not None else "") + explained(shape, item)
            for item in error.errors()[:8]
        ]
        raise bad(f"{name}: " + "; ".join(faults), hint) from None


def explained(shape: type[BaseModel], error: Mapping[str, Any]) -> str:
    """Return an error of pydantic about a value of ``shape`` as a message: the path of keys, and what is wrong there."""
    place = [part for part in error["loc"] if part != "[key]"]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")[:80]
    path = path or "the file"
    match error["type"]:
        case "missing":
            return f"{path} is missing"
        case "extra_forbidden":
            for part in place[:-1]:
                if isinstance(part, str) and part in shape.model_fields:
                    shape = _model_in(shape.model_fields[part].annotation) or shape
            known = tuple(shape.model_fields)
            hint = did_you_mean(str(place[-1]), known) or f"the keys are {', '.join(known)}"
            return f"{path} is not a key here; {hint}"
        case "string_pattern_mismatch":
            return f"{path}: {str(error['input'])[:60]!r} is no name; use letters, digits and . _ + -"
        case "too_short":
            return f"{path} is empty; give at least one"
        case "value_error":
            return f"{path}: {error['msg'].removeprefix('Value error, ')}"
    given = json.dumps(error["input"], ensure_ascii=False, default=str)[:60]
    return f"{path}: {error['msg'][0].lower()}{error['msg'][1:]}, not {given}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as ``list[Model] | None``; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for item in get_args(annotation) if (found := _model_in(item)) is not None), None)


MAX_FILES = 10_000
MAX_FILE_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
#: Exceptions of reading a damaged archive, besides ``OSError``. RuntimeError: it needs a password, or its compression
#: is not supported by the standard library; ``struct.error``: it ends within a header.
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, RuntimeError, ValueError, EOFError, OverflowError,
)  # fmt: skip
_AS_PUBLISHED = "give the archive as it was published"


def json_files(path: Path) -> dict[str, Any]:
    """Read the JSON files of a zip archive; the keys are file names without folders.

    Raises EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``.
    """
    found: dict[str, Any] = {}
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            if len(archive.infolist()) > MAX_FILES:
                raise _too_large(f"{path.name} holds more than {MAX_FILES:,} entries", "unpack it")
            for info in archive.infolist():
                if info.is_dir() or not info.filename.lower().endswith(".json"):
                    continue
                with archive.open(info) as file:
                    content = file.read(MAX_FILE_BYTES + 1)  # the actual size, not the one in the header
                total += len(content)
                if len(content) > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
                    raise _too_large(f"{path.name} holds more than can be read", "unpack it, give a file")
                name = PurePosixPath(info.filename).name
                if name in found:
                    raise bad(f"{path.name} holds two files named {name[:60]!r}", _AS_PUBLISHED)
                found[name] = json_of(content, f"{path.name}, {info.filename}")
    except OSError as error:
        raise unreadable(path, error) from None
    except UNREADABLE as error:
        raise bad(f"{path.name} is not an archive that can be read: {str(error)[:120]}", _AS_PUBLISHED) from None
    return found


#: Endings of video files, the preferred ones first.
ENDINGS = (".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".ogv", ".3gp")
MAX_FOLDER_FILES = 500_000
_MAX_DEPTH = 6


class VideoFolder:
    """The videos of a folder by their names. If one is not at the expected path, the whole folder is walked, once.

    Links to folders are followed, since videos are often on another disk; the depth and the number of files are
    limited.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, *names: str) -> Path | None:
        """Return the file of the first name that exists, or None. A name is a path, a file name or a stem."""
        return next((found for name in names if (found := self._plain(name) or self._anywhere(name))), None)

    def _plain(self, name: str) -> Path | None:
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or name.startswith("/") or "\0" in name:
            return None
        tries = [self.folder.joinpath(*parts)]
        tries += [self.folder.joinpath(*parts[:-1], parts[-1] + ending) for ending in ENDINGS]
        return next((path for path in tries if path.suffix.lower() in ENDINGS and _is_file(path)), None)

    def _anywhere(self, name: str) -> Path | None:
        last = PurePosixPath(name)
        stem = last.stem if last.suffix.lower() in ENDINGS else last.name
        # The best file shares the most folders with the name, from the end; then equal case counts, then the ending.
        wanted = [part.casefold() for part in last.parts[:-1]]

        def likeness(path: Path) -> tuple[int, bool, int]:
            return _shared(path, wanted), path.stem == stem, -ENDINGS.index(path.suffix.lower())

        return max(self._by_stem.get(stem.casefold(), ()), key=likeness, default=None)

    @cached_property
    def _by_stem(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        seen = 0
        for root, folders, files in os.walk(self.folder, followlinks=True):
            at = Path(root)
            folders[:] = sorted(item for item in folders if not item.startswith("."))
            if len(at.relative_to(self.folder).parts) >= _MAX_DEPTH:
                folders.clear()
            seen += len(files)
            for file in sorted(files):
                if PurePosixPath(file).suffix.lower() in ENDINGS:
                    found.setdefault(PurePosixPath(file).stem.casefold(), []).append(at / file)
            if seen > MAX_FOLDER_FILES:
                break
        return found


def _shared(path: Path, wanted: list[str]) -> int:
    """Return how many folders of a path equal the ``wanted`` ones (in lower case), counted from the end."""
    pairs = zip((part.casefold() for part in reversed(path.parts[:-1])), reversed(wanted), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name no file system takes
        return False
