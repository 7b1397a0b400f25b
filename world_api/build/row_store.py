"""The files of a world while it is built: which clips of which stage are there, and reading and adding rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from world_api.build.stage import CLIP_SECONDS, Clip, Hear, Records, Stage, clip_span
from world_api.core.spans import TimeSpan
from world_api.media.container import Probe
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
