"""``read_transcript`` on a minute of exact rows: every line once and whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import WorldMaker, made_rows
from world_api.api import open_session
from world_api.operations import EVERY_OPERATION, run
from world_api.schemas import plain_schema
from world_api.session import Session
from world_api.world import StageFacts

Opened = Callable[..., Session]
INSPECT = frozenset({"inspect"})
LINE = {"language": "en", "source": "sidecar", "confidence": 1.0, "producer": "made/1"}


def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    result = run(session, name, {"video_id": session.video_id, **arguments})
    Draft202012Validator(plain_schema(EVERY_OPERATION[name].result_schema())).validate(result)
    return result


def test_what_is_said_and_shown_is_read_in_time_order_with_its_source(open_made: Opened) -> None:
    result = call(open_made(groups=INSPECT), "read_transcript", start_time=0.0, end_time=60.0)
    assert [(line["source"], line["text"], line["start_time"], line["speaker"]) for line in result["lines"]] == [
        ("screen_text", "THE LONG WALK", 2.0, None),
        ("speech", "Where did you put the blue folder?", 22.0, None),
        ("speech", "今天的花园很安静", 45.0, None),
    ]
    assert (result["spoken"], result["shown"]) == (2, 1)
    assert [item["source"] for item in result["evidence"]] == ["screen_text", "speech", "speech"]


def test_a_line_is_read_wherever_it_shares_time_with_the_stretch(open_made: Opened) -> None:
    session = open_made(groups=INSPECT)
    spoken = [
        call(session, "read_transcript", start_time=a, end_time=b)["spoken"]
        for a, b in ((24.9, 26.0), (25.0, 26.0), (21.0, 22.0), (21.0, 22.1))
    ]
    assert spoken == [1, 0, 0, 1]


def test_only_what_was_said_before_the_cut_is_read(open_made: Opened) -> None:
    texts = {
        cut: [
            line["text"]
            for line in call(open_made(groups=INSPECT, as_of=cut), "read_transcript", start_time=0.0, end_time=60.0)[
                "lines"
            ]
        ]
        for cut in (24.9, 25.0)
    }
    assert texts == {24.9: ["THE LONG WALK"], 25.0: ["THE LONG WALK", "Where did you put the blue folder?"]}


def test_speakers_are_told_and_a_text_that_was_read_twice_is_told_once(make_world: WorldMaker) -> None:
    rows = made_rows()
    rows["speech"] = [
        {"start": 5.0, "end": 6.0, "text": "Hello.", "speaker": "ANNA", "known_at": 6.0, **LINE},
        {"start": 5.0, "end": 7.0, "text": "你好。", "speaker": "", "known_at": 7.0, **LINE},
    ]
    rows["screen_texts"] = [{**row, "x1": x} for row in rows["screen_texts"] for x in (10, 11)]
    make_world(rows)
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    lines = call(session, "read_transcript", start_time=0.0, end_time=60.0)["lines"]
    assert [(line["text"], line["speaker"]) for line in lines] == [
        ("THE LONG WALK", None),
        ("Hello.", "ANNA"),
        ("你好。", None),
    ]


def speech(start: float, end: float, text: str) -> dict[str, Any]:
    return {"start": start, "end": end, "text": text, "speaker": "", "known_at": end, **LINE}


def test_every_line_is_read_whole_however_many_and_however_long(make_world: WorldMaker) -> None:
    at_once = [speech(5.0, 9.0, f"{number} " + "word " * 500) for number in range(200)]
    later = [speech(round(10 + 0.1 * number, 3), 60.0, f"{number} later") for number in range(300)]
    make_world(made_rows() | {"screen_texts": [], "speech": at_once + later})
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    result = call(session, "read_transcript", start_time=0.0, end_time=60.0)
    assert sorted(line["text"] for line in result["lines"]) == sorted(line["text"] for line in at_once + later)
    assert (result["spoken"], result["hint"]) == (500, "")


def test_silence_is_told_apart_from_speech_that_nobody_wrote_down(make_world: WorldMaker) -> None:
    make_world(made_rows() | {"speech": []})
    unheard = open_session(make_world.store, "made", name=None, groups=INSPECT)
    hint = call(unheard, "read_transcript", start_time=0.0, end_time=60.0)["hint"]
    assert hint in ("no speech of this video was transcribed so far", "the video has no sound")
    make_world(video_id="heard")
    heard = open_session(make_world.store, "heard", name=None, groups=INSPECT)
    assert call(heard, "read_transcript", start_time=50.0, end_time=60.0)["hint"] == "nothing is said here"


def voices(*turns: tuple[float, float, str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of turns: start, end, and the voice, empty if it is not known."""
    facts = {"producer": "voices/1"}
    return {
        "voice_turns": [
            {"start": start, "end": end, "vector": [1.0] if voice else [], "known_at": end + 1, **facts}
            for start, end, voice in turns
        ],
        "voice_names": [
            {"turn": start, "time": start, "voice": voice, "score": 0.9, "known_at": end + 1, **facts}
            for start, end, voice in turns
            if voice
        ],
        "voice_links": [
            {"earlier": "voice_01", "later": "voice_02", "time": 14.0, "score": 0.7, "known_at": 19.0, **facts}
        ],
    }


JUDGED = StageFacts(
    name="voices", version="1", key="0", parameters={}, tables=["voice_turns", "voice_names", "voice_links"]
)


