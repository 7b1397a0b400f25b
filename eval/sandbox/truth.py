"""What is true of a film, as JSON: made from the script and from the boxes that were drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from eval.sandbox.drawing.written import Backdrop
from eval.sandbox.encode import Subtitle
from eval.sandbox.render import DrawnFrame, backdrop_of
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
