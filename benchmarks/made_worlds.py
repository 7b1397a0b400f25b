"""Worlds of any length without a video: rows as a builder writes them, for measurements and for tests of scale.

Words follow Zipf's law and are made of syllables and characters, so that no published text is needed; colours and kinds of
things are the project's own words, so that what is said and what is seen can be searched for in either language.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core.files import hash_bytes, hash_file
from world_api.core.lexicon import CATEGORIES, COLOURS
from world_api.core.spans import round_time
from world_api.world.storage import (
    FileEntry,
    ImageEntry,
    Manifest,
    SourceFacts,
    VideoFacts,
    write_image,
    write_manifest,
    write_rows,
)
from world_api.world.store import World, open_world, world_folder, world_hash
from world_api.world.tables import DESCRIPTOR_DIMENSION, SCHEMA_VERSION, TABLES

_ENGLISH_WORDS, _CHINESE_WORDS, _CHARACTERS = 8000, 6000, 1200
#: Where the unified ideographs begin.
_FIRST_CHARACTER = 0x4E00
_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl r s st t tr v w".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = ["", "", "n", "r", "t", "l", "m", "ck", "nd", "ss"]
#: How often each language is spoken: English, Chinese, both in one line.
SHARES = (0.45, 0.4, 0.15)
LANGUAGES = ("en", "zh", "mixed")

KINDS = ("person", "car", "dog", "bottle", "moving_object")
KIND_SHARES = (0.7, 0.14, 0.06, 0.05, 0.05)
_PLACES = (("kitchen", "厨房"), ("street", "街上"), ("garden", "花园"), ("office", "办公室"), ("station", "车站"))
_DEEDS = (("walks past", "走过"), ("stands beside", "站在旁边"), ("picks up", "拿起"), ("talks to", "交谈"))


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Words by falling frequency; ``p`` is each rank's share."""

    words: tuple[str, ...]
    p: tuple[float, ...]


@cache
def vocabulary(language: str) -> Vocabulary:
    """The words of ``en`` or ``zh``: the same in every world."""
    rng = np.random.default_rng(20_260 if language == "en" else 20_261)
    words = list(dict.fromkeys(_english(rng) if language == "en" else _chinese(rng)))
    which = 0 if language == "en" else 1
    known = [names[which][0] for names in (*COLOURS.values(), *CATEGORIES.values())]
    for place, word in zip(rng.integers(20, 600, len(known)).tolist(), known, strict=True):
        words.insert(place, word)
    weights = 1.0 / (np.arange(len(words)) + 2.7)
    return Vocabulary(words=tuple(words), p=tuple((weights / weights.sum()).tolist()))


def _english(rng: np.random.Generator) -> list[str]:
    syllables = [onset + vowel + coda for onset in _ONSETS for vowel in _VOWELS for coda in _CODAS]
    sizes = rng.integers(1, 4, _ENGLISH_WORDS).tolist()
    return ["".join(syllables[i] for i in rng.integers(0, len(syllables), size)) for size in sizes]


def _chinese(rng: np.random.Generator) -> list[str]:
    places = rng.integers(0, _CHARACTERS, (_CHINESE_WORDS, 2))
    pairs = np.where(rng.random(_CHINESE_WORDS) < 0.2, -1, places[:, 1])
    return [
        chr(_FIRST_CHARACTER + a) + (chr(_FIRST_CHARACTER + b) if b >= 0 else "")
        for a, b in zip(places[:, 0].tolist(), pairs.tolist(), strict=True)
    ]


