"""Scanning ten hours: every segment once, in time order, as a count over the rows has it, whoever asks and however."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from benchmarks.made_worlds import Plan, write_world
from tests.support.hammer import hammered
from world_api.api import open_session
from world_api.core import OperationFault, TimeSpan, required_terms
from world_api.operations import run
from world_api.search import index_terms
from world_api.session import Session
from world_api.world import View
from world_api.world.tracks import hint_in_chinese

INSPECT = frozenset({"inspect"})
TEN_HOURS = 36_000.0
CUTS = [None, 17_323.4]
#: Named colours and kinds in both languages, a word of captions alone, one that nobody says, and no query at all.
QUERIES = ["person in red", "红色的车", "picks up", "厨房", "unheardof", None]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a film of ten hours."""
    folder = tmp_path_factory.mktemp("days")
    write_world(folder, "day", Plan(seed=2, duration=TEN_HOURS, file_seconds=3600.0))
    return folder


@pytest.fixture(scope="module")
def sessions(store: Path) -> Any:
    """Sessions on it by their cut."""
    return cache(lambda as_of: open_session(store, "day", as_of=as_of, name=None, groups=INSPECT))


def scanned(session: Session, **asked: Any) -> dict[str, Any]:
    """The result of a scan."""
    return run(session, "scan_segments", {"video_id": session.video_id, **asked})


def told(view: View) -> Iterator[tuple[TimeSpan, str, float, bool]]:
    """All that is said, written, captioned and followed, one by one: when, its words, how sure, whether it is said."""
    for line in view.speech:
        yield line.span, line.text, line.confidence, True
    for text in view.screen_texts:
        yield text.span, text.text, text.confidence, False
    for said in (*view.captions, *view.actions):
        yield said.span, said.text, said.confidence, False
    for track in view.tracks:
        for seen in track.appearances:
            yield seen, f"{track.hint} {hint_in_chinese(track.category, track.colours)}", track.confidence, False


def counted(view: View, query: str, least: float) -> set[float]:
    """Where the segments begin that hold a query, by looking at everything one after the other."""
    terms = set(required_terms(query))
    starts, ends = view.segments.starts, view.segments.ends
    found: set[float] = set()
    for span, text, sure, is_said in told(view):
        if sure < least or not terms <= set(index_terms(text)):
            continue
        near = np.flatnonzero((starts < span.end) & (ends > span.start) | (starts <= span.start) & (span.start < ends))
        for at in near.tolist():
            shared = min(ends[at], span.end) - max(starts[at], span.start)
            if not is_said or shared >= 0.3 * min(span.duration, ends[at] - starts[at]):
                found.add(round(float(starts[at]), 3))
    return found


