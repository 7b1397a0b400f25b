"""The manifest ``world.json`` lists what a world consists of. It is written last: a folder without it is not a world.

A world may have an unknown origin, so its manifest is checked first: paths must stay inside the folder, and numbers
must be possible for a video.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from world_api.core.faults import StoreFault
from world_api.core.files import check_plain, open_regular, write_atomically
from world_api.core.identifiers import is_name
from world_api.world.tables import SCHEMA_VERSION, TABLES

MANIFEST = "world.json"
ROWS = "rows"
IMAGES = "images"
#: Longest video of a world (seconds; about 2,800 hours). Time and memory grow with its length.
MOST_SECONDS = 1e7
#: Bytes of a manifest; that of the longest video lists some million files.
_MOST_BYTES = 1 << 30
MOST_PIXELS = 10**8  #: of one side of a picture

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10**15)]
_FILE = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"


def _check_name(name: str) -> str:
    if not is_name(name):
        raise ValueError("not an id of a video")
    return name


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SourceFacts(_Model):
    """Facts about the source file; its path is not part of the world."""

    file_name: str
    sha256: Sha256
    bytes: Count
    container: str


class VideoFacts(_Model):
    """Facts about picture and sound, in seconds, frames per second, and pixels of the displayed (rotated) frame."""

    duration: Annotated[float, Field(ge=0, le=MOST_SECONDS)]
    frame_rate: Annotated[float, Field(ge=0)]
    width: Annotated[int, Field(gt=0, le=MOST_PIXELS)]
    height: Annotated[int, Field(gt=0, le=MOST_PIXELS)]
    rotation: Annotated[int, Field(ge=0, lt=360)]
    frames: Count
    codec: str
    has_audio: bool

    @property
    def frame_seconds(self) -> float:
        """How long a frame is shown, in seconds: at least a millisecond (the resolution of times), at most one second."""
        return min(1.0, max(0.001, 1.0 / self.frame_rate)) if self.frame_rate > 0 else 1.0


class StageFacts(_Model):
    """One stage of the build: version, parameters, the key in the names of its files, and the tables that it writes."""

    name: str
    version: str
    key: str
    parameters: dict[str, Any]
    tables: list[str]


class Loss(_Model):
    """A part of the source that could not be used, with its times in seconds (None if they are not known)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None


class FileEntry(_Model):
    """One Arrow file with the rows of one table and clip; ``rows`` is their number."""

    path: Annotated[str, Field(pattern=rf"^{ROWS}/[a-z_]+/{_FILE}\.arrow$")]
    sha256: Sha256
    table: str
    clip: Count
    rows: Count


class ImageEntry(_Model):
    """One stored image."""

    path: Annotated[str, Field(pattern=rf"^{IMAGES}/{_FILE}$")]
    sha256: Sha256
    bytes: Count


class Manifest(_Model):
    """The content of ``world.json``. ``world_hash`` covers the canonical rows and the video's facts."""

    schema_version: int
    video_id: Annotated[str, AfterValidator(_check_name)]
    profile: str
    title: str
    built_at: str
    project_version: str
    source: SourceFacts
    video: VideoFacts
    clip_seconds: Annotated[float, Field(gt=0)]
    stages: list[StageFacts]
    losses: list[Loss]
    files: list[FileEntry]
    images: list[ImageEntry]
    world_hash: Sha256
    #: False while the video is still being written: the world holds what has been seen of it so far.
    complete: bool = True

    def files_of(self, table: str) -> list[FileEntry]:
        """Return the files of one table, in clip order."""
        return sorted((entry for entry in self.files if entry.table == table), key=lambda entry: entry.clip)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically; from then on the folder is a world.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=1).encode())


def read_manifest(folder: Path) -> Manifest:
    """Read and check a world's manifest, and check that the folder holds only files and folders.

    Raises StoreFault: ``no_such_world``, ``other_schema_version``, ``world_damaged``.
    """
    try:
        check_plain(folder)
        with open_regular(folder / MANIFEST) as file:
            raw = json.loads(file.read(_MOST_BYTES))
        version = raw["schema_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise StoreFault(
            "no_such_world",
            f"there is no world {folder.name!r} in {folder.parent}",
            hint="`videoworld worlds` lists them; `videoworld build` makes one",
        ) from None
    except KeyError:
        raise _damaged(folder, ValueError("it has no schema_version")) from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise _damaged(folder, error) from error
    if version != SCHEMA_VERSION:
        raise StoreFault(
            "other_schema_version",
            f"world {folder.name!r} has schema version {version!r}; this version of the project reads {SCHEMA_VERSION}",
            hint="build it again with `videoworld build VIDEO --force`, or use the version of the project that wrote it",
        )
    try:
        manifest = Manifest.model_validate(raw)
        for number, entry in enumerate(manifest.files):
            if entry.table not in TABLES or not entry.path.startswith(f"{ROWS}/{entry.table}/"):
                raise ValueError(f"files.{number}: {entry.path} is not where rows of a table {entry.table!r} lie")
        paths = [entry.path for entry in manifest.files] + [image.path for image in manifest.images]
        if len(set(paths)) < len(paths):
            raise ValueError("a file is listed twice")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _damaged(folder, ValueError(f"{place}: {first['msg']}")) from error
    except ValueError as error:
        raise _damaged(folder, error) from error
    return manifest


def _damaged(folder: Path, error: Exception) -> StoreFault:
    return StoreFault(
        "world_damaged",
        f"the manifest of world {folder.name!r} cannot be read: {str(error).splitlines()[0]}",
        hint="build the world again with --force, or copy it again",
    )
