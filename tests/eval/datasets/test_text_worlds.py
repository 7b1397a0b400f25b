"""Worlds of dialogues: what is said, by whom and when, can be found by the operations; there is no video, and the world says so."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from eval.datasets import Dataset, ensure_text_worlds, load_dataset
from tests.support import published_files
from world_api.api import open_session
from world_api.core import EvalFault, OperationFault, VideoWorldError
from world_api.operations import OPERATIONS, run
from world_api.session import Session
from world_api.world import check_world, open_world

VIDEO = "locomo-7"


def dialogues(folder: Path, **changes: Any) -> Dataset:
    """The made-up dialogue, with changes to its conversation."""
    sample = published_files.dialogue()
    sample["conversation"] |= changes
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "locomo10.json").write_text(json.dumps([sample]))
    return load_dataset("locomo", annotations=folder)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session on the world of the made-up dialogue."""
    ensure_text_worlds(dialogues(tmp_path / "data"), tmp_path / "store")
    return open_session(tmp_path / "store", VIDEO, name=None)


def call(session: Session, operation: str, **given: Any) -> dict[str, Any]:
    return run(session, operation, {"video_id": VIDEO, **given})


def test_sessions_are_scenes_with_their_dates(session: Session) -> None:
    scenes = call(session, "list_scenes")["scenes"]
    assert len(scenes) == 2
    assert scenes[0]["start_time"] == 0.0
    assert "Ann and Ben talk, 1:56 pm on 8 May, 2023" in scenes[0]["brief_caption"]
    assert "1 June, 2023" in scenes[1]["brief_caption"]


def test_a_date_that_would_stand_twice_at_a_moment_stands_once(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ann", "dia_id": f"D2:{n}", "text": "word " * count} for n, count in enumerate((10, 8, 8, 8), 1)
    ]
    data = dialogues(tmp_path / "data", session_1=turns, session_2=[])
    ensure_text_worlds(data, tmp_path / "store")
    text, world = data.videos[VIDEO].text, open_world(tmp_path / "store", VIDEO)
    assert text is not None and text.duration == 15.1
    assert world.rows("screen_texts").column("time").to_pylist() == [0.0, 15.0]
    assert check_world(world) == []


def test_what_was_said_is_found_with_who_said_it(session: Session) -> None:
    found = call(session, "search_segments_by_text", query="blue kayak", top_k=1)["candidates"][0]
    assert found["snippet"] == "Ben: I bought a blue kayak yesterday."
    assert found["source"] == "speech"


def test_words_that_were_not_said_do_not_show_that_nothing_is_about_them(session: Session) -> None:
    """Without an encoder nothing tells a paraphrase from what was never mentioned; only a quote is looked for as it is."""
    found = call(session, "search_segments_by_text", query="purchase of a canoe", top_k=3)
    assert (found["not_found"], found["not_judged"]) == ([], ["purchase", "canoe"])
    assert call(session, "search_segments_by_text", query='"a canoe"', top_k=3)["not_found"] != []


def test_a_picture_that_was_sent_along_is_found(session: Session) -> None:
    lines = [
        item["snippet"]
        for item in call(session, "search_segments_by_text", query="photo of a lighthouse", top_k=3)["candidates"]
    ]
    assert "Ben shares a picture: a photo of a lighthouse" in lines


def test_dates_are_read_off_the_screen(session: Session) -> None:
    found = call(session, "search_segments_by_text", query="1 June 2023", top_k=1)["candidates"][0]
    start = call(session, "list_scenes")["scenes"][1]["start_time"]
    assert found["start_time"] >= start


def test_the_world_says_that_there_is_no_video(session: Session, tmp_path: Path) -> None:
    told = call(session, "get_video_metadata")
    assert (told["profile"], told["has_audio"], told["has_speech_text"]) == ("text", False, True)
    world = open_world(tmp_path / "store", VIDEO)
    assert (world.manifest.source.container, world.manifest.video.codec, world.manifest.video.frames) == (
        "text",
        "none",
        0,
    )
    assert check_world(world) == []


