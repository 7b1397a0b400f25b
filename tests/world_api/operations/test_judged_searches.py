"""What searches tell of the words of a query, and what each hit lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import STILL, sightings, steps
from world_api.api import open_session
from world_api.core import OperationFault
from world_api.operations import run
from world_api.session import Session

Opened = Callable[..., Session]
V = {"video_id": "made"}
SEARCHES = ["search_segments_by_text", "search_segments_by_semantics"]
WHOLE = [{"start_time": 0.0, "end_time": 60.0}]


def search(session: Session, query: str, operation: str = SEARCHES[0]) -> dict[str, Any]:
    return run(session, operation, {**V, "query": query, "top_k": 20})


@pytest.mark.parametrize("operation", SEARCHES)
@pytest.mark.parametrize(
    ("query", "unmatched"),
    [
        ("a unicorn eats pizza", {"unicorn", "eats", "pizza"}),
        ("somebody opens a refrigerator", {"opens", "refrigerator"}),
        ("打开冰箱", {"打开冰箱"}),
        ("有人打开冰箱", {"打开冰箱"}),
        ("woman with long blonde hair", {"woman", "long", "blonde", "hair"}),
        ("金色长发的女人", {"金色", "长发", "女人"}),
        ("happy person", {"happy"}),
        ("test pattern", {"test", "pattern"}),
        ("person with black trousers", {"black", "trousers"}),
    ],
)
def test_words_that_nothing_can_judge_are_told_and_no_hit_has_them(
    open_made: Opened, operation: str, query: str, unmatched: set[str]
) -> None:
    result = search(open_made(), query, operation)
    assert set(result["unmatched"]) == unmatched
    assert not unmatched & set(result["matched"])
    assert all(unmatched <= set(hit["lacks"]) for hit in result["candidates"])
    assert result["not_judged"] == ([] if result["matched"] else result["unmatched"])
    assert result["not_found"] == []


def test_words_of_two_captions_of_a_model_are_not_said_to_be_nowhere(make_world: Any, minute_rows: Any) -> None:
    made = {"confidence": 0.8, "producer": "a model", "language": "en"}
    captions = [
        {"start": 0.0, "end": 20.0, "text": "a hand opens a door", "known_at": 20.0, **made},
        {"start": 40.0, "end": 60.0, "text": "a fridge stands in a kitchen", "known_at": 60.0, **made},
    ]
    make_world({**minute_rows, "captions": captions})
    result = search(open_session(make_world.store, "made", name=None), "somebody opens a fridge")
    assert result["candidates"]
    assert all(hit["lacks"] for hit in result["candidates"])
    assert (result["unmatched"], result["not_found"]) == ([], [])


def test_a_search_without_hits_never_leaves_open_whether_that_means_none(open_made: Opened) -> None:
    session = open_made()
    for query in ("bald man with beard", "person in green with a beard", "秃头的男人"):
        asked = {**V, "query": query, "top_k": 5, "time_range": {"start_time": 45.0, "end_time": 46.0}}
        result = run(session, "search_segments_by_semantics", asked)
        assert result["candidates"] or result["not_judged"] or result["not_found"], query


@pytest.mark.parametrize(
    "text", ["light grey shirt and blue jeans", "浅灰色衬衫和蓝色牛仔裤", "浅灰色衬衫、蓝色牛仔裤"]
)
def test_clothes_are_those_of_somebody_and_only_the_colour_of_the_outfit_is_judged(
    open_made: Opened, text: str
) -> None:
    result = search(open_made(), text)
    assert result["matched"] in (["grey"], ["灰色"])
    assert not {"blue", "蓝色"}.isdisjoint(result["unmatched"])


@pytest.mark.parametrize("query", ["person in black", "穿黑色衣服的人", "people", "a person in red and white"])
def test_who_has_the_kind_and_the_colours_lacks_nothing(open_made: Opened, query: str) -> None:
    result = search(open_made(), query)
    best = result["candidates"][0]
    assert (best["source"], best["lacks"], result["unmatched"]) == ("tracker", [], [])


def test_colours_of_two_people_are_not_those_of_one(open_made: Opened) -> None:
    result = search(open_made(), "a person in green")
    assert (result["matched"], result["not_found"], result["not_judged"]) == (["person", "green"], [], [STILL])
    assert all("green" in hit["lacks"] for hit in result["candidates"])
    assert all(hit["lacks"] for hit in search(open_made(), "a person in red, white and black")["candidates"])


def test_what_is_only_said_is_a_mention(open_made: Opened) -> None:
    session = open_made()
    [thing] = [hit for hit in search(session, "blue folder")["candidates"] if hit["source"] == "speech"]
    assert thing["lacks"]
    for query in ("Where did you put the blue folder", "somebody says folder", "folder", "今天的花园很安静"):
        [hit] = [hit for hit in search(session, query)["candidates"] if hit["source"] == "speech"]
        assert hit["lacks"] == [], query


def test_what_nobody_says_is_not_found_where_speech_is_known(open_made: Opened) -> None:
    result = search(open_made(), 'the words "purple rain"')
    assert (result["not_found"], result["unmatched"]) == (WHOLE, [])
    for who in ("somebody", "a person in black", "a person in green"):  # who may be there unseen did not say it
        result = search(open_made(), f'{who} says "purple rain"')
        assert (result["not_found"], result["not_judged"]) == (WHOLE, []), who


def test_where_no_text_on_the_screen_was_read_only_what_is_said_is_not_found(make_world: Any, minute_rows: Any) -> None:
    make_world({name: rows for name, rows in minute_rows.items() if name != "screen_texts"})
    session = open_session(make_world.store, "made", name=None)
    assert search(session, 'somebody says "purple rain"')["not_found"] == WHOLE
    for query in ('"purple rain"', "a sign with the words purple rain"):
        result = search(session, query)
        assert ({"purple", "rain"} <= {*result["unmatched"]}, result["not_found"]) == (True, []), query


@pytest.mark.parametrize(
    "query",
    [
        *(
            "somebody reads a paper on the table",
            "people standing in line",
            "a person holding a sign",
            "she writes a letter",
        ),
        *(
            "the person with the hat says purple",
            "says that he is hungry",
            "asks for a violin",
            "a woman speaks French",
        ),
        *("看小说的人", "text", "words on the screen"),
    ],
)
def test_what_may_be_seen_or_said_in_other_words_is_not_said_to_be_absent(open_made: Opened, query: str) -> None:
    result = search(open_made(), query)
    assert result["not_found"] == []
    assert all(hit["lacks"] for hit in result["candidates"])


@pytest.mark.parametrize("query", ["somebody talks about the folder", "a line about the folder", "the word folder"])
def test_words_that_a_line_is_asked_for_are_those_after_the_cue(open_made: Opened, query: str) -> None:
    [hit] = [hit for hit in search(open_made(), query)["candidates"] if hit["source"] == "speech" and not hit["lacks"]]
    assert "folder" in hit["snippet"]


def test_what_somebody_of_certain_looks_says_is_not_what_is_said_while_they_are_seen(
    make_world: Any, minute_rows: Any
) -> None:
    line = {**minute_rows["speech"][0], "start": 24.0, "end": 26.0, "known_at": 26.0, "text": "Bring the violin."}
    for speaker, lacks in (("", ["violin"]), ("a person in a green coat", ["violin"]), ("a person in black", [])):
        make_world({**minute_rows, "speech": [{**line, "speaker": speaker}]})
        session = open_session(make_world.store, "made", name=None)
        hits = search(session, 'person in black says "violin"')["candidates"]
        assert min((hit["lacks"] for hit in hits), key=len) == lacks, speaker


def test_words_of_a_script_in_which_nothing_is_said_are_not_judged(make_world: Any, minute_rows: Any) -> None:
    english = [row for row in minute_rows["speech"] if row["text"].isascii()]
    make_world({**minute_rows, "speech": english, "screen_texts": []})
    session = open_session(make_world.store, "made", name=None)
    assert search(session, "提到“冰淇淋”")["unmatched"] == ["冰淇淋"]
    assert search(session, 'mentions "ice cream"')["not_found"] == WHOLE


@pytest.mark.parametrize("query", ["something", "?!", "…", "the"])
def test_a_query_without_content_is_not_judged(open_made: Opened, query: str) -> None:
    session = open_made(groups=frozenset({"inspect"}))
    for result in (search(session, query), run(session, "scan_segments", {**V, "query": query})):
        assert result["not_found"] == []
        assert result.get("candidates") or result.get("matches") or result["not_judged"] == [query]


def test_a_segment_of_people_is_no_hit_for_what_is_not_a_person(open_made: Opened) -> None:
    result = search(open_made(), "not a person")
    assert result["candidates"]
    assert all(hit["lacks"] == ["not person"] for hit in result["candidates"])


def test_a_memory_tells_the_words_that_it_lacks(open_made: Opened) -> None:
    session = open_made()
    about = {"level": "event", "time_range": {"start_time": 20.0, "end_time": 30.0}}
    run(session, "write_memory", {**V, **about, "content": "Ann opens the refrigerator"})
    asked = {**V, "level": "event", "top_k": 5}
    assert run(session, "read_memory", {**asked, "query": "opens a refrigerator"})["memories"][0]["lacks"] == []
    result = run(session, "read_memory", {**asked, "query": "a unicorn opens something"})
    assert (result["memories"][0]["lacks"], result["unmatched"]) == (["unicorn"], ["unicorn"])


def test_a_scan_that_nothing_judges_is_not_judged(open_made: Opened) -> None:
    session = open_made(groups=frozenset({"inspect"}))
    result = run(session, "scan_segments", {**V, "query": "unicorn"})
    assert (result["matches"], result["not_judged"], result["unmatched"]) == ([], ["unicorn"], ["unicorn"])
    assert run(session, "scan_segments", {**V, "query": "person in black"})["matches"][0]["lacks"] == []


@pytest.fixture
def oracle(make_world: Any, minute_rows: Any) -> Session:
    """The made minute with deeds, places and a third person, as an oracle world has them."""
    told = {"confidence": 1.0, "producer": "made/1"}
    act = {"end": 27.0, "known_at": 27.0, **told}
    rows = {
        **minute_rows,
        "speech": [
            *minute_rows["speech"],
            {
                **minute_rows["speech"][-1],
                "start": 50.0,
                "end": 52.0,
                "known_at": 52.0,
                "text": "Opens the drawer? The drawer opens!",
            },
        ],
        "sightings": [*minute_rows["sightings"], *sightings("t0000_02", steps(22.0, 28.0), colours=["green"], x=400.0)],
        "actions": [{"start": 24.0, "label": "opens a drawer", "subject": "t0000_01", **act}],
        "captions": [
            {
                "start": 20.0,
                "text": 'A kitchen: somebody opens a drawer, somebody says "what a violin".',
                **act,
                "end": 40.0,
            }
        ],
    }
    world = make_world(rows)
    manifest = world.folder / "world.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"profile": "oracle"}))
    return open_session(make_world.store, "made", name=None)


@pytest.mark.parametrize(
    "query",
    ["playing a violin", "somebody opens a refrigerator", "a dog", "in the garage", "person in green opens a drawer"],
)
def test_what_a_complete_truth_does_not_have_is_not_found(oracle: Session, query: str) -> None:
    result = search(oracle, query)
    assert (result["unmatched"], result["not_judged"], result["not_found"]) == ([], [], WHOLE)
    assert all(hit["lacks"] for hit in result["candidates"])


@pytest.mark.parametrize(
    "query",
    [
        *("happy person", "an old man", "woman with long blonde hair", "打开冰箱", "快乐的人"),
        *("the bald one", "someone tall", "blonde hair", "light red shirt and blue jeans"),
    ],
)
def test_what_a_truth_does_not_record_is_not_judged(oracle: Session, query: str) -> None:
    result = search(oracle, query)
    assert (bool(result["unmatched"]), result["not_found"]) == (True, [])


def test_a_colour_in_a_caption_is_that_of_the_noun_beside_it(make_world: Any, minute_rows: Any) -> None:
    told = {"start": 24.0, "end": 27.0, "known_at": 27.0, "confidence": 1.0, "producer": "made/1"}
    text = "The person in the red coat puts the purple letter beside a book."
    world = make_world({**minute_rows, "captions": [{**told, "text": text}]})
    manifest = world.folder / "world.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"profile": "oracle"}))
    session = open_session(make_world.store, "made", name=None)
    for query in ("person in purple", "a purple book", "a red letter", "person in purple who walks"):
        result = search(session, query)
        assert (result["not_found"], [hit for hit in result["candidates"] if not hit["lacks"]]) == (WHOLE, []), query
    assert any(not hit["lacks"] for hit in search(session, "a purple letter")["candidates"])


def test_words_that_mean_the_same_are_the_same(open_made: Opened, oracle: Session) -> None:
    session = open_made()
    about = {"level": "event", "time_range": {"start_time": 20.0, "end_time": 30.0}}
    run(session, "write_memory", {**V, **about, "content": "Ann opens the fridge"})
    asked = {**V, "level": "event", "top_k": 5}
    for query in ("a refrigerator", "冰箱"):
        assert [hit["lacks"] for hit in run(session, "read_memory", {**asked, "query": query})["memories"]] == [[]]
    nothing = run(session, "read_memory", {**asked, "query": "sofa"})
    assert (nothing["memories"], nothing["matched"], nothing["not_judged"]) == ([], [], ["sofa"])


def test_an_entity_is_registered_by_what_it_does_as_the_truth_tells(oracle: Session) -> None:
    asked = {**V, "timestamp": 25.0}
    found = run(oracle, "register_entity", {**asked, "entity_hint": "the one who opens a drawer"})
    assert (found["entity_id"], found["lacks"], found["unmatched"]) == ("ent_t0000_01", [], [])
    other = run(oracle, "register_entity", {**asked, "entity_hint": "person in green playing a violin"})
    assert (other["entity_id"], other["lacks"]) == ("ent_t0000_02", ["playing", "violin"])
    with pytest.raises(OperationFault) as caught:
        run(oracle, "register_entity", {**asked, "entity_hint": "the one playing a violin"})
    assert caught.value.code == "nothing_matches"


@pytest.mark.parametrize(
    ("thing", "there"),
    [("dog", False), ("a red bicycle", False), ("drawer", True), ("a red drawer", True), ("狗", True)],
)
def test_a_thing_is_not_found_unless_a_truth_tells_of_it_without_a_box(
    oracle: Session, thing: str, there: bool
) -> None:
    for asked in ({"category": thing}, {"category": "any", "text_query": thing}):
        result = run(oracle, "detect_objects", {**V, "timestamp": 25.0, "time_range": WHOLE[0], **asked})
        assert (result["detections"], result["not_found"]) == ([], [] if there else WHOLE)
        assert bool(result["not_judged"]) is there
    with pytest.raises(OperationFault) as caught:
        run(oracle, "register_entity", {**V, "timestamp": 25.0, "entity_hint": thing})
    assert caught.value.code == ("not_judged" if there else "nothing_matches")


def test_the_best_hit_is_the_one_that_has_all_words(oracle: Session) -> None:
    """A line that only mentions the words has the higher score here."""
    best = run(oracle, SEARCHES[0], {**V, "query": "opens a drawer", "top_k": 1})
    assert (best["candidates"][0]["source"], best["candidates"][0]["lacks"]) == ("caption", [])


def test_what_is_beyond_the_hits_that_are_judged_is_not_said_to_be_missing(
    oracle: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a long video the hits that are judged need not have the one that has all words."""
    monkeypatch.setattr("world_api.operations.navigation.judged_hits", lambda top_k: top_k)
    asked = {**V, "query": "opens a drawer"}
    best = run(oracle, SEARCHES[0], {**asked, "top_k": 1})
    assert (best["candidates"][0]["source"], best["candidates"][0]["lacks"]) == ("speech", ["opens", "drawer"])
    assert (best["not_found"], best["matched"], best["unmatched"]) == ([], ["opens", "drawer"], [])
    elsewhere = {"start_time": 45.0, "end_time": 55.0}
    assert run(oracle, SEARCHES[1], {**asked, "top_k": 5, "time_range": elsewhere})["not_found"] == [elsewhere]


