"""What the classical profile makes of the sample film's people: the demonstration rests on it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.sandbox import SampleFiles
from tests.support.building import Silent, StandingClock
from world_api.api import build_world, open_session
from world_api.options import BuildOptions

pytestmark = [pytest.mark.media]

#: Seconds without a sighting after which the next one begins another visit.
APART = 2.0
TOLERANCE = 1.0
#: A sighting is of the person of the truth when so near in time (seconds) and so much in the same place.
BESIDE, SAME_PLACE = 0.1, 0.4

#: A time, and a box as the truth has it.
Seen = tuple[float, list[float]]


@pytest.fixture(scope="module")
def tracks(sample: SampleFiles, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    store: Path = tmp_path_factory.mktemp("seen-worlds")
    unneeded = BuildOptions(without=("screen_texts", "key_frames"))
    build_world(sample.video, store, progress=Silent(), clock=StandingClock(), video_id="seen", options=unneeded)
    return tuple(open_session(store, "seen", name=None).view.tracks)


@pytest.fixture(scope="module")
def visits(sample: SampleFiles) -> list[list[Seen]]:
    """When and where the owner of the folder, who comes first, is in the picture: a list for each visit."""
    truth: dict[str, Any] = json.loads(sample.truth.read_text(encoding="utf-8"))
    owner = next(track for track in truth["tracks"] if track["category"] == "person")
    seen = [(item["time"], item["box"]) for item in owner["sightings"]]
    breaks = [place for place in range(1, len(seen)) if seen[place][0] - seen[place - 1][0] > APART]
    return [seen[first:end] for first, end in pairwise([0, *breaks, len(seen)])]


def iou(box: Any, true: list[float]) -> float:
    return float(box.iou(replace(box, x1=true[0], y1=true[1], x2=true[2], y2=true[3])))


def fits(track: Any, visit: list[Seen]) -> int:
    """How many sightings of a track are where the truth has its person."""
    times = np.array([time for time, _ in visit])
    nearest = [int(np.abs(times - time).argmin()) for time in track.times]
    return sum(
        abs(times[near] - time) < BESIDE and iou(track.box(place), visit[near][1]) > SAME_PLACE
        for place, (near, time) in enumerate(zip(nearest, track.times, strict=True))
    )


def test_each_visit_of_the_one_who_comes_back_is_a_persons(tracks: tuple[Any, ...], visits: list[list[Seen]]) -> None:
    assert len(visits) == 3
    for visit in visits:
        track = max(tracks, key=lambda track: fits(track, visit))
        assert track.category == "person", visit[0]
        assert track.span.duration >= 0.6 * (visit[-1][0] - visit[0][0])


def test_the_first_person_seen_is_the_one_who_comes_first(tracks: tuple[Any, ...], visits: list[list[Seen]]) -> None:
    first = min((track for track in tracks if track.category == "person"), key=lambda track: track.span.start)
    assert abs(first.span.start - visits[0][0][0]) <= TOLERANCE
    assert abs(first.span.end - visits[0][-1][0]) <= TOLERANCE
