"""Files of a world: the manifest, immutable Arrow files per table and clip, and images named by their content.

::

    STORE/ID/world.json                              the manifest, written last
    STORE/ID/rows/<table>/<clip>-<key>-<hash>.arrow  the rows of one table and one clip; hash: of the file's content
    STORE/ID/images/<hash>.jpg                       key frames
    STORE/ID/local.json                              where this machine keeps the source video; not part of the world. Written first:
                                                     a build that was interrupted continues from it
    STORE/ID/sessions/<name>.jsonl                   what sessions wrote; not part of the world

Every file appears whole or not at all: it is written beside its place and renamed into it. Rows and images are synced
together, before the manifest. To resume a build, a clip's file with its key is enough; the hash in its name shows
whether it is whole and unchanged.

Two worlds are equal if their canonical rows are: the hash covers values in key order, column by column, so it does not
depend on the clip in which a row is stored, on Arrow's chunks, or on the file format.

Arrow trusts the metadata in a file; wrong offsets crash the process when a value is read. So files are mapped into
memory and validated before any value is read, in time linear in the file's size and less than its hash takes (decision
037).

The manifest lists what a world consists of; a folder without it is not a world. A world may have an unknown origin, so its
manifest is checked first: paths must stay inside the folder, and numbers must be possible for a video.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from world_api.core.canonical import MAX_LEVELS, content_hash, is_deep
from world_api.core.faults import StoreFault
from world_api.core.files import (
    MOST_FILE_BYTES,
    check_plain,
    hash_bytes,
    hash_stored,
    open_regular,
    sync_files,
    write_atomically,
)
from world_api.core.identifiers import did_you_mean, is_name
from world_api.world.tables import ADDED_TABLES, NO_ID, SCHEMA_VERSION, SESSION_TABLES, TABLES, empty_table

# --- the manifest ---------------------------------------------------------------------------------------------------

MANIFEST = "world.json"
LOCAL = "local.json"
ROWS = "rows"
IMAGES = "images"
SESSIONS = "sessions"
#: Folder of what was computed on demand, inside the store and outside every world.
ON_DEMAND = ".on-demand"
#: Longest video of a world (seconds; about 2,800 hours). Time and memory grow with its length.
MOST_SECONDS = 1e7
#: Bytes of a manifest; that of the longest video lists some million files.
_MOST_BYTES = 1 << 30
_MOST_LOCAL_BYTES = 1 << 16  #: at most this much of ``local.json`` is read
_LONGEST_PATH = 4096  #: characters
TICK = 1e-3  #: seconds; times are rounded to it, the end of a video may be
MOST_PIXELS = 10**8  #: of one side of a picture
MOST_FRAMES_PER_SECOND = 1e6
#: A frame rate below this share of the frames there are is wrong; frames of a stream may come unevenly.
LEAST_SHARE_OF_FRAMES = 0.01

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10**15)]
_FILE = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"


def _check_name(name: str) -> str:
    if not is_name(name):
        raise ValueError("not an id of a video")
    return name


def _check_levels(value: dict[str, Any]) -> dict[str, Any]:
    if is_deep(value):
        raise ValueError(f"nested more than {MAX_LEVELS} levels deep")
    return value


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
    frame_rate: Annotated[float, Field(ge=0, le=MOST_FRAMES_PER_SECOND)]
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
    #: Of any shape; a deeper one could be read, but not written again.
    parameters: Annotated[dict[str, Any], AfterValidator(_check_levels)]
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


class BuildCost(_Model):
    """What building took: seconds of wall time, and the requests to models with their tokens.

    ``whole`` is False if rows of an interrupted or an earlier build were reused: then it took longer in all.
    """

    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    requests: Count = 0
    tokens: Count = 0
    whole: bool = True


class MissRate(_Model):
    """How many sightings of one category a detector ``missed`` ``of`` those of the least ``height`` of which this was measured.

    ``height``: as a share of the height of the world's picture; of smaller things nothing was measured.
    """

    missed: Count
    of: Count
    height: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Manifest(_Model):
    """The content of ``world.json``. ``world_hash`` covers the canonical rows, the video's facts and what its detectors judge."""

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
    took: BuildCost | None = (
        None  #: None in worlds from before it was recorded, and in those that were not built from a video
    )

    def files_of(self, table: str) -> list[FileEntry]:
        """Return the files of one table, in clip order."""
        return sorted((entry for entry in self.files if entry.table == table), key=lambda entry: entry.clip)

    @property
    def detected_categories(self) -> frozenset[str]:
        """The categories that the detectors of the build know, whether or not they found any."""
        named = [stage.parameters.get("categories") for stage in self.stages]
        return frozenset(word for words in named if isinstance(words, list) for word in words if isinstance(word, str))

    @property
    def missed(self) -> dict[str, MissRate]:
        """Category -> how often the detectors of the build miss one; nothing in builds that do not note how small these were."""
        per_height = max(self.video.width, self.video.height) / self.video.height
        found = [stage.parameters.get("missed") for stage in self.stages]
        return {
            str(word): MissRate(missed=int(counts[0]), of=int(counts[1]), height=float(counts[2]) * per_height)
            for counts_of in found
            if isinstance(counts_of, dict)
            for word, counts in counts_of.items()
            if isinstance(counts, list) and len(counts) == 3
        }

    @property
    def is_tracked(self) -> bool:
        """Whether a stage of the build tracks things, or the build had no stages."""
        return not self.stages or any("sightings" in stage.tables for stage in self.stages)

    @property
    def missed_sounds(self) -> dict[str, tuple[int, int]] | None:
        """Class of sounds -> in how many labelled samples the build's model missed it, of how many; None if no model tagged sounds."""
        found = [stage.parameters.get("missed") for stage in self.stages if "sounds" in stage.tables]
        return (
            {
                str(label): (int(counts[0]), int(counts[1]))
                for counts_of in found
                if isinstance(counts_of, dict)
                for label, counts in counts_of.items()
                if isinstance(counts, list) and len(counts) == 2
            }
            if found
            else None
        )

    @property
    def sound_window(self) -> float:
        """The seconds of sound that a class is read from: so late it is known what is heard at a moment. 0: no sound is tagged."""
        found = [stage.parameters.get("window", 1.0) for stage in self.stages if "sounds" in stage.tables]
        return max((float(window) for window in found if isinstance(window, int | float)), default=0.0)

    def hashes(self) -> dict[str, str]:
        """Return the hash of each file of rows and each image by its path, relative to the world's folder."""
        rows = {entry.path: entry.sha256 for entry in self.files}
        return rows | {image.path: image.sha256 for image in self.images}


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically; from then on the folder is a world.

    Its files are synced to the disk first, together, since they were not when they were written: a build that resumes
    makes damaged ones again.

    Raises StoreFault: ``store_not_writable``, ``disk_full``.
    """
    sync_files(_unsynced(folder, manifest))
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=1).encode())


def _unsynced(folder: Path, manifest: Manifest) -> list[Path]:
    """Return the files that may not be on the disk yet: not named by the existing manifest, or written after it."""
    try:
        known, since = read_manifest(folder).hashes(), (folder / MANIFEST).stat().st_ctime_ns
    except (StoreFault, OSError):
        known, since = {}, 0
    found = []
    for path in sorted(manifest.hashes()):
        with suppress(FileNotFoundError):  # reading the world says that it is missing
            changed = (folder / path).stat().st_ctime_ns
            if path not in known or changed >= since:
                found.append(folder / path)
    return found


def read_manifest(folder: Path) -> Manifest:
    """Read and check a world's manifest, and check that the folder holds only files and folders.

    Raises StoreFault: ``no_such_world``, ``other_schema_version``, ``world_damaged``.
    """
    try:
        check_plain(folder)
        with open_regular(folder / MANIFEST) as file:
            raw = json.loads(file.read(_MOST_BYTES))
        if not isinstance(raw, dict) or "schema_version" not in raw:
            raise ValueError("it has no schema_version" if isinstance(raw, dict) else "it is no JSON object")
        version = raw["schema_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(folder) from None
    except RecursionError as error:
        raise _damaged(folder, ValueError("it is nested too deeply")) from error
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error
    if version != SCHEMA_VERSION:
        raise StoreFault(
            "other_schema_version",
            f"world {folder.name!r} has schema version {version!r}; this version of the project reads {SCHEMA_VERSION}",
            hint="build it again with `videoworld build VIDEO --force`, or use the version of the project that wrote it",
        )
    try:
        manifest = Manifest.model_validate(raw)
        clips: dict[str, set[int]] = {table: set() for stage in manifest.stages for table in stage.tables}
        for number, entry in enumerate(manifest.files):
            if entry.table in clips:
                clips[entry.table].add(entry.clip)
            if entry.table not in TABLES or not entry.path.startswith(f"{ROWS}/{entry.table}/"):
                raise ValueError(f"files.{number}: {entry.path} is not where rows of a table {entry.table!r} belong")
        paths = [entry.path for entry in manifest.files] + [image.path for image in manifest.images]
        if len(set(paths)) < len(paths):
            raise ValueError("a file is listed twice")
        for table, found in clips.items():
            _check_clips(table, found, manifest)
        _check_facts(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _damaged(folder, ValueError(f"{place}: {first['msg']}")) from error
    except ValueError as error:
        raise _damaged(folder, error) from error
    return manifest


def read_local(folder: Path) -> Any:
    """Return the JSON value in ``local.json``.

    Raises OSError: it is no regular file that can be read; ValueError: it is damaged.
    """
    with open_regular(folder / LOCAL) as file:
        text = file.read(_MOST_LOCAL_BYTES)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def is_unfinished(folder: Path) -> bool:
    """Whether a folder holds what a build has made so far, and no world yet."""
    return (folder / LOCAL).is_file() and not (folder / MANIFEST).exists()


def _missing(folder: Path) -> StoreFault:
    """Return the fault of a folder without a manifest."""
    if not is_unfinished(folder):
        return StoreFault(
            "no_such_world",
            f"there is no world {folder.name!r} in {folder.parent}",
            hint=_hint_of_worlds(folder),
        )
    return StoreFault(
        "no_such_world",
        f"the build of world {folder.name!r} in {folder.parent} is not finished",
        hint=f"unless it is still running, `{resume_command(folder)}` continues it; add the options that it was begun with",
    )


def resume_command(folder: Path) -> str:
    """Return the command that continues the unfinished build in a folder, without the options that it was begun with."""
    video = "FILE"
    with suppress(OSError, ValueError, TypeError, KeyError):
        path = read_local(folder)["source_path"]
        # A file from anywhere: only what is surely the path of a file belongs into a command that may be pasted.
        if Path(path).is_absolute() and path.isprintable() and "`" not in path and len(path) <= _LONGEST_PATH:
            video = path
    return shlex.join(["videoworld", "build", video, "--store", str(folder.parent), "--id", folder.name])


def _hint_of_worlds(folder: Path) -> str:
    """Return the nearest name of a world beside a missing folder, or the command that lists them."""
    store = folder.parent
    names = [other.name for other in store.iterdir() if (other / MANIFEST).is_file()] if store.is_dir() else []
    listed = shlex.join(["videoworld", "worlds", "--store", str(store)])
    return did_you_mean(folder.name, names) or f"`{listed}` lists them; `videoworld build VIDEO` makes one"


def _check_clips(table: str, clips: set[int], manifest: Manifest) -> None:
    """Check that ``clips``, the numbers of those with a file of this stage's table, are all clips of the video.

    Stages write files even without rows. A false duration could make readers use any amount of time and memory.

    Raises ValueError: a clip is missing, or begins after the end of the video.
    """
    count, length, duration = len(clips), manifest.clip_seconds, manifest.video.duration
    is_whole = clips == set(range(count)) and (count - 1) * length <= duration + TICK
    if not is_whole or duration > count * length + TICK:
        raise ValueError(
            f"video.duration: {duration:g} s in clips of {length:g} s do not fit the {count} clips of the table {table!r}"
        )


def _check_facts(manifest: Manifest) -> None:
    """Check the frame rate against the number of frames, and the times of losses.

    A loss may end after the video. The frames of a growing video are counted before its duration, so not checked.

    Raises ValueError: there are far more frames than the frame rate allows, or a loss is at no time of the video.
    """
    video = manifest.video
    most = video.duration + TICK
    least = LEAST_SHARE_OF_FRAMES * (video.frames - 1) / max(most, 1.0)
    if manifest.complete and video.frames > 1 and video.frame_rate < least:
        rate = f"{video.frame_rate:g} frames per second"
        raise ValueError(f"video.frame_rate: {rate} do not give {video.frames} frames in {video.duration} s")
    for number, loss in enumerate(manifest.losses):
        start = loss.start_time or 0.0
        if not 0.0 <= start <= most or (loss.end_time is not None and loss.end_time < start):
            times = f"from {loss.start_time} to {loss.end_time} s"
            raise ValueError(f"losses.{number}: {times} is no part of the video")


def _damaged(folder: Path, error: Exception) -> StoreFault:
    return StoreFault(
        "world_damaged",
        f"the manifest of world {folder.name!r} cannot be read: {str(error).splitlines()[0]}",
        hint="build the world again with --force, or copy it again",
    )


# --- rows and images ------------------------------------------------------------------------------------------------

#: Digits of the content hash in the name of a file of rows, and of an image.
_NAMED, _NAMED_IMAGE = 16, 24
#: Greatest number of a row (seconds, shares, counts). Some columns have narrower bounds; a box may exceed the picture.
_MOST = 1e9
_BOUNDS = {
    "time": (0.0, MOST_SECONDS),
    "start": (0.0, _MOST),
    "known_at": (0.0, _MOST),
    "confidence": (0.0, 1.0),
    "number": (0, _MOST),
} | dict.fromkeys(("x1", "y1", "x2", "y2"), (-float(MOST_PIXELS), float(MOST_PIXELS)))
_IMAGE_PATH = rf"^{IMAGES}/[A-Za-z0-9_][A-Za-z0-9_.-]*$"


def rows_path(table: str, clip: int, key: str, sha256: str) -> str:
    """Return the path of the rows of one table and clip, relative to the world's folder."""
    return f"{ROWS}/{table}/{clip:06d}-{key}-{sha256[:_NAMED]}.arrow"


