"""Evidence of whatever operation: inside what it is for, with a frame inside it, and none left out unsaid."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.conftest import Rows, WorldMaker, look, sightings, steps
from world_api.api import open_session
from world_api.operations import EVERY_OPERATION, run
from world_api.session import Session

SECONDS = 90.0
SLACK = 0.0011  #: times are told in milliseconds
WORDS = ("hello", "the blue folder", "a person in black", "red", "EXIT", "walks")
#: The list of each result whose entries are cited one by one, in their order.
CITED_ONE_BY_ONE = (
    "scenes",
    "candidates",
    "similar_segments",
    "detections",
    "trajectory",
    "memories",
    "entities",
    "matches",
)

Span = tuple[float, float]


@st.composite
def stretches(draw: st.DrawFn, longest: float = 40.0) -> Span:
    """A stretch of the video, in tenths of a second."""
    start = draw(st.integers(0, int(SECONDS * 10) - 20)) / 10
    return start, min(SECONDS, round(start + draw(st.integers(5, int(longest * 10))) / 10, 1))


@st.composite
def worlds(draw: st.DrawFn) -> Rows:
    """Rows of things that come and go over cuts, lines, texts that stand for long, captions and actions."""
    made = {"producer": "made/1"}
    line = {"speaker": "", "language": "en", "source": "sidecar", "confidence": 1.0, **made}
    cuts = draw(st.lists(st.integers(1, int(SECONDS) - 1), max_size=8, unique=True))
    followed = draw(st.lists(stretches(), max_size=12))
    said = st.tuples(stretches(30.0), st.sampled_from(WORDS))
    return {
        "cuts": [{"time": float(t), "score": 1.0, "kind": "cut", "known_at": float(t), **made} for t in sorted(cuts)],
        "looks": [look(t + 0.5, t % 3) for t in range(0, int(SECONDS), 3)],
        "sightings": [
            row
            for n, (start, end) in enumerate(followed)
            for row in sightings(f"t{n:04d}_01", steps(start, end), x=float(20 * n), step=1.0, colours=["red"] * (n % 2))
        ],
        "speech": [
            {"start": a, "end": b, "text": text, "known_at": b, **line} for (a, b), text in draw(st.lists(said, max_size=15))
        ],
        "screen_texts": [
            {"time": t, "text": "EXIT", "x1": 1, "y1": 1, "x2": 9, "y2": 9, "confidence": 0.9, "known_at": t, **made}
            for start, end in draw(st.lists(stretches(30.0), max_size=2))
            for t in steps(start, end, 2.0)
        ],
        "captions": [
            {"start": a, "end": b, "text": text, "confidence": 0.5, "known_at": b, **made}
            for (a, b), text in draw(st.lists(said, max_size=4))
        ],
        "actions": [
            {"start": a, "end": b, "label": "walks", "subject": "", "confidence": 0.5, "known_at": b, **made}
            for a, b in draw(st.lists(stretches(), max_size=4))
        ],
    }  # fmt: skip


def calls(session: Session, span: Span, word: str) -> Iterator[tuple[str, dict[str, Any], Span]]:
    """A call of every operation, and the stretch it asks about."""
    start, end = span
    asked = {"start_time": start, "end_time": end}
    whole = (0.0, session.view.duration)
    yield "list_scenes", {}, whole
    yield "list_scenes", {"time_range": asked}, whole
    yield "get_segment", asked, span
    for top_k in (1, 30):
        yield "search_segments_by_text", {"query": word, "top_k": top_k}, whole
        yield "search_segments_by_semantics", {"query": word, "top_k": top_k, "time_range": asked}, whole
        yield "search_similar_to_example", {"example_segment": asked, "top_k": top_k}, whole
    yield "describe_segment", asked, span
    yield "recognize_actions", asked, span
    yield "detect_objects", {"timestamp": start, "category": "any"}, whole
    yield "detect_objects", {"timestamp": start, "category": "person", "text_query": "red", "time_range": asked}, whole
    yield "write_memory", {"level": "event", "time_range": asked, "content": word}, span
    yield "write_memory", {"level": "event", "time_range": {"start_time": 0.0, "end_time": 1.0}, "content": word}, whole
    yield "read_memory", {"level": "event", "query": word, "top_k": 9}, whole
    yield "merge_events", {"event_ids": [memory.memory_id for memory in session.memories("event")]}, whole
    for track in session.view.tracks[:2]:
        at = float(track.times[0])
        yield "register_entity", {"timestamp": at, "entity_hint": "a person"}, whole
        yield "get_entity_trajectory", {"entity_id": track.entity_id}, whole
        yield "query_entity_state", {"entity_id": track.entity_id, "time": at, "query": "where?"}, whole
    yield "list_entities", {}, whole
    yield "get_video_metadata", {}, whole
    yield "read_transcript", asked, whole
    yield "scan_segments", {"query": word}, whole
    yield "scan_segments", {"time_range": asked}, whole


def span_in(record: dict[str, Any]) -> Span | None:
    """The stretch an entry stands for."""
    for first, last in (("start_time", "end_time"), ("first_time", "last_time")):
        if first in record and last in record:
            return record[first], record[last]
    return None


def lies_inside(piece: dict[str, Any], span: Span) -> bool:
    """Whether a piece of evidence lies inside a stretch, and its frame inside it (half-open)."""
    start, frame, end = piece["start_time"], piece["frame_time"], piece["end_time"]
    return span[0] - SLACK <= start <= frame and (frame < end or start == end) and end <= span[1] + SLACK


def carried(value: Any) -> Iterator[dict[str, Any]]:
    """The evidence that entries carry, at any depth."""
    if isinstance(value, dict):
        yield from value.get("evidence", ())
        for key, item in value.items():
            if key != "evidence":
                yield from carried(item)
    elif isinstance(value, list):
        for item in value:
            yield from carried(item)


def check(name: str, result: dict[str, Any], asked: Span) -> None:
    """Hold a result against the rules."""
    lists = {key: value for key, value in result.items() if isinstance(value, list) and key != "evidence"}
    entries = [entry for value in lists.values() for entry in value if isinstance(entry, dict)]
    spans = [span for entry in entries if (span := span_in(entry)) is not None] or [asked]
    assert all(any(lies_inside(piece, span) for span in spans) for piece in result["evidence"]), (name, result)
    for entry in entries:
        if (own := span_in(entry)) is not None:
            assert all(lies_inside(piece, own) for piece in carried(entry)), (name, entry)
    for key in CITED_ONE_BY_ONE:
        cited = zip(lists.get(key, ()), result["evidence"], strict=True) if key in lists else ()
        assert all(lies_inside(piece, span_in(entry) or asked) for entry, piece in cited), (name, result)
    if name == "recognize_actions":
        assert len(result["evidence"]) == len(result["actions"])


@settings(max_examples=24)
@given(rows=worlds(), span=stretches(), word=st.sampled_from(WORDS), cut=st.none() | st.integers(30, int(SECONDS)))
def test_all_evidence_lies_inside_what_it_is_for(rows: Rows, span: Span, word: str, cut: int | None) -> None:
    called = set()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        WorldMaker(store)(rows, duration=SECONDS)
        as_of = None if cut is None else float(cut)
        session = open_session(store, "made", as_of=as_of, name=None, groups=frozenset({"inspect"}))
        seen = (min(span[0], session.view.duration - 1.0), min(max(span[1], 0.5), session.view.duration))
        for name, arguments, asked in calls(session, seen, word):
            result = run(session, name, {"video_id": "made", **arguments})
            check(name, result, asked)
            called.add(name)
        followed = (
            {"register_entity", "get_entity_trajectory", "query_entity_state"} if not session.view.tracks else set()
        )
    own = {name for name, operation in EVERY_OPERATION.items() if operation.group in ("", "inspect")}
    assert called | followed | {"inspect_segment"} == own | followed