def test_every_operation_answers_or_refuses_by_name(session: Session) -> None:
    scene = call(session, "list_scenes")["scenes"][0]
    values: dict[str, Any] = {
        "start_time": 0.0, "end_time": 3.0, "timestamp": 1.0, "time": 1.0, "query": "painting", "top_k": 2, "category": "person",
        "entity_hint": "Ann", "entity_id": "e1", "example_segment": {"start_time": 0.0, "end_time": scene["end_time"]},
        "level": "event", "time_range": {"start_time": 0.0, "end_time": 3.0}, "content": "Ann painted.", "event_ids": ["mem_1"],
    }  # fmt: skip
    for name, operation in OPERATIONS.items():
        required = operation.parameters_schema().get("required", [])
        given = {key: values[key] for key in required if key != "video_id"}
        try:
            assert isinstance(call(session, name, **given), dict)
        except OperationFault as fault:
            assert fault.code in (
                "nothing_matches",
                "not_judged",
                "unknown_entity",
                "unknown_memory",
                "bad_arguments",
            ), (name, fault)


def test_a_cut_hides_what_is_said_later(tmp_path: Path) -> None:
    data = dialogues(tmp_path / "data")
    ensure_text_worlds(data, tmp_path / "store")
    text = data.videos[VIDEO].text
    assert text is not None
    early = open_session(tmp_path / "store", VIDEO, as_of=text.sessions[0].end, name=None)
    found = call(early, "search_segments_by_text", query="kayak", top_k=5)["candidates"]
    assert not [item for item in found if "kayak" in item["snippet"]]


def test_a_world_is_written_once_and_anew_when_the_words_change(tmp_path: Path) -> None:
    store = tmp_path / "store"
    data = dialogues(tmp_path / "data")
    assert ensure_text_worlds(data, store) == (VIDEO,)
    before = (store / VIDEO / "world.json").read_bytes()
    assert ensure_text_worlds(data, store) == ()
    assert (store / VIDEO / "world.json").read_bytes() == before
    other = dialogues(
        tmp_path / "data", session_2=[{"speaker": "Ben", "dia_id": "D2:1", "text": "I sold a red bicycle."}]
    )
    assert ensure_text_worlds(other, store) == (VIDEO,)
    session = open_session(store, VIDEO, name=None)
    found = call(session, "search_segments_by_text", query="red bicycle", top_k=1)["candidates"][0]
    assert found["snippet"] == "Ben: I sold a red bicycle."


def test_the_same_words_give_the_same_world_anywhere(tmp_path: Path) -> None:
    hashes = set()
    for place in ("one", "two"):
        ensure_text_worlds(dialogues(tmp_path / place / "data"), tmp_path / place / "store")
        hashes.add((tmp_path / place / "store" / VIDEO / "world.json").read_bytes())
    assert len(hashes) == 1


@pytest.mark.parametrize("what", ["world.json", "rows/speech/*.arrow"])
def test_a_damaged_world_is_written_again(tmp_path: Path, what: str) -> None:
    store = tmp_path / "store"
    data = dialogues(tmp_path / "data")
    ensure_text_worlds(data, store)
    next((store / VIDEO).glob(what)).write_bytes(b"broken")
    assert ensure_text_worlds(data, store) == (VIDEO,)
    assert check_world(open_world(store, VIDEO)) == []


def test_two_that_write_at_once_write_one_world(tmp_path: Path) -> None:
    data = dialogues(tmp_path / "data")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: ensure_text_worlds(data, tmp_path / "store"), range(4)))
    assert (VIDEO,) in done
    assert check_world(open_world(tmp_path / "store", VIDEO)) == []


def test_a_world_of_a_video_is_not_written_over(tmp_path: Path, make_world: Any) -> None:
    make_world(video_id=VIDEO)
    with pytest.raises(EvalFault) as caught:
        ensure_text_worlds(dialogues(tmp_path / "data"), make_world.store)
    assert caught.value.code == "world_in_the_way"


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(VideoWorldError) as caught:
        ensure_text_worlds(dialogues(tmp_path / "data"), tmp_path / "store")
    assert caught.value.code in ("store_not_writable", "not_a_store")


def test_a_long_dialogue_is_parted_into_files_by_the_hour(tmp_path: Path) -> None:
    turns = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"word{n} " * 50} for n in range(400)]
    data = dialogues(tmp_path / "data", session_1=turns)
    ensure_text_worlds(data, tmp_path / "store")
    world = open_world(tmp_path / "store", VIDEO)
    assert world.manifest.video.duration > 2 * 3600
    assert len(world.manifest.files_of("speech")) == 3
    assert world.rows("speech").num_rows == 401
    found = call(
        open_session(tmp_path / "store", VIDEO, name=None), "search_segments_by_text", query="word399", top_k=1
    )
    assert found["candidates"][0]["snippet"].startswith("Ann: word399")
