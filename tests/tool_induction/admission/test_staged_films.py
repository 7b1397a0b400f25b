"""Staged films: what is written in them is what the operations answer, and they hold what tells tools apart."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction.admission import Fact, facts_of, staged_sessions
from world_api.operations import run

SESSIONS = staged_sessions()
films = pytest.mark.parametrize("session", SESSIONS, ids=[session.video_id for session in SESSIONS])


def asked(session: Any, operation: str, **arguments: Any) -> dict[str, Any]:
    return dict(run(session, operation, {"video_id": session.video_id, **arguments}))


def of(session: Any, kind: str, existence: str = "present") -> list[Fact]:
    return [fact for fact in facts_of(session) if (fact.kind, fact.existence) == (kind, existence)]


@films
def test_whoever_is_said_to_be_there_is_detected_there_and_nowhere_else(session: Any) -> None:
    for fact in of(session, "looks"):
        for time in range(0, int(session.view.duration), 5):
            seen = asked(
                session, "detect_objects", timestamp=float(time), category=fact.category, text_query=fact.text
            )["detections"]
            near = any(span.start - 1 <= time <= span.end + 1 for span in fact.spans)
            inside = any(span.start <= time <= span.end for span in fact.spans)
            fitting = [item for item in seen if not item["lacks"]]
            assert bool(fitting) == inside or (near and not inside)


@films
def test_a_film_has_what_returns_what_comes_once_and_two_who_look_alike(session: Any) -> None:
    looks = [fact for fact in of(session, "looks") if len(fact.text.split()) > 1]
    assert sorted(len(fact.spans) for fact in looks) == [1, 2, 2, 2, 2, 3, 3]
    assert [fact.things for fact in looks].count(frozenset({2})) == 1
    assert any(len(fact.spans) == 3 and len(fact.things) == 1 for fact in of(session, "deed"))
    assert any(len(fact.spans) == 2 for fact in of(session, "words"))


@films
def test_the_best_hit_is_not_the_first_time_for_some_of_what_returns(session: Any) -> None:
    misleading = 0
    for fact in (*of(session, "deed"), *of(session, "words")):  # looks of equal score are in the order of time
        hits = asked(session, "search_segments_by_text", query=fact.text, top_k=1)["candidates"]
        misleading += len(fact.spans) > 1 and hits[0]["start_time"] > fact.spans[0].end
    assert misleading >= 5


@films
@pytest.mark.parametrize("kind", ["looks", "deed", "words"])
def test_what_is_absent_is_found_nowhere_by_the_operations(session: Any, kind: str) -> None:
    absent = of(session, kind, "absent")
    assert absent
    for fact in absent:
        assert asked(session, "search_segments_by_text", query=fact.text, top_k=5)["not_found"]


@films
def test_what_is_unjudged_is_of_a_thing_that_is_there(session: Any) -> None:
    for fact in of(session, "looks", "unjudged"):
        found = asked(session, "search_segments_by_text", query=fact.text, top_k=5)
        assert found["unmatched"]
        assert found["candidates"]


def test_a_film_is_the_same_every_time_and_forgets_what_is_written() -> None:
    one, other = staged_sessions()[0], staged_sessions()[0]
    asked(one, "write_memory", level="event", time_range={"start_time": 0.0, "end_time": 5.0}, content="a note")
    assert one.memo_key == other.memo_key
    assert asked(other, "read_memory", level="event", query="a note", top_k=3)["memories"] == []
