"""The digest: what a world holds, in so many tokens, whatever its length, and nothing from after the cut."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.made_worlds import Plan, write_world
from controller.digest import NEARLY_SURE, digest_in_lines, digest_of
from world_api.api import open_session
from world_api.chat import data_line, estimate_tokens
from world_api.core import TimeSpan, json_line
from world_api.operations import run
from world_api.session import Session

HOURS_10 = 36_000.0
BLACK, GREY = "ent_t0000_01", "ent_t0001_01"


def read(session: Session, tokens: int) -> dict[str, Any]:
    """The digest as it is recorded; a model reads its lines."""
    digest = digest_of(session, tokens)
    assert digest is not None
    return digest


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a film of ten hours."""
    store = tmp_path_factory.mktemp("store")
    write_world(store, "film", Plan(seed=3, duration=HOURS_10, file_seconds=3600.0))
    return store


@pytest.fixture
def opened(film: Path) -> Session:
    return open_session(film, "film", name=None)


@pytest.mark.parametrize("tokens", [150, 300, 800, 3_000])
def test_a_film_of_ten_hours_fits(opened: Session, tokens: int) -> None:
    digest = read(opened, tokens)
    assert estimate_tokens(digest_in_lines(digest)) <= 1.1 * tokens
    scenes = digest["scenes"]
    assert (scenes[0]["start_time"], scenes[-1]["end_time"]) == (0.0, HOURS_10)
    assert all(one["end_time"] == other["start_time"] for one, other in itertools.pairwise(scenes))
    assert digest["persons"]


@pytest.mark.parametrize("tokens", [150, 800, 3_000])
def test_the_size_is_stated(opened: Session, tokens: int) -> None:
    digest = read(opened, tokens)
    [stated] = re.findall(r"about (\d+) tokens", digest["shown"])
    assert abs(int(stated) - estimate_tokens(digest_in_lines(digest))) <= 20
    for count, total, name in re.findall(r"(\d+) of (\d+) (\w+)", digest["shown"]):
        assert len(digest.get(name, ())) == int(count) <= int(total)


def test_entities_are_those_of_the_whole_film(opened: Session) -> None:
    digest = read(opened, 3_000)
    assert max(entity["start_time"] for entity in digest["persons"] if "start_time" in entity) > HOURS_10 / 2


def test_more_tokens_tell_more(opened: Session) -> None:
    few, many = read(opened, 300), read(opened, 3_000)
    assert len(many["scenes"]) > 2 * len(few["scenes"])
    assert len(many["persons"]) > 2 * len(few["persons"])


@pytest.mark.parametrize("tokens", [0, 10, 39])
def test_too_few_tokens_tell_nothing(opened: Session, tokens: int) -> None:
    assert digest_of(opened, tokens) is None


def test_a_clip_is_told_whole(open_made: Any) -> None:
    digest = read(open_made(), 800)
    counts = re.findall(r"(\d+) of (\d+) ", digest["shown"])
    assert counts and all(shown == total for shown, total in counts)
    assert {"duration", "scenes", "persons", "quotes"} <= digest.keys()
    assert "person" in digest["vocabulary"]["categories"]


def test_nothing_after_the_cut_is_told(open_made: Any) -> None:
    def times(value: Any) -> list[float]:
        if isinstance(value, dict):
            own = [item for key, item in value.items() if key.endswith("_time") or key == "duration"]
            return own + [time for item in value.values() for time in times(item)]
        return [time for item in value for time in times(item)] if isinstance(value, list) else []

    whole, cut = read(open_made(), 800), read(open_made(as_of=20.0), 800)
    assert max(times(whole)) > 20.0
    assert 0 < max(times(cut)) <= 20.0


def test_memories_of_the_session_are_told_the_latest_first_to_stay(open_made: Any) -> None:
    session = open_made()
    for number in range(40):
        span = TimeSpan(start=float(number), end=number + 1.0)
        session.write_memory(level="event", span=span, content=f"finding number {number}")
    digest = read(session, 600)
    told = [memory["content"] for memory in digest["memories"]]
    assert told == [f"finding number {number}" for number in range(40 - len(told), 40)]
    assert 0 < len(told) < 40
    assert f"{len(told)} of 40 memories" in digest["shown"]


def test_the_same_session_has_the_same_digest(opened: Session) -> None:
    assert json_line(digest_of(opened, 800)) == json_line(digest_of(opened, 800))


# --- what is told first ---------------------------------------------------------------------------------------------


def things(rows: Any, count: int) -> None:
    """Add things that are no persons, seen as long as one of them."""
    own = [row for row in rows["sightings"] if row["track"] == "t0000_01"]
    for number in range(count):
        rows["sightings"] += [{**row, "track": f"t0000_{number + 50}", "category": "moving_object"} for row in own]


def test_persons_come_before_other_things_and_all_of_them(make_world: Any, minute_rows: Any) -> None:
    persons = len({row["track"] for row in minute_rows["sightings"]})
    things(minute_rows, 40)
    make_world(minute_rows)
    digest = read(open_session(make_world.store, "made", name=None), 500)
    assert len(digest["persons"]) == persons > 1
    assert 0 < len(digest["things"]) < 40
    assert list(digest).index("persons") < list(digest).index("things")


def alike(rows: Any, score: float) -> Any:
    """The rows with a link between the looks of two persons who are not seen together."""
    link = {"earlier": "t0000_01", "later": "t0001_01", "time": 35.0, "score": score, "known_at": 36.0}
    link["producer"] = "made/1"
    return rows | {"look_links": [link]}


