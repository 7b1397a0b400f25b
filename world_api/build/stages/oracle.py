"""The stage that writes the ground truth as rows, to separate reasoning from perception in experiments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.build.truth import Truth, read_truth, truth_path
from world_api.core.spans import known_time, round_time
from world_api.world.disk.hashing import hash_file

#: Text that stays on the screen is noted again after so long (seconds), so that readers see that it stays.
_TEXT_STEP = 2.0
_TABLES = ("cuts", "scene_cuts", "sightings", "screen_texts", "speech", "actions", "captions")
_CUT_KNOWN = {"score": 1.0, "kind": "truth"}


class Oracle:
    """Everything the truth file says."""

    def __init__(self, video: Path) -> None:
        path = truth_path(video)
        self._truth = read_truth(path)
        self.spec = StageSpec(name="oracle", version=1, tables=_TABLES, parameters={"truth": hash_file(path)})

    def open(self, clip: Clip) -> OracleWorker:
        """A fresh worker."""
        return OracleWorker(clip, self._truth, self.spec.producer)


class OracleWorker:
    """Gives the truth that begins in one clip."""

    def __init__(self, clip: Clip, truth: Truth, producer: str) -> None:
        self._clip = clip
        self._truth = truth
        self._producer = producer

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The rows of the clip's span."""
        truth = self._truth
        scene_starts = {scene.start for scene in truth.scenes if scene.start > 0}
        cuts = {time for time in truth.cuts if time > 0} | scene_starts
        return {
            "cuts": self._rows({"time": time, **_CUT_KNOWN} for time in sorted(cuts)),
            "scene_cuts": self._rows({"time": time, "strength": 1.0} for time in sorted(scene_starts)),
            "sightings": self._rows(self._sightings()),
            "screen_texts": self._rows(self._screen_texts()),
            "speech": self._rows(
                {
                    "start": line.start, "end": line.end, "text": line.text, "speaker": line.speaker, "language": "",
                    "source": "truth", "confidence": 1.0,
                }
                for line in truth.speech
            ),
            "actions": self._rows(
                {"start": a.start, "end": a.end, "label": a.label, "subject": a.track, "confidence": 1.0}
                for a in truth.actions
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
        for track in self._truth.tracks:
            for seen in track.sightings:
                yield {
                    "track": track.track, "time": seen.time, **_corners(seen.box), "category": track.category,
                    "confidence": 1.0, "colours": list(track.colours),
                }  # fmt: skip

    def _screen_texts(self) -> Iterable[Record]:
        for item in self._truth.screen_text:
            time = item.start
            while time < item.end or time == item.start:
                yield {"time": time, "text": item.text, **_corners(item.box), "confidence": 1.0}
                time += _TEXT_STEP

    def _captions(self) -> Iterable[Record]:
        for scene in self._truth.scenes:
            if scene.caption:
                yield {"start": scene.start, "end": scene.end, "text": scene.caption, "confidence": 1.0}
        for caption in self._truth.captions:
            yield {"start": caption.start, "end": caption.end, "text": caption.text, "confidence": 1.0}


def _corners(box: tuple[float, float, float, float]) -> Record:
    return dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))