def write_rows(folder: Path, *, table: str, clip: int, key: str, rows: pa.Table) -> FileEntry:
    """Store one clip's rows of one table under its key, cast to the table's schema; return the manifest's entry.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
        pyarrow.ArrowInvalid: rows that do not fit the schema (a fault of the stage).
    """
    fitted = rows.select(TABLES[table].schema.names).cast(TABLES[table].schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, TABLES[table].schema) as writer:
        writer.write_table(fitted)
    data = sink.getvalue().to_pybytes()
    digest = hash_bytes(data)
    path = rows_path(table, clip, key, digest)
    if not _is_there(folder / path, digest):
        write_atomically(folder / path, data, sync=False)
    return FileEntry(path=path, sha256=digest, table=table, clip=clip, rows=fitted.num_rows)


def _is_there(path: Path, digest: str) -> bool:
    try:
        return hash_stored(path) == digest
    except OSError:
        return False


def is_whole(folder: Path, manifest: Manifest) -> bool:
    """Whether all files of rows and images exist and have the content that the manifest says."""
    return all(_is_there(folder / path, digest) for path, digest in manifest.hashes().items())


def find_rows(folder: Path, *, table: str, key: str) -> dict[int, FileEntry]:
    """Return the stored files of one table under a key, by clip; damaged files are skipped."""
    found: dict[int, FileEntry] = {}
    for path in sorted((folder / ROWS / table).glob(f"*-{key}-*.arrow")):
        clip, named = path.name.partition("-")[0], path.stem.rpartition("-")[2]
        if clip.isdecimal() and int(clip) not in found and (entry := _entry(path, table, int(clip), named)) is not None:
            found[int(clip)] = entry
    return found


