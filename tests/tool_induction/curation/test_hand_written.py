"""The libraries that come with the product: what they find in a film whose truth is known, and in a real recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import STILL
from tool_induction import RunLimits, load_library, run_tool
from tool_induction.admission import schema_worlds
from tool_induction.compiler import result_schema
from tool_induction.curation import ExampleRuns, example_arguments, material_of
from world_api.api import open_session
from world_api.operations import run

HAND_WRITTEN = ("hand_A", "hand_B", "hand_C")
TOOLS = [(library, tool) for library in HAND_WRITTEN for tool in load_library(library).tools]


@pytest.mark.parametrize(("library", "name"), TOOLS)
def test_a_tool_finds_something_in_the_film_with_evidence_and_keeps_to_its_schema(
    sample_film: Any, library: str, name: str
) -> None:
    tools = load_library(library).tools
    example = ExampleRuns.on_video(sample_film.store, sample_film.video_id).of(tools, name)
    result = example["result"]
    assert result["status"] in ("ok", "empty", "partial", "ambiguous"), result
    assert (result["status"] == "partial") is ("unsure" in result), result
    if result["status"] == "ok":
        assert result["evidence"]
        assert all(0 <= piece["start_time"] <= sample_film.truth["duration"] for piece in result["evidence"])
    errors = list(Draft202012Validator(result_schema(tools[name].tool)).iter_errors(result))
    assert [error.message for error in errors] == []
    assert result["cost"]["calls"] <= tools[name].price.most.calls


@pytest.mark.parametrize(("library", "name"), TOOLS)
def test_many_calls_at_a_time_give_the_same_to_the_letter(sample_film: Any, library: str, name: str) -> None:
    tools = load_library(library).tools
    session = open_session(sample_film.store, sample_film.video_id, name=None)
    call = partial(run, session)
    arguments = example_arguments(tools[name].tool, material_of(call, sample_film.video_id))
    told = [
        json.dumps(run_tool(tools, name, arguments, call=call, world=session, limits=RunLimits(concurrency=most)))
        for most in (1, 6)
    ]
    assert told[0] == told[1]


def visits(film: Any, track: str) -> list[tuple[float, float]]:
    """The stretches in which somebody is drawn, from the truth's boxes."""
    times = [seen["time"] for one in film.truth["tracks"] if one["track"] == track for seen in one["sightings"]]
    starts = [at for n, at in enumerate(times) if n == 0 or at - times[n - 1] > 1.0]
    ends = [at for n, at in enumerate(times) if n == len(times) - 1 or times[n + 1] - at > 1.0]
    return list(zip(starts, ends, strict=True))


def owner(film: Any) -> tuple[str, str]:
    """The one who is seen in the most shots: the track, and how to ask for it."""
    people = [one for one in film.truth["tracks"] if one["category"] == "person"]
    most = max(people, key=lambda one: len(visits(film, one["track"])))
    return most["track"], f"person in {most['colours'][0]}"


def lines(film: Any) -> Iterator[Any]:
    """Lines that are said once, apart from each other."""
    yield from film.truth["speech"]


def overlaps(row: Any, span: tuple[float, float], slack: float = 1.0) -> bool:
    return bool(row["start_time"] < span[1] + slack and row["end_time"] > span[0] - slack)


def test_appearances_are_those_of_the_truth(sample_film: Any) -> None:
    track, looks = owner(sample_film)
    spans = visits(sample_film, track)
    listed = sample_film.run("hand_A", "list_appearances", query=looks)["outputs"]["appearances"]
    assert len(listed) == len(spans)
    assert all(overlaps(row, span) for row, span in zip(listed, spans, strict=True))
    assert sample_film.run("hand_A", "count_appearances", query=looks)["outputs"]["count"] == len(spans)


class Crowd:
    """Answers of operations on a video in which many things fit, each seen in two stretches."""

    def __init__(self, things: int) -> None:
        self.things = things

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of an operation."""
        answers: dict[str, dict[str, Any]] = {
            "get_video_metadata": {"video_id": "crowd", "duration": 1_000.0},
            "detect_objects": {"detections": [self.seen(place) for place in range(self.things)]},
            "query_entity_state": {"answer": "stands there", "start_time": 1.0, "end_time": 2.0},
        }
        if name == "get_entity_trajectory":
            return {"trajectory": [self.stretch(arguments, n) for n in range(2)]}
        return answers[name]

    @staticmethod
    def seen(place: int) -> dict[str, Any]:
        hint = {"entity_id": f"ent_{place}", "entity_hint": "person in red", "category": "person"}
        return {**hint, "start_time": float(place), "end_time": float(place), "center_time": float(place)}

    @staticmethod
    def stretch(arguments: Mapping[str, Any], n: int) -> dict[str, Any]:
        start = 10.0 * int(arguments["entity_id"].removeprefix("ent_")) + 5 * n
        times = {"start_time": start, "end_time": start + 2, "center_time": start + 1}
        return {**times, "scene_id": "scene_0000", "enters_from": None, "leaves_to": None}

    def run(self, library: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The outputs of a tool."""
        tools = load_library(library).tools
        result = run_tool(tools, tool, {"video_id": "crowd", **arguments}, call=self)
        outputs: dict[str, Any] = result["outputs"]
        return outputs