@pytest.fixture
def dialogue(make_world: WorldMaker) -> WorldMaker:
    """Two voices, a turn whose voice is not known, a line in two turns, one whose subtitle names who speaks, two at once."""
    lines = [
        speech(2.0, 6.0, "Where is the key?"), speech(14.0, 18.0, "On the table."), speech(22.0, 25.0, "Which one?"),
        speech(30.0, 38.0, "This one. No, that one."), {**speech(40.0, 44.0, "Thank you."), "speaker": "ANNA"},
        speech(50.0, 54.0, "Go away!"), speech(50.0, 54.0, "Come back!"),
    ]  # fmt: skip
    turns = voices(
        (2.0, 6.2, "voice_01"), (14.0, 18.0, "voice_02"), (22.0, 25.0, ""), (30.0, 34.0, "voice_01"), (34.0, 38.0, "voice_02"),
        (40.0, 44.0, "voice_01"), (50.0, 54.0, "voice_01"),
    )  # fmt: skip
    make_world({"speech": lines, **turns}, stages=[JUDGED])
    return make_world


def test_lines_name_the_voice_where_it_is_sure_and_subtitles_win(dialogue: WorldMaker) -> None:
    session = open_session(dialogue.store, "made", name=None, groups=INSPECT)
    lines = call(session, "read_transcript", start_time=0.0, end_time=60.0)["lines"]
    assert [line["speaker"] for line in lines] == ["voice_01", "voice_02", None, None, "ANNA", None, None]
    hit, *_ = call(session, "search_segments_by_text", query="the key", top_k=1)["candidates"]
    assert [line["speaker"] for line in hit["matching_lines"]] == ["voice_01"]


def test_voices_are_listed_apart_from_what_is_seen_with_spans_to_listen_to(dialogue: WorldMaker) -> None:
    session = open_session(dialogue.store, "made", name=None)
    listed = call(session, "list_entities")
    assert listed["entities"] == []  # nobody is seen, so that a tool that counts entities counts no voice
    one, two = listed["voices"]
    assert (one["entity_id"], one["first_time"], one["last_time"], one["turns"]) == ("voice_01", 2.0, 54.0, 4)
    assert [(item["source"], item["start_time"]) for item in listed["evidence"]] == [("speech", 2.0), ("speech", 14.0)]
    assert one["samples"][0] == {"start_time": 2.0, "end_time": 6.2}
    assert two["may_be"] == [{"entity_id": "voice_01", "score": 0.7}]
    state = call(session, "query_entity_state", entity_id="voice_01", time=3.0, query="what does it say")
    assert "Where is the key?" in state["answer"]
    looks = call(session, "query_entity_state", entity_id="voice_01", time=3.0, query="what colour is its coat")
    assert looks["not_judged"] == ["what colour is its coat"]
    parts = call(session, "get_entity_trajectory", entity_id="voice_02")["trajectory"]
    assert [(part["start_time"], part["path_repr"]) for part in parts] == [
        (14.0, "heard, not seen"),
        (34.0, "heard, not seen"),
    ]


def test_a_cut_hides_voices_that_are_heard_later(dialogue: WorldMaker) -> None:
    early = open_session(dialogue.store, "made", name=None, as_of=18.5, groups=INSPECT)
    assert [voice["entity_id"] for voice in call(early, "list_entities")["voices"]] == ["voice_01"]
    lines = call(early, "read_transcript", start_time=0.0, end_time=18.0)["lines"]
    assert [line["speaker"] for line in lines] == ["voice_01", None]


def test_a_world_says_whether_speakers_were_judged(dialogue: WorldMaker) -> None:
    def found(video_id: str) -> tuple[str, str]:
        session = open_session(dialogue.store, video_id, name=None)
        return call(session, "get_video_metadata")["speakers"], call(session, "list_entities")["hint"][:28]

    dialogue({"speech": [speech(2.0, 6.0, "Hello.")]}, video_id="unjudged")
    dialogue({"speech": [speech(2.0, 6.0, "Hello.")]}, video_id="judged", stages=[JUDGED])
    assert found("made") == ("named", "")
    assert found("judged") == ("judged", "")
    assert "voices" not in call(open_session(dialogue.store, "unjudged", name=None), "list_entities")
    assert found("unjudged") == ("not_judged", "who speaks is not judged: th")


def test_a_line_has_no_voice_before_all_turns_in_it_are_known(make_world: WorldMaker) -> None:
    """Its first turn alone may be most of a line, of which another voice says the rest."""
    turns = voices((20.0, 25.0, "voice_01"), (25.0, 35.0, "voice_02"))
    make_world({"speech": [speech(23.0, 27.0, "Yes. No.")], **turns}, stages=[JUDGED])
    for as_of in (26.5, 28.0, 30.0, 40.0, None):
        session = open_session(make_world.store, "made", name=None, as_of=as_of, groups=INSPECT)
        lines = call(session, "read_transcript", start_time=22.0, end_time=min(28.0, as_of or 28.0))["lines"]
        assert [line["speaker"] for line in lines if line["text"] == "Yes. No."] in ([], [None]), as_of


def test_lines_that_hardly_overlap_keep_their_voice(make_world: WorldMaker) -> None:
    lines = [speech(40.0, 44.0, "Thank you very much."), speech(43.0, 43.2, "Oh."), speech(50.0, 54.0, "Go!")]
    turns = voices((40.0, 44.0, "voice_01"), (50.0, 54.0, "voice_01"))
    make_world({"speech": lines, **turns}, stages=[JUDGED])
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    found = call(session, "read_transcript", start_time=0.0, end_time=60.0)["lines"]
    assert [line["speaker"] for line in found if line["text"].startswith(("Thank", "Go"))] == ["voice_01", "voice_01"]
