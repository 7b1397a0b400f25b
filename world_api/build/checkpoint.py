"""What a build stores as it goes: rows by clip and stage, and a log of decoding. An interrupted build resumes from both.

The log is beside the rows: a line for each state a decode pass can resume from, and one for its end. It is no part of the world:
if it, or a line of it, is lost, a build decodes more and makes the same rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from world_api.build.stage import CLIP_SECONDS, FRAME_MODULES, Audio, Clip, Records, Stage, clip_span, hash_code
from world_api.core.canonical import content_hash
from world_api.core.files import not_writable
from world_api.core.spans import TimeSpan
from world_api.media.container import Limits, Probe
from world_api.media.decode_pass import LossNote, PassState
from world_api.world.manifest import FileEntry
from world_api.world.storage import find_rows, has_image, read_table, rows_from_records, write_image, write_rows
from world_api.world.tables import TABLES

DECODE_LOG = "decoding.jsonl"
#: Digits of a record's hash in its line.
_CHECK = 12


@dataclass(eq=False)
class RowStore:
    """Rows of a recipe's stages by clip; threads may share it.

    With ``reuse`` clips that exist under their key are kept, of the first ``most`` only if that is given.
    """

    _folder: Path
    _source: Probe
    _keys: Mapping[str, str]
    _: KW_ONLY
    reuse: bool
    audio: Audio
    most: int | None = None
    written: int = 0
    #: By table, clip and the stage's key.
    _files: dict[tuple[str, int, str], FileEntry] = field(default_factory=dict)
    _stored: dict[str, set[int]] = field(default_factory=dict)
    _found: list[int] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def clips_of(self, stage: Stage) -> set[int]:
        """The stored clips of a stage: those that existed at the first call, and each that is added later."""
        name = stage.spec.name
        if name not in self._stored:
            self._stored[name] = self._find(stage) if self.reuse else set()
            self._found.extend(self._stored[name])
        return self._stored[name]

    def reused(self, clips: int) -> int:
        """How many clips of all stages were found, among the first ``clips`` of each."""
        return sum(number < clips for number in self._found)

    def clip(self, number: int) -> Clip:
        """A clip for its stages."""
        return Clip(
            number=number, span=clip_span(number), source=self._source, rows=self.rows,
            keep_image=lambda jpeg: write_image(self._folder, jpeg), audio=self.audio,
        )  # fmt: skip

    def add(self, stage: Stage, number: int, records: Records) -> None:
        """Store a clip's rows; every table of the stage gets a file, also an empty one."""
        key, producer = self._keys[stage.spec.name], {"producer": stage.spec.producer}
        for table in stage.spec.tables:
            rows = rows_from_records(table, [record | producer for record in records.get(table, [])])
            entry = write_rows(self._folder, table=table, clip=number, key=key, rows=rows)
            with self._lock:
                self._files[table, number, key] = entry
        with self._lock:
            self.written += 1
            self.clips_of(stage).add(number)

    def rows(self, table: str, span: TimeSpan) -> pa.Table:
        """The stored rows of a table whose time (or start) is in a span."""
        first, last = int(max(0.0, span.start) // CLIP_SECONDS), int(max(0.0, span.end) // CLIP_SECONDS)
        places = [(table, number, key) for number in range(first, last + 1) for key in sorted(self._keys.values())]
        with self._lock:
            files = [self._files[place] for place in places if place in self._files]
        found = read_table(self._folder, table, files)
        column = found.column("time" if "time" in TABLES[table].schema.names else "start")
        return found.filter(pc.and_(pc.greater_equal(column, span.start), pc.less(column, span.end)))

    def files(self, clips: int) -> list[FileEntry]:
        """All files of the first ``clips`` clips, in order."""
        with self._lock:
            return [self._files[place] for place in sorted(self._files) if place[1] < clips]

    def files_of(self, key: str) -> list[FileEntry]:
        """The files under the key of a stage."""
        with self._lock:
            return [entry for (_, _, own), entry in self._files.items() if own == key]

    def _find(self, stage: Stage) -> set[int]:
        key = self._keys[stage.spec.name]
        tables = {table: find_rows(self._folder, table=table, key=key) for table in stage.spec.tables}
        complete = {
            number
            for number in set.intersection(*map(set, tables.values()))
            if (self.most is None or number < self.most)
            and all(self._has_images(found[number]) for found in tables.values())
        }
        self._files |= {(table, number, key): found[number] for table, found in tables.items() for number in complete}
        return complete

    def _has_images(self, entry: FileEntry) -> bool:
        """Whether the images that rows name exist."""
        if "image" not in TABLES[entry.table].schema.names:
            return True
        images = read_table(self._folder, entry.table, [entry]).column("image").to_pylist()
        return all(has_image(self._folder, image) for image in images)


class DecodeLog:
    """The log of one video's decoding, read at the start.

    Methods that write raise ``StoreFault`` (``store_not_writable``, ``disk_full``).
    """

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
        """Whether existing rows were made of all frames: no decoder died, or the pass still reached its end."""
        return self.final is not None or not self.has_died

    def before(self, time: float) -> PassState | None:
        """The last state before a time (seconds)."""
        return next((state for state in reversed(self.states) if state.last_time < time), None)

    def lose(self, lost: LossNote) -> None:
        """Log that a decoder died: rows made from now on may lack frames, so they are kept only if the pass ends."""
        self._write({"died": vars(lost)})

    def note(self, state: PassState) -> None:
        """Log a state, about one a clip."""
        last = self.states[-1].last_time if self.states else 0.0
        if state.can_resume and state.last_time - last >= CLIP_SECONDS:
            self.states.append(state)
            self._write({"state": asdict(state)})

    def finish(self, state: PassState, lost: Sequence[LossNote]) -> None:
        """Log the end of the video, and what was lost with decoders that died."""
        self.final, self.lost = state, list(lost)
        self._write({"final": asdict(state), "lost": [vars(one) for one in lost]})

    def _read(self) -> bool:
        """Read the log of this very video; return whether it can be appended to. A damaged line ends it."""
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except OSError:
            return False
        size = 0
        for line in lines:
            record = _checked(line)
            if record is None or (size == 0) != ("of" in record) or record.get("of", self._identity) != self._identity:
                break
            size += len(line)
            if "state" in record:
                self.states.append(PassState.restored(record["state"]))
            elif "died" in record:
                self.has_died = True
            elif "final" in record:
                self.final = PassState.restored(record["final"])
                self.lost = [LossNote(**one) for one in record["lost"]]
        if size:
            os.truncate(self._path, size)
        return size > 0

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
    """A line with a record and the beginning of its hash."""
    return json.dumps([content_hash(record)[:_CHECK], record]).encode() + b"\n"


def _checked(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None if the line is damaged."""
    try:
        check, record = json.loads(line)
        is_whole = line.endswith(b"\n") and isinstance(record, dict) and content_hash(record)[:_CHECK] == check
    except (ValueError, TypeError, RecursionError):
        return None
    return record if is_whole else None


def _identity(source_hash: str, limits: Limits) -> str:
    facts = [source_hash, hash_code(FRAME_MODULES), limits.pixels, limits.duration]
    return content_hash(facts)[:16]
