"""The stage that writes ``scene_cuts``: cuts after which nothing of what was just seen comes back."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, StageSpec
from world_api.core.ports import Vectors
from world_api.core.spans import TimeSpan, known_time

#: A scene goes on where a picture of the last so many seconds comes back within the next so many: then what lies
#: between was a cutaway, an answer, a shot from the other side.
_HORIZON, _RETURN = 20.0, 6.0
#: Two looks with a cosine of this or more belong together.
_ALIKE = 0.84
#: Where scenes seem to follow one another faster than this (seconds), the first of them holds the others.
_SHORTEST = 3.0


@dataclass(frozen=True, kw_only=True)
class _Start:
    """A cut that no look crosses, by how little (0 to 1), and when that is settled (seconds)."""

    time: float
    strength: float
    known_at: float


class SceneCuts:
    """Groups shots by look and time. Works on the stored cuts and looks."""

    spec = StageSpec(
        name="scene_cuts",
        version=2,
        tables=("scene_cuts",),
        parameters={"horizon": _HORIZON, "return": _RETURN, "alike": _ALIKE, "shortest": _SHORTEST},
        needs=("cuts", "looks"),
        rows_ahead=_RETURN,
        libraries=("numpy", "pyarrow"),
        modules=("world_api.build.scenes",),
    )

    def make_rows(self, clip: Clip) -> Records:
        """The scene cuts of the clip's span."""
        span = clip.span
        looks = clip.rows("looks", TimeSpan(start=span.start - _SHORTEST - _HORIZON, end=span.end + _RETURN))
        cuts = clip.rows("cuts", TimeSpan(start=span.start - _SHORTEST, end=span.end)).to_pylist()
        times, vectors = looks.column("time").to_numpy(), _matrix(looks)
        starts = [start for cut in cuts if (start := _judge(cut, times, vectors)) is not None]
        rows = [
            {**asdict(start), "producer": self.spec.producer}
            for start in starts
            if span.contains(start.time) and not _held(start, starts)
        ]
        return {"scene_cuts": rows}


def _judge(cut: Record, times: NDArray[np.float64], vectors: Vectors) -> _Start | None:
    """Compare what was seen before a cut with what comes after it, once that has been seen.

    Every cut is judged at its own fixed moment, by what is known then: what comes later changes nothing.
    """
    at = cut["time"]
    new, old = (times >= at) & (times < at + _RETURN), (times >= at - _HORIZON) & (times < at)
    if not new.any() or not old.any():
        return None
    likeness = float((vectors[new] @ vectors[old].T).max())
    if likeness >= _ALIKE:
        return None
    strength = round(min(1.0, max(0.0, 1.0 - likeness)), 3)
    return _Start(time=at, strength=strength, known_at=known_time(max(cut["known_at"], at + _RETURN)))


def _held(start: _Start, others: list[_Start]) -> bool:
    """Whether a scene that began just before, as was known by then, holds this one."""
    return any(
        start.time - _SHORTEST < other.time < start.time and other.known_at <= start.known_at for other in others
    )


def _matrix(looks: pa.Table) -> Vectors:
    width = looks.schema.field("vector").type.list_size
    values = looks.column("vector").combine_chunks().flatten().to_numpy()
    matrix: Vectors = values.reshape(-1, width)
    return matrix
