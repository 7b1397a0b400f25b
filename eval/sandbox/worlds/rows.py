"""The rows of one hour of a made world: what cameras, microphones and detectors would have noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eval.sandbox.worlds import language
from eval.sandbox.worlds.pace import PLACES, Hour
from world_api.core.colours import COLOURS
from world_api.world.tables import DESCRIPTOR_DIMENSION, TABLES

PRODUCER = "made/1"
WIDTH, HEIGHT = 1280, 720
#: Seconds between two sightings of a track, two readings of a text, and until a sighting, a scene or a link is known.
_SIGHTING_STEP, _READING_STEP = 0.5, 2.0
_TRACK_LAG, _SCENE_LAG, _LINK_LAG = 0.5, 2.0, 1.5
#: Tracks are followed clip by clip, as the builder does it, and linked over the joins.
_CLIP = 30.0

Columns = Mapping[str, Any]


def rows_of_hour(
    hour: Hour, rng: np.random.Generator, *, seed: int, images: Sequence[str], tracks_a_second: float
) -> dict[str, pa.Table]:
    """All tables of one hour, each in time order."""
    tables: dict[str, pa.Table] = {
        "cuts": _cuts(hour, rng),
        "scene_cuts": _scene_cuts(hour, rng),
        "key_frames": _key_frames(hour, rng, images),
        "looks": _looks(hour, rng, seed),
        "speech": _speech(hour, rng),
        "screen_texts": _screen_texts(hour, rng),
        "captions": _captions(hour, rng),
        "camera": _camera(hour, rng),
    }
    return tables | _tracks(hour, rng, tracks_a_second)


def _table(name: str, columns: Columns, known_at: Any) -> pa.Table:
    schema = TABLES[name].schema
    values = {**columns, "known_at": np.round(np.asarray(known_at, dtype=np.float64), 3)}
    values["producer"] = [PRODUCER] * len(values["known_at"])
    arrays = [pa.array(values[field.name], type=field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _cuts(hour: Hour, rng: np.random.Generator) -> pa.Table:
    times = hour.starts[hour.starts > 0]
    scores = rng.uniform(0.4, 1.0, len(times))
    return _table("cuts", {"time": times, "score": scores, "kind": ["cut"] * len(times)}, times)


def _scene_cuts(hour: Hour, rng: np.random.Generator) -> pa.Table:
    first = np.concatenate([[True], hour.scenes[1:] != hour.scenes[:-1]]) & (hour.starts > 0)
    times = hour.starts[first]
    return _table("scene_cuts", {"time": times, "strength": rng.beta(2, 3, len(times))}, times + _SCENE_LAG)


def _key_frames(hour: Hour, rng: np.random.Generator, images: Sequence[str]) -> pa.Table:
    times = np.round((hour.starts + hour.ends) / 2, 3)
    chosen = [images[i] for i in rng.integers(0, len(images), len(times)).tolist()]
    return _table(
        "key_frames", {"time": times, "image": chosen, "sharpness": rng.uniform(50, 500, len(times))}, hour.ends
    )


def _looks(hour: Hour, rng: np.random.Generator, seed: int) -> pa.Table:
    """A place has a look, a shot of it a view, a moment a little noise."""
    places = np.random.default_rng([seed, PLACES]).standard_normal((PLACES, DESCRIPTOR_DIMENSION), dtype=np.float32)
    times = np.arange(np.ceil(hour.start), hour.end) + 0.5
    times = times[times < hour.end]
    shots = np.searchsorted(hour.starts, times, side="right") - 1
    views = 0.5 * rng.standard_normal((len(hour.starts), DESCRIPTOR_DIMENSION), dtype=np.float32)
    noise = 0.2 * rng.standard_normal((len(times), DESCRIPTOR_DIMENSION), dtype=np.float32)
    vectors = places[hour.places[hour.scenes[shots]]] + views[shots] + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flat = pa.array(vectors.reshape(-1))
    return _table(
        "looks", {"time": times, "vector": pa.FixedSizeListArray.from_arrays(flat, DESCRIPTOR_DIMENSION)}, times
    )


def _speech(hour: Hour, rng: np.random.Generator) -> pa.Table:
    starts: list[float] = []
    ends: list[float] = []
    texts: list[str] = []
    spoken: list[str] = []
    bounds = np.flatnonzero(np.concatenate([[True], hour.scenes[1:] != hour.scenes[:-1], [True]])).tolist()
    for scene, (first, last) in enumerate(pairwise(bounds)):
        if not hour.talking[scene]:
            continue
        a, b = float(hour.starts[first]), float(hour.ends[last - 1])
        lengths = rng.uniform(1.2, 5.0, int((b - a) / 2) + 2)
        gaps = np.where(rng.random(len(lengths)) < 0.12, rng.uniform(4, 20, len(lengths)), rng.exponential(0.35, len(lengths)))
        begins = a + np.cumsum(gaps) + np.concatenate([[0.0], np.cumsum(lengths[:-1])])
        fits = begins + lengths < b
        tongue = language.LANGUAGES[int(hour.languages[scene])]
        starts += begins[fits].tolist()
        ends += (begins + lengths)[fits].tolist()
        texts += language.sentences(rng, tongue, np.maximum(2, (lengths[fits] * 2.6)).astype(int).tolist())
        spoken += ["zh" if tongue == "zh" else "en"] * int(fits.sum())
    columns = {
        "start": np.round(starts, 3), "end": np.round(ends, 3), "text": texts, "speaker": [""] * len(texts),
        "language": spoken, "source": ["sidecar"] * len(texts), "confidence": np.ones(len(texts)),
    }  # fmt: skip
    return _table("speech", columns, columns["end"])


def _screen_texts(hour: Hour, rng: np.random.Generator) -> pa.Table:
    """Some shots show a line for a while, read again and again; the others were looked at and held none."""
    times: list[float] = []
    texts: list[str] = []
    for shot, (a, b) in enumerate(zip(hour.starts.tolist(), hour.ends.tolist(), strict=True)):
        shows = rng.random() < 0.15
        tongue = language.LANGUAGES[int(hour.languages[hour.scenes[shot]])]
        line = language.sentences(rng, tongue, [int(rng.integers(1, 5))])[0] if shows else ""
        looked = np.arange(a + 0.2, b, _READING_STEP if shows else 4 * _READING_STEP)
        times += looked.tolist()
        texts += [line] * len(looked)
    count = len(times)
    y = np.where([bool(text) for text in texts], HEIGHT * 0.85, 0.0)
    columns = {
        "time": np.round(times, 3), "text": texts, "x1": np.full(count, WIDTH * 0.2), "y1": y,
        "x2": np.full(count, WIDTH * 0.8), "y2": y + 40.0, "confidence": rng.uniform(0.7, 1.0, count),
    }  # fmt: skip
    return _table("screen_texts", columns, columns["time"])


def _captions(hour: Hour, rng: np.random.Generator) -> pa.Table:
    chosen = np.flatnonzero(rng.random(len(hour.starts)) < 0.3)
    texts = [
        language.caption(rng, language.LANGUAGES[tongue]) for tongue in hour.languages[hour.scenes[chosen]].tolist()
    ]
    columns = {
        "start": hour.starts[chosen], "end": hour.ends[chosen], "text": texts,
        "confidence": rng.uniform(0.5, 0.95, len(chosen)),
    }  # fmt: skip
    return _table("captions", columns, hour.ends[chosen])


def _camera(hour: Hour, rng: np.random.Generator) -> pa.Table:
    """Once a second what the camera does; in one shot of five it moves for a while."""
    times = np.arange(np.ceil(hour.start) + 1.0, hour.end)
    shots = np.searchsorted(hour.starts, times, side="right") - 1
    kinds = np.array(("still", "pan_left", "pan_right", "zoom_in"))
    moves = np.where(rng.random(len(hour.starts)) < 0.2, rng.integers(1, 4, len(hour.starts)), 0)
    early = times - hour.starts[shots] < rng.uniform(2.0, 6.0)
    kind = kinds[np.where(early, moves[shots], 0)]
    strength = np.where(kind == "still", 0.0, rng.uniform(0.03, 0.3, len(times)))
    return _table("camera", {"time": times, "kind": kind.tolist(), "strength": strength}, times)


def _tracks(hour: Hour, rng: np.random.Generator, tracks_a_second: float) -> dict[str, pa.Table]:
    count = int(rng.poisson(tracks_a_second * (hour.end - hour.start)))
    begins = np.sort(rng.uniform(hour.start, max(hour.start, hour.end - 2.0), count))
    shots = np.searchsorted(hour.starts, begins, side="right") - 1
    lengths = np.minimum(np.maximum(1.0, 12.0 * np.exp(0.8 * rng.standard_normal(count))), 240.0)
    # Most things are lost at the next cut; a few cameras follow theirs on.
    ends = np.where(rng.random(count) < 0.85, np.minimum(begins + lengths, hour.ends[shots]), begins + lengths)
    ends = np.minimum(ends, hour.end)
    parts = [_one_track(rng, number, float(a), float(b)) for number, (a, b) in enumerate(zip(begins, ends, strict=True))]
    links = [link for _, own in parts for link in own]
    sightings = {name: _joined([part[name] for part, _ in parts], name) for name in _SEEN}
    actions = _actions(rng, begins, ends, [part["track"][0] for part, _ in parts])
    return {
        "sightings": _table("sightings", sightings, np.asarray(sightings["time"]) + _TRACK_LAG),
        "track_links": _table(
            "track_links",
            {
                "earlier": [a for a, _, _ in links], "later": [b for _, b, _ in links], "kind": ["stitch"] * len(links),
                "time": [time for _, _, time in links], "score": np.ones(len(links)),
            },
            [time + _LINK_LAG for _, _, time in links],
        ),
        "look_links": _look_links(rng, begins, [part["track"][0] for part, _ in parts]),
        "actions": actions,
    }  # fmt: skip


def _look_links(rng: np.random.Generator, begins: NDArray[np.float64], names: Sequence[str]) -> pa.Table:
    """Some things look like one that was seen not long before."""
    later = np.flatnonzero(rng.random(len(begins)) < 0.2)
    later = later[later > 0]
    earlier = np.maximum(0, later - rng.integers(1, 20, len(later)))
    times = np.round(begins[later], 3)
    columns = {
        "earlier": [names[i] for i in earlier.tolist()], "later": [names[i] for i in later.tolist()], "time": times,
        "score": rng.uniform(0.5, 0.95, len(later)),
    }  # fmt: skip
    return _table("look_links", columns, times + 10 * _LINK_LAG)


_SEEN = ("track", "time", "x1", "y1", "x2", "y2", "category", "confidence", "colours")


def _joined(parts: Sequence[Any], name: str) -> Any:
    if name in ("track", "category", "colours"):
        return [value for part in parts for value in part]
    return np.concatenate(parts) if parts else np.zeros(0)


def _one_track(
    rng: np.random.Generator, number: int, begin: float, end: float
) -> tuple[dict[str, Any], list[tuple[str, str, float]]]:
    """The sightings of one thing, and the links over the clip joins it crosses."""
    times = np.round(np.arange(np.ceil(begin / _SIGHTING_STEP) * _SIGHTING_STEP, max(end, begin + 1.0), _SIGHTING_STEP), 3)
    count = len(times)
    # A new name in every clip it is followed through: the clip, and a number that is its own within the hour.
    names = [f"t{clip:04d}_{number:03d}" for clip in (times // _CLIP).astype(int).tolist()]
    joins = [(a, b, float(time)) for a, b, time in zip(names, names[1:], times[1:].tolist(), strict=False) if a != b]
    wide, high = rng.uniform(40, 220), rng.uniform(60, 400)
    x = np.clip(rng.uniform(0, WIDTH) + np.cumsum(rng.normal(rng.normal(0, 6), 3, count)), 0, WIDTH - 20)
    y = np.clip(rng.uniform(0, HEIGHT - 80) + np.cumsum(rng.normal(0, 2, count)), 0, HEIGHT - 40)
    palette = list(COLOURS)
    own = [palette[i] for i in rng.integers(0, len(palette), int(rng.integers(1, 3))).tolist()]
    clear = (rng.random(count) < 0.85).tolist()
    kind = language.KINDS[int(rng.choice(len(language.KINDS), p=language.KIND_SHARES))]
    return {
        "track": names,
        "time": times,
        "x1": x,
        "y1": y,
        "x2": np.minimum(x + wide, WIDTH),
        "y2": np.minimum(y + high, HEIGHT),
        "category": [kind] * count,
        "confidence": rng.uniform(0.4, 0.98, count),
        "colours": [own if seen else own[:1] for seen in clear],
    }, joins


def _actions(
    rng: np.random.Generator, begins: NDArray[np.float64], ends: NDArray[np.float64], names: Sequence[str]
) -> pa.Table:
    labels = ("walks", "sits down", "opens a door", "waves", "drinks", "拿起杯子", "打电话", "跑步")
    chosen = np.flatnonzero(rng.random(len(begins)) < 0.15)
    columns = {
        "start": np.round(begins[chosen], 3), "end": np.round(np.maximum(ends, begins + 0.5)[chosen], 3),
        "label": [labels[i] for i in rng.integers(0, len(labels), len(chosen)).tolist()],
        "subject": [names[i] for i in chosen.tolist()], "confidence": rng.uniform(0.4, 0.9, len(chosen)),
    }  # fmt: skip
    return _table("actions", columns, columns["end"])
