"""The files of a world while it is built: which clips of which stage are there, and reading and adding rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from world_api.build.stage import CLIP_SECONDS, FRAME_MODULES, Clip, Hear, Records, Stage, clip_span, hash_code
from world_api.core.canonical import content_hash
from world_api.core.spans import TimeSpan
from world_api.media.container import Limits, Probe
from world_api.media.decode_pass import LossNote, PassState
from world_api.world.files import not_writable
from world_api.world.manifest import FileEntry
from world_api.world.storage import find_rows, has_image, read_table, rows_from_records, write_image, write_rows
from world_api.world.tables import TABLES


class RowStore:
    """Rows of a recipe's stages by clip.

    With ``reuse`` clips that are already there under their key are kept, of the first ``most`` only if that is given.
    Threads may share it.
    """

    def __init__(
        self, folder: Path, source: Probe, keys: Mapping[str, str], *, reuse: bool, hear: Hear, most: int | None = None
    ) -> None:
        self._folder = folder
        self._source = source
        self._keys = keys
        self._reuse = reuse
        self._hear = hear
        self._most = most
        self._files: dict[tuple[str, int], dict[str, FileEntry]] = {}  #: of each table and clip, by the stage's key
        self._there: dict[str, set[int]] = {}
        self._lock = Lock()
        self.written = 0

    def clips_of(self, stage: Stage) -> set[int]:
        """The clips of a stage that need not be made again, as found at the start."""
        name = stage.spec.name
        with self._lock:
            if name not in self._there:
                self._there[name] = self._find(stage) if self._reuse else set()
            return set(self._there[name])

    def reused(self, clips: int) -> int:
        """How many clips of all stages were found, among the first so many of each."""
        return sum(1 for found in self._there.values() for number in found if number < clips)

    def clip(self, number: int) -> Clip:
        """A clip as its stages see it."""
        return Clip(
            number=number, span=clip_span(number), source=self._source, rows=self.rows, keep_image=self._keep_image,
            audio=self._hear,
        )  # fmt: skip

    def add(self, stage: Stage, number: int, records: Records) -> None:
        """Store a clip's rows; every table of the stage gets a file, also an empty one."""
        for table in stage.spec.tables:
            rows = rows_from_records(table, records.get(table, []))
            entry = write_rows(self._folder, table=table, clip=number, key=self._keys[stage.spec.name], rows=rows)
            with self._lock:
                self._files.setdefault((table, number), {})[self._keys[stage.spec.name]] = entry
        with self._lock:
            self.written += 1

    def rows(self, table: str, span: TimeSpan) -> pa.Table:
        """The stored rows of a table whose time (or start) lies in a span."""
        first, last = int(max(0.0, span.start) // CLIP_SECONDS), int(max(0.0, span.end) // CLIP_SECONDS)
        with self._lock:
            files = [entry for n in range(first, last + 1) for entry in self._of(table, n)]
        found = read_table(self._folder, table, files)
        column = found.column("time" if "time" in TABLES[table].schema.names else "start")
        inside = pc.and_(pc.greater_equal(column, span.start), pc.less(column, span.end))
        return found.filter(inside)

    def files(self, clips: int) -> list[FileEntry]:
        """All files of the first so many clips, in order."""
        with self._lock:
            return [entry for place in sorted(self._files) if place[1] < clips for entry in self._of(*place)]

    def _find(self, stage: Stage) -> set[int]:
        name = stage.spec.name
        tables = {table: find_rows(self._folder, table=table, key=self._keys[name]) for table in stage.spec.tables}
        whole = set.intersection(*(set(found) for found in tables.values()))
        there = {
            n
            for n in whole
            if (self._most is None or n < self._most) and all(self._has_images(found[n]) for found in tables.values())
        }
        for table, found in tables.items():
            for number in there:
                self._files.setdefault((table, number), {})[self._keys[name]] = found[number]
        return there

    def _of(self, table: str, number: int) -> list[FileEntry]:
        """The files of one table and clip, of each stage that adds to that table one."""
        found = self._files.get((table, number), {})
        return [found[key] for key in sorted(found)]

    def _keep_image(self, jpeg: bytes) -> str:
        return write_image(self._folder, jpeg)

    def _has_images(self, entry: FileEntry) -> bool:
        """Whether the images that rows name are there, too."""
        if "image" not in TABLES[entry.table].schema.names:
            return True
        images = read_table(self._folder, entry.table, [entry]).column("image").to_pylist()
        return all(has_image(self._folder, image) for image in images)


NAME = "decoding.jsonl"
#: So many digits of a record's hash stand in its line.
_CHECK = 12


class DecodeLog:
    """The log of one video's decoding, read at the start and written on."""

    def __init__(self, path: Path, *, source_hash: str, limits: Limits, reuse: bool) -> None:
        self._path = path
        self._identity = _identity(source_hash, limits)
        self.states: list[PassState] = []
        self.final: PassState | None = None
        self.lost: list[LossNote] = []
        self.has_died = False
        self._is_begun = reuse and self._read()

    @property
    def vouches_for_rows(self) -> bool:
        """Whether rows that are there were made of whole frames, or of the frames of a pass that came to its end."""
        return self.final is not None or not self.has_died

    def before(self, time: float) -> PassState | None:
        """The last place before a time (seconds) that a pass can be taken up at."""
        return next((state for state in reversed(self.states) if state.last_time < time), None)

    def lose(self, loss: LossNote) -> None:
        """A decoder died: rows made from now on may lack frames, so they are kept only with the end of the pass.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        self._write({"died": vars(loss)})

    def note(self, state: PassState) -> None:
        """Keep a place, about one a clip.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        last = self.states[-1].last_time if self.states else 0.0
        if state.can_go_on and state.last_time - last >= CLIP_SECONDS:
            self.states.append(state)
            self._write({"state": vars(state)})

    def finish(self, state: PassState, lost: Sequence[LossNote]) -> None:
        """Keep where the video ends, and what was lost with decoders that died.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        self.final, self.lost = state, list(lost)
        self._write({"final": vars(state), "lost": [vars(loss) for loss in lost]})

    def adopt(self, source_hash: str, limits: Limits) -> None:
        """From now on it is the log of the same video under another hash."""
        states, final, lost = self.states, self.final, self.lost
        self._identity, self._is_begun = _identity(source_hash, limits), False
        for state in states:
            self._write({"state": vars(state)})
        if final is not None:
            self.finish(final, lost)

    def _read(self) -> bool:
        """Take what the log holds of this very video; whether it is one to write on.

        A line that is not what was written ends it: what comes after is not trusted.
        """
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except OSError:
            return False
        size = 0
        for line in lines:
            record = _checked(line)
            if record is None or (size == 0) != ("of" in record) or record.get("of", self._identity) != self._identity:
                break
            self._take(record)
            size += len(line)
        if size:
            os.truncate(self._path, size)
        return size > 0

    def _take(self, record: dict[str, Any]) -> None:
        if "state" in record:
            self.states.append(PassState(**record["state"]))
        elif "died" in record:
            self.has_died = True
        elif "final" in record:
            self.final = PassState(**record["final"])
            self.lost = [LossNote(**loss) for loss in record["lost"]]

    def _write(self, record: dict[str, Any]) -> None:
        try:
            if not self._is_begun:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_bytes(_line({"of": self._identity}))
                self._is_begun = True
            with self._path.open("ab") as file:
                file.write(_line(record))
        except OSError as error:
            raise not_writable(self._path, error) from error


def _line(record: dict[str, Any]) -> bytes:
    """A record with the hash of what it says, as one line."""
    return json.dumps([content_hash(record)[:_CHECK], record]).encode() + b"\n"


def _checked(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None where it is not what was written."""
    try:
        check, record = json.loads(line)
        is_sound = line.endswith(b"\n") and isinstance(record, dict) and content_hash(record)[:_CHECK] == check
    except (ValueError, TypeError, RecursionError):
        return None
    return record if is_sound else None


def _identity(source_hash: str, limits: Limits) -> str:
    facts = [source_hash, hash_code(FRAME_MODULES), limits.pixels, limits.duration]
    return content_hash(facts)[:16]
