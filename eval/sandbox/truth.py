"""What is true of a film, as JSON: made from the script and from the boxes that were drawn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from eval.sandbox.encoder import Subtitle
from eval.sandbox.renderer import DrawnFrame
from eval.sandbox.rooms import Backdrop
from eval.sandbox.script import HEIGHT, WIDTH, Actor, Card, Film, Performance, Prop, Shot, Walk
from world_api.core.spans import round_time

SCHEMA_VERSION = 1
#: The lists of the file, in their order.
SECTIONS = ("speech", "screen_text", "actions", "captions", "scenes", "tracks")

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Naming:
    """What the truth calls people and things: names and colours (``person_mia``, ``folder_blue``), or the ids of ``tracks``.

    With ``tracks`` (numbers, of whom the film's facts say who they are) nothing tells a name or a colour that was not perceived.
    """

    tracks: Mapping[Actor | Prop, str] | None = None

    def track(self, subject: Actor | Prop) -> str:
        """The track's id."""
        if self.tracks is not None:
            return self.tracks[subject]
        if isinstance(subject, Actor):
            return f"person_{subject.name.lower()}"
        return f"{subject.category}_{subject.colour}"

    def label(self, subject: Actor | Prop) -> str:
        """What it is, for people who read the file."""
        is_named = self.tracks is None and isinstance(subject, Actor)
        return f"{subject.name}, {subject.description}" if is_named else subject.description

    def speaker(self, actor: Actor) -> str:
        """The person who says a line."""
        return actor.name if self.tracks is None else actor.description


class TruthWriter:
    """Collects what is true while the frames of a film go by, on disk, so that memory does not grow with the film.

    Every ``every``-th frame is kept. ``folder`` is where unnamed temporary files are.
    """

    def __init__(self, folder: Path | str, naming: Naming, *, every: int = 1) -> None:
        self._folder = folder
        self._naming = naming
        self._every = every
        self._number = 0
        self._tracks: dict[Actor | Prop, _Records] = {}
        self._sections = {name: _Records(folder) for name in SECTIONS if name != "tracks"}
        self._cuts: list[float] = []

    def part(self, start: float, part: Shot | Card, backdrop: Backdrop) -> None:
        """A part begins."""
        if start > 0:
            self._cuts.append(round_time(start))
        scene = {"start": round_time(start), "end": round_time(start + part.duration), "caption": part.caption}
        self._sections["scenes"].add(scene)
        for name, records in truth_of_part(start, part, backdrop, self._naming).items():
            for record in records:
                self._sections[name].add(record)

    def frame(self, drawn: DrawnFrame) -> None:
        """A frame was drawn."""
        self._number += 1
        if (self._number - 1) % self._every:
            return
        for sighting in drawn.sightings:
            if sighting.subject not in self._tracks:
                self._tracks[sighting.subject] = _Records(self._folder)
            self._tracks[sighting.subject].add({"time": round_time(drawn.time), "box": sighting.box.rounded()})

    def write(self, path: Path | str, film: Film, *, order: Sequence[str] = SECTIONS) -> None:
        """Write the file: one line for each entry of a list."""
        heading = {
            "schema_version": SCHEMA_VERSION,
            "title": film.title,
            "duration": round_time(film.duration),
            "frame_rate": film.frame_rate,
            "resolution": {"width": WIDTH, "height": HEIGHT},
            "cuts": self._cuts,
        }
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            file.write("{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in heading.items()))
            for name in order:
                file.write(f",\n {json.dumps(name)}: [")
                if name == "tracks":
                    self._write_tracks(file)
                else:
                    _write_entries(file, self._sections[name].all(), first="\n  ", then=",\n  ")
                file.write("\n ]")
            file.write("\n}\n")

    def _write_tracks(self, file: TextIO) -> None:
        for number, (subject, records) in enumerate(self._tracks.items()):
            identity = {
                "track": self._naming.track(subject),
                "category": "person" if isinstance(subject, Actor) else subject.category,
                "colours": [subject.look.coat, subject.look.trousers]
                if isinstance(subject, Actor)
                else [subject.colour],
                "label": self._naming.label(subject),
            }
            file.write(f'{"," if number else ""}\n  {json.dumps(identity, ensure_ascii=False)[:-1]}, "sightings": [')
            _write_entries(file, records.all(), first="", then=", ")
            file.write("]}")


class _Records:
    """Records of one kind in a temporary file; read back in the order in which they were added."""

    def __init__(self, folder: Path | str) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n", dir=folder)  # noqa: SIM115

    def add(self, record: Record) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def all(self) -> Iterator[str]:
        self._file.seek(0)
        for line in self._file:
            yield line.rstrip("\n")
        self._file.close()


def _write_entries(file: TextIO, entries: Iterable[str], *, first: str, then: str) -> None:
    for number, entry in enumerate(entries):
        file.write((then if number else first) + entry)


def subtitles_of(film: Film) -> list[Subtitle]:
    """Every spoken line in film time."""
    return [
        Subtitle(start=start + line.start, end=start + line.end, text=line.text)
        for start, shot in film.shots()
        for line in shot.lines
    ]


def truth_of_part(start: float, part: Shot | Card, backdrop: Backdrop, naming: Naming) -> dict[str, list[Record]]:
    """What is said, written and done in a part that begins at ``start``: ``speech``, ``screen_text``, ``actions``, ``captions``."""
    written = [
        {**_span(start, 0.0, part.duration), "text": item.text, "box": item.box.rounded()} for item in backdrop.texts
    ]
    if isinstance(part, Card):
        caption = {**_span(start, 0.0, part.duration), "text": part.caption}
        return {"speech": [], "screen_text": written, "actions": [], "captions": [caption]}
    return {
        "speech": [
            {**_span(start, line.start, line.end), "text": line.text, "speaker": naming.speaker(line.speaker)}
            for line in part.lines
        ],
        "screen_text": written,
        "actions": _in_order(_actions(start, part, naming)),
        "captions": _in_order([{**_span(start, a, b), "text": text} for a, b, text in part.captions]),
    }


def _actions(start: float, shot: Shot, naming: Naming) -> list[Record]:
    """Whatever is done; what a script lets happen before the shot begins is not seen."""
    records = []
    for performance in shot.performances:
        track = naming.track(performance.actor)
        for first, last, label in _deeds(performance):
            if last > 0:
                records.append({**_span(start, first, last), "label": label, "track": track})
    for line in shot.lines:
        records.append({**_span(start, line.start, line.end), "label": "talks", "track": naming.track(line.speaker)})
    return records


def _deeds(performance: Performance) -> Iterable[tuple[float, float, str]]:
    for walk in performance.walks:
        yield walk.start, walk.end, _walk_label(walk)
    for gesture in performance.gestures:
        yield gesture.start, gesture.end, gesture.label


def _walk_label(walk: Walk) -> str:
    if not 0 <= walk.origin[0] <= WIDTH:
        return "enters from the left" if walk.origin[0] < 0 else "enters from the right"
    if not 0 <= walk.goal[0] <= WIDTH:
        return "leaves to the left" if walk.goal[0] < 0 else "leaves to the right"
    return "walks to the right" if walk.goal[0] > walk.origin[0] else "walks to the left"


def _span(start: float, first: float, last: float) -> Record:
    return {"start": round_time(start + first), "end": round_time(start + last)}


def _in_order(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record["start"], record["end"]))