def _entry(path: Path, table: str, clip: int, named: str) -> FileEntry | None:
    try:
        digest = hash_stored(path)
        if digest[:_NAMED] != named:
            return None
        rows = read_arrow(path, TABLES[table].schema)
        _check_rows(table, rows)
    except (OSError, ValueError):
        return None
    return FileEntry(path=f"{ROWS}/{table}/{path.name}", sha256=digest, table=table, clip=clip, rows=rows.num_rows)


def rows_from_records(table: str, records: list[dict[str, Any]]) -> pa.Table:
    """Return records as rows of a table, in the table's schema."""
    return pa.Table.from_pylist(records, schema=TABLES[table].schema)


def read_table(folder: Path, table: str, files: list[FileEntry]) -> pa.Table:
    """Return all rows of one table, clip after clip.

    Raises StoreFault: ``world_damaged``, if a file is missing, differs from the manifest's entry, or has invalid rows.
    """
    parts = [_read_entry(folder, table, entry) for entry in files]
    return pa.concat_tables(parts) if parts else empty_table(table)


def _read_entry(folder: Path, table: str, entry: FileEntry) -> pa.Table:
    try:
        if hash_stored(folder / entry.path) != entry.sha256:
            raise ValueError("its content has changed")
        rows = read_arrow(folder / entry.path, TABLES[table].schema)
        if rows.num_rows != entry.rows:
            raise ValueError(f"it holds {rows.num_rows} rows, and {MANIFEST} says {entry.rows}")
        _check_rows(table, rows)
    except (OSError, ValueError) as error:
        raise StoreFault(
            "world_damaged",
            f"{entry.path} cannot be read: {str(error)[:200]}",
            hint="if the world was just rebuilt, open it again; else build it again with --force",
        ) from error
    return rows


