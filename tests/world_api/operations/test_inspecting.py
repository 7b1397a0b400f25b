"""The group ``inspect`` on a minute of exact rows, and on a model that says what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from world_api.core import BackendFault, Image, LookReply, LookRequest, OperationFault, Spent, TimeSpan, charge, ledger
from world_api.operations import EVERY_OPERATION, run
from world_api.schemas import plain_schema
from world_api.search import CaptionIndex
from world_api.session import Backends, Session, Vision, VisionConfig

Opened = Callable[..., Session]
INSPECT = frozenset({"inspect"})


def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    result = run(session, name, {"video_id": session.video_id, **arguments})
    Draft202012Validator(plain_schema(EVERY_OPERATION[name].result_schema())).validate(result)
    return result


class Frames:
    """Frames whose brightness is their time."""

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> Sequence[Image]:
        return [np.full((4, 4, 3), int(time), dtype=np.uint8) for time in times]


class Eye:
    """Says which frames it was shown and what it was asked."""

    name = producer = "eye"
    longest_side = 64

    def __init__(self, uncertain: str = "") -> None:
        self.uncertain = uncertain
        self.requests: list[LookRequest] = []

    def look(self, request: LookRequest) -> LookReply:
        self.requests.append(request)
        spent = Spent(purpose="perception", model="eye", request=request.request, prompt=10, completion=2)
        charge(spent)
        times = [int(picture.image[0, 0, 0]) for picture in request.pictures]
        text = f"{request.question} {times}"
        return LookReply(text=text, confidence=0.75, uncertain=self.uncertain, actions=(), spent=spent)


def with_eye(session: Session, eye: Eye, cache: Path | None = None) -> Session:
    folder = cache or Path(mkdtemp())
    seeing = Vision(VisionConfig(vision=eye), frames=Frames(), world_key=session.world_hash, cache=folder)
    backends = Backends(text_embedder=session.backends.text_embedder, looker=session.backends.looker, seeing=seeing)
    return Session(
        view=session.view, overlay=session.overlay, backends=backends, name=session.name, groups=session.groups
    )


def test_a_model_looks_at_frames_of_the_stretch_with_the_question(open_made: Opened) -> None:
    eye = Eye()
    with ledger() as book:
        result = call(
            with_eye(open_made(groups=INSPECT), eye),
            "inspect_segment",
            start_time=20.0,
            end_time=26.0,
            question="谁在那里? Who?",
        )
    assert result["answer"] == "谁在那里? Who? [20, 21, 22, 23, 24, 25]"
    assert (result["start_time"], result["end_time"], result["center_time"]) == (20.0, 26.0, 23.0)
    assert result["confidence"] == 0.75
    assert [item["frame_time"] for item in result["evidence"]] == [20.5, 21.5, 22.5, 23.5, 24.5, 25.5]
    assert {item["source"] for item in result["evidence"]} == {"look"}
    assert result["hint"] == ""
    assert [item.prompt for item in book.items] == [10]


def test_a_stretch_too_long_for_its_frames_and_what_the_model_cannot_tell_are_said(open_made: Opened) -> None:
    session = with_eye(open_made(groups=INSPECT), Eye(uncertain="who it is"))
    result = call(session, "inspect_segment", start_time=0.0, end_time=60.0, question="who?")
    assert "who it is" in result["hint"]
    assert "10.0 s apart" in result["hint"]


def test_without_a_model_that_looks_the_fault_says_what_to_do(open_made: Opened) -> None:
    with pytest.raises(BackendFault) as caught:
        call(open_made(groups=INSPECT), "inspect_segment", start_time=0.0, end_time=9.0, question="who?")
    assert caught.value.code == "no_vision_model"
    assert "--profile endpoint" in caught.value.hint
    assert "describe_segment" in caught.value.hint


@pytest.mark.parametrize("question", ["", "  \n", "x" * 2001, "\ud800"])
def test_a_question_that_is_none_is_refused_before_anything_is_looked_at(open_made: Opened, question: str) -> None:
    eye = Eye()
    with pytest.raises(OperationFault) as caught:
        call(
            with_eye(open_made(groups=INSPECT), eye), "inspect_segment", start_time=0.0, end_time=9.0, question=question
        )
    assert caught.value.code == "bad_arguments"
    assert eye.requests == []


def test_no_frame_after_the_causal_cut_is_looked_at(open_made: Opened) -> None:
    session = with_eye(open_made(groups=INSPECT, as_of=22.0), Eye())
    result = call(session, "inspect_segment", start_time=20.0, end_time=40.0, question="who?")
    assert result["answer"] == "who? [20, 21]"
    assert result["end_time"] == 22.0
    with pytest.raises(OperationFault) as caught:
        call(session, "inspect_segment", start_time=30.0, end_time=40.0, question="who?")
    assert caught.value.code == "not_yet"


@pytest.mark.parametrize(
    ("query", "times"),
    [
        ("blue folder", [22.0]),
        ("the FOLDER, blue?", [22.0]),
        ("folder elephant", []),
        ("花园", [45.0]),
        ("在花园里", []),
        ("安静的花园", [45.0]),
        ("the garden", []),
        ("person in red", [30.0]),
        ("穿红衣服的人", [30.0]),
        ("a red person, not in white", [30.0]),
        ("person in green", []),
        ("long walk", [0.0]),
        ("？！", []),
    ],
)
def test_a_segment_matches_where_one_thing_in_it_has_all_the_words(
    open_made: Opened, query: str, times: list[float]
) -> None:
    result = call(open_made(groups=INSPECT), "scan_segments", query=query)
    found = [match["start_time"] for match in result["matches"]]
    assert [any(match <= time < match + 10 for match in found) for time in times] == [True] * len(times)
    assert bool(found) == bool(times)
    assert result["matched_in_all"] == len(found) <= result["segments_in_all"]
    assert len(result["evidence"]) >= bool(found)


def test_a_match_tells_the_lines_that_match_and_how_sure_their_source_is(open_made: Opened) -> None:
    [match] = call(open_made(groups=INSPECT), "scan_segments", query="blue folder")["matches"]
    assert match["snippet"] == "Where did you put the blue folder?"
    assert (match["source"], match["confidence"]) == ("speech", 1.0)
    [line] = match["matching_lines"]
    assert (line["start_time"], line["end_time"], line["as_given"]) == (22.0, 25.0, True)
    assert line["evidence"][0]["source"] == "speech"


def test_nothing_found_says_where_was_looked_and_what_does_not_follow(open_made: Opened) -> None:
    result = call(open_made(groups=INSPECT), "scan_segments", query="elephant")
    assert "speech, screen_text, tracker" in result["hint"]
    assert "does not follow" in result["hint"]
    empty = call(
        open_made(groups=INSPECT), "scan_segments", query="elephant", time_range={"start_time": 0.5, "end_time": 1.0}
    )
    assert "nothing is known" in empty["hint"]


def test_words_that_made_no_difference_are_told(open_made: Opened) -> None:
    result = call(open_made(groups=INSPECT), "scan_segments", query="a woman with a folder, not blue")
    assert result["unused_words"] == ["woman", "not", "blue"]
    assert call(open_made(groups=INSPECT), "scan_segments", query="blue folder")["unused_words"] == []


@pytest.mark.parametrize(("least", "found"), [(None, True), (0.0, True), (0.8, True), (0.81, False), (1.0, False)])
def test_min_confidence_leaves_out_what_its_source_is_less_sure_of(
    open_made: Opened, least: float | None, found: bool
) -> None:
    result = call(open_made(groups=INSPECT), "scan_segments", query="person", min_confidence=least)
    assert bool(result["matched_in_all"]) is found
    assert all(match["confidence"] >= (least or 0.0) for match in result["matches"])


def test_what_has_no_confidence_passes(open_made: Opened) -> None:
    result = call(open_made(groups=INSPECT), "scan_segments", min_confidence=1.0)
    assert result["matched_in_all"] == result["segments_in_all"] > 0
    assert {match["confidence"] for match in result["matches"]} == {None}


@pytest.mark.parametrize("query", ["", " \n", "x" * 2001, 7])
def test_a_query_that_says_nothing_is_refused_and_is_not_taken_for_none(open_made: Opened, query: Any) -> None:
    with pytest.raises(OperationFault) as caught:
        call(open_made(groups=INSPECT), "scan_segments", query=query)
    assert caught.value.code == "bad_arguments"


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan"), "0.5", True])
def test_a_confidence_that_is_none_is_refused(open_made: Opened, least: Any) -> None:
    with pytest.raises(OperationFault) as caught:
        call(open_made(groups=INSPECT), "scan_segments", query="person", min_confidence=least)
    assert caught.value.code == "bad_arguments"


def test_captions_that_a_model_gave_are_looked_through_too(open_made: Opened) -> None:
    session = with_eye(open_made(groups=INSPECT), Eye())
    session.captions = CaptionIndex([(TimeSpan(start=30.0, end=40.0), "A giraffe stands beside a red car.", 35.0, ())])
    for query, least in (("giraffe", None), ("长颈鹿 giraffe", None), ("red car", 1.0)):
        found = call(session, "scan_segments", query=query, min_confidence=least)
        starts = [match["start_time"] for match in found["matches"]]
        assert starts == ([30.0] if "长" not in query else []), query
        assert all(match["source"] == "caption" and match["confidence"] is None for match in found["matches"])
    assert "caption" in call(session, "scan_segments", query="elephant")["hint"]
    early = call(session, "scan_segments", query="giraffe", time_range={"start_time": 0.0, "end_time": 30.0})
    assert early["matched_in_all"] == 0
    assert call(open_made(groups=INSPECT), "scan_segments", query="giraffe")["matched_in_all"] == 0