@pytest.mark.parametrize(("things", "complete"), [(25, True), (205, False)])
def test_what_was_not_looked_at_is_not_said_to_be_all(things: int, complete: bool) -> None:
    crowd = Crowd(things)
    for library, tool in (
        ("hand_A", "list_appearances"),
        ("hand_B", "list_appearances"),
        ("hand_C", "list_appearances"),
        ("hand_A", "count_appearances"),
    ):
        assert crowd.run(library, tool, query="person in red")["complete"] is complete, tool
    counted = crowd.run("hand_A", "count_appearances", query="person in red")
    assert counted["count"] == 2 * min(things, 200)
    assert [len(one["items"]) for one in counted["by_thing"]] == [2] * min(things, 200)


def test_two_looks_are_compared_only_where_both_could_be_looked_for(sample_film: Any) -> None:
    tools = load_library("hand_B").tools
    arguments = {"first_look": "a", "second_look": "b"}
    for name in ("failing", "failing_some"):
        world = schema_worlds(("a", "b"))[name]
        given = arguments | {"video_id": world.video_id}
        result = run_tool(tools, "compare_first_appearances", given, call=world, world=world)
        assert (result["status"], result["outputs"]["same_moment"]) == ("error", None), name
    _, looks = owner(sample_film)
    for one, two in ((looks, "person in pink and orange"), ("person in pink and orange", looks)):
        result = sample_film.run("hand_B", "compare_first_appearances", first_look=one, second_look=two)
        # One who never moves is not tracked in this world.
        assert (result["status"], result["outputs"]["same_moment"]) == ("partial", None)
        assert "person" in result["summary"]
    same = sample_film.run("hand_B", "compare_first_appearances", first_look=looks, second_look=looks)
    assert (same["status"], same["outputs"]["same_moment"]) == ("ok", True)


def test_first_next_and_last_appearance_are_those_of_the_truth(sample_film: Any) -> None:
    track, looks = owner(sample_film)
    spans = visits(sample_film, track)
    first = sample_film.run("hand_A", "locate_first_appearance", person_query=looks)
    following = sample_film.run("hand_A", "locate_next_appearance", query=looks, after_time=spans[0][1])
    last = sample_film.run("hand_A", "locate_last_appearance", query=looks)
    assert first["outputs"]["start_time"] == pytest.approx(spans[0][0], abs=1.0)
    assert following["outputs"]["start_time"] == pytest.approx(spans[1][0], abs=1.5)
    assert last["outputs"]["start_time"] == pytest.approx(spans[-1][0], abs=1.5)


def test_every_spoken_line_is_found_where_it_is_said(sample_film: Any) -> None:
    for line in lines(sample_film):
        quoted = sample_film.run("hand_A", "locate_words", words=line["text"])
        placed = sample_film.run("hand_B", "locate_event", event=line["text"])
        for result in (quoted, placed):
            assert result["status"] == "ok"
            assert result["outputs"]["start_time"] == pytest.approx(line["start"], abs=0.1)
            assert any(overlaps(piece, (line["start"], line["end"]), 0.0) for piece in result["evidence"])
        assert placed["outputs"]["others"] == 0


def test_order_is_that_of_the_truth(sample_film: Any) -> None:
    one, two = (line["text"] for line in (sample_film.truth["speech"][0], sample_film.truth["speech"][-1]))
    right = sample_film.run("hand_B", "check_order", first_event=one, second_event=two)["outputs"]
    wrong = sample_film.run("hand_B", "check_order", first_event=two, second_event=one)["outputs"]
    assert (right["in_order"], wrong["in_order"]) == (True, False)
    assert right["seconds_between"] == -wrong["seconds_between"] > 0
    texts = [sample_film.truth["speech"][place]["text"] for place in (2, 0, 5)]
    arranged = sample_film.run("hand_B", "arrange_events", events=[*texts, "qqqq zzzz"])["outputs"]
    assert [row["event"] for row in arranged["placed"]] == [texts[1], texts[0], texts[2]]
    assert arranged["missing"] == ["qqqq zzzz"]