def _check_rows(table: str, rows: pa.Table) -> None:
    """Check that a video can have these rows.

    Raises ValueError: if it cannot; the message names the fault.
    """
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        _check_column(name, column)
    if table == "memories":  # spans of the video alone are clipped to it when they are read
        starts, ends = rows.column("start").to_numpy(), rows.column("end").to_numpy()
        if not ((starts >= 0.0) & (starts <= ends) & (ends <= MOST_SECONDS)).all():
            raise ValueError("the interval of a memory is no interval of a video")


def _check_column(name: str, column: pa.ChunkedArray) -> None:
    """Check a column: no nulls, only finite numbers inside their bounds, only paths inside the folder of images."""
    while pa.types.is_nested(column.type):
        _refuse_nulls(name, column)
        column = pc.list_flatten(column)
    _refuse_nulls(name, column)
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        least, most = _BOUNDS.get(name, (-_MOST, _MOST))
        values = column.to_numpy()
        for value in (values.min(), values.max()) if len(values) else ():  # NaN, if any is
            if not least <= value <= most:
                raise ValueError(f"column {name} holds {value!s}, which is no {name} of a video")
    elif name == "image" and not pc.all(pc.match_substring_regex(column, _IMAGE_PATH), min_count=0).as_py():
        raise ValueError("column image names a file that is not in the folder of images")


