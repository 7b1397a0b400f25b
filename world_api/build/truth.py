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

Times in seconds from the first frame, half-open; boxes in pixels of the displayed frame. What is wholly outside it is
not seen: it gives no row. Every list may be left out; other top-level fields (title, duration, ...) are ignored here.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from world_api.build.stage import CLIP_SECONDS, Clip, Record, Records, StageSpec
from world_api.core.faults import BackendFault
from world_api.core.files import hash_file
from world_api.core.spans import known_time, round_time
from world_api.world.storage import MOST_PIXELS
from world_api.world.tables import NO_ID, TABLES

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Pixels = Annotated[float, Field(ge=-MOST_PIXELS, le=MOST_PIXELS, allow_inf_nan=False)]
BoxNumbers = tuple[Pixels, Pixels, Pixels, Pixels]


def _check_id(text: str) -> str:
    if re.search(NO_ID, text):
        raise ValueError("an id has 1 to 200 characters, and no slash, backslash or control character")
    return text


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


class _Scene(_Interval):
    caption: str = ""


class _Sighting(_Part):
    time: Seconds
    box: BoxNumbers


class TrueTrack(_Part):
    """A person or thing that is seen: its id (``track``), category, colour words, ``label`` (a name) and sightings."""

    track: Annotated[str, AfterValidator(_check_id)]
    category: str
    colours: tuple[str, ...] = ()
    label: str = ""
    sightings: tuple[_Sighting, ...]


class TrueSpeech(_Interval):
    """A spoken line from ``start`` to ``end`` (seconds)."""

    text: str
    speaker: str = ""


class TrueScreenText(_Interval):
    """A text on the screen from ``start`` to ``end`` (seconds), at ``box`` (x1, y1, x2, y2 in pixels of the frame)."""

    text: str
    box: BoxNumbers


class _Action(_Interval):
    label: str
    track: str = ""


class _Caption(_Interval):
    text: str


class Truth(_Part):
    """The content of a truth file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    schema_version: Literal[1]
    cuts: tuple[Seconds, ...] = ()
    scenes: tuple[_Scene, ...] = ()
    tracks: tuple[TrueTrack, ...] = ()
    speech: tuple[TrueSpeech, ...] = ()
    screen_text: tuple[TrueScreenText, ...] = ()
    actions: tuple[_Action, ...] = ()
    captions: tuple[_Caption, ...] = ()


def truth_path(video: Path) -> Path:
    """Return the path of a video's truth file, beside the video."""
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
_TIMES = ("time", "start", "end")


class Oracle:
    """The row stage that stores everything in the truth file of a video."""

    def __init__(self, video: Path) -> None:
        path = truth_path(video)
        truth = read_truth(path)
        self.spec = StageSpec(
            name="oracle",
            version=1,
            tables=_TABLES,
            parameters={"truth": hash_file(path)},
        )
        #: By table and clip, then by key: what the file says twice is one row.
        self._rows: dict[tuple[str, int], dict[tuple[object, ...], Record]] = {}
        for table, records in records_of(truth).items():
            for row in records:
                key = tuple(row[column] for column in TABLES[table].key)
                self._rows.setdefault((table, int(_begins(row) // CLIP_SECONDS)), {})[key] = row

    def make_rows(self, clip: Clip) -> Records:
        """Return the rows that begin in the clip's span; a moment is known at once, an interval at its end."""
        width, height = clip.source.width, clip.source.height
        made: dict[str, list[Record]] = {}
        for table in _TABLES:
            rows = self._rows.get((table, clip.number), {}).values()
            made[table] = sorted((row for row in rows if _is_in_picture(row, width, height)), key=_begins)
        return made


def _is_in_picture(record: Record, width: int, height: int) -> bool:
    """Whether a record has no box, or one of which a part is in the picture."""
    if "x1" not in record:
        return True
    return bool(record["x1"] <= width and record["x2"] >= 0 and record["y1"] <= height and record["y2"] >= 0)


def _begins(record: Record) -> float:
    return float(record["time"] if "time" in record else record["start"])


def records_of(truth: Truth) -> dict[str, list[Record]]:
    """Return the truth as rows by table, without ``producer``."""
    return {table: [_timed(record) for record in records] for table, records in _records(truth).items()}


def _timed(record: Record) -> Record:
    row = {name: round_time(value) if name in _TIMES else value for name, value in record.items()}
    return {**row, "known_at": known_time(record["time"] if "time" in record else record["end"])}


def _records(truth: Truth) -> dict[str, list[Record]]:
    scene_starts = {scene.start for scene in truth.scenes if scene.start > 0}
    captions = [_Caption(start=item.start, end=item.end, text=item.caption) for item in truth.scenes if item.caption]
    sure = {"confidence": 1.0}
    return {
        "cuts": [
            {"time": time, "score": 1.0, "kind": "truth"} for time in {time for time in truth.cuts if time > 0} | scene_starts
        ],
        "scene_cuts": [{"time": time, "strength": 1.0} for time in scene_starts],
        "sightings": [
            {
                "track": track.track, "time": seen.time, **_corners(seen.box), "category": track.category,
                "colours": list(track.colours), **sure,
            }
            for track in truth.tracks
            for seen in track.sightings
        ],
        "screen_texts": [
            {"time": time, "text": item.text, **_corners(item.box), **sure}
            for item in truth.screen_text
            for time in (item.start + _TEXT_STEP * step for step in range(max(1, math.ceil((item.end - item.start) / _TEXT_STEP))))
        ],
        "speech": [{**vars(line), "language": "", "source": "truth", **sure} for line in truth.speech],
        "actions": [
            {"start": item.start, "end": item.end, "label": item.label, "subject": item.track, **sure}
            for item in truth.actions
        ],
        "captions": [{**vars(item), **sure} for item in (*captions, *truth.captions)],
    }  # fmt: skip


def _corners(box: BoxNumbers) -> Record:
    left, right = sorted(box[::2])
    top, bottom = sorted(box[1::2])
    return {"x1": left, "y1": top, "x2": right, "y2": bottom}
