"""Reading files that others wrote: bounded, UTF-8, strict JSON, and every fault with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world_api.core.canonical import is_deep, parse_json
from world_api.core.faults import EvalFault
from world_api.world.files import open_regular

MAX_BYTES = 512 * 2**20
MAX_LINE_BYTES = 2**20
MAX_LEVELS = 20


@dataclass(frozen=True, kw_only=True)
class NumberedLine:
    """A line of a file with its number from 1, and the JSON value on it; ``fault`` says why there is none."""

    number: int
    value: Any = None
    fault: str = ""


def read_bytes(path: Path, *, most: int = MAX_BYTES) -> bytes:
    """The content of a regular file.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``.
    """
    try:
        with open_regular(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(content) > most:
        raise EvalFault(
            "dataset_too_large", f"{path.name} has more than {most:,} bytes", hint="split it, or give the file itself"
        )
    return content


def unreadable(path: Path, error: OSError) -> EvalFault:
    """The fault of a file that cannot be read."""
    return EvalFault(
        "dataset_unreadable",
        f"{path.name} cannot be read: {error.strerror or error}",
        hint="give a file that is there and may be read",
    )


def read_json(path: Path, *, most: int = MAX_BYTES) -> Any:
    """The JSON value of a file.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``.
    """
    return json_of(read_bytes(path, most=most), path.name)


def json_of(content: bytes, name: str) -> Any:
    """The JSON value that some bytes spell; ``name`` is the file's, for messages.

    Raises:
        EvalFault: ``bad_dataset``.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise bad(f"{name}, line {line}: it is not UTF-8", "save the file as UTF-8") from None
    try:
        value = parse_json(text)
    except ValueError as error:
        raise bad(f"{name}: it is not JSON: {str(error)[:200]}", "give the file as it was published") from None
    if is_deep(value, levels=MAX_LEVELS):
        raise bad(f"{name}: it is nested more than {MAX_LEVELS} deep", "give the file as it was published")
    return value


def numbered_lines(path: Path) -> Iterator[NumberedLine]:
    """The JSON values of a file's lines; empty lines are passed over. A fault of one line is told in its place.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``.
    """
    total = 0
    try:
        with open_regular(path) as file:
            number = 0
            while data := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                total += len(data)
                if total > MAX_BYTES:
                    raise EvalFault(
                        "dataset_too_large", f"{path.name} has more than {MAX_BYTES:,} bytes", hint="split it"
                    )
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
        value = parse_json(data.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return NumberedLine(number=number, fault="it is not UTF-8")
    except ValueError as error:
        return NumberedLine(number=number, fault=f"it is not JSON: {str(error)[:120]}")
    if is_deep(value, levels=MAX_LEVELS):
        return NumberedLine(number=number, fault=f"it is nested more than {MAX_LEVELS} deep")
    return NumberedLine(number=number, value=value)


def expanded(path: str) -> Path:
    """A path, with the home folder that it may begin with.

    Raises:
        EvalFault: ``bad_dataset``: nobody here has that home.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise bad(f"there is no home folder for {path[:80]!r}", "write the whole path") from None


def bad(message: str, hint: str) -> EvalFault:
    """The fault of a file that is not what it should be."""
    return EvalFault("bad_dataset", message, hint=hint)
