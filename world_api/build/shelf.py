"""The files of a world while it is built: which clips of which stage are there, and reading and adding rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from world_api.build.media.audio import read_audio
from world_api.build.media.probe import Probe
from world_api.build.stage import CLIP_SECONDS, Clip, Records, Stage, clip_span
from world_api.core.ports import Samples
from world_api.core.spans import TimeSpan
from world_api.world.disk.hashing import hash_rows
from world_api.world.disk.manifest import FileEntry
from world_api.world.disk.storage import find_rows, read_table, rows_from_records, write_image, write_rows
from world_api.world.disk.tables import TABLES


class Shelf:
    """Rows of a recipe's stages by clip. With ``reuse`` clips that are already there under their key are kept."""

    def __init__(self, folder: Path, source: Probe, keys: Mapping[str, str], *, reuse: bool) -> None:
        self._folder = folder
        self._source = source
        self._keys = keys
        self._reuse = reuse
        self._files: dict[tuple[str, int], FileEntry] = {}
        self.written = 0
        self.reused = 0

    def has(self, stage: Stage, number: int) -> bool:
        """Whether a clip of a stage need not be made again."""
        if not self._reuse:
            return False
        found = [
            find_rows(self._folder, table=table, clip=number, key=self._keys[stage.spec.name])
            for table in stage.spec.tables
        ]
        entries = [entry for entry in found if entry is not None]
        if len(entries) < len(found) or not self._has_images(entries):
            return False
        self._files.update({(entry.table, number): entry for entry in entries})
        self.reused += 1
        return True

    def clip(self, number: int) -> Clip:
        """A clip as its stages see it."""
        return Clip(
            number=number, span=clip_span(number), source=self._source, rows=self.rows, keep_image=self._keep_image,
            audio=self._audio,
        )  # fmt: skip

    def add(self, stage: Stage, number: int, records: Records) -> None:
        """Store a clip's rows; every table of the stage gets a file, also an empty one."""
        for table in stage.spec.tables:
            rows = rows_from_records(table, records.get(table, []))
            self._files[table, number] = self._store(table, number, self._keys[stage.spec.name], rows)
        self.written += 1

    def rows(self, table: str, span: TimeSpan) -> pa.Table:
        """The stored rows of a table whose time (or start) lies in a span."""
        first, last = int(max(0.0, span.start) // CLIP_SECONDS), int(max(0.0, span.end) // CLIP_SECONDS)
        files = [self._files[table, number] for number in range(first, last + 1) if (table, number) in self._files]
        found = read_table(self._folder, table, files)
        column = found.column("time" if "time" in TABLES[table].schema.names else "start")
        inside = pc.and_(pc.greater_equal(column, span.start), pc.less(column, span.end))
        return found.filter(inside)

    def files(self, clips: int) -> list[FileEntry]:
        """All files of the first so many clips, in order."""
        return [self._files[place] for place in sorted(self._files) if place[1] < clips]

    def _store(self, table: str, number: int, key: str, rows: pa.Table) -> FileEntry:
        """Write a file, never over one with other rows: the world that is there may name it."""
        there = find_rows(self._folder, table=table, clip=number, key=key)
        if there is not None:
            if read_table(self._folder, table, [there]).equals(rows):
                return there
            key = f"{key}-{hash_rows([(table, rows)])[:8]}"
        return write_rows(self._folder, table=table, clip=number, key=key, rows=rows)

    def _audio(self, span: TimeSpan) -> Samples:
        start = self._source.start
        return read_audio(self._source.path, start + span.start, start + span.end)

    def _keep_image(self, jpeg: bytes) -> str:
        return write_image(self._folder, jpeg)

    def _has_images(self, entries: list[FileEntry]) -> bool:
        """Whether the images that rows name are there, too."""
        for entry in entries:
            if "image" in TABLES[entry.table].schema.names:
                images = read_table(self._folder, entry.table, [entry]).column("image").to_pylist()
                if not all((self._folder / image).is_file() for image in images):
                    return False
        return True
