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
from world_api.operations import MAX_MATCHES, run
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


def pages(session: Session, **asked: Any) -> Iterator[dict[str, Any]]:
    """All pages of a scan."""
    cursor = None
    while True:
        page = run(session, "scan_segments", {"video_id": session.video_id, **asked, "cursor": cursor})
        yield page
        cursor = page["next_cursor"]
        if cursor is None:
            return


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
def test_the_pages_tile_the_visible_video_and_list_each_match_once_in_time_order(
    sessions: Any, query: str | None, as_of: float | None
) -> None:
    session = sessions(as_of)
    read = list(pages(session, query=query))
    starts = [match["start_time"] for page in read for match in page["matches"]]
    assert starts == sorted(set(starts))
    assert len(starts) == read[0]["matched_in_all"] == read[-1]["matched"]
    assert read[0]["scanned_from"] == 0.0
    assert [page["scanned_from"] for page in read[1:]] == [page["scanned_until"] for page in read[:-1]]
    assert read[-1]["scanned_until"] == (TEN_HOURS if as_of is None else as_of)
    assert read[-1]["looked_at"] == read[0]["segments_in_all"] == len(session.view.segments)
    assert all(len(page["matches"]) == MAX_MATCHES and page["truncated"] for page in read[:-1])
    assert all(
        page["scanned_from"] <= match["start_time"] < page["scanned_until"]
        for page in read
        for match in page["matches"]
    )
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
    matches = [match for page in pages(session, query=query, min_confidence=least) for match in page["matches"]]
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
        {match["start_time"] for page in pages(sessions(as_of), query="person") for match in page["matches"]}
        for as_of in CUTS
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
    read = list(pages(session, query=query, time_range=within))
    segments = session.view.segments
    inside = (segments.starts < within["end_time"]) & (segments.ends > within["start_time"])
    assert read[0]["segments_in_all"] == int(inside.sum()) > 0
    assert read[-1]["looked_at"] == read[0]["segments_in_all"]
    matches = [match for page in read for match in page["matches"]]
    assert len(matches) == read[0]["matched_in_all"]
    assert all(
        match["start_time"] < within["end_time"] and match["end_time"] > within["start_time"] for match in matches
    )


@pytest.mark.parametrize("as_of", CUTS)
def test_many_threads_read_the_same_pages(store: Path, sessions: Any, as_of: float | None) -> None:
    def read(session: Session, query: str | None) -> list[dict[str, Any]]:
        return list(pages(session, query=query, time_range={"start_time": 9000.0, "end_time": 12_000.0}))

    def lines(session: Session) -> list[dict[str, Any]]:
        stretch = {"start_time": 9000.0, "end_time": 9600.0}
        return [run(session, "read_transcript", {"video_id": "day", **stretch})]

    expected = [*(read(sessions(as_of), query) for query in QUERIES), lines(sessions(as_of))]
    fresh = open_session(store, "day", as_of=as_of, name=None, groups=INSPECT)
    acts = [*(partial(read, fresh, query) for query in QUERIES), partial(lines, fresh)]
    assert all(found == expected for found in hammered(acts))


@pytest.mark.parametrize("as_of", CUTS)
def test_reading_on_tells_every_line_of_ten_hours(sessions: Any, as_of: float | None) -> None:
    session = sessions(as_of)
    end = session.view.duration
    told: list[tuple[float, str, str]] = []
    at: float | None = 0.0
    while at is not None:
        page = run(session, "read_transcript", {"video_id": "day", "start_time": at, "end_time": end})
        told += [(line["start_time"], line["source"], line["text"]) for line in page["lines"]]
        at = page["next_start_time"]
    expected = {(round(line.span.start, 3), "speech", line.text) for line in session.view.speech}
    expected |= {(round(text.span.start, 3), "screen_text", text.text) for text in session.view.screen_texts}
    assert expected - set(told) == set()
    assert set(told) - expected == set()
    assert len(told) < 1.1 * len(set(told))  # only what goes on where a page begins is told again


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


def _cursor(session: Session, **asked: Any) -> str:
    first = run(session, "scan_segments", {"video_id": "day", **asked})
    assert first["next_cursor"] is not None
    return str(first["next_cursor"])


@pytest.mark.parametrize(
    "other",
    [
        {"query": "person "},
        {"query": "car"},
        {"query": None},
        {"min_confidence": 0.5},
        {"min_confidence": 0.0},
        {"time_range": {"start_time": 0.0, "end_time": 35_999.0}},
    ],
)
def test_a_cursor_belongs_to_its_query_its_range_and_its_confidence(sessions: Any, other: dict[str, Any]) -> None:
    cursor = _cursor(sessions(None), query="person")
    with pytest.raises(OperationFault) as caught:
        run(sessions(None), "scan_segments", {"video_id": "day", "query": "person", **other, "cursor": cursor})
    assert caught.value.code == "bad_cursor"
    assert "next_cursor" in caught.value.hint


def test_a_cursor_belongs_to_its_world_and_its_cut_and_outlives_its_session(store: Path, sessions: Any) -> None:
    cursor = _cursor(sessions(None), query="person")
    again = open_session(store, "day", name="another", groups=INSPECT)
    call = {"video_id": "day", "query": "person", "cursor": cursor}
    assert run(again, "scan_segments", call) == run(sessions(None), "scan_segments", call)
    write_world(store, "night", Plan(seed=3, duration=600.0, file_seconds=3600.0))
    night = open_session(store, "night", name=None, groups=INSPECT)
    for session, video in ((sessions(CUTS[1]), "day"), (night, "night")):
        with pytest.raises(OperationFault) as caught:
            run(session, "scan_segments", {**call, "video_id": video})
        assert caught.value.code == "bad_cursor"


@given(
    cursor=st.one_of(
        st.text(max_size=200),
        st.from_regex(r"s[0-9a-f]{1,16}\.[0-9a-f]{16}", fullmatch=True),
        st.sampled_from(["", "0", "-1", "s0", "null", "s0.", "s" + "f" * 190, "٣" * 30, "s٣.0123456789abcdef"]),
    )
)
@example(cursor="s0.0000000000000000")
@example(cursor="s1.0000000000000000\n")
def test_a_made_up_cursor_is_refused_by_name(sessions: Any, cursor: str) -> None:
    with pytest.raises(OperationFault) as caught:
        run(sessions(None), "scan_segments", {"video_id": "day", "query": "person", "cursor": cursor})
    assert caught.value.code in ("bad_cursor", "bad_arguments")


@given(place=st.integers(0, 60), letter=st.sampled_from("0123456789abcdefs. xé"))
def test_a_cursor_with_another_letter_is_refused(sessions: Any, place: int, letter: str) -> None:
    cursor = _cursor(sessions(None), query="person")
    place %= len(cursor)
    changed = cursor[:place] + letter + cursor[place + 1 :]
    if changed == cursor:
        return
    with pytest.raises(OperationFault) as caught:
        run(sessions(None), "scan_segments", {"video_id": "day", "query": "person", "cursor": changed})
    assert caught.value.code == "bad_cursor"


@pytest.mark.parametrize("cursor", [7, 1.5, True, [], {}, "x" * 201])
def test_a_cursor_of_another_type_or_length_is_refused(sessions: Any, cursor: Any) -> None:
    with pytest.raises(OperationFault) as caught:
        run(sessions(None), "scan_segments", {"video_id": "day", "query": "person", "cursor": cursor})
    assert caught.value.code == "bad_arguments"
