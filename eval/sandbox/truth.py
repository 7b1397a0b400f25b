"""What is true of a film, as JSON: made from the script and from the boxes that were drawn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TextIO

from eval.sandbox.encoder import Subtitle
from eval.sandbox.renderer import DrawnFrame, backdrop_of
from eval.sandbox.rooms import Backdrop
from eval.sandbox.script import HEIGHT, WIDTH, Actor, Card, Film, Performance, Prop, Shot, Walk
from world_api.core.spans import round_time

SCHEMA_VERSION = 1

Record = dict[str, Any]


class Naming(Protocol):
    """What the truth calls whom and what a film shows."""

    def track(self, subject: Actor | Prop) -> str:
        """The track's id."""

    def label(self, subject: Actor | Prop) -> str:
        """What it is, for people who read the file."""

    def speaker(self, actor: Actor) -> str:
        """Who says a line."""


class ByName:
    """By names and colours, for people: ``person_mia``, ``folder_blue``."""

    def track(self, subject: Actor | Prop) -> str:
        """The name or the colour after the kind."""
        if isinstance(subject, Actor):
            return f"person_{subject.name.lower()}"
        return f"{subject.category}_{subject.colour}"

    def label(self, subject: Actor | Prop) -> str:
        """With the name."""
        return f"{subject.name}, {subject.description}" if isinstance(subject, Actor) else subject.description

    def speaker(self, actor: Actor) -> str:
        """The name."""
        return actor.name


BY_NAME = ByName()


class SightingLog:
    """Collects who was drawn where while the frames go by."""

    def __init__(self) -> None:
        self._seen: dict[Actor | Prop, list[Record]] = {}

    def note(self, frame: DrawnFrame) -> None:
        """Remember one frame's boxes."""
        for sighting in frame.sightings:
            record = {"time": round_time(frame.time), "box": sighting.box.rounded()}
            self._seen.setdefault(sighting.subject, []).append(record)

    def tracks(self) -> list[Record]:
        """One track for each person and thing, over all its appearances, in order of first appearance."""
        return [{**identity_of(subject, BY_NAME), "sightings": sightings} for subject, sightings in self._seen.items()]


def identity_of(subject: Actor | Prop, naming: Naming) -> Record:
    """What a track says of whom or what it shows."""
    return {
        "track": naming.track(subject),
        "category": "person" if isinstance(subject, Actor) else subject.category,
        "colours": [subject.look.coat, subject.look.trousers] if isinstance(subject, Actor) else [subject.colour],
        "label": naming.label(subject),
    }


def subtitles_of(film: Film) -> list[Subtitle]:
    """Every spoken line in film time."""
    return [
        Subtitle(start=start + line.start, end=start + line.end, text=line.text)
        for start, shot in film.shots()
        for line in shot.lines
    ]


def truth_of(film: Film, log: SightingLog) -> Record:
    """The whole record; times in seconds of the film, boxes in pixels."""
    starts = [start for start, _ in film.placed()]
    parts = [truth_of_part(start, part, backdrop_of(part), BY_NAME) for start, part in film.placed()]
    return {
        **heading_of(film),
        "cuts": starts[1:],
        "scenes": [scene_of(start, part) for start, part in film.placed()],
        "tracks": log.tracks(),
        "speech": [record for part in parts for record in part["speech"]],
        "screen_text": [record for part in parts for record in part["screen_text"]],
        "actions": _in_order([record for part in parts for record in part["actions"]]),
        "captions": _in_order([record for part in parts for record in part["captions"]]),
    }


def heading_of(film: Film) -> Record:
    """What the file says of the film as a whole."""
    return {
        "schema_version": SCHEMA_VERSION,
        "title": film.title,
        "duration": film.duration,
        "frame_rate": film.frame_rate,
        "resolution": {"width": WIDTH, "height": HEIGHT},
    }


def scene_of(start: float, part: Shot | Card) -> Record:
    """A part as a scene."""
    return {"start": start, "end": start + part.duration, "caption": part.caption}


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


class ByNumber:
    """``s0001``, ``s0002``, ...; ``tracks`` in the extras of the film's facts says who is who."""

    def __init__(self, film: Film) -> None:
        self._tracks = film.tracks()

    def track(self, subject: Actor | Prop) -> str:
        """The number."""
        return self._tracks[subject]

    def label(self, subject: Actor | Prop) -> str:
        """What can be seen."""
        return subject.description

    def speaker(self, actor: Actor) -> str:
        """What can be seen of who speaks."""
        return actor.description


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
