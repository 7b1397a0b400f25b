"""``<id>.truth.json`` of a long film: sightings go to a file for each track on the way, and are put together at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from eval.sandbox.drawing.written import Backdrop
from eval.sandbox.render import DrawnFrame
from eval.sandbox.script import Actor, Card, Film, Prop, Shot
from eval.sandbox.truth import Naming, Record, heading_of, identity_of, scene_of, truth_of_part
from world_api.core.spans import round_time

_KEPT = 400  #: lines that are kept in memory for a track
_SECTIONS = ("speech", "screen_text", "actions", "captions")


class TruthSpool:
    """Collects what is true while the frames go by, on disk. ``every`` is how many frames lie between two sightings."""

    def __init__(self, folder: Path, naming: Naming, *, every: int) -> None:
        self._folder = folder
        self._naming = naming
        self._every = every
        self._number = 0
        self._tracks: dict[Actor | Prop, _Lines] = {}
        self._sections = {name: _Lines(folder / f"{name}.lines") for name in (*_SECTIONS, "scenes")}
        self._cuts: list[float] = []

    def part(self, start: float, part: Shot | Card, backdrop: Backdrop) -> None:
        """A part begins."""
        if start > 0:
            self._cuts.append(round_time(start))
        self._sections["scenes"].add({key: _rounded(value) for key, value in scene_of(start, part).items()})
        for name, records in truth_of_part(start, part, backdrop, self._naming).items():
            for record in records:
                self._sections[name].add(record)

    def frame(self, drawn: DrawnFrame) -> None:
        """A frame was drawn."""
        self._number += 1
        if (self._number - 1) % self._every:
            return
        for sighting in drawn.sightings:
            lines = self._tracks.get(sighting.subject)
            if lines is None:
                lines = self._tracks[sighting.subject] = _Lines(self._folder / f"track{len(self._tracks):04d}.lines")
            lines.add({"time": round_time(drawn.time), "box": sighting.box.rounded()})

    def write(self, path: Path, film: Film) -> None:
        """Put it all into one file."""
        with path.open("w", encoding="utf-8", newline="\n") as file:
            heading = {**heading_of(film), "duration": round_time(film.duration), "cuts": self._cuts}
            file.write("{\n" + "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in heading.items()))
            for name, lines in self._sections.items():
                _write_list(file, name, lines.all())
                file.write(",\n")
            file.write(' "tracks": [')
            for number, (subject, lines) in enumerate(self._tracks.items()):
                file.write(",\n  {" if number else "\n  {")
                file.write(
                    json.dumps(identity_of(subject, self._naming), ensure_ascii=False)[1:-1] + ', "sightings": ['
                )
                _write_entries(file, lines.all(), "")
                file.write("]}")
            file.write("\n ]\n}\n")


class _Lines:
    """Records of one kind, on disk but for the last few; made one after the other, and read back in that order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: list[str] = []

    def add(self, record: Record) -> None:
        self._kept.append(json.dumps(record, ensure_ascii=False) + "\n")
        if len(self._kept) >= _KEPT:
            self._flush()

    def all(self) -> Iterator[str]:
        self._flush()
        with self._path.open(encoding="utf-8") as file:
            for line in file:
                yield line.rstrip("\n")

    def _flush(self) -> None:
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(self._kept)
        self._kept.clear()


def _rounded(value: object) -> object:
    return round_time(value) if isinstance(value, float) else value


def _write_list(file: TextIO, name: str, entries: Iterable[str]) -> None:
    file.write(f" {json.dumps(name)}: [")
    _write_entries(file, entries, "\n  ")
    file.write("\n ]")


def _write_entries(file: TextIO, entries: Iterable[str], before: str) -> None:
    for number, entry in enumerate(entries):
        file.write(("," if number else "") + (before or (" " if number else "")) + entry)