def test_what_comes_before_and_after_a_line_is_told(sample_film: Any) -> None:
    speech = sample_film.truth["speech"]
    before = sample_film.run("hand_B", "describe_before", event=speech[5]["text"], seconds=25)["outputs"]
    after = sample_film.run("hand_B", "describe_after", event=speech[2]["text"])["outputs"]
    why = sample_film.run("hand_B", "gather_reasons", event=speech[3]["text"])["outputs"]
    following = sample_film.run("hand_B", "find_next_event", event=speech[0]["text"], following=speech[5]["text"])
    assert speech[3]["text"] in before["caption"]
    assert speech[3]["text"] in after["caption"]
    assert speech[3]["text"] in why["during"]
    assert following["outputs"]["start_time"] == pytest.approx(speech[5]["start"], abs=1.0)


def test_who_was_there_and_what_was_said_meanwhile_are_those_of_the_truth(sample_film: Any) -> None:
    track, looks = owner(sample_film)
    first = sample_film.truth["speech"][0]
    assert any(start <= first["start"] < end for start, end in visits(sample_film, track))
    there = sample_film.run("hand_C", "find_who_was_there", event=first["text"])["outputs"]
    said = sample_film.run("hand_C", "find_words_while_seen", query=looks)["outputs"]
    profile = sample_film.run("hand_C", "profile_person", query=looks)["outputs"]
    assert looks.split()[-1] in there["people"][0]["looks"]
    assert first["text"] in said["words"]
    assert profile["count"] == len(visits(sample_film, track))


def test_the_whole_and_a_part_are_summarised_and_topics_collected(sample_film: Any) -> None:
    speech = sample_film.truth["speech"]
    whole = sample_film.run("hand_C", "summarize_video")["outputs"]
    part = sample_film.run("hand_C", "summarize_stretch", start_time=speech[1]["start"] - 1, end_time=speech[1]["end"])
    word = max(speech[0]["text"].rstrip(".!?").split(), key=len)
    mentions = sample_film.run("hand_C", "collect_mentions", topic=word)["outputs"]
    assert whole["duration"] == pytest.approx(sample_film.truth["duration"], abs=0.1)
    assert speech[0]["text"] in whole["overview"]
    assert speech[1]["text"] in part["outputs"]["story"]
    assert speech[0]["text"] in [row["words"] for row in mentions["said"]]


@pytest.mark.parametrize(
    ("library", "tool", "arguments"),
    [
        ("hand_A", "list_things_in_view", {"time": 9_000.0}),
        ("hand_C", "summarize_stretch", {"start_time": 9_000.0, "end_time": 9_001.0}),
    ],
)
def test_nothing_found_is_said_to_be_nothing(sample_film: Any, library: str, tool: str, arguments: Any) -> None:
    result = sample_film.run(library, tool, **arguments)
    assert (result["status"], result["evidence"]) == ("empty", [])
    assert len(result["summary"]) > len("empty: ")
    assert set(result["outputs"].values()) <= {None} or all(not value for value in result["outputs"].values())


@pytest.mark.parametrize(
    ("library", "tool", "arguments", "words"),
    [
        ("hand_A", "list_appearances", {"query": "person in pink and orange stripes"}, ["stripes"]),
        ("hand_A", "locate_words", {"words": "qqqq zzzz"}, ["qqqq", "zzzz"]),  # the screen was not read
        ("hand_A", "locate_event", {"event": "qqqq zzzz"}, ["qqqq", "zzzz"]),
        ("hand_B", "check_order", {"first_event": "qqqq zzzz", "second_event": "zzzz qqqq"}, ["qqqq", "zzzz"]),
        ("hand_C", "collect_mentions", {"topic": "qqqq zzzz"}, ["qqqq", "zzzz"]),
    ],
)
def test_words_that_nothing_can_judge_are_told_and_not_said_to_be_absent(
    sample_film: Any, library: str, tool: str, arguments: Any, words: list[str]
) -> None:
    result = sample_film.run(library, tool, **arguments)
    assert result["status"] == "partial"
    assert set(words) <= {*result["judged"]["unmatched"]}
    assert all(word in result["summary"] for word in words)


def test_who_is_not_found_by_motion_may_be_there_unseen(sample_film: Any) -> None:
    result = sample_film.run("hand_A", "list_appearances", query="person in pink and orange")
    assert (result["status"], result["evidence"]) == ("partial", [])
    assert STILL in json.dumps(result["judged"])