@pytest.mark.parametrize("as_of", CUTS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_scan_covers_the_visible_video_and_lists_each_match_once_in_time_order(
    sessions: Any, query: str | None, as_of: float | None
) -> None:
    session = sessions(as_of)
    found = scanned(session, query=query)
    starts = [match["start_time"] for match in found["matches"]]
    assert starts == sorted(set(starts))
    assert len(starts) == found["matched_in_all"]
    assert (found["scanned_from"], found["scanned_until"]) == (0.0, TEN_HOURS if as_of is None else as_of)
    assert found["segments_in_all"] == len(session.view.segments)
    if query is None:
        assert len(starts) == len(session.view.segments)


@pytest.mark.parametrize("least", [0.0, 0.72])
@pytest.mark.parametrize("as_of", CUTS)
@pytest.mark.parametrize("query", [query for query in QUERIES if query is not None])
def test_the_matches_are_those_that_a_count_over_the_rows_has(
    sessions: Any, query: str, as_of: float | None, least: float
) -> None:
    session = sessions(as_of)
    expected = counted(session.view, query, least)
    matches = scanned(session, query=query, min_confidence=least)["matches"]
    assert {match["start_time"] for match in matches} == expected
    assert len(matches) == len(expected)
    assert all(match["confidence"] >= least for match in matches)
    assert bool(expected) is (query != "unheardof")


def test_a_text_as_it_was_read_up_to_the_cut_is_found_by_its_words_alone(make_world: Any) -> None:
    box = {"x1": 0, "y1": 0, "x2": 90, "y2": 20, "producer": "made/1"}
    read = [(11.0, "produced br", 0.6), (14.0, "produced by", 0.9)]
    make_world(
        {
            "screen_texts": [
                {"time": at, "text": text, "confidence": sure, "known_at": at, **box} for at, text, sure in read
            ]
        }
    )

    def found(query: str, as_of: float | None) -> int:
        session = open_session(make_world.store, "made", as_of=as_of, name=None, groups=INSPECT)
        matched: int = run(session, "scan_segments", {"video_id": "made", "query": query})["matched_in_all"]
        return matched

    assert [found("produced br", as_of) for as_of in (12.0, None)] == [1, 0]


def test_a_cut_shows_less_and_never_more(sessions: Any) -> None:
    whole, cut = (
        {match["start_time"] for match in scanned(sessions(as_of), query="person")["matches"]} for as_of in CUTS
    )
    edge = sessions(CUTS[1]).view.segments.starts[-3]
    assert {start for start in cut if start < edge} <= whole
    assert cut < whole | {start for start in cut if start >= edge}


@given(
    start=st.floats(0.0, TEN_HOURS - 1.0), length=st.floats(0.01, 4000.0), query=st.sampled_from(["person", "车", None])
)
def test_a_range_holds_the_segments_that_share_time_with_it(
    sessions: Any, start: float, length: float, query: str | None
) -> None:
    session = sessions(None)
    end = min(start + length, TEN_HOURS)
    within = {"start_time": round(start, 3), "end_time": round(end, 3)}
    if within["end_time"] <= within["start_time"]:
        return
    found = scanned(session, query=query, time_range=within)
    segments = session.view.segments
    inside = (segments.starts < within["end_time"]) & (segments.ends > within["start_time"])
    assert found["segments_in_all"] == int(inside.sum()) > 0
    matches = found["matches"]
    assert len(matches) == found["matched_in_all"]
    assert all(
        match["start_time"] < within["end_time"] and match["end_time"] > within["start_time"] for match in matches
    )


@pytest.mark.parametrize("as_of", CUTS)
def test_many_threads_read_the_same(store: Path, sessions: Any, as_of: float | None) -> None:
    def read(session: Session, query: str | None) -> dict[str, Any]:
        return scanned(session, query=query, time_range={"start_time": 9000.0, "end_time": 12_000.0})

    def lines(session: Session) -> dict[str, Any]:
        stretch = {"start_time": 9000.0, "end_time": 9600.0}
        return run(session, "read_transcript", {"video_id": "day", **stretch})

    expected = [*(read(sessions(as_of), query) for query in QUERIES), lines(sessions(as_of))]
    fresh = open_session(store, "day", as_of=as_of, name=None, groups=INSPECT)
    acts = [*(partial(read, fresh, query) for query in QUERIES), partial(lines, fresh)]
    assert all(found == expected for found in hammered(acts))


@pytest.mark.parametrize("as_of", CUTS)
def test_every_line_of_ten_hours_is_read_once(sessions: Any, as_of: float | None) -> None:
    session = sessions(as_of)
    asked = {"video_id": "day", "start_time": 0.0, "end_time": session.view.duration}
    lines = run(session, "read_transcript", asked)["lines"]
    told = [(line["start_time"], line["source"], line["text"]) for line in lines]
    expected = {(round(line.span.start, 3), "speech", line.text) for line in session.view.speech}
    expected |= {(round(text.span.start, 3), "screen_text", text.text) for text in session.view.screen_texts}
    assert set(told) == expected
    assert len(told) == len(set(told))


@given(query=st.text(min_size=1, max_size=60))
@example(query="\U0001f98a\u200d")
@example(query="人" * 60)
@example(query="not")
@example(query="*")
def test_any_words_are_scanned_for_without_a_failure(sessions: Any, query: str) -> None:
    try:
        page = run(sessions(None), "scan_segments", {"video_id": "day", "query": query})
    except OperationFault as fault:
        assert fault.code == "bad_arguments"
        return
    assert page["matched_in_all"] <= page["segments_in_all"]
    assert page["matches"] or page["hint"]
