"""Items of every kind an aggregate may meet, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Item = dict[str, Any]

MOMENTS = st.one_of(
    st.integers(0, 20).map(float), st.floats(0, 20).map(lambda value: round(value, 3)), st.floats(0, 20)
)
NUMBERS = st.one_of(st.none(), st.integers(-5, 5), st.floats(-5, 5), st.just(float("nan")), st.sampled_from([0.5, 0.9]))
LABELS = st.sampled_from(["walk", "sit", "", None, 1, True, 1.0])


@st.composite
def pieces(draw: Any) -> Item:
    """A piece of evidence."""
    start = draw(st.integers(0, 30)) / 2
    return {
        "video_id": "film",
        "start_time": start,
        "end_time": start + 1,
        "source": draw(st.sampled_from(["speech", "caption"])),
        "confidence": None,
        "frame_time": start,
    }


@st.composite
def items(draw: Any, *, timed: bool = False) -> Item:
    """A record with, or (unless ``timed``) without, times, a score, a key, evidence."""
    item: Item = {}
    if timed or draw(st.booleans()):
        start = draw(MOMENTS)
        item |= {"start_time": start, "end_time": start + draw(st.one_of(st.just(0.0), MOMENTS))}
    more = {"confidence": NUMBERS, "score": NUMBERS, "label": LABELS, "value": NUMBERS}
    for key, values in more.items():
        if draw(st.booleans()):
            item[key] = draw(values)
    return item | {"evidence": draw(st.lists(pieces(), max_size=2))}


LISTS = st.lists(items(), max_size=7)
TIMED = st.lists(items(timed=True), max_size=7)
