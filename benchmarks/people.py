"""How well people are found and told apart: identities over time, returning people in changed footage, and their clothes.

::

    python -m benchmarks.people DATA                              figures of profile neural with the models in DATA/models
    python -m benchmarks.people DATA --trackeval PYTHON           HOTA as well, by a Python in which TrackEval is installed
    python -m benchmarks.people DATA --page docs/perception.md    puts the figures on the page

DATA holds ``video/people_one_by_one.mp4`` and ``video/composite_337s.mp4`` with their truth, and ``models``. The boxes of people are
those of ``tests/data/people_one_by_one.boxes.json``; between two sightings at most a second apart a box is interpolated.
Returning people are tested on films that this module cuts from the first clip: three people, then the first again, each in footage
that is changed in another way: mirrored, smaller, brighter or darker. The background changes at every cut: with the same
background behind two people the tracker takes a cut for a movement, and may go on with the next person.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.page import replace_section
from world_api import BuildOptions, SystemClock, build_world, open_session
from world_api.build.association import least_cost
from world_api.core.lexicon import COLOURS
from world_api.core.outfits import LooksReader, Outfit, PartLook
from world_api.core.ports import Image
from world_api.core.spans import Box, TimeSpan
from world_api.world.tracks import Track

ROOT = Path(__file__).resolve().parents[1]
BOXES = ROOT / "tests" / "data" / "people_one_by_one.boxes.json"
CLIP, COMPOSITE = "people_one_by_one", "composite_337s"
#: Boxes that overlap at least this much may show the same person (MOTChallenge).
OVERLAP = 0.5
#: Seconds between two sightings over which a box is interpolated.
_GAP = 1.01
#: Seconds of a visit that a film shows; frames per second, size and bits per second of a film.
_SHOWN, _RATE, _SIZE, _BITS = 9.0, 10, (768, 432), 4_000_000


# --- identities over time -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Who is where in one frame: true people and found entities, and the overlaps of their boxes (true x found)."""

    true: list[int]
    found: list[int]
    overlaps: NDArray[np.float64]


def compared(tracks: Sequence[Track], truth: dict[str, Any]) -> list[Frame]:
    """Compare the boxes of tracks with true ones at each frame of an annotation file."""
    boxes: dict[int, list[tuple[int, Box]]] = {}
    for row in truth["boxes"]:
        x1, y1, x2, y2 = row["box"]
        boxes.setdefault(row["frame"], []).append((row["person"], Box(x1=x1, y1=y1, x2=x2, y2=y2)))
    frames = []
    for number in range(truth["count"]):
        frame = number * truth["every"]
        true = boxes.get(frame, [])
        found = [
            (place, box)
            for place, track in enumerate(tracks)
            if (box := box_at(track, frame / truth["frames_per_second"]))
        ]
        overlaps = np.array([[one.iou(other) for _, other in found] for _, one in true]).reshape(len(true), len(found))
        frames.append(Frame(true=[who for who, _ in true], found=[who for who, _ in found], overlaps=overlaps))
    return frames


def box_at(track: Track, time: float) -> Box | None:
    """Return the box of a track at a time (seconds), between two sightings if need be; None if it is not seen then."""
    after = int(np.searchsorted(track.times, time - 1e-6))
    if after == len(track.times):
        return None
    if abs(track.times[after] - time) < 1e-3:
        return track.box(after)
    if after == 0 or track.times[after] - track.times[after - 1] > _GAP:
        return None
    share = (time - track.times[after - 1]) / (track.times[after] - track.times[after - 1])
    x1, y1, x2, y2 = (
        float(value) for value in track.boxes[after - 1] + share * (track.boxes[after] - track.boxes[after - 1])
    )
    return Box(x1=x1, y1=y1, x2=x2, y2=y2)


def identity_f1(frames: Sequence[Frame]) -> float:
    """Return IDF1 (Ristani et al., 2016): the F1 score of boxes under the best one-to-one assignment of entities to people."""
    people, entities = (sorted({who for frame in frames for who in own(frame)}) for own in (_true, _found))
    hits = np.zeros((len(people), len(entities)))
    for frame in frames:
        for row, column in zip(*np.nonzero(frame.overlaps >= OVERLAP), strict=True):
            hits[people.index(frame.true[row]), entities.index(frame.found[column])] += 1
    matched = sum(hits[row, column] for row, column in least_cost(-hits)) if hits.size else 0.0
    total = sum(len(frame.true) + len(frame.found) for frame in frames)
    return float(2 * matched / total) if total else 1.0


