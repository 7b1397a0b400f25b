"""Whatever the model was given counts as returned when it cites it; what nobody gave is flagged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from controller.answers import Question
from controller.conversation import Preamble
from controller.digest import digest_in_lines, digest_of
from controller.display import summary_text
from controller.messages import ToolCall, cite, spans_in
from controller.rendering import Observation, lean
from controller.systems import hier
from tool_induction import load_library
from world_api.api import open_session
from world_api.chat import MAX_RESULT_CHARACTERS, Call, ResultPages, RuleBasedChatModel
from world_api.core import TimeSpan, parse_json
from world_api.operations import run


def given_by(result: Any, start: float, end: float) -> bool:
    """Whether a result gave a stretch."""
    [cited] = cite([TimeSpan(start=start, end=end)], [("c1", result, {})])
    return cited.returned_by == ["c1"]


def test_stretches_that_the_digest_gave_are_not_flagged(hold: Any, replies: Any, open_made: Any) -> None:
    digest = digest_of(open_made(), 800)
    assert digest is not None
    spans = [(scene["start_time"], scene["end_time"]) for scene in digest["scenes"]]
    spans += [(item["start_time"], item["end_time"]) for item in digest["persons"]]
    spans += [(item["start_time"], item["end_time"]) for item in digest["quotes"]]
    held = hold(replies.submits("x", *spans, (1.0, 7.0)), preamble=Preamble(digest=digest))
    assert [span.returned_by for span in held.episode.spans] == [["digest"]] * len(spans) + [[]]
    assert held.episode.tools_that_gave(held.episode.spans[0]) == ["digest"]
    assert summary_text(held.episode).count("returned by no tool") == 1


def test_the_presence_of_a_listed_entity_is_not_flagged() -> None:
    listed = {"entities": [{"entity_id": "ent_1", "first_time": 36.5, "last_time": 49.5}], "evidence": []}
    assert given_by(listed, 36.5, 49.5)
    assert given_by(listed, 36.5, 36.5)
    assert not given_by(listed, 30.0, 49.5)


@pytest.mark.parametrize(
    "result",
    [
        {"answer": "ent_t0001_01 (person in black) is not seen at 300 s; it is seen 36.5 to 49.5 s, 52.8 to 75.0 s."},
        {"summary": "36.5-49.5 s: found", "outputs": {}},
        {"outputs": {"evidence": "36.5-49.5 s (tracker, confidence 0.9)"}},
        {"outputs": {"first_start": 36.5, "first_end": 49.5}},
        {"outputs": {"visits": [{"parts": [{"start": 36.5, "end": 49.5}]}]}},
        {"scanned_from": 36.5, "scanned_until": 49.5},
    ],
    ids=lambda result: next(iter(result)),
)
def test_stretches_are_found_wherever_a_result_tells_them(result: dict[str, Any]) -> None:
    assert given_by(result, 36.5, 49.5)


def test_numbers_that_the_video_or_the_model_says_are_no_stretches_that_were_given() -> None:
    for quoting in ("snippet", "text", "content", "caption", "label"):
        assert not given_by({"memories": [{quoting: "see 36.5-49.5 s"}]}, 36.5, 49.5)


def test_every_time_an_operation_tells_of_an_entity_may_be_cited(open_made: Any) -> None:
    session = open_made()
    parts = run(session, "get_entity_trajectory", {"video_id": "made", "entity_id": "ent_t0000_01"})
    absent = run(
        session,
        "query_entity_state",
        {"video_id": "made", "entity_id": "ent_t0000_01", "time": 50.0, "query": "where?"},
    )
    assert given_by(parts, 22.0, 28.0)
    assert given_by(absent, 22.0, 28.0)


TEXT = st.text(max_size=40) | st.from_regex(r"[0-9]{1,12}(\.[0-9]{1,5})?(-| to )[0-9]{1,12} ?s", fullmatch=True)
ANYTHING = st.recursive(
    st.floats() | st.integers() | TEXT | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["start_time", "end_time", "answer", "outputs", "first_time", "last_time", "at", "", "a_start"]
            )
            | TEXT,
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(result=ANYTHING)
def test_spans_of_whatever_a_tool_returns_run_forwards(result: Any) -> None:
    assert all(span.start <= span.end for span in spans_in(result))


def test_the_model_is_told_of_evidence_that_is_not_shown() -> None:
    pieces = [
        {"start_time": float(n), "end_time": n + 1.0, "source": "tracker", "frame_time": float(n)} for n in range(28)
    ]
    entities = [{"entity_id": f"ent_{n}"} for n in range(28)]
    seen = Observation(
        call=ToolCall(id="c", tool="list_entities", arguments={}, written="{}"),
        result={"entities": entities, "evidence": pieces},
        is_data=True,
    )
    body = parse_json(seen.message(ResultPages(), limit=MAX_RESULT_CHARACTERS)["content"])
    assert body["data_from_video"]["evidence"] == [f"{n}-{n + 1} tracker" for n in range(8)]
    assert body["data_from_video"]["entities"] == entities
    assert body["truncated"] == {"shown": {"evidence": "8 of 28"}}


SAID = 'At 5 s, ent_1 (person): said meanwhile (by whom is not known): "wait 40 to 50 s" (3.0-6.0 s).'


@pytest.mark.parametrize(
    "result",
    [
        {"answer": SAID},
        {"answer": "Registered as 'see 40 to 50 s' at 3 s, box [0, 0, 9, 9]; it was not tracked."},
        {"summary": 'found: "wait 40 to 50 s'},
        {"answer": "They walk, 40 to 50 s.", "evidence": [{"source": "look", "frame_time": 4.0}]},
        {"outputs": {"told": "They walk, 40 to 50 s."}, "evidence": [{"source": "look", "frame_time": 4.0}]},
    ],
)
def test_what_a_text_quotes_and_what_a_vision_model_says_is_no_stretch_that_was_given(result: dict[str, Any]) -> None:
    assert not given_by(result, 40.0, 50.0)


def test_what_a_text_says_of_its_quotes_is_given() -> None:
    assert given_by({"answer": SAID}, 3.0, 6.0)


def test_words_with_a_quote_in_them_stay_quoted(make_world: Any, minute_rows: Any) -> None:
    minute_rows["speech"][0] |= {"start": 22.0, "end": 26.0, "text": 'a 5" step, wait 61 to 63 s'}
    make_world(minute_rows)
    asked = {"video_id": "made", "entity_id": "ent_t0000_01", "time": 24.0, "query": "what is said?"}
    said = run(open_session(make_world.store, "made", name=None), "query_entity_state", asked)
    assert "wait 61 to 63 s" in said["answer"]
    assert not given_by(said, 61.0, 63.0)
    assert given_by({"answer": said["answer"]}, 22.0, 26.0)


def test_an_answer_that_only_repeats_the_arguments_gives_nothing(open_made: Any) -> None:
    asked = {
        "video_id": "made", "entity_id": "ent_t0000_01", "time": 50.0, "query": "where?",
        "time_range": {"start_time": 52.0, "end_time": 55.0},
    }  # fmt: skip
    answer = run(open_made(), "query_entity_state", asked)["answer"]
    assert "not seen at 50 s inside 52 to 55 s" in answer
    for start, end, returned in ((50.0, 50.0, []), (52.0, 55.0, []), (22.0, 28.0, ["c1"])):
        [cited] = cite([TimeSpan(start=start, end=end)], [("c1", {"answer": answer}, asked)])
        assert cited.returned_by == returned


def spans_read(value: Any, under: str = "") -> Iterator[TimeSpan]:
    """The spans that a model reads at things and before words."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from spans_read(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from spans_read(item, under)
    elif isinstance(value, str) and under not in ("answer", "hint", "snippet"):
        plain = re.sub(r'"[^"]*"', "", value) if under == "caption" else value
        pattern = r"(?<![\w.])(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)(?![\w.]*\d)"
        found = re.findall(pattern, plain) if under == "caption" else re.findall(rf"\A{pattern}", plain)
        yield from (TimeSpan(start=float(start), end=float(end)) for start, end in found)


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("list_scenes", {}),
        ("list_entities", {}),
        ("describe_segment", {"start_time": 15.0, "end_time": 50.0}),
        ("recognize_actions", {"start_time": 15.0, "end_time": 50.0}),
        ("search_segments_by_text", {"query": "the blue folder", "top_k": 5}),
        ("search_segments_by_semantics", {"query": "a person in black", "top_k": 5}),
        ("detect_objects", {"timestamp": 24.0, "category": "person"}),
        ("get_entity_trajectory", {"entity_id": "ent_t0000_01"}),
    ],
)
def test_every_span_that_a_model_reads_in_a_result_may_be_cited(
    open_made: Any, tool: str, asked: dict[str, Any]
) -> None:
    arguments = {"video_id": "made", **asked}
    result = run(open_made(), tool, arguments)
    read = list(spans_read(lean(result, arguments)))
    assert read
    assert all(span.returned_by for span in cite(read, [("c1", result, arguments)]))


