"""``read_transcript`` on a minute of exact rows: every line once, page after page."""

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
    assert (result["told_until"], result["next_start_time"], result["truncated"]) == (60.0, None, False)
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


@pytest.mark.parametrize("length", [10, 900])
def test_reading_on_tells_every_line_and_ends(make_world: WorldMaker, length: int) -> None:
    starts = [round(0.15 * number + 0.0004 * (number % 3), 4) for number in range(390)]
    texts = [f"{number} " + "word " * (length // 5) for number in range(390)]
    rows = made_rows() | {
        "screen_texts": [],
        "speech": [
            {"start": start, "end": start + 0.1, "text": text, "speaker": "", "known_at": start + 0.1, **LINE}
            for start, text in zip(starts, texts, strict=True)
        ],
    }
    make_world(rows)
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    told: list[str] = []
    at: float | None = 0.0
    pages = 0
    while at is not None:
        page = call(session, "read_transcript", start_time=at, end_time=60.0)
        assert page["spoken"] == len(page["lines"]) + (int(page["hint"].split()[0]) if page["truncated"] else 0)
        assert sum(len(line["text"]) for line in page["lines"]) <= 12_000
        assert page["next_start_time"] is None or page["next_start_time"] > at
        told += [line["text"].split()[0] for line in page["lines"]]
        at, pages = page["next_start_time"], pages + 1
    assert told == [str(number) for number in range(390)]
    assert pages > 1


def test_lines_that_all_begin_at_once_do_not_hold_the_reader_up(make_world: WorldMaker) -> None:
    rows = made_rows() | {
        "screen_texts": [],
        "speech": [
            {"start": 5.0, "end": 9.0, "text": f"line {number}", "speaker": "", "known_at": 9.0, **LINE}
            for number in range(200)
        ]
        + [{"start": 20.0, "end": 21.0, "text": "the last", "speaker": "", "known_at": 21.0, **LINE}],
    }
    make_world(rows)
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    first = call(session, "read_transcript", start_time=5.0, end_time=60.0)
    assert (len(first["lines"]), first["next_start_time"], first["truncated"]) == (120, 20.0, True)
    last = call(session, "read_transcript", start_time=20.0, end_time=60.0)
    assert [line["text"] for line in last["lines"]] == ["the last"]
    only = call(session, "read_transcript", start_time=5.0, end_time=6.0)
    assert (len(only["lines"]), only["next_start_time"]) == (120, None)
    assert "80 more lines" in only["hint"]


def speech(start: float, end: float, text: str) -> dict[str, Any]:
    return {"start": start, "end": end, "text": text, "speaker": "", "known_at": end, **LINE}


def test_a_line_that_is_cut_is_named(make_world: WorldMaker) -> None:
    texts = [speech(5.0, 6.0, "short"), speech(12.5, 20.0, "w" * 2500), speech(30.0, 40.0, "v" * 2100)]
    make_world(made_rows() | {"screen_texts": [], "speech": texts})
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    result = call(session, "read_transcript", start_time=0.0, end_time=60.0)
    assert [len(line["text"]) for line in result["lines"]] == [5, 2000, 2000]
    assert (result["truncated"], result["next_start_time"]) == (True, None)
    assert result["hint"] == "the line at 12.5 s (and 1 more) is cut at 2000 characters; it has 2500"
    whole = call(session, "read_transcript", start_time=0.0, end_time=12.0)
    assert (whole["truncated"], whole["hint"]) == (False, "")


def test_lines_that_go_on_over_a_page_are_counted_once_when_reading_on(make_world: WorldMaker) -> None:
    running = [speech(0.0, 60.0, "r" * 2500), speech(0.1, 59.0, "all the time")]
    short = [speech(round(1 + 0.2 * n, 3), round(1.3 + 0.2 * n, 3), f"line {n}") for n in range(200)]
    make_world(made_rows() | {"screen_texts": [], "speech": running + short})
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    first = call(session, "read_transcript", start_time=0.0, end_time=60.0)
    assert first["spoken"] == 202
    assert "begins_inside true" in first["hint"]
    assert "the line at 0 s is cut" in first["hint"]
    on = {"start_time": first["next_start_time"], "end_time": 60.0}
    second = call(session, "read_transcript", **on, begins_inside=True)
    assert second["spoken"] == len(second["lines"]) == 202 - len(first["lines"])
    assert (second["next_start_time"], second["truncated"], second["hint"]) == (None, False, "")
    again = call(session, "read_transcript", **on)["lines"]
    assert {line["text"][:8] for line in again} >= {"r" * 8, "all the "}


def test_more_lines_at_one_moment_than_a_page_holds_are_told_once_wherever_the_page_begins(
    make_world: WorldMaker,
) -> None:
    at_once = [speech(5.0, 9.0, f"line {n}") for n in range(200)]
    make_world(made_rows() | {"screen_texts": [], "speech": [*at_once, speech(20.0, 21.0, "the last")]})
    session = open_session(make_world.store, "made", name=None, groups=INSPECT)
    for start in (0.0, 5.0):
        page = call(session, "read_transcript", start_time=start, end_time=60.0)
        assert (len(page["lines"]), page["next_start_time"]) == (120, 20.0)
        assert "1 more lines; read on" in page["hint"]
        assert "80 more lines that begin at once are left out" in page["hint"]


def test_silence_is_told_apart_from_speech_that_nobody_wrote_down(make_world: WorldMaker) -> None:
    make_world(made_rows() | {"speech": []})
    unheard = open_session(make_world.store, "made", name=None, groups=INSPECT)
    hint = call(unheard, "read_transcript", start_time=0.0, end_time=60.0)["hint"]
    assert hint in ("no speech of this video was transcribed so far", "the video has no sound")
    make_world(video_id="heard")
    heard = open_session(make_world.store, "heard", name=None, groups=INSPECT)
    assert call(heard, "read_transcript", start_time=50.0, end_time=60.0)["hint"] == "nothing is said here"
