"""What an interrupted build resumes from: stored rows by clip and stage, and a log of decoding.

The log contains a line for each state that a decode pass can resume from, and one for its end. It is not part of the
world: if it is lost or damaged, a build decodes more of the video and makes the same rows.
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
from world_api.core.spans import TimeSpan, holes_in, without_spans
from world_api.media.container import Limits, Probe
from world_api.media.decode_pass import LossNote, PassState
from world_api.world.storage import (
    FileEntry,
    find_rows,
    has_image,
    read_table,
    rows_from_records,
    write_image,
    write_rows,
)
from world_api.world.tables import TABLES

DECODE_LOG = "decoding.jsonl"
#: Leading digits of a record's hash that are stored in its line.
_CHECK = 12


@dataclass(eq=False)
class RowStore:
    """The stored rows of a recipe's stages, by clip; threads may share it.

    ``reuse``: use stored clips with the right key, do not make them again; ``most``: only the first ``most`` clips;
    ``holes``: the parts of the video, found so far, that were not decoded.
    """

    _folder: Path
    _source: Probe
    _keys: Mapping[str, str]
    _: KW_ONLY
    reuse: bool
    audio: Audio
    most: int | None = None
    holes: list[TimeSpan] = field(default_factory=list)
    written: int = 0
    #: By table, clip and the stage's key.
    _files: dict[tuple[str, int, str], FileEntry] = field(default_factory=dict)
    _stored: dict[str, set[int]] = field(default_factory=dict)
    _found: list[int] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def clips_of(self, stage: Stage) -> set[int]:
        """Return the numbers of a stage's stored clips; :meth:`add` adds to the same set.

        The first call for a stage reads the folder; it has to come before clips of the stage are added.
        """
        name = stage.spec.name
        if name not in self._stored:
            self._stored[name] = self._find(stage) if self.reuse else set()
            self._found.extend(self._stored[name])
        return self._stored[name]

    def reused(self, clips: int) -> int:
        """Return how many clips were found in the folder among the first ``clips`` of each stage, over all stages."""
        return sum(number < clips for number in self._found)

    def clip(self, number: int) -> Clip:
        """Return the ``Clip`` with this number, the input of stages."""
        return Clip(
            number=number, span=clip_span(number), source=self._source, rows=self.rows,
            keep_image=lambda jpeg: write_image(self._folder, jpeg), audio=self.audio, holes=self.holes,
        )  # fmt: skip

    def add(self, stage: Stage, number: int, records: Records) -> None:
        """Store the rows of one clip of a stage; each table of the stage gets a file, even if it has no rows."""
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
        """Return the stored rows of a table whose time (or start) is in a span."""
        first, last = int(max(0.0, span.start) // CLIP_SECONDS), int(max(0.0, span.end) // CLIP_SECONDS)
        places = [(table, number, key) for number in range(first, last + 1) for key in sorted(self._keys.values())]
        with self._lock:
            files = [self._files[place] for place in places if place in self._files]
        found = read_table(self._folder, table, files)
        column = found.column("time" if "time" in TABLES[table].schema.names else "start")
        return found.filter(pc.and_(pc.greater_equal(column, span.start), pc.less(column, span.end)))

    def files(self, clips: int) -> list[FileEntry]:
        """Return the files of the first ``clips`` clips, ordered by table, clip and key."""
        with self._lock:
            return [self._files[place] for place in sorted(self._files) if place[1] < clips]

    def files_of(self, key: str) -> list[FileEntry]:
        """Return the stored files whose names contain ``key``, the key of a stage."""
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
        """Whether all images exist to which the rows of a file refer."""
        if "image" not in TABLES[entry.table].schema.names:
            return True
        images = read_table(self._folder, entry.table, [entry]).column("image").to_pylist()
        return all(has_image(self._folder, image) for image in images)


class DecodeLog:
    """The log of decoding one video. With ``reuse`` an existing log is read and continued; else it is replaced.

    Methods that write raise ``StoreFault`` (``store_not_writable``, ``disk_full``).
    """

    def __init__(self, path: Path, *, source_hash: str, limits: Limits, reuse: bool) -> None:
        self._path = path
        self._identity = _identity(source_hash, limits)
        self.states: list[PassState] = []
        self.final: PassState | None = None
        self.lost: list[LossNote] = []
        self.has_died = False  #: in a pass that was not finished: the rows of that pass may lack frames
        self._is_begun = reuse and self._read()

    def before(self, time: float) -> PassState | None:
        """Return the last state before a time (seconds); None if there is none."""
        return next((state for state in reversed(self.states) if state.last_time < time), None)

    def note_death(self, loss: LossNote) -> None:
        """Log that a decoder died. Rows may lack frames then: a later build reuses none unless this pass is finished."""
        self._write({"died": vars(loss)})

    def note(self, state: PassState) -> None:
        """Log a state if a pass can resume from it and it is at least 30 seconds of video after the last one."""
        last = self.states[-1].last_time if self.states else 0.0
        if state.can_resume and state.last_time - last >= CLIP_SECONDS:
            self.states.append(state)
            self._write({"state": asdict(state)})

    def finish(self, state: PassState, lost: Sequence[LossNote]) -> None:
        """Log the end of the video, and add to the losses of earlier passes what this pass ``lost`` besides them."""
        known, holes = {one.place for one in self.lost}, holes_in(one.place for one in self.lost)
        found = (one for one in lost if one.place not in known)
        new = [one for one in found if not (spans := holes_in([one.place])) or without_spans(spans[0], holes)]
        self.final, self.lost = state, [*self.lost, *new]
        self._write({"final": asdict(state), "lost": [vars(one) for one in self.lost]})

    def _read(self) -> bool:
        """Read the log if it is of this video, and remove all from its first damaged line on; return False if nothing is usable."""
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
                self.has_died, self.final = False, PassState.restored(record["final"])
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
    """Return a line of the log: the first digits of the record's hash, and the record, as JSON."""
    return json.dumps([content_hash(record)[:_CHECK], record]).encode() + b"\n"


def _checked(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line; None if the line is damaged."""
    try:
        check, record = json.loads(line)
        is_whole = line.endswith(b"\n") and isinstance(record, dict) and content_hash(record)[:_CHECK] == check
    except (ValueError, TypeError, RecursionError):
        return None
    return record if is_whole else None


def _identity(source_hash: str, limits: Limits) -> str:
    facts = [source_hash, hash_code(FRAME_MODULES), limits.pixels, limits.duration]
    return content_hash(facts)[:16]