def test_every_span_of_the_digest_may_be_cited(open_made: Any) -> None:
    digest = digest_of(open_made(), 800)
    assert digest is not None
    lines = digest_in_lines(digest)
    texts = [line for section in lines.values() if isinstance(section, list) for line in section]
    found = [re.search(r"(?<![\w.])(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)", line) for line in texts]
    read = [TimeSpan(start=float(one[1]), end=float(one[2])) for one in found if one is not None]
    assert len(read) == len(texts) > 5
    assert all(span.returned_by == ["digest"] for span in cite(read, [("digest", digest, None)]))


def test_every_span_that_a_model_reads_of_a_tool_of_a_library_may_be_cited(open_made: Any, stepping_clock: Any) -> None:
    system = hier(model=RuleBasedChatModel(), clock=stepping_clock(), library=load_library("hand_A"))
    tools = system.setup(Question(text="?"), open_made()).make_tools()
    asked = {"person_query": "a person in red"}
    result = tools.call_tool("locate_first_appearance", asked)
    read = list(spans_read(lean(result, asked)))
    assert read
    assert all(span.returned_by for span in cite(read, [("c1", result, asked)]))


def test_every_span_on_a_later_page_may_be_cited(hold: Any, replies: Any, fake_tools: Any) -> None:
    tools = fake_tools()
    tools.result = {
        "candidates": [
            {"start_time": 10.0 * n, "end_time": 10.0 * n + 5, "snippet": f"rain {n} " * 20} for n in range(400)
        ]
    }
    more = Call(tool="read_more", arguments={"cursor": "1"}, id="c2")
    scripted = (replies.finds(), replies.calls(more))
    page = hold(*scripted, replies.submits(), tools=tools).observation("c2")
    read = list(spans_read(page["data_from_video"]))
    assert len(read) > 20
    held = hold(*scripted, replies.submits("x", *((span.start, span.end) for span in read[:20])), tools=tools)
    assert all("c1" in span.returned_by for span in held.episode.spans)


def test_evidence_that_is_only_counted_may_be_cited(hold: Any, replies: Any, fake_tools: Any) -> None:
    tools = fake_tools()
    pieces = [
        {"start_time": 10.0 * n, "end_time": 10.0 * n + 5, "source": "tracker", "frame_time": 10.0 * n}
        for n in range(30)
    ]
    tools.result = {"answer": "yes", "evidence": pieces}
    held = hold(replies.finds(), replies.submits("x", (290.0, 295.0)), tools=tools)
    assert held.observation("c1")["truncated"] == {"shown": {"evidence": "8 of 30"}}
    assert held.episode.spans[0].returned_by == ["c1"]
