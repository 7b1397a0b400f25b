"""The stage that writes the ground truth as rows, to separate reasoning from perception in experiments."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.build.truth import (
    BoxNumbers,
    TrueAction,
    TrueCaption,
    TrueScene,
    TrueScreenText,
    TrueSighting,
    TrueSpeech,
    TrueTrack,
    Truth,
    read_truth,
    truth_path,
)
from world_api.core.spans import TimeSpan, known_time, round_time
from world_api.world.files import hash_file

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
            modules=("world_api.build.stages.oracle", "world_api.build.truth"),
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
