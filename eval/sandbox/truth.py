"""What is true of a film, as JSON: made from the script and from the boxes that were drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eval.sandbox.encode import Subtitle
from eval.sandbox.render import DrawnFrame, backdrop_of
from eval.sandbox.script import HEIGHT, WIDTH, Actor, Card, Film, Performance, Prop, Walk
from world_api.core.spans import round_time

SCHEMA_VERSION = 1

Record = dict[str, Any]


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
        return [{**_identity(subject), "sightings": sightings} for subject, sightings in self._seen.items()]


def _identity(subject: Actor | Prop) -> Record:
    if isinstance(subject, Actor):
        return {
            "track": track_of(subject),
            "category": "person",
            "colours": [subject.look.coat, subject.look.trousers],
            "label": f"{subject.name}, {subject.description}",
        }
    return {
        "track": track_of(subject),
        "category": subject.category,
        "colours": [subject.colour],
        "label": f"a {subject.name}",
    }


def track_of(subject: Actor | Prop) -> str:
    """The track id of a person or a thing: ``person_mia``, ``folder_blue``."""
    if isinstance(subject, Actor):
        return f"person_{subject.name.lower()}"
    return f"{subject.category}_{subject.colour}"


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
    return {
        "schema_version": SCHEMA_VERSION,
        "title": film.title,
        "duration": film.duration,
        "frame_rate": film.frame_rate,
        "resolution": {"width": WIDTH, "height": HEIGHT},
        "cuts": starts[1:],
        "scenes": [
            {"start": start, "end": start + part.duration, "caption": part.caption} for start, part in film.placed()
        ],
        "tracks": log.tracks(),
        "speech": _speech(film),
        "screen_text": _screen_text(film),
        "actions": _in_order(_actions(film)),
        "captions": _captions(film),
    }


def _speech(film: Film) -> list[Record]:
    return [
        {**_span(start, line.start, line.end), "text": line.text, "speaker": line.speaker.name}
        for start, shot in film.shots()
        for line in shot.lines
    ]


def _screen_text(film: Film) -> list[Record]:
    return [
        {**_span(start, 0.0, part.duration), "text": written.text, "box": written.box.rounded()}
        for start, part in film.placed()
        for written in backdrop_of(part).texts
    ]


def _captions(film: Film) -> list[Record]:
    cards = [
        {**_span(start, 0.0, part.duration), "text": part.caption}
        for start, part in film.placed()
        if isinstance(part, Card)
    ]
    events = [
        {**_span(start, first, last), "text": text}
        for start, shot in film.shots()
        for first, last, text in shot.captions
    ]
    return _in_order(cards + events)


def _actions(film: Film) -> list[Record]:
    records = []
    for start, shot in film.shots():
        for performance in shot.performances:
            track = track_of(performance.actor)
            for first, last, label in _deeds(performance):
                records.append({**_span(start, first, last), "label": label, "track": track})
        for line in shot.lines:
            records.append({**_span(start, line.start, line.end), "label": "talks", "track": track_of(line.speaker)})
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
