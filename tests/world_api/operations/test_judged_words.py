"""Words that can be judged, words that cannot be, and what is said where nothing fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import STILL
from world_api.api import open_session
from world_api.core import Box, DetectedObject, OperationFault
from world_api.operations import run
from world_api.session import Backends, Session

Opened = Callable[..., Session]
V = {"video_id": "made"}
WHOLE = {"start_time": 0.0, "end_time": 60.0}


def detect(session: Session, **asked: Any) -> dict[str, Any]:
    return run(session, "detect_objects", {**V, "timestamp": 25.0, "category": "person", **asked})


def entities(result: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in result["detections"]]


@pytest.mark.parametrize("category", ["people", "persons", "Person", "人", "man", "女人"])
def test_people_are_found_by_every_word_for_them(open_made: Opened, category: str) -> None:
    assert entities(detect(open_made(), category=category)) == ["ent_t0000_01"]


@pytest.mark.parametrize("category", ["zebra", "car", "斑马"])
def test_a_word_outside_the_vocabulary_is_not_judged_and_the_hint_names_the_vocabulary(
    open_made: Opened, category: str
) -> None:
    result = detect(open_made(), category=category, time_range=WHOLE)
    assert (result["detections"], result["not_judged"], result["unmatched"]) == ([], [category], [category])
    assert (result["not_found"], result["not_examined"]) == ([], [])
    assert "cannot tell" in result["hint"]
    assert "person" in result["hint"]


def test_the_vocabulary_is_shown_with_the_facts_of_the_video_and_not_in_the_schema(open_made: Opened) -> None:
    from world_api.operations import OPERATIONS

    told = run(open_made(), "get_video_metadata", dict(V))["vocabulary"]
    assert {"person", "moving_object"} <= set(told["categories"])
    asked = OPERATIONS["detect_objects"].parameters_schema()["properties"]["category"]
    assert "enum" not in asked


def test_a_kind_that_was_not_tracked_may_be_there_at_rest_and_the_hint_has_who_was(open_made: Opened) -> None:
    session = open_made()
    whole = detect(session, text_query="a person in green", time_range={"start_time": 20.0, "end_time": 40.0})
    assert (whole["detections"], whole["not_found"], whole["not_examined"]) == ([], [], [])
    assert whole["not_judged"] == [STILL]
    assert whole["hint"].startswith("of other looks there is: person in black")
    assert detect(session, timestamp=10.0)["not_judged"] == [STILL]


@pytest.mark.parametrize(("profile", "absent", "unseen"), [("classical", [], [STILL]), ("oracle", [WHOLE], [])])
def test_a_world_without_people_says_not_found_only_if_it_has_the_truth(
    make_world: Any, minute_rows: Any, profile: str, absent: list[Any], unseen: list[str]
) -> None:
    make_world({**minute_rows, "sightings": []}, profile=profile)
    result = detect(open_session(make_world.store, "made", name=None), time_range=WHOLE)
    assert (result["not_found"], result["not_judged"]) == (absent, unseen)


def test_what_was_not_measured_is_told_beside_what_fits_and_what_was_not_recognised_may_be_of_any_category(
    make_world: Any, minute_rows: Any
) -> None:
    changed: dict[str, dict[str, Any]] = {
        "t0001_01": {"colours": []},
        "t0001_02": {"category": "moving_object"},
    }
    tracks = [row | changed.get(row["track"], {}) for row in minute_rows["sightings"]]
    make_world({**minute_rows, "sightings": tracks})
    session = open_session(make_world.store, "made", name=None)

    def lacks(**asked: Any) -> dict[str, list[str]]:
        result = detect(session, time_range=WHOLE, **asked)
        beyond = ["things that were not detected"] if asked.get("category") == "any" else []
        assert (result["not_found"], result["not_judged"]) == ([], beyond)
        return {item["entity_id"]: item["lacks"] for item in result["detections"]}

    assert lacks(text_query="in black") == {"ent_t0000_01": [], "ent_t0001_01": ["black"], "ent_t0001_02": ["person"]}
    assert lacks(text_query="in green") == {"ent_t0001_01": ["green"]}
    assert lacks() == {"ent_t0000_01": [], "ent_t0001_01": [], "ent_t0001_02": ["person"]}
    assert lacks(category="moving_object") == {"ent_t0001_02": []}
    assert lacks(category="any") == {"ent_t0000_01": [], "ent_t0001_01": [], "ent_t0001_02": []}
    at_moment = detect(session, timestamp=52.0)
    assert [(item["entity_id"], item["lacks"]) for item in at_moment["detections"]] == [("ent_t0001_02", ["person"])]


def test_one_word_that_does_not_fit_removes_nobody_who_fits_the_others(make_world: Any, minute_rows: Any) -> None:
    tracks = [row | {"colours": ["grey"]} if row["track"] == "t0000_01" else row for row in minute_rows["sightings"]]
    make_world({**minute_rows, "sightings": tracks})
    session = open_session(make_world.store, "made", name=None)
    result = detect(session, text_query="light grey shirt and blue jacket")
    assert entities(result) == ["ent_t0000_01"]
    assert result["detections"][0]["lacks"] == ["blue", "light", "shirt", "jacket"]
    assert set(result["unmatched"]) == {"light", "shirt", "jacket"}
    assert {"grey", "blue"} <= set(result["matched"])
    full = detect(session, text_query="in grey")["detections"][0]
    assert full["lacks"] == []
    assert full["confidence"] > result["detections"][0]["confidence"]


def test_what_fits_more_words_comes_first_and_who_fits_all_alone(open_made: Opened) -> None:
    session = open_made()
    both = detect(session, text_query="red and white", time_range=WHOLE)
    assert (entities(both), both["detections"][0]["lacks"]) == (["ent_t0001_01"], [])
    some = detect(session, text_query="red, white and black coat", time_range=WHOLE)
    assert entities(some)[0] == "ent_t0001_01"
    assert [len(item["lacks"]) for item in some["detections"]] == sorted(
        len(item["lacks"]) for item in some["detections"]
    )
    assert entities(detect(session, text_query="green", time_range=WHOLE)) == []


@pytest.mark.parametrize(
    "text",
    ["person not in black", "a person who is not wearing black", "不穿黑色衣服的人", "anyone but the one in black"],
)
def test_a_negated_word_never_finds_who_it_names(open_made: Opened, text: str) -> None:
    result = detect(open_made(), text_query=text, time_range=WHOLE)
    assert entities(result) == ["ent_t0001_01"]
    assert result["unmatched"] == []
    alone = detect(open_made(), text_query=text)
    assert (alone["detections"], alone["not_judged"]) == ([], [STILL])


def test_a_negated_word_that_nobody_judges_removes_nobody_and_is_told(open_made: Opened) -> None:
    result = detect(open_made(), text_query="a person without a hat")
    assert (entities(result), result["unmatched"]) == (["ent_t0000_01"], ["without", "hat"])


class PersonEverywhere:
    """Looks at single frames and sees one person in each."""

    producer = "made/1"

    def categories(self) -> frozenset[str]:
        """The words it knows."""
        return frozenset({"person", "face"})

    def detect(self, time: float, category: str) -> list[DetectedObject]:
        """A person; no face."""
        box = Box(x1=10.0, y1=10.0, x2=60.0, y2=200.0)
        return [DetectedObject(category="person", box=box, confidence=0.9)] if category == "person" else []


@pytest.fixture
def looking(open_made: Opened) -> Session:
    """A session whose detector looks at frames."""
    session = open_made(name="looking")
    backends: Backends = replace(session.backends, looker=PersonEverywhere())  # type: ignore[arg-type]
    return Session(view=session.view, overlay=session.overlay, backends=backends, name="looking")


def test_a_colour_that_a_single_frame_does_not_tell_removes_nobody(looking: Session) -> None:
    asked = detect(looking, timestamp=10.0, text_query="a person in red")
    [seen], unseen = asked["detections"], asked["not_judged"]
    assert unseen == [STILL]  # so that a tool that drops what has no track does not count zero
    assert (seen["entity_id"], seen["lacks"]) == (None, ["person", "red"])
    [seen] = detect(looking, timestamp=10.0, text_query="a person not in red")["detections"]
    assert seen["lacks"] == ["person", "not red"]


def test_a_frame_outside_the_range_is_not_looked_at(looking: Session) -> None:
    """The detector sees a person in every frame, also at 45 s, where nothing is tracked."""
    inside = {"start_time": 44.0, "end_time": 46.0}
    assert len(detect(looking, timestamp=45.0, time_range=inside)["detections"]) == 1
    assert detect(looking, timestamp=10.0, time_range=inside)["detections"] == []


def test_what_is_judged_in_single_frames_only_is_not_examined_in_a_stretch(looking: Session) -> None:
    result = detect(looking, category="faces", time_range=WHOLE)
    assert (result["not_examined"], result["not_found"], result["not_judged"]) == ([WHOLE], [], [])
    moment = detect(looking, category="faces", timestamp=10.0)
    unmeasured = "face that was not detected (how often one is missed was not measured)"
    assert (moment["not_found"], moment["not_judged"], moment["not_examined"]) == ([], [unmeasured], [])


def test_a_moment_at_which_the_detector_did_not_look_is_not_examined(looking: Session) -> None:
    result = detect(looking, category="people and faces", text_query="in green")
    assert (result["detections"], result["not_found"]) == ([], [])
    assert result["not_examined"]


def test_an_entity_is_registered_by_the_words_that_fit_and_the_others_are_told(open_made: Opened) -> None:
    session = open_made()
    asked = {**V, "timestamp": 35.0, "entity_hint": "a woman in a red coat and blue jeans"}
    result = run(session, "register_entity", asked)
    assert result["entity_id"] == "ent_t0001_01"
    assert result["lacks"] == result["unmatched"] == ["woman", "coat", "blue", "jeans"]
    with pytest.raises(OperationFault) as caught:
        run(session, "register_entity", {**asked, "entity_hint": "the one not in red"})
    assert caught.value.code == "nothing_matches"


@pytest.mark.parametrize("hint", ["dog", "a green bottle", "狗", "女人的狗", "a robot", "the dog beside a person"])
def test_a_thing_of_a_kind_that_nobody_can_judge_is_not_whoever_is_in_view(open_made: Opened, hint: str) -> None:
    session = open_made()
    with pytest.raises(OperationFault, match="cannot tell") as caught:
        run(session, "register_entity", {**V, "timestamp": 35.0, "entity_hint": hint})
    assert caught.value.code == "not_judged"
    assert session.registrations() == []
    result = detect(session, category="any", text_query=hint, time_range=WHOLE)
    assert (result["detections"], result["not_found"], bool(result["not_judged"])) == ([], [], True)


def test_a_hint_that_nobody_can_judge_among_several_things_cannot_be_told(make_world: Any, minute_rows: Any) -> None:
    from tests.conftest import sightings, steps

    more = sightings("t0000_02", steps(22.0, 28.0), colours=["red"], x=400.0)
    make_world({**minute_rows, "sightings": [*minute_rows["sightings"], *more]})
    session = open_session(make_world.store, "made", name=None)
    with pytest.raises(OperationFault, match="cannot tell") as caught:
        run(session, "register_entity", {**V, "timestamp": 25.0, "entity_hint": "the one with glasses"})
    assert caught.value.code == "nothing_matches"


@pytest.mark.parametrize(
    ("query", "unmatched"),
    [
        ("what is she wearing?", []),
        ("is he wearing a hat?", ["hat"]),
        ("what does it do and what is said meanwhile", []),
        ("holding an umbrella?", ["holding", "umbrella"]),
        ("how many tables", ["many", "tables"]),
        ("does he hold a phone?", ["hold", "phone"]),
        ("when does he leave?", ["when", "leave"]),
        ("where is the knife?", ["knife"]),
        ("where did he put the folder?", ["put", "folder"]),
        ("what does she read?", ["read"]),
        ("他穿什么鞋?", ["鞋"]),
        ("他什么时候离开", ["什么时候", "离开"]),
        ("what is he doing, and is he smiling?", ["smiling"]),
    ],
)
def test_words_of_a_question_that_nothing_measured_answers_are_told(
    open_made: Opened, query: str, unmatched: list[str]
) -> None:
    asked = {**V, "entity_id": "ent_t0000_01", "time": 25.0, "query": query}
    result = run(open_made(), "query_entity_state", asked)
    assert result["unmatched"] == unmatched
    assert result["not_judged"] == ([] if result["matched"] else unmatched)
    assert all(word in result["answer"] for word in unmatched)


@pytest.mark.parametrize(
    "query", ["does he hold a phone?", "where is the knife?", "is he wearing a hat?", "他穿什么鞋?"]
)
def test_a_question_whose_content_was_not_measured_is_not_judged_and_not_sure(open_made: Opened, query: str) -> None:
    asked = {**V, "entity_id": "ent_t0000_01", "time": 25.0}
    result = run(open_made(), "query_entity_state", {**asked, "query": query})
    assert (result["matched"], bool(result["not_judged"])) == ([], True)
    assert (
        result["confidence"] < run(open_made(), "query_entity_state", {**asked, "query": "where is she"})["confidence"]
    )


@pytest.mark.parametrize(
    ("query", "words", "told"),
    [
        ("where is she", ["where"], "box ["),
        ("what does he wear", ["wear"], "wears black"),
        ("what does it do", ["do"], "moves to the right"),
        ("is he wearing red?", ["wearing", "red"], "wears black"),
        ("is she in grey?", ["grey"], "wears black"),
        ("Is he not in red?", ["not", "red"], "wears black"),
        ("他是红色的吗", ["红色"], "wears black"),
        ("is he in red or blue?", ["red", "blue"], "wears black"),
    ],
)
def test_a_question_about_what_was_measured_is_answered(
    open_made: Opened, query: str, words: list[str], told: str
) -> None:
    asked = {**V, "entity_id": "ent_t0000_01", "time": 25.0, "query": query}
    result = run(open_made(), "query_entity_state", asked)
    assert (result["matched"], result["unmatched"], result["not_judged"]) == (words, [], [])
    assert told in result["answer"]
    assert result["confidence"] > 0.5


@pytest.mark.parametrize("text", ["in red or black", "red/black", "红色或者黑色"])
def test_who_fits_one_of_two_alternatives_is_found(open_made: Opened, text: str) -> None:
    result = detect(open_made(), text_query=text, time_range=WHOLE)
    assert sorted(entities(result)) == ["ent_t0000_01", "ent_t0001_01", "ent_t0001_02"]
    assert (result["unmatched"], {tuple(item["lacks"]) for item in result["detections"]}) == ([], {()})
    none = detect(open_made(), text_query="green or blue", time_range=WHOLE)
    assert (none["detections"], none["not_judged"]) == ([], [STILL])


@pytest.mark.parametrize("text", ["man in black", "person in a black jacket", "穿黑衣服的男人"])
def test_a_word_that_nobody_can_judge_makes_no_difference_to_who_is_found(
    make_world: Any, minute_rows: Any, text: str
) -> None:
    tracks = [
        row | {"colours": ["red", "black"]} if row["track"] == "t0001_01" else row for row in minute_rows["sightings"]
    ]
    make_world({**minute_rows, "sightings": tracks})
    session = open_session(make_world.store, "made", name=None)
    plain = detect(session, text_query="person in black", time_range=WHOLE)
    more = detect(session, text_query=text, time_range=WHOLE)
    assert sorted(entities(more)) == sorted(entities(plain)) == ["ent_t0000_01", "ent_t0001_02"]
    assert more["unmatched"]


@pytest.mark.parametrize("text", ["not only black", "not just black", "never not black"])
def test_a_negation_that_is_weakened_or_doubled_removes_nobody(open_made: Opened, text: str) -> None:
    result = detect(open_made(), text_query=text, time_range=WHOLE)
    assert (len(entities(result)), "black" in result["unmatched"]) == (3, True)


@pytest.mark.parametrize("word", ["thing", "items", "物体", "东西"])
def test_words_for_anything_find_what_object_finds(open_made: Opened, word: str) -> None:
    found = detect(open_made(), category=word, time_range=WHOLE)
    assert entities(found) == entities(detect(open_made(), category="object", time_range=WHOLE))


@pytest.mark.parametrize("category", ["animal", "no people"])
def test_the_hint_of_an_unknown_category_is_a_sentence_for_any_words(open_made: Opened, category: str) -> None:
    assert f"whether anything there is {category!r};" in detect(open_made(), category=category)["hint"]


@pytest.mark.parametrize(
    ("hint", "code"), [("second", "nothing_matches"), ("the one", "nothing_matches"), ("  ", "bad_arguments")]
)
def test_a_hint_that_names_nothing_registers_none_of_several(
    make_world: Any, minute_rows: Any, hint: str, code: str
) -> None:
    from tests.conftest import sightings, steps

    more = sightings("t0000_02", steps(22.0, 28.0), colours=["red"], x=400.0)
    make_world({**minute_rows, "sightings": [*minute_rows["sightings"], *more]})
    session = open_session(make_world.store, "made", name=None)
    with pytest.raises(OperationFault) as caught:
        run(session, "register_entity", {**V, "timestamp": 25.0, "entity_hint": hint})
    assert caught.value.code == code


def test_a_scan_that_finds_nothing_tells_the_stretch_it_examined(open_made: Opened) -> None:
    session = open_made(groups=frozenset({"inspect"}))
    for query, absent, unseen in (
        ("person in green", [], [STILL]),
        ("somebody says elephant", [WHOLE], []),
        ("a person in green says elephant", [WHOLE], []),  # whoever may be there unseen
    ):
        nothing = run(session, "scan_segments", {**V, "query": query})
        assert (nothing["matches"], nothing["not_found"], nothing["not_judged"]) == ([], absent, unseen), query
    unjudged = run(session, "scan_segments", {**V, "query": "elephant"})
    assert (unjudged["not_found"], unjudged["not_judged"]) == ([], ["elephant"])
    assert run(session, "scan_segments", {**V, "query": "folder"})["not_found"] == []