def test_a_deed_is_that_of_who_does_it(oracle: Session) -> None:
    sure = [hit for hit in search(oracle, "person in black opens a drawer")["candidates"] if not hit["lacks"]]
    assert sure
    assert all(hit["start_time"] < 27.0 and hit["end_time"] > 24.0 for hit in sure)
    asked = {**V, "timestamp": 25.0, "category": "person", "time_range": {"start_time": 20.0, "end_time": 30.0}}
    opening = run(oracle, "detect_objects", {**asked, "text_query": "opens a drawer"})["detections"]
    assert [(item["entity_id"], item["lacks"]) for item in opening] == [("ent_t0000_01", [])]
    playing = run(oracle, "detect_objects", {**asked, "text_query": "playing a violin"})
    assert (playing["detections"], playing["not_found"]) == ([], [asked["time_range"]])


@pytest.mark.parametrize(
    ("query", "judged"),
    [
        ("is he playing a violin?", True),
        ("is he happy?", False),
        ("how does he feel?", False),
        ("how old is he?", False),
        ("who is with him?", True),
        ("What colour are the trousers?", False),
        ("裤子是什么颜色?", False),
        ("What colour is the coat?", False),
        ("外套是什么颜色?", False),
        ("what is the colour of his clothes?", True),
        ("is he bald?", False),
        ("is the hat red?", False),
        ("is he standing still?", True),
    ],
)
def test_a_question_about_deeds_is_judged_from_the_truth_and_one_about_moods_is_not(
    oracle: Session, query: str, judged: bool
) -> None:
    asked = {**V, "entity_id": "ent_t0000_01", "time": 25.0, "query": query}
    result = run(oracle, "query_entity_state", asked)
    assert (bool(result["matched"]), bool(result["not_judged"])) == (judged, not judged)
    if query.startswith("is he playing"):
        assert "opens a drawer" in result["answer"]


def test_looks_that_were_measured_of_nobody_are_not_absent(make_world: Any, minute_rows: Any) -> None:
    tracks = [row | {"colours": []} for row in minute_rows["sightings"]]
    make_world({**minute_rows, "sightings": tracks})
    session = open_session(make_world.store, "made", name=None)
    for operation in SEARCHES:
        result = search(session, "in green", operation)
        assert (result["candidates"], result["not_found"], result["not_judged"]) == ([], [], ["green"])