def _true(frame: Frame) -> list[int]:
    return frame.true


def _found(frame: Frame) -> list[int]:
    return frame.found


#: Runs in a Python of its own: reads the frames as JSON, prints the figures of TrackEval.
_TRACKEVAL = """
import json, sys, contextlib, io
import numpy as np
with contextlib.redirect_stdout(io.StringIO()):
    from trackeval.metrics import HOTA, Identity
data = json.load(sys.stdin)
for key in ("gt_ids", "tracker_ids"):
    data[key] = [np.array(ids, dtype=int) for ids in data[key]]
data["similarity_scores"] = [
    np.array(scores, dtype=float).reshape(len(data["gt_ids"][t]), len(data["tracker_ids"][t]))
    for t, scores in enumerate(data["similarity_scores"])
]
with contextlib.redirect_stdout(io.StringIO()):
    hota, identity = HOTA().eval_sequence(data), Identity().eval_sequence(data)
mean = {name: float(np.mean(hota[name])) for name in ("HOTA", "DetA", "AssA", "LocA")}
print(json.dumps({**mean, "IDF1": float(identity["IDF1"])}))
"""


def trackeval(frames: Sequence[Frame], python: Path) -> dict[str, float]:
    """Return HOTA (Luiten et al., 2021), its parts, and IDF1 as TrackEval computes them in another Python."""
    people, entities = (sorted({who for frame in frames for who in own(frame)}) for own in (_true, _found))
    data = {
        "num_timesteps": len(frames),
        "num_gt_ids": len(people),
        "num_tracker_ids": len(entities),
        "num_gt_dets": sum(len(frame.true) for frame in frames),
        "num_tracker_dets": sum(len(frame.found) for frame in frames),
        "gt_ids": [[people.index(who) for who in frame.true] for frame in frames],
        "tracker_ids": [[entities.index(who) for who in frame.found] for frame in frames],
        "similarity_scores": [frame.overlaps.tolist() for frame in frames],
    }
    done = subprocess.run(
        [python, "-c", _TRACKEVAL], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


# --- people who return --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Change:
    """How footage is changed: mirrored, scaled (share of the picture), brighter or darker (factor and grey levels)."""

    scale: float
    factor: float
    levels: float
    mirrored: bool

    def __call__(self, image: Image) -> Image:
        """Return a changed picture of the same size; around a smaller one is its mean colour."""
        height, width = image.shape[:2]
        small = cv2.resize(image, None, fx=self.scale, fy=self.scale, interpolation=cv2.INTER_AREA)
        small = small[:, ::-1] if self.mirrored else small
        whole = np.empty_like(image)
        whole[:] = image.mean(axis=(0, 1)).astype(np.uint8)
        top, left = height - small.shape[0], (width - small.shape[1]) // 2
        whole[top : top + small.shape[0], left : left + small.shape[1]] = small
        changed: Image = np.clip(whole.astype(np.float32) * self.factor + self.levels, 0, 255).astype(np.uint8)
        return changed


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A film of four shots: three visits (numbers from 0), then the first again; each shot is changed in another way."""

    visits: tuple[int, int, int]
    changes: tuple[Change, Change, Change, Change]

    @property
    def shown(self) -> list[int]:
        """The people of the shots, in order."""
        return [*self.visits, self.visits[0]]


_AS_IT_IS = Change(scale=1.0, factor=1.0, levels=0.0, mirrored=False)


def _plan(number: int) -> Plan:
    scale, factor, levels = (0.6, 0.75, 0.9)[number % 3], (0.7, 0.85, 1.15, 1.3)[number % 4], (0.0, 8.0)[number % 2]
    last = number % 5 != 4
    return Plan(
        visits=(number % 6, (number + 1 + number // 6) % 6, (number + 3 + number // 6) % 6),
        changes=(
            _AS_IT_IS,
            Change(scale=0.8, factor=1.0, levels=0.0, mirrored=last),
            Change(scale=0.95, factor=0.9, levels=0.0, mirrored=not last),
            Change(scale=scale, factor=factor, levels=levels, mirrored=last),
        ),
    )


#: Every person returns once, four of them twice; who else is shown, and the changes, differ from film to film.
PLANS = tuple(map(_plan, range(10)))


def cut_film(clip: Path, visits: Sequence[dict[str, float]], plan: Plan, path: Path) -> Path:
    """Write a film from parts of the clip; each shot begins with the visit."""
    with closing(av.open(str(path), "w")) as film:
        stream = film.add_stream("mpeg4", rate=_RATE)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = *_SIZE, "yuv420p", _BITS
        for shot, visit in enumerate(plan.shown):
            for image in _frames(clip, visits[visit]["start"], _SHOWN):
                for packet in stream.encode(av.VideoFrame.from_ndarray(plan.changes[shot](image), format="bgr24")):
                    film.mux(packet)
        for packet in stream.encode():
            film.mux(packet)
    return path


def _frames(clip: Path, start: float, seconds: float) -> Iterator[Image]:
    with closing(av.open(str(clip))) as source:
        frames = (frame for frame in source.decode(video=0) if frame.time is not None and frame.time >= start - 1e-6)
        for frame in islice(frames, round(seconds * _RATE)):
            yield frame.to_ndarray(format="bgr24").astype(np.uint8, copy=False)


@dataclass(frozen=True, kw_only=True)
class Returning:
    """What a world says of a film: whether the person who returns is ``one`` entity, ``may be`` the same, or neither (``lost``).

    ``false_joins``: entities that show two people. ``false_doubts``: pairs of different people who are said to maybe be one.
    """

    outcome: str
    false_joins: int
    false_doubts: int


def judge_film(store: Path, video_id: str, plan: Plan) -> Returning:
    """Compare the entities of a film's world with who is shown in its shots."""
    session = open_session(store, video_id, name=None)
    people = [track for track in session.view.tracks if track.category == "person"]
    spans = [TimeSpan(start=shot * _SHOWN, end=(shot + 1) * _SHOWN) for shot in range(len(plan.shown))]
    who: dict[str, set[int]] = {}
    first: set[str] = set()
    last: set[str] = set()
    for track in people:
        shots = [shot for shot, span in enumerate(spans) if track.appears_in(span)]
        who[track.entity_id] = {plan.shown[shot] for shot in shots}
        first |= {track.entity_id} if 0 in shots else set()
        last |= {track.entity_id} if len(plan.shown) - 1 in shots else set()
    doubts = {(track.entity_id, item.entity_id) for track in people for item in session.view.may_be(track.entity_id)}
    is_doubted = any((one, other) in doubts for one in first for other in last)
    return Returning(
        outcome="one" if first & last else "may be" if is_doubted else "lost",
        false_joins=sum(len(own) > 1 for own in who.values()),
        false_doubts=sum(one < other and who[one].isdisjoint(who[other]) for one, other in doubts),
    )


# --- clothes ------------------------------------------------------------------------------------------------------------


def true_looks(text: str) -> set[PartLook]:
    """Return the looks that a description of a truth file names: ``woman, black top, light shoes``."""
    english = {word: colour for colour, (own, _) in COLOURS.items() for word in own}
    found: set[PartLook] = set()
    for phrase in text.split(","):
        found.update(LooksReader(english, {}).read(phrase.strip(), ("upper", "lower", "hair"))[1])
    return found


def seen_outfits(store: Path, truth: dict[str, Any]) -> list[tuple[str, set[PartLook], Outfit]]:
    """Return for each visit of a film's truth: who it is, the true looks, and the outfit of the entity that is seen longest."""
    tracks = open_session(store, COMPOSITE, name=None).view.tracks
    rows = []
    for person in truth["people"]:
        for start, end in person["visits"]:
            visit = TimeSpan(start=start, end=end)
            longest = max(tracks, key=lambda track: sum(span.overlap(visit) for span in track.appearances))
            rows.append((person["person"], true_looks(person["look"]), longest.outfit))
    return rows


# --- the figures --------------------------------------------------------------------------------------------------------


def build(video: Path, store: Path, models: Path, profile: str = "neural") -> None:
    """Build the world of a video without text on screen."""
    options = BuildOptions(profile=profile, models=models, without=("screen_texts",))
    build_world(video, store, clock=SystemClock(), options=options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the figures, and put them on a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trackeval", type=Path, metavar="PYTHON")
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args(arguments)
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        lines += _over_time(chosen.data, Path(folder), chosen.trackeval)
        lines += _returning(chosen.data, Path(folder))
        lines += _clothes(chosen.data, Path(folder))
    head = "`python -m benchmarks.people DATA --trackeval PYTHON`, two cores that other work shared:"
    text = "\n".join([head, "", *lines])
    print(text)
    if chosen.page is not None:
        replace_section(chosen.page, "python -m benchmarks.people", text)
    return 0


def _over_time(data: Path, folder: Path, python: Path | None) -> list[str]:
    truth = json.loads(BOXES.read_text())
    rows = [
        "| profile | entities of people | IDF1 | HOTA | DetA | AssA | LocA |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for profile in ("classical", "neural"):
        build(data / "video" / f"{CLIP}.mp4", folder / profile, data / "models", profile)
        tracks = [
            one for one in open_session(folder / profile, CLIP, name=None).view.tracks if one.category == "person"
        ]
        frames = compared(tracks, truth)
        figures = {"IDF1": identity_f1(frames)} if python is None else trackeval(frames, python)
        shown = (f"{figures[name]:.3f}" if name in figures else "" for name in ("IDF1", "HOTA", "DetA", "AssA", "LocA"))
        rows.append(f"| {profile} | {len(tracks)} | {' | '.join(shown)} |")
    boxes = len(truth["boxes"])
    by = "this module" if python is None else "TrackEval"
    return [
        f"{CLIP}, six people one after another: {truth['count']} frames, {boxes} boxes checked by eye; figures by {by}.",
        "",
        *rows,
        "",
    ]


def _returning(data: Path, folder: Path) -> list[str]:
    visits = json.loads((data / "video" / f"{CLIP}.truth.json").read_text())["visits"]
    found = []
    for number, plan in enumerate(PLANS):
        film = cut_film(data / "video" / f"{CLIP}.mp4", visits, plan, folder / f"film{number}.mp4")
        build(film, folder / "films", data / "models")
        found.append(judge_film(folder / "films", film.stem, plan))
    outcomes = {name: sum(one.outcome == name for one in found) for name in ("one", "may be", "lost")}
    return [
        f"{len(found)} films in which a person returns in changed footage: one entity in {outcomes['one']}, `may_be` in"
        f" {outcomes['may be']}, lost in {outcomes['lost']}; two people joined in {sum(one.false_joins for one in found)};"
        f" pairs of different people that `may_be` one: {sum(one.false_doubts for one in found)}.",
        "",
    ]  # fmt: skip


def _clothes(data: Path, folder: Path) -> list[str]:
    truth = json.loads((data / "video" / f"{COMPOSITE}.truth.json").read_text())
    build(data / "video" / f"{COMPOSITE}.mp4", folder / "neural", data / "models")
    rows = ["| visit of | truth | judged, with the share of the frames | may also be |", "| --- | --- | --- | --- |"]
    right: dict[str, list[bool]] = {}
    missed = 0
    for who, true, outfit in seen_outfits(folder / "neural", truth):
        judged = ", ".join(f"{look} {share:.2f}" for look, share in zip(outfit.looks, outfit.shares, strict=True))
        rows.append(
            f"| {who} | {', '.join(map(str, sorted(true)))} | {judged} | {', '.join(map(str, outfit.doubts))} |"
        )
        for look in true:
            right.setdefault(look.part, []).append(look in outfit.looks)
            missed += look not in outfit.looks and not outfit.may_be(look)
    shares = ", ".join(f"{part} {sum(own)} of {len(own)}" for part, own in sorted(right.items()))
    return [
        f"{COMPOSITE}: colours that the truth names and the outfit has: {shares}; neither has nor may have: {missed}.",
        "",
        *rows,
    ]


if __name__ == "__main__":
    raise SystemExit(main())
