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

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.faults import BackendFault
from world_api.core.spans import TimeSpan, known_time, round_time
from world_api.media.frames import Frame
from world_api.world.disk.hashing import hash_file

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


#: Text that stays on the screen is noted again after so long (seconds), so that readers see that it stays.
_TEXT_STEP = 2.0
_TABLES = ("cuts", "scene_cuts", "sightings", "screen_texts", "speech", "actions", "captions")
_CUT_KNOWN = {"score": 1.0, "kind": "truth"}
#: A clip looks so far (seconds) beyond its ends before it rounds times and decides.
_ROUNDING = 0.01

Item = TypeVar("Item")


class InTime(Generic[Item]):
    """Records by the moment at which they begin, so that a clip of a long film does not go through all of them."""

    def __init__(self, items: Iterable[Item], begins: Callable[[Item], float]) -> None:
        self._items = sorted(items, key=begins)
        self._begins = [begins(item) for item in self._items]

    def near(self, span: TimeSpan) -> Sequence[Item]:
        """Those that begin in a span, and maybe a few just beside it, in order."""
        first = bisect_left(self._begins, span.start - _ROUNDING)
        last = bisect_left(self._begins, span.end + _ROUNDING)
        return self._items[first:last]


class TruthInTime:
    """A truth file, looked up by time."""

    def __init__(self, truth: Truth) -> None:
        scene_starts = {scene.start for scene in truth.scenes if scene.start > 0}
        self.scene_starts = InTime(scene_starts, float)
        self.cuts = InTime({time for time in truth.cuts if time > 0} | scene_starts, float)
        self.tracks: list[tuple[TrueTrack, InTime[TrueSighting]]] = [
            (track, InTime(track.sightings, lambda seen: seen.time)) for track in truth.tracks
        ]
        self.speech: InTime[TrueSpeech] = InTime(truth.speech, lambda line: line.start)
        self.actions: InTime[TrueAction] = InTime(truth.actions, lambda action: action.start)
        self.scenes: InTime[TrueScene] = InTime(
            (item for item in truth.scenes if item.caption), lambda item: item.start
        )
        self.captions: InTime[TrueCaption] = InTime(truth.captions, lambda caption: caption.start)
        #: Every moment at which a text that stays is noted.
        self.readings: InTime[tuple[float, TrueScreenText]] = InTime(
            ((time, item) for item in truth.screen_text for time in _moments(item)), lambda reading: reading[0]
        )


def _moments(item: TrueScreenText) -> Iterable[float]:
    time = item.start
    while time < item.end or time == item.start:
        yield time
        time += _TEXT_STEP


class Oracle:
    """Everything the truth file says."""

    def __init__(self, video: Path) -> None:
        path = truth_path(video)
        self._truth = TruthInTime(read_truth(path))
        self.spec = StageSpec(
            name="oracle",
            version=1,
            tables=_TABLES,
            parameters={"truth": hash_file(path)},
            modules=("world_api.build.truth",),
        )

    def open(self, clip: Clip) -> OracleWorker:
        """A fresh worker."""
        return OracleWorker(clip, self._truth, self.spec.producer)


class OracleWorker:
    """Gives the truth that begins in one clip."""

    def __init__(self, clip: Clip, truth: TruthInTime, producer: str) -> None:
        self._clip = clip
        self._truth = truth
        self._producer = producer

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The rows of the clip's span."""
        truth, span = self._truth, self._clip.span
        return {
            "cuts": self._rows({"time": time, **_CUT_KNOWN} for time in truth.cuts.near(span)),
            "scene_cuts": self._rows({"time": time, "strength": 1.0} for time in truth.scene_starts.near(span)),
            "sightings": self._rows(self._sightings()),
            "screen_texts": self._rows(self._screen_texts()),
            "speech": self._rows(
                {
                    "start": line.start, "end": line.end, "text": line.text, "speaker": line.speaker, "language": "",
                    "source": "truth", "confidence": 1.0,
                }
                for line in truth.speech.near(span)
            ),
            "actions": self._rows(
                {"start": a.start, "end": a.end, "label": a.label, "subject": a.track, "confidence": 1.0}
                for a in truth.actions.near(span)
            ),
            "captions": self._rows(self._captions()),
        }  # fmt: skip

    def _rows(self, records: Iterable[Record]) -> list[Record]:
        """Those that begin in the clip; a moment is known at once, a stretch when it is over."""
        rows = []
        for record in records:
            known = known_time(record["time"] if "time" in record else record["end"])
            for column in ("time", "start", "end"):
                if column in record:
                    record[column] = round_time(record[column])
            if self._clip.span.contains(record["time"] if "time" in record else record["start"]):
                rows.append({**record, "known_at": known, "producer": self._producer})
        return rows

    def _sightings(self) -> Iterable[Record]:
        for track, sightings in self._truth.tracks:
            for seen in sightings.near(self._clip.span):
                yield {
                    "track": track.track, "time": seen.time, **_corners(seen.box), "category": track.category,
                    "confidence": 1.0, "colours": list(track.colours),
                }  # fmt: skip

    def _screen_texts(self) -> Iterable[Record]:
        for time, item in self._truth.readings.near(self._clip.span):
            yield {"time": time, "text": item.text, **_corners(item.box), "confidence": 1.0}

    def _captions(self) -> Iterable[Record]:
        for scene in self._truth.scenes.near(self._clip.span):
            yield {"start": scene.start, "end": scene.end, "text": scene.caption, "confidence": 1.0}
        for caption in self._truth.captions.near(self._clip.span):
            yield {"start": caption.start, "end": caption.end, "text": caption.text, "confidence": 1.0}


def _corners(box: BoxNumbers) -> Record:
    return dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))