@pytest.mark.parametrize("score", [round(NEARLY_SURE - 0.05, 2), round(NEARLY_SURE + 0.05, 2)])
def test_links_that_are_nearly_sure_join_and_others_are_named(make_world: Any, minute_rows: Any, score: float) -> None:
    make_world(alike(minute_rows, score))
    persons = {one["entity_id"]: one for one in read(open_session(make_world.store, "made", name=None), 800)["persons"]}
    if score < NEARLY_SURE:
        assert persons[BLACK]["may_be"] == [{"entity_id": GREY, "score": score}]
        assert persons[GREY]["may_be"] == [{"entity_id": BLACK, "score": score}]
        assert "joined" not in persons[BLACK]
    else:
        assert GREY not in persons
        assert persons[BLACK]["joined"] == [{"entity_id": GREY, "score": score}]
        assert len(persons[BLACK]["appearances"]) > 1


def test_a_session_keeps_two_apart_by_naming_them_differently(make_world: Any, minute_rows: Any) -> None:
    make_world(alike(minute_rows, 0.97))
    session = open_session(make_world.store, "made", name=None)
    listed = run(session, "list_entities", {"video_id": "made"})["entities"]
    assert len(read(session, 800)["persons"]) == sum(one["category"] == "person" for one in listed) - 1
    for entity, label in ((BLACK, "Anna"), (GREY, "Bea")):
        [own] = [one for one in listed if one["entity_id"] == entity]
        hint = own["hint"]
        given = {"video_id": "made", "timestamp": own["first_time"] + 1, "entity_hint": f"{label}, a {hint}"}
        assert run(session, "register_entity", given)["entity_id"] == entity
    persons = {one["entity_id"]: one for one in read(session, 800)["persons"]}
    assert {BLACK, GREY} <= persons.keys()
    assert persons[BLACK]["may_be"] == [{"entity_id": GREY, "score": 0.97}]


def test_no_caption_says_that_there_is_nothing(make_world: Any, minute_rows: Any) -> None:
    quiet = {name: [] if name in ("sightings", "speech", "screen_texts", "actions", "captions") else rows
             for name, rows in minute_rows.items()}  # fmt: skip
    make_world(quiet)
    session = open_session(make_world.store, "made", name=None)
    captions = [scene["brief_caption"] for scene in run(session, "list_scenes", {"video_id": "made"})["scenes"]]
    assert any(caption.startswith("Nothing that moves") for caption in captions)
    assert "Nothing" not in data_line(read(session, 800))
    assert len(read(session, 800)["scenes"]) == len(captions)


def test_the_most_telling_line_is_quoted(make_world: Any, minute_rows: Any) -> None:
    [line] = minute_rows["speech"][:1]
    texts = ["yes", "no no", "oh well yes", "the parcel for Marlow is under the green bench", "well no", "oh yes"] * 3
    texts[3] = "the parcel for Marlow is under the blue bench"
    minute_rows["speech"] = [
        {**line, "start": 3.0 * n, "end": 3.0 * n + 1, "known_at": 3.0 * n + 1, "text": text}
        for n, text in enumerate(texts)
    ]
    minute_rows["screen_texts"] = []
    make_world(minute_rows)
    digest = read(open_session(make_world.store, "made", name=None), 150)
    said = [one["said"] for one in digest["quotes"]]
    assert 0 < len(said) < len(set(texts))
    assert any("Marlow" in text for text in said)


def with_long_lines(rows: Any) -> None:
    """Replace what is said by five lines of some 250 characters."""
    [line] = rows["speech"][:1]
    rows["screen_texts"] = []
    rows["speech"] = [
        {**line, "start": 6.0 * n, "end": 6.0 * n + 1, "known_at": 6.0 * n + 1, "text": f"word{n} " * 40 + f"end{n}"}
        for n in range(5)
    ]


def test_texts_are_whole_while_they_fit_and_else_the_least_telling_are_cut(make_world: Any, minute_rows: Any) -> None:
    with_long_lines(minute_rows)
    minute_rows["speech"][3]["text"] = "the parcel for Marlow is under the blue bench " * 5 + "end3"
    make_world(minute_rows)
    session = open_session(make_world.store, "made", name=None)
    whole, some = (read(session, tokens) for tokens in (3_000, 550))
    assert [one["said"] for one in whole["quotes"]] == [row["text"] for row in minute_rows["speech"]]
    assert "cut" not in whole["shown"]
    texts = [one["said"] for one in some["quotes"]]
    cut = [text for text in texts if text.endswith("...")]
    assert 0 < len(cut) < len(texts)
    assert f"quotes ({len(cut)} cut)" in some["shown"]
    assert all(len(text) > 120 for text in texts)
    assert any(text.endswith("end3") for text in texts)
    assert estimate_tokens(digest_in_lines(some)) <= 1.1 * 550


def test_a_long_label_is_whole_if_there_is_space(make_world: Any, minute_rows: Any) -> None:
    make_world(minute_rows)
    session = open_session(make_world.store, "made", name=None)
    first = next(
        one for one in run(session, "list_entities", {"video_id": "made"})["entities"] if one["entity_id"] == BLACK
    )
    label = "the woman who carries the blue folder from the kitchen to the office and comes back without it"
    given = {"video_id": "made", "timestamp": first["first_time"] + 1, "entity_hint": f"{label}, a {first['hint']}"}
    registered = run(session, "register_entity", given)
    assert len(registered["label"]) > 60
    labels = [one.get("label") for one in read(session, 800)["persons"]]
    assert registered["label"] in labels
