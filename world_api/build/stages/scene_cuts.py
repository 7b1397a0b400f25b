"""The stage that writes ``scene_cuts``: cuts after which nothing looks like what was just seen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.build.media.frames import Frame
from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.ports import Vectors
from world_api.core.spans import TimeSpan, known_time

#: How far back (seconds) a shot is compared: returning to a picture within that time goes on with the scene.
_HORIZON = 10.0
#: How much of a new shot is looked at (seconds).
_BEGINNING = 2.5
#: Two looks with a cosine of this or more belong together.
_ALIKE = 0.84


class SceneCuts:
    """Groups shots by look and time. Works on the stored cuts and looks."""

    spec = StageSpec(
        name="scene_cuts",
        version=1,
        tables=("scene_cuts",),
        parameters={"horizon": _HORIZON, "beginning": _BEGINNING, "alike": _ALIKE},
        needs=("cuts", "looks"),
    )

    def open(self, clip: Clip) -> SceneCutsWorker:
        """A fresh worker."""
        return SceneCutsWorker(clip, self.spec.producer)


class SceneCutsWorker:
    """Judges the cuts of one clip."""

    def __init__(self, clip: Clip, producer: str) -> None:
        self._clip = clip
        self._producer = producer

    def see(self, frame: Frame) -> None:
        """No frames are needed."""

    def finish(self) -> Records:
        """The scene cuts of the clip's span."""
        span = self._clip.span
        around = TimeSpan(start=span.start - _HORIZON, end=span.end + _BEGINNING)
        looks = self._clip.rows("looks", around)
        times = looks.column("time").to_numpy()
        vectors = _matrix(looks)
        cuts = sorted(self._clip.rows("cuts", around).to_pylist(), key=lambda row: row["time"])
        rows = []
        for cut in cuts:
            if span.contains(cut["time"]):
                rows.extend(self._judge(cut, cuts, times, vectors))
        return {"scene_cuts": rows}

    def _judge(self, cut: Record, cuts: list[Record], times: NDArray[np.float64], vectors: Vectors) -> list[Record]:
        """Compare what a cut begins with what was before it, once that beginning is over.

        Every cut is judged at its own fixed moment, by what is known then: what comes later changes nothing.
        """
        at = cut["time"]
        judged_at = max(cut["known_at"], at + _BEGINNING)
        later = [other["time"] for other in cuts if other["time"] > at and other["known_at"] <= judged_at]
        end = min([*later, at + _BEGINNING])
        new, old = (times >= at) & (times < end), (times >= at - _HORIZON) & (times < at)
        if not new.any() or not old.any():
            return []
        likeness = float((vectors[new] @ vectors[old].T).max())
        if likeness >= _ALIKE:
            return []
        return [
            {
                "time": at,
                "strength": round(min(1.0, max(0.0, 1.0 - likeness)), 3),
                "known_at": known_time(judged_at),
                "producer": self._producer,
            }
        ]


def _matrix(looks: pa.Table) -> Vectors:
    width = looks.schema.field("vector").type.list_size
    values = looks.column("vector").combine_chunks().flatten().to_numpy()
    matrix: Vectors = values.reshape(-1, width)
    return matrix
