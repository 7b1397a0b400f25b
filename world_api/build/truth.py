"""The ground truth beside a generated video: ``<stem>.truth.json``.

::

    {"schema_version": 1,
     "cuts": [12.0, ...],
     "scenes": [{"start": 0.0, "end": 12.0, "caption": "an empty hall"}],
     "tracks": [{"track": "red-square", "category": "person", "colours": ["red"], "label": "Ann",
                 "sightings": [{"time": 1.0, "box": [x1, y1, x2, y2]}]}],
     "speech": [{"start": 1.0, "end": 2.5, "text": "Hello.", "speaker": "Ann"}],
     "screen_text": [{"start": 3.0, "end": 6.0, "text": "EXIT", "box": [x1, y1, x2, y2]}],
     "actions": [{"start": 1.0, "end": 4.0, "label": "enters from the left", "track": "red-square"}],
     "captions": [{"start": 0.0, "end": 4.0, "text": "Ann comes in."}]}

Times in seconds from the first frame, half-open; boxes in pixels of the displayed frame. Every list may be left out;
other fields of the whole file (title, duration, ...) are for people and other programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from world_api.build.stage import CLIP_SECONDS, Clip, Record, Records, StageSpec
from world_api.core.faults import BackendFault
from world_api.core.files import hash_file
from world_api.core.spans import known_time, round_time

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
BoxNumbers = tuple[float, float, float, float]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Interval(_Part):
    start: Seconds
    end: Seconds

    @model_validator(mode="after")
    def _runs_forwards(self) -> _Interval:
        if self.end < self.start:
            raise ValueError("an interval ends before it starts")
        return self


class TrueScene(_Interval):
    """A scene and what is in it."""

    caption: str = ""


class TrueSighting(_Part):
    """The box of a track at one time."""

    time: Seconds
    box: BoxNumbers


class TrueTrack(_Part):
    """Something that is seen."""

    track: str
    category: str
    colours: tuple[str, ...] = ()
    label: str = ""
    sightings: tuple[TrueSighting, ...]


class TrueSpeech(_Interval):
    """A spoken line."""

    text: str
    speaker: str = ""


class TrueScreenText(_Interval):
    """Text on the screen."""

    text: str
    box: BoxNumbers


class TrueAction(_Interval):
    """An action; ``track`` may be empty."""

    label: str
    track: str = ""


class TrueCaption(_Interval):
    """A sentence about an interval."""

    text: str


class Truth(_Part):
    """The whole file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    schema_version: Literal[1]
    cuts: tuple[Seconds, ...] = ()
    scenes: tuple[TrueScene, ...] = ()
    tracks: tuple[TrueTrack, ...] = ()
    speech: tuple[TrueSpeech, ...] = ()
    screen_text: tuple[TrueScreenText, ...] = ()
    actions: tuple[TrueAction, ...] = ()
    captions: tuple[TrueCaption, ...] = ()


def truth_path(video: Path) -> Path:
    """The path of a video's truth file."""
    return video.with_name(f"{video.stem}.truth.json")


def read_truth(path: Path) -> Truth:
    """Read and check a truth file.

    Raises:
        BackendFault: ``no_truth``, ``bad_truth``.
    """
    try:
        return Truth.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise BackendFault(
            "no_truth",
            f"the oracle profile needs {path.name} beside the video",
            hint="use the classical profile, or a generated video that comes with its truth",
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BackendFault(
            "bad_truth", f"{path.name}: {where}: {first['msg']}", hint="world_api/build/truth.py shows the format"
        ) from error


#: Text that stays on the screen gets a row every this many seconds, so that it is known to stay.
_TEXT_STEP = 2.0
_TABLES = ("cuts", "scene_cuts", "sightings", "screen_texts", "speech", "actions", "captions")
_CUT_KNOWN = {"score": 1.0, "kind": "truth"}


class Oracle:
    """The row stage that stores everything in the truth file."""

    def __init__(self, video: Path) -> None:
        path = truth_path(video)
        truth = read_truth(path)
        self.spec = StageSpec(
            name="oracle",
            version=1,
            tables=_TABLES,
            parameters={"truth": hash_file(path)},
            modules=("world_api.build.truth",),
        )
        self._rows: dict[tuple[str, int], list[Record]] = {}  #: by table and clip
        for table, records in _records(truth).items():
            for record in sorted(records, key=_begins):
                self._add(table, record)

    def make_rows(self, clip: Clip) -> Records:
        """The rows that begin in the clip's span."""
        return {table: self._rows.get((table, clip.number), []) for table in _TABLES}

    def _add(self, table: str, record: Record) -> None:
        """Keep a record under the clip in which it begins; a moment is known at once, an interval when it is over."""
        known = known_time(record["time"] if "time" in record else record["end"])
        times: Record = {column: round_time(record[column]) for column in ("time", "start", "end") if column in record}
        row: Record = {**record, **times, "known_at": known, "producer": self.spec.producer}
        self._rows.setdefault((table, int(_begins(row) // CLIP_SECONDS)), []).append(row)


def _begins(record: Record) -> float:
    return float(record["time"] if "time" in record else record["start"])


def _records(truth: Truth) -> dict[str, list[Record]]:
    """The records of the truth by table."""
    scene_starts = {scene.start for scene in truth.scenes if scene.start > 0}
    captions: list[tuple[TrueScene | TrueCaption, str]] = [
        (item, item.caption) for item in truth.scenes if item.caption
    ]
    captions += [(item, item.text) for item in truth.captions]
    return {
        "cuts": [{"time": time, **_CUT_KNOWN} for time in {time for time in truth.cuts if time > 0} | scene_starts],
        "scene_cuts": [{"time": time, "strength": 1.0} for time in scene_starts],
        "sightings": [
            {
                "track": track.track, "time": seen.time, **_corners(seen.box), "category": track.category,
                "confidence": 1.0, "colours": list(track.colours),
            }
            for track in truth.tracks
            for seen in track.sightings
        ],
        "screen_texts": [
            {"time": time, "text": item.text, **_corners(item.box), "confidence": 1.0}
            for item in truth.screen_text
            for time in _moments(item)
        ],
        "speech": [
            {
                "start": line.start, "end": line.end, "text": line.text, "speaker": line.speaker, "language": "",
                "source": "truth", "confidence": 1.0,
            }
            for line in truth.speech
        ],
        "actions": [
            {"start": item.start, "end": item.end, "label": item.label, "subject": item.track, "confidence": 1.0}
            for item in truth.actions
        ],
        "captions": [
            {"start": item.start, "end": item.end, "text": text, "confidence": 1.0}
            for item, text in captions
        ],
    }  # fmt: skip


def _moments(item: TrueScreenText) -> Iterable[float]:
    """The times at which a text gets a row."""
    time = item.start
    while time < item.end or time == item.start:
        yield time
        time += _TEXT_STEP


def _corners(box: BoxNumbers) -> Record:
    return dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))
