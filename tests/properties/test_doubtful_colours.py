"""A colour is said to be there only if it was measured, and not to be there only if it is no neighbour of what was measured."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.conftest import WorldMaker
from tests.support.detected_worlds import STAGES, looks, seen
from world_api import open_session, run
from world_api.core import COLOURS

WORDS = st.sampled_from(sorted(COLOURS))
FRAMES = 10
#: For each part the measured colour, its neighbours, and in how many of the frames it was measured.
PART = st.tuples(WORDS, st.sets(WORDS, max_size=3), st.integers(1, FRAMES))


def detected(store: Path, query: str) -> dict[str, Any]:
    asked = {"video_id": "made", "timestamp": 0.0, "category": "person", "text_query": query}
    whole = {"start_time": 0.0, "end_time": 60.0}
    return run(open_session(store, "made", name=None), "detect_objects", {**asked, "time_range": whole})


@settings(max_examples=40)
@given(upper=PART, lower=PART, asked=WORDS, is_chinese=st.booleans())
def test_neither_yes_nor_no_is_said_of_a_neighbour(upper: Any, lower: Any, asked: str, is_chinese: bool) -> None:
    rows: list[dict[str, Any]] = []
    for part, (word, near, frames) in (("upper", upper), ("lower", lower)):
        rows += looks("t0000_01", 0.0, {part: [word], f"near_{part}": sorted(near - {word})}, frames)
        rows += looks("t0000_01", frames / 2, {part: [], f"near_{part}": []}, FRAMES - frames)
    words = COLOURS[asked]
    query = f"a person in {asked} bottoms" if not is_chinese else f"穿{words[1][0]}下装的人"
    negated = f"a person not in {asked}" if not is_chinese else f"不穿{words[1][0]}衣服的人"
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        WorldMaker(store)(
            {"sightings": seen("t0000_01", 0.0, 20.0), "person_looks": rows}, profile="neural", stages=STAGES
        )
        result, without = detected(store, query), detected(store, negated)
    word, near, frames = lower
    share = frames / FRAMES
    may_be = share < 0.4 or asked in near or (asked == word and share >= 0.2)
    sure = [one for one in result["detections"] if not one["lacks"]]
    assert bool(sure) == (asked == word and share >= 0.4)
    assert bool(result["not_found"]) == (not result["detections"])
    assert bool(result["detections"]) >= (may_be and share >= 0.2)
    measured = [one for one in (upper, lower) if one[2] / FRAMES >= 0.4]
    is_shown = any(asked == own for own, _, _ in measured)
    is_near = any(asked in near for _, near, number in (upper, lower) if number / FRAMES >= 0.2)
    is_clear = any(asked == own and not near - {own} for own, near, _ in measured)
    surely_without = [one for one in without["detections"] if not one["lacks"]]
    assert not (surely_without and (is_shown or is_near))
    assert bool(without["not_found"]) == is_clear
