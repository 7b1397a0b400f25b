"""How a bundle is laid out.

::

    videoworld-bundle 1 SHA256       a line; the hash is of every byte after it
    a zip archive:
        bundle.json                  schema version, the run's name, every part with its size and SHA-256
        config.yaml, manifest.json, items.jsonl, samples.jsonl, scores.jsonl, verdicts.jsonl,
        labels.json
        episodes/CELL/...            the journals
        libraries/NAME/...           the tool libraries
        report/frames/...            pictures of the moments that the report shows

The line before the archive is nothing to a zip reader: any of them opens the file. Parts stand in the order of their names, without
times and owners, so that the same run gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from world_api.core.canonical import canonical, content_hash, parse_json
from world_api.core.faults import EvalFault

SCHEMA_VERSION = 1
MAGIC = b"videoworld-bundle "
SUFFIX = ".vwbundle"
CONTENTS = "bundle.json"
#: More is no run that was made here; a few lines of JSON may unpack to a full disk.
MOST_PARTS = 200_000
MOST_BYTES = 64 * 2**30
MOST_CONTENTS_BYTES = 32 * 2**20
MOST_TIMES = 100  #: how much larger the parts may be than the archive: journals pack to a tenth, a bomb to a thousandth
SLACK = 64 * 2**20  #: so few bytes are no bomb, however well they pack
CONTENTS_SLACK = 2**20  #: the same for ``bundle.json``, which is read into memory

_HEAD = re.compile(rb"videoworld-bundle (\d{1,4}) ([0-9a-f]{64})\n")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,254}")
#: What a bundle holds of a run's folder; files, and folders with all that is in them.
FILES = (
    "config.yaml",
    "manifest.json",
    "items.jsonl",
    "samples.jsonl",
    "scores.jsonl",
    "verdicts.jsonl",
    "labels.json",
)
FOLDERS = ("episodes", "libraries", "report/frames")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of the bundle: how many bytes it has, and their SHA-256."""

    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What is in a bundle, by path."""

    run: str
    parts: Mapping[str, Part]

    @property
    def hash(self) -> str:
        """Names the content: SHA-256 over the paths and hashes of all parts."""
        return content_hash({path: part.sha256 for path, part in self.parts.items()})

    def encoded(self) -> bytes:
        """As ``bundle.json`` holds it."""
        record = {
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "hash": self.hash,
            "parts": {path: asdict(part) for path, part in self.parts.items()},
        }
        return canonical(record).encode() + b"\n"


class _PartRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    bytes: int = Field(ge=0, le=MOST_BYTES)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _ContentsRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    schema_version: int
    run: str = Field(max_length=300)
    hash: str
    parts: dict[str, _PartRecord] = Field(max_length=MOST_PARTS)


def check_sizes(contents: Contents, *, packed: int) -> None:
    """Refuse what would unpack to more than a run does; ``packed`` are the bytes of the archive's entries.

    Raises:
        EvalFault: ``bundle_refused``.
    """
    whole = sum(part.bytes for part in contents.parts.values())
    if whole > MOST_BYTES:
        raise refused(f"it would unpack to more than {MOST_BYTES // 2**30} GiB")
    if whole > packed * MOST_TIMES + SLACK:
        raise refused(f"its {packed:,} bytes would unpack to {whole:,}")


def read_contents(data: bytes) -> Contents:
    """Read ``bundle.json``.

    Raises:
        EvalFault: ``bundle_damaged``, ``other_schema_version``, ``bundle_refused``: a path leads out, or too much.
    """
    try:
        record: Any = parse_json(data.decode())
    except ValueError:
        raise damaged(f"{CONTENTS} is not JSON") from None
    check_version(record.get("schema_version") if isinstance(record, dict) else None)
    try:
        read = _ContentsRecord.model_validate(record)
    except ValidationError as error:
        raise damaged(f"{CONTENTS} is not whole: {'.'.join(map(str, error.errors()[0]['loc']))}") from None
    for path in read.parts:
        check_path(path)
        if any(parent.as_posix() in read.parts for parent in PurePosixPath(path).parents):
            raise refused(f"{path[:80]!r} lies within another part")
    contents = Contents(
        run=read.run,
        parts={path: Part(bytes=part.bytes, sha256=part.sha256) for path, part in sorted(read.parts.items())},
    )
    if contents.hash != read.hash:
        raise damaged(f"the hash in {CONTENTS} is not that of its parts")
    return contents


def read_head(line: bytes) -> str:
    """The hash in the first line of a bundle.

    Raises:
        EvalFault: ``not_a_bundle``, ``other_schema_version``.
    """
    found = _HEAD.fullmatch(line)
    if found is None:
        raise EvalFault(
            "not_a_bundle",
            "the file does not begin as a bundle does",
            hint="give a file that `videoworld eval bundle` wrote, whole and unchanged",
        )
    check_version(int(found[1]))
    return found[2].decode()


def head(digest: str) -> bytes:
    """The first line of a bundle."""
    return MAGIC + f"{SCHEMA_VERSION} {digest}\n".encode()


def check_version(version: Any) -> None:
    """Refuse what another version wrote.

    Raises:
        EvalFault: ``other_schema_version``.
    """
    if version != SCHEMA_VERSION:
        raise EvalFault(
            "other_schema_version",
            f"the bundle has schema version {str(version)[:20]!r}; this version reads {SCHEMA_VERSION}",
            hint="open it with the version of video-world-api that wrote it",
        )


def check_path(path: str) -> None:
    """Refuse a path that is not of a run's folder.

    Raises:
        EvalFault: ``bundle_refused``.
    """
    pieces = path.split("/")
    inside = path in FILES or any(path.startswith(f"{folder}/") for folder in FOLDERS)
    if not inside or len(path) > 1000 or not all(_NAME.fullmatch(piece) and ".." not in piece for piece in pieces):
        raise refused(f"{path[:80]!r} is no path of a run's folder")


def damaged(what: str) -> EvalFault:
    """A bundle that is not what was written."""
    return EvalFault("bundle_damaged", what, hint="fetch the bundle again, or make it again from its run")


def refused(what: str) -> EvalFault:
    """A bundle that no run became."""
    return EvalFault("bundle_refused", what, hint="such a file is not opened; see where it came from")