def _refuse_nulls(name: str, column: pa.ChunkedArray) -> None:
    if column.null_count:
        raise ValueError(f"column {name} lacks {column.null_count} values")


#: Columns of which the first is never greater than the second.
_ORDERED = (("start", "end"), ("x1", "x2"), ("y1", "y2"))
#: The stage that writes what a file beside the video says, also of moments of the last clip that the video lacks.
_TRUTH = "oracle/"


def rules_broken(name: str, rows: pa.Table, manifest: Manifest) -> list[str]:
    """Return a message for each rule of ``tables.Rules`` on single rows that rows of the table ``name`` break.

    It says how many rows break it, and shows a value of the first. Rules between rows, and the one that a row is not known before
    its time, are checked by ``verification`` alone.
    """
    rules, video = TABLES[name].rules, manifest.video
    columns = {column: rows.column(column) for column in rows.column_names}
    found: list[tuple[str, NDArray[np.bool_], str]] = []  #: a column, which rows are wrong, and what is wrong with them
    most = np.full(rows.num_rows, video.duration + TICK)
    clips = np.ceil(video.duration / manifest.clip_seconds) * manifest.clip_seconds
    most[np.asarray(pc.starts_with(columns["producer"], _TRUTH), dtype=np.bool_)] = max(clips, video.duration) + TICK
    for column in (column for column in rules.within if column in columns):
        found.append((column, columns[column].to_numpy() > most, f"after the {video.duration} s of the video"))
    for low, high in _ORDERED:
        if low in columns and high in columns:
            less = columns[high].to_numpy() < columns[low].to_numpy() - TICK
            found.append((high, less, f"less than its {low}"))
    if columns.keys() >= {"x1", "y1", "x2", "y2"}:
        x1, y1, x2, y2 = (columns[side].to_numpy() for side in ("x1", "y1", "x2", "y2"))
        found.append(("x1", (x1 > video.width) | (x2 < 0), f"of a box beside the picture, {video.width} wide"))
        found.append(("y1", (y1 > video.height) | (y2 < 0), f"of a box beside the picture, {video.height} high"))
    for column in rules.ids:
        found.append((column, pc.match_substring_regex(columns[column], NO_ID).to_numpy(), "no id"))
    for column, choices in rules.choices.items():
        outside = pc.invert(pc.is_in(columns[column], value_set=pa.array(choices)))
        found.append((column, outside.to_numpy(), f"none of {', '.join(choices)}"))
    return [line for column, which, what in found for line in count_wrong(name, column, columns[column], which, what)]