@pytest.mark.shared_data
@pytest.mark.media
@pytest.mark.parametrize(("library", "name"), TOOLS)
def test_a_tool_finds_something_in_a_real_recording(composite: Any, library: str, name: str) -> None:
    tools = load_library(library).tools
    example = ExampleRuns.on_video(composite.store, composite.video_id).of(tools, name)
    result = example["result"]
    assert result["status"] in ("ok", "empty", "partial", "ambiguous"), result
    assert bool(result["evidence"]) is (result["status"] != "empty")
    assert list(Draft202012Validator(result_schema(tools[name].tool)).iter_errors(result)) == []


@pytest.mark.shared_data
@pytest.mark.media
def test_words_that_nobody_says_and_nothing_shows_are_not_found(composite: Any) -> None:
    result = composite.run("hand_A", "locate_words", words="qqqq zzzz")
    assert (result["status"], result["evidence"]) == ("empty", [])


@pytest.mark.shared_data
@pytest.mark.media
def test_the_people_of_a_real_recording_are_counted_as_the_truth_has_them(composite: Any) -> None:
    people = composite.truth["people"]
    counted = composite.run("hand_A", "count_distinct_things", category="person")["outputs"]
    assert counted["count"] == len(people)
    assert counted["unmerged"] == sum(len(person["visits"]) for person in people)


@pytest.mark.shared_data
@pytest.mark.media
def test_lines_of_a_real_recording_come_in_the_order_of_the_truth(composite: Any) -> None:
    spoken = [line for line in composite.truth["speech"] if len(line["text"].split()) > 5]
    one, two = spoken[0], spoken[-1]
    checked = composite.run("hand_B", "check_order", first_event=one["text"], second_event=two["text"])["outputs"]
    assert (checked["in_order"], checked["repeated"]) == (True, False)
    assert checked["first_time"] <= one["start"] < checked["second_time"] + 1.0


def test_sentences_of_one_stretch_are_told_apart(composite: Any) -> None:
    said = [line for line in composite.truth["speech"] if 40 < line["start"] < 48]
    greetings = [line["start"] for line in said if "hello" in line["text"].lower()]
    events = [line["text"] for line in said if line["start"] not in greetings]
    quoted = composite.run("hand_A", "locate_words", words="hello")["outputs"]
    placed = composite.run("hand_B", "arrange_events", events=events[::-1])["outputs"]
    ordered = composite.run("hand_B", "check_order", first_event=events[0], second_event=events[1])["outputs"]
    following = composite.run("hand_B", "find_next_event", event=events[0], following=events[1])["outputs"]

    assert [row["start_time"] for row in quoted["places"]] == greetings
    assert (quoted["count"], quoted["start_time"]) == (len(greetings), greetings[0])
    assert [row["event"] for row in placed["placed"]] == events
    assert placed["not_apart"] == []
    assert (ordered["in_order"], ordered["same_moment"]) == (True, False)
    assert following["start_time"] == said[len(greetings) + 1]["start"]


def test_two_parts_of_one_sentence_have_no_order(composite: Any) -> None:
    parts = {"first_event": "I heard a beep", "second_event": "then I thought you know"}
    told = composite.run("hand_B", "check_order", **parts)["outputs"]
    placed = composite.run("hand_B", "arrange_events", events=list(parts.values()))["outputs"]

    assert (told["in_order"], told["same_moment"]) == (None, True)
    assert placed["not_apart"] == list(parts.values())


def test_words_for_looks_that_nothing_measures_are_told(sample_film: Any) -> None:
    _, looks = owner(sample_film)
    for tool, key in (("locate_first_appearance", "person_query"), ("list_appearances", "query")):
        plain = sample_film.run("hand_A", tool, **{key: looks})
        more = sample_film.run("hand_A", tool, **{key: f"{looks} with glasses, not young"})
        assert (plain["status"], more["status"]) == ("ok", "partial")
        assert "unmatched" not in plain["judged"]
        assert {"glasses", "young"} <= set(more["judged"]["unmatched"])


@pytest.mark.shared_data
@pytest.mark.media
def test_people_of_a_real_recording_are_counted_and_zebras_are_not(composite: Any) -> None:
    people, person, zebra = (
        composite.run("hand_A", "count_distinct_things", category=word) for word in ("people", "person", "zebra")
    )
    assert people["outputs"] == person["outputs"]
    assert people["outputs"]["count"] > 0
    assert (zebra["status"], zebra["judged"]["not_judged"]) == ("partial", ["zebra"])
