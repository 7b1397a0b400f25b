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

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from world_api.core.faults import BackendFault

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
BoxNumbers = tuple[float, float, float, float]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Stretch(_Part):
    start: Seconds
    end: Seconds

    @model_validator(mode="after")
    def _runs_forwards(self) -> _Stretch:
        if self.end < self.start:
            raise ValueError("a stretch ends before it starts")
        return self


class TrueScene(_Stretch):
    """A scene and what is in it."""

    caption: str = ""


class TrueSighting(_Part):
    """Where a track is at a moment."""

    time: Seconds
    box: BoxNumbers


class TrueTrack(_Part):
    """Something that is seen."""

    track: str
    category: str
    colours: tuple[str, ...] = ()
    label: str = ""
    sightings: tuple[TrueSighting, ...]


class TrueSpeech(_Stretch):
    """A spoken line."""

    text: str
    speaker: str = ""


class TrueScreenText(_Stretch):
    """Text on the screen."""

    text: str
    box: BoxNumbers


class TrueAction(_Stretch):
    """What somebody does; ``track`` may be empty."""

    label: str
    track: str = ""


class TrueCaption(_Stretch):
    """A sentence about a stretch."""

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
    """Where the truth of a video lies."""
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