def count_wrong(name: str, column: str, values: pa.ChunkedArray, which: NDArray[np.bool_], what: str) -> list[str]:
    """Return one message if any of a column's values are ``what`` (``which``: a mask of these), with the first; else none."""
    wrong = np.flatnonzero(which)
    if not len(wrong):
        return []
    shown = repr(values[int(wrong[0])].as_py())[:60]
    return [f"rows of {name}: {column} of {len(wrong)} of {len(values)} is {what}, such as {shown}"]


def write_image(folder: Path, jpeg: bytes) -> str:
    """Store an encoded image under the hash of its content; return its path relative to the world's folder."""
    digest = hash_bytes(jpeg)
    path = f"{IMAGES}/{digest[:_NAMED_IMAGE]}.jpg"
    if not _is_there(folder / path, digest):
        write_atomically(folder / path, jpeg, sync=False)
    return path


def read_image(folder: Path, path: str) -> bytes | None:
    """Return a stored JPEG; None if it is missing, does not match the hash in its name, or is not a JPEG."""
    try:
        with open_regular(folder / path) as file:
            jpeg = file.read(MOST_FILE_BYTES)
    except OSError:
        return None
    is_whole = hash_bytes(jpeg)[:_NAMED_IMAGE] == Path(path).stem
    return jpeg if is_whole and jpeg.startswith(b"\xff\xd8") else None


def has_image(folder: Path, path: str) -> bool:
    """Whether a stored image exists and matches the hash in its name."""
    try:
        return hash_stored(folder / path)[:_NAMED_IMAGE] == Path(path).stem
    except OSError:
        return False


def canonical(table: pa.Table, name: str) -> pa.Table:
    """Return the rows in the order of the table's key, then of every other sortable column."""
    spec = TABLES[name]
    others = [c for c in spec.schema.names if c not in spec.key and not pa.types.is_nested(table.schema.field(c).type)]
    return table.select(spec.schema.names).sort_by([(column, "ascending") for column in (*spec.key, *others)])


def hash_rows(tables: Iterable[tuple[str, pa.Table]]) -> str:
    """Return the SHA-256 of the canonical rows of several tables, given as ``(name, table)`` in any order."""
    digest = hashlib.sha256()
    for name, table in sorted(tables, key=lambda item: item[0]):
        if name in ADDED_TABLES and table.num_rows == 0:
            continue
        ordered = canonical(table, name).combine_chunks()
        digest.update(f"{name}:{ordered.num_rows};".encode())
        for column in ordered.schema.names:
            digest.update(f"{column};".encode())
            _update(digest, ordered.column(column))
    return digest.hexdigest()


