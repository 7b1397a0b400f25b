"""The manifest ``world.json``: what a world is made of. Written last: a world without it is not there yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from world_api.core.faults import StoreFault
from world_api.world.disk.files import write_atomically
from world_api.world.disk.tables import SCHEMA_VERSION

MANIFEST = "world.json"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceFacts(_Model):
    """The file the world was made from; its place on a machine is not part of the world."""

    file_name: str
    sha256: str
    bytes: int
    container: str


class VideoFacts(_Model):
    """What the picture and sound are: seconds, frames a second, pixels of the displayed (rotated) frame."""

    duration: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    frame_rate: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]
    rotation: int
    frames: int
    codec: str
    has_audio: bool

    @property
    def frame_seconds(self) -> float:
        """How long a frame is shown, in seconds: from a millisecond, as times are told, to a second."""
        return min(1.0, max(0.001, 1.0 / self.frame_rate)) if self.frame_rate > 0 else 1.0


class StageFacts(_Model):
    """One stage as it ran: its version, parameters and the key its files carry."""

    name: str
    version: str
    key: str
    parameters: dict[str, Any]
    tables: list[str]


class Loss(_Model):
    """Something of the source that could not be used: what, and where (seconds)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None


class FileEntry(_Model):
    """One Arrow file of rows."""

    path: str
    sha256: str
    table: str
    clip: int
    rows: int


class ImageEntry(_Model):
    """One kept image."""

    path: str
    sha256: str
    bytes: int


class Manifest(_Model):
    """The whole of ``world.json``. ``world_hash`` covers the canonical rows and the video's facts."""

    schema_version: int
    video_id: str
    profile: str
    title: str
    built_at: str
    project_version: str
    source: SourceFacts
    video: VideoFacts
    clip_seconds: float
    stages: list[StageFacts]
    losses: list[Loss]
    files: list[FileEntry]
    images: list[ImageEntry]
    world_hash: str
    #: False while the video is still being written: the world holds what has been seen of it so far.
    complete: bool = True

    def files_of(self, table: str) -> list[FileEntry]:
        """The files of one table, in clip order."""
        return sorted((entry for entry in self.files if entry.table == table), key=lambda entry: entry.clip)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest in place, whole; from now on the world is there.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=1).encode())


def read_manifest(folder: Path) -> Manifest:
    """Read and check a world's manifest.

    Raises:
        StoreFault: ``no_such_world``, ``other_schema_version``, ``world_damaged``.
    """
    try:
        raw = json.loads((folder / MANIFEST).read_bytes())
        version = raw["schema_version"]
    except FileNotFoundError:
        raise StoreFault(
            "no_such_world",
            f"there is no world {folder.name!r} here",
            hint="`videoworld worlds` lists them; `videoworld build` makes one",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(folder, error) from error
    if version != SCHEMA_VERSION:
        raise StoreFault(
            "other_schema_version",
            f"world {folder.name!r} has schema version {version!r}; this version of the project reads {SCHEMA_VERSION}",
            hint="build it again with `videoworld build VIDEO --force`, or use the version of the project that wrote it",
        )
    try:
        return Manifest.model_validate(raw)
    except ValidationError as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> StoreFault:
    return StoreFault(
        "world_damaged",
        f"the manifest of world {folder.name!r} cannot be read: {str(error).splitlines()[0]}",
        hint="build the world again with --force",
    )