def sentences(rng: np.random.Generator, language: str, sizes: list[int]) -> list[str]:
    """One line for each number of words, in a language of ``LANGUAGES``."""
    if language == "mixed":
        halves = [sentences(rng, part, [max(1, size // 2) for size in sizes]) for part in ("zh", "en")]
        return [f"{chinese} {english}" for chinese, english in zip(*halves, strict=True)]
    spoken = vocabulary(language)
    drawn = rng.choice(len(spoken.words), sum(sizes), p=spoken.p).tolist()
    gap = " " if language == "en" else ""
    lines, at = [], 0
    for size in sizes:
        lines.append(gap.join(spoken.words[i] for i in drawn[at : at + size]))
        at += size
    return lines


def caption(rng: np.random.Generator, language: str) -> str:
    """A sentence about what a captioner might see."""
    colours, kinds = list(COLOURS.values()), [CATEGORIES[kind] for kind in KINDS[:4]]
    a, b = rng.integers(0, len(colours), 2).tolist()
    kind = kinds[int(rng.choice(4, p=(0.7, 0.16, 0.08, 0.06)))]
    deed, place = _DEEDS[int(rng.integers(len(_DEEDS)))], _PLACES[int(rng.integers(len(_PLACES)))]
    if language == "zh":
        return f"穿{colours[a][1][0]}衣服的人在{place[1]}{deed[1]}，旁边是{colours[b][1][0]}的{kind[1][0]}"
    return f"A person in {colours[a][0][0]} {deed[0]} a {colours[b][0][0]} {kind[0][0]} in the {place[0]}"


Times = NDArray[np.float64]

HOUR = 3600.0
#: Median lengths and spreads (of the logarithm), in seconds.
_SCENE, _SCENE_SPREAD, _SHOT, _SHOT_SPREAD = 75.0, 0.8, 13.0, 0.9
_SHORTEST_SCENE, _SHORTEST_SHOT = 8.0, 1.0
PLACES = 64  #: kinds of surroundings that scenes play in


@dataclass(frozen=True, kw_only=True)
class Hour:
    """One hour (or what is left of the film): its shots, and the scene, place and language of each.

    ``starts`` and ``ends`` (n shots, seconds of the film), ``scenes`` (n: number within the hour),
    ``places`` and ``languages`` (one a scene), ``talking`` (one a scene).
    """

    number: int
    starts: Times
    ends: Times
    scenes: NDArray[np.int64]
    places: NDArray[np.int64]
    languages: NDArray[np.int64]
    talking: NDArray[np.bool_]

    @property
    def start(self) -> float:
        """Where it begins, in seconds."""
        return float(self.starts[0])

    @property
    def end(self) -> float:
        """Where it ends, in seconds."""
        return float(self.ends[-1])


def hour(rng: np.random.Generator, number: int, duration: float, shares: tuple[float, ...]) -> Hour:
    """One hour of a film that lasts ``duration`` seconds; ``shares`` of the languages."""
    first, last = number * HOUR, min(duration, (number + 1) * HOUR)
    scene_starts = _starts(rng, first, last, _SCENE, _SCENE_SPREAD, _SHORTEST_SCENE)
    scene_ends = [*scene_starts[1:], last]
    starts, scenes = [], []
    for index, (a, b) in enumerate(zip(scene_starts, scene_ends, strict=True)):
        shots = _starts(rng, a, b, _SHOT, _SHOT_SPREAD, _SHORTEST_SHOT)
        starts += shots
        scenes += [index] * len(shots)
    count = len(scene_starts)
    return Hour(
        number=number,
        starts=np.array(starts),
        ends=np.array([*starts[1:], last]),
        scenes=np.array(scenes),
        places=rng.integers(0, PLACES, count),
        languages=rng.choice(len(shares), count, p=shares),
        talking=rng.random(count) < 0.65,
    )


def _starts(
    rng: np.random.Generator, first: float, last: float, median: float, spread: float, shortest: float
) -> list[float]:
    count = max(8, int(4 * (last - first) / median))
    lengths = np.maximum(shortest, median * np.exp(spread * rng.standard_normal(count)))
    starts = first + np.concatenate([[0.0], np.cumsum(lengths)])
    kept: list[float] = np.round(starts[starts < last - shortest], 3).tolist()
    return kept or [first]


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
        gaps = np.where(
            rng.random(len(lengths)) < 0.12, rng.uniform(4, 20, len(lengths)), rng.exponential(0.35, len(lengths))
        )
        begins = a + np.cumsum(gaps) + np.concatenate([[0.0], np.cumsum(lengths[:-1])])
        fits = begins + lengths < b
        tongue = LANGUAGES[int(hour.languages[scene])]
        starts += begins[fits].tolist()
        ends += (begins + lengths)[fits].tolist()
        texts += sentences(rng, tongue, np.maximum(2, (lengths[fits] * 2.6)).astype(int).tolist())
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
        tongue = LANGUAGES[int(hour.languages[hour.scenes[shot]])]
        line = sentences(rng, tongue, [int(rng.integers(1, 5))])[0] if shows else ""
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
    texts = [caption(rng, LANGUAGES[tongue]) for tongue in hour.languages[hour.scenes[chosen]].tolist()]
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
    parts = [
        _one_track(rng, number, float(a), float(b)) for number, (a, b) in enumerate(zip(begins, ends, strict=True))
    ]
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
    times = np.round(
        np.arange(np.ceil(begin / _SIGHTING_STEP) * _SIGHTING_STEP, max(end, begin + 1.0), _SIGHTING_STEP), 3
    )
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
    kind = KINDS[int(rng.choice(len(KINDS), p=KIND_SHARES))]
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


#: Seconds of a made film that make one segment, measured over ten hours.
SECONDS_A_SEGMENT = 6.3
_IMAGES, _FRAME_RATE = 6, 25.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to make. ``file_seconds`` divides an hour: 30 is the builder's clip, 3600 keeps files few in a world of days."""

    seed: int
    duration: float
    file_seconds: float = 30.0
    tracks_a_second: float = 0.085

    @classmethod
    def of_segments(cls, segments: int, *, seed: int, file_seconds: float = 30.0) -> Plan:
        """A world of about ``segments`` segments, at most ten sightings each."""
        return cls(seed=seed, duration=round(segments * SECONDS_A_SEGMENT, 1), file_seconds=file_seconds)


def write_world(store: Path | str, video_id: str, plan: Plan) -> World:
    """Write the world of a film that never was; the same plan, the same rows.

    Raises:
        ValueError: ``file_seconds`` does not divide an hour, or the film is too short for a scene.
        StoreFault: ``bad_video_id``, ``store_not_writable``, ``disk_full``.
    """
    if HOUR % plan.file_seconds or plan.duration < 10.0:
        raise ValueError("file_seconds divides 3600, and a film lasts ten seconds or more")
    folder = world_folder(store, video_id)
    images = _write_images(folder, plan.seed)
    files = list(_write_hours(folder, plan, [image.path for image in images]))
    video = VideoFacts(
        duration=plan.duration, frame_rate=_FRAME_RATE, width=WIDTH, height=HEIGHT, rotation=0,
        frames=int(plan.duration * _FRAME_RATE), codec="none", has_audio=True,
    )  # fmt: skip
    manifest = Manifest(
        schema_version=SCHEMA_VERSION, video_id=video_id, profile="made", title=video_id,
        built_at="2026-01-01T00:00:00+00:00", project_version="0", clip_seconds=plan.file_seconds, stages=[], losses=[],
        source=SourceFacts(file_name=video_id, sha256=hash_bytes(repr(plan).encode()), bytes=0, container="none"),
        video=video, files=files, images=images, world_hash=world_hash(folder, video, files),
    )  # fmt: skip
    write_manifest(folder, manifest)
    return open_world(store, video_id)


def _write_hours(folder: Path, plan: Plan, images: list[str]) -> Iterator[FileEntry]:
    for number in range(math.ceil(plan.duration / HOUR)):
        rng = np.random.default_rng([plan.seed, number])
        pace = hour(rng, number, plan.duration, SHARES)
        tables = rows_of_hour(pace, rng, seed=plan.seed, images=images, tracks_a_second=plan.tracks_a_second)
        for name, rows in tables.items():
            yield from _write_table(folder, plan, number, name, rows)


def _write_table(folder: Path, plan: Plan, number: int, name: str, rows: pa.Table) -> Iterator[FileEntry]:
    """The rows of one hour, parted into files; links and the like, which have no time, by when they are known."""
    names = TABLES[name].schema.names
    by = "time" if "time" in names else "start" if "start" in names else "known_at"
    files = (rows.column(by).to_numpy() // plan.file_seconds).astype(np.int64)
    last = max(0, math.ceil(round_time(plan.duration) / plan.file_seconds) - 1)
    each_hour = int(HOUR // plan.file_seconds)
    for clip in range(number * each_hour, min(last, (number + 1) * each_hour - 1) + 1):
        # What is known only in the next hour stays with the last file of this one.
        there = files == clip if clip < (number + 1) * each_hour - 1 else files >= clip
        yield write_rows(folder, table=name, clip=clip, key="made", rows=rows.filter(pa.array(there)))


def _write_images(folder: Path, seed: int) -> list[ImageEntry]:
    """A handful of tiny pictures that all key frames share."""
    import cv2

    rng = np.random.default_rng([seed, _IMAGES])
    found = []
    for _ in range(_IMAGES):
        pixels = np.broadcast_to(rng.integers(0, 256, 3, dtype=np.uint8), (18, 32, 3))
        jpeg = cv2.imencode(".jpg", np.ascontiguousarray(pixels))[1].tobytes()
        path = write_image(folder, jpeg)
        found.append(ImageEntry(path=path, sha256=hash_file(folder / path), bytes=len(jpeg)))
    return found