def _update(digest: Any, column: pa.ChunkedArray) -> None:
    """Add one column to a hash: fixed-width values as little-endian bytes, strings and lists as lengths and content."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        _update(digest, pc.list_flatten(column))
    elif pa.types.is_list(kind):
        digest.update(_bytes(pc.list_value_length(column)))
        _update(digest, pc.list_flatten(column))
    elif pa.types.is_string(kind):
        digest.update(_bytes(pc.binary_length(column)))
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            digest.update("".join(chunk.to_pylist()).encode())
    else:
        digest.update(_bytes(column))


def _bytes(column: Any) -> bytes:
    values = np.ascontiguousarray(column.to_numpy())
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


#: An Arrow file begins and ends with these; a stream of messages follows the beginning.
_MAGIC, _END = b"ARROW1\0\0", b"ARROW1"
#: Field numbers of a message's header and of a record batch's compression (Message.fbs).
_HEADER_FIELD, _COMPRESSION_FIELD = 2, 3


def read_arrow(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Return all record batches of an Arrow file as a table, mapped, not copied; ``schema`` is the one it must have.

    Compressed files are rejected, because a small one may unpack to any size; this project writes none.

    Raises OSError: it cannot be opened; ValueError: it is not an Arrow file with this schema, or is damaged.
    """
    try:
        with pa.memory_map(str(path), "rb") as source:
            whole = source.read_buffer()
        return _read(whole, schema)
    except (pa.ArrowException, EOFError, struct.error) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _read(whole: pa.Buffer, schema: pa.Schema | None) -> pa.Table:
    if whole.slice(0, len(_MAGIC)).to_pybytes() != _MAGIC or not memoryview(whole)[-len(_END) :] == _END:
        raise ValueError("it is not a whole Arrow file")
    messages = iter(pa.ipc.MessageReader.open_stream(whole.slice(len(_MAGIC))))
    if (first := next(messages, None)) is None:
        raise ValueError("it is empty")
    found = pa.ipc.read_schema(first)
    if schema is not None and not found.equals(schema):
        raise ValueError(f"its columns are {_shown(found)} and not {_shown(schema)}")
    batches = []
    for message in messages:
        if message.type != "record batch":
            raise ValueError(f"it holds a {message.type}")
        if _is_compressed(message.metadata):
            raise ValueError("it is compressed")
        batches.append(pa.ipc.read_record_batch(message, found))
    table = pa.Table.from_batches(batches, found)
    table.validate(full=True)
    return table


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Whether a record batch is compressed, by its metadata: a FlatBuffer that Arrow verified when it read the message.

    Raises struct.error: the metadata ends too early.
    """
    data = memoryview(metadata)
    root = struct.unpack_from("<I", data)[0]
    header = _field(data, root, _HEADER_FIELD)
    batch = header + struct.unpack_from("<I", data, header)[0] if header else 0
    return bool(batch and _field(data, batch, _COMPRESSION_FIELD))


def _field(data: memoryview, table: int, number: int) -> int:
    """Return the offset in ``data`` of a field of the FlatBuffer table at offset ``table``; 0 if the field is absent."""
    entries = table - struct.unpack_from("<i", data, table)[0]
    at = 4 + 2 * number
    if at >= struct.unpack_from("<H", data, entries)[0]:
        return 0
    offset = struct.unpack_from("<H", data, entries + at)[0]
    return table + offset if offset else 0


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)[:200]


def world_key(manifest: Manifest) -> str:
    """Return a hash of a world's content: the source file's hash, video facts, and the rows that sessions do not write.

    The source file's hash distinguishes worlds with few rows. Commits of sessions do not change the key.
    """
    rows = sorted(f"{entry.table} {entry.sha256}" for entry in manifest.files if entry.table not in SESSION_TABLES)
    return content_hash([manifest.source.sha256, manifest.video.model_dump(mode="json"), rows])
