"""What a model reads of a result: everything once, nothing that says nothing, and what is not known in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from controller.messages import ToolCall, leaves
from controller.rendering import Observation, lean
from world_api.chat import MAX_RESULT_CHARACTERS, ResultPages, data_line
from world_api.core import parse_json
from world_api.operations import run

PIECE: dict[str, Any] = {
    "video_id": "v",
    "start_time": 46.542,
    "end_time": 48.184,
    "source": "speech",
    "confidence": 1.0,
    "frame_time": 47.0,
}
SPOKEN = "This is Diane in New Jersey."
HIT: dict[str, Any] = {
    "start_time": 40.68, "end_time": 48.444, "center_time": 44.562, "segment_id": "seg_1", "score": 0.03, "snippet": SPOKEN,
    "source": "speech", "confidence": None, "lacks": [],
    "matching_lines": [
        {"start_time": 46.542, "end_time": 48.184, "center_time": 47.363, "text": SPOKEN, "source": "speech",
         "as_given": True, "evidence": [PIECE]}
    ],
}  # fmt: skip


def found(*hits: dict[str, Any], evidence: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"candidates": list(hits), "evidence": evidence, "truncated": False, "hint": "", **more}


def test_a_line_that_is_found_is_one_hit_with_its_time() -> None:
    shown = {"time": "40.68-48.444", "said": f"46.542-48.184 {SPOKEN}"}
    assert lean(found(HIT, evidence=[PIECE])) == {"candidates": [shown]}


def test_a_hit_by_looks_names_the_closer_time_and_what_it_lacks() -> None:
    hit = {**HIT, "snippet": "person in grey", "source": "tracker", "lacks": ["white"], "matching_lines": []}
    piece = {**PIECE, "start_time": 42.0, "end_time": 48.444, "source": "tracker", "confidence": 0.78}
    [shown] = lean(found(hit, evidence=[piece]))["candidates"]
    assert shown == {"time": "40.68-48.444", "lacks": ["white"], "seen": "42-48.444 person in grey"}


def test_several_lines_of_a_hit_are_listed_each_once() -> None:
    other = {**HIT["matching_lines"][0], "start_time": 41.0, "end_time": 42.0, "center_time": 41.5, "text": "Hello?"}
    [shown] = lean(found({**HIT, "matching_lines": [other, *HIT["matching_lines"]]}, evidence=[PIECE]))["candidates"]
    assert shown["said"] == ["41-42 Hello?", f"46.542-48.184 {SPOKEN}"]


def test_words_that_a_moment_has_are_not_repeated_by_its_segment() -> None:
    moment = {**HIT["matching_lines"][0], "entity_id": None, "lacks": []}
    del moment["as_given"]
    other = {**HIT, "snippet": "person in grey", "source": "tracker", "matching_lines": []}
    shown = lean(
        found(HIT, other, evidence=[PIECE, {**PIECE, "start_time": 40.68, "end_time": 48.444}], moments=[moment])
    )
    assert shown["candidates"] == [{"time": "40.68-48.444", "seen": "person in grey"}]
    assert shown["moments"] == [{"time": "46.542-48.184", "said": SPOKEN}]
    assert list(lean(found(HIT, evidence=[PIECE], moments=[moment]))) == ["moments"]


@pytest.mark.parametrize(
    "doubt",
    [
        {"unmatched": ["hat"]},
        {"not_judged": ["flood"]},
        {"not_found": [{"start_time": 0.0, "end_time": 60.0}]},
        {"not_examined": [{"start_time": 0.0, "end_time": 60.0}]},
        {"truncated": True},
        {"hint": "none of these is shown to have all of it; lacks names the words"},
    ],
    ids=lambda doubt: next(iter(doubt)),
)
def test_what_is_not_known_stays(doubt: dict[str, Any]) -> None:
    shown = lean(found(HIT, evidence=[PIECE], **doubt) | doubt)
    plain = {
        key: ["0-60"] if value == [{"start_time": 0.0, "end_time": 60.0}] else value for key, value in doubt.items()
    }
    assert plain.items() <= shown.items()


def test_a_list_with_nothing_in_it_is_shown_as_one() -> None:
    assert lean(found(evidence=[], not_judged=["flood"])) == {"candidates": [], "not_judged": ["flood"]}


def test_evidence_is_shown_only_for_times_that_the_result_does_not_name() -> None:
    other = {**PIECE, "start_time": 3.0, "end_time": 4.0, "source": "tracker", "confidence": 0.5}
    named = {"answer": "It is said at 46.542-48.184 s.", "evidence": [PIECE, other]}
    assert lean(named)["evidence"] == ["3-4 tracker 0.5"]
    assert "evidence" not in lean(named, {"time_range": {"start_time": 3, "end_time": 4}})
    assert "evidence" not in lean({"memory_id": "m", "evidence": [other]}, {"start_time": 3.0, "end_time": 4.0})


def test_what_all_entries_share_is_stated_once() -> None:
    actions = [{"start_time": n, "end_time": n + 1, "label": f"step {n}", "confidence": 0.6} for n in range(3)]
    shown = lean({"actions": actions})
    assert shown["all_actions"] == {"confidence": 0.6}
    assert shown["actions"] == [{"time": f"{n}-{n + 1}", "label": f"step {n}"} for n in range(3)]
    assert "all_actions" not in lean({"actions": actions[:2]})


TOOL = {
    "status": "partial",
    "summary": "partial: cannot tell (not seen to fit: hat) (count: 4 to 7, last: yes)",
    "outputs": {"count": 4, "last": None, "center_time": 5.0, "evidence": [PIECE]},
    "evidence": [PIECE],
    "warnings": [],
    "unsure": {
        "count": {"range": "4 to 7", "possible": 3, "lacks": ["hat"], "why": "lacks"},
        "things": {"possible": 3, "lacks": ["hat"], "why": "lacks"},
    },
    "judged": {"unmatched": ["hat"]},
}


def test_the_result_of_a_tool_keeps_its_outputs_and_its_doubts() -> None:
    assert lean(TOOL) == {
        "status": "partial",
        "summary": "cannot tell (not seen to fit: hat)",
        "outputs": {
            "count": "4 to 7",
            "last": None,
            "center_time": 5,
            "evidence": ["46.542-48.184 speech"],
        },
        "unsure": {"count, things": {"possible": 3, "lacks": ["hat"]}},
    }
    doubted = dict.fromkeys(TOOL["outputs"], TOOL["unsure"]["count"])
    assert lean({**TOOL, "unsure": doubted})["unsure"] == {"all outputs": {"possible": 3, "lacks": ["hat"]}}
    assert lean({**TOOL, "judged": {"unmatched": ["cap"]}})["judged"] == {"unmatched": ["cap"]}


def test_a_tool_that_found_nothing_says_why_and_lists_no_empty_outputs() -> None:
    empty = {**TOOL, "status": "empty", "summary": "empty: nobody says it", "outputs": {"count": None, "places": None}}
    shown = lean(
        {**empty, "evidence": [], "unsure": {}, "judged": {"not_found": [{"start_time": 0.0, "end_time": 9.0}]}}
    )
    assert shown == {"status": "empty", "summary": "nobody says it", "judged": {"not_found": ["0-9"]}}


def test_the_path_of_a_trajectory_is_words(open_made: Any) -> None:
    given = {"video_id": "made", "entity_id": "ent_t0000_01"}
    line = data_line(lean(run(open_made(), "get_entity_trajectory", given), given))
    assert '"time":"22-28","path":"left -> middle (comes into view, moves to the right)"' in line
    assert "boxes" not in line
    assert "\\u005b" not in line


NAMES = (
    "start_time end_time first_time last_time center_time frame_time timestamp time first_to_last source snippet text confidence "
    "score segment_id scene_id scene_ids entity_id memory_id content time_range video_id caption brief_caption path path_repr "
    "hint entity_hint looks category enters_from leaves_to size appearances origin kind scenes as_given matching_lines moments "
    "candidates items all_items all_candidates evidence outputs unsure judged may_be joined bbox boxes matched unmatched "
    "not_judged unused_words lacks seen said written label status summary answer truncated"
).split()
TIMES = {name for name in NAMES if name.endswith("_time") or name == "timestamp"}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(NAMES) | st.text(max_size=5),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@given(result=st.dictionaries(st.text(max_size=8) | st.sampled_from(NAMES), ANYTHING))
def test_whatever_a_tool_returns_can_be_shown(result: dict[str, Any]) -> None:
    before = repr(result)
    shown = lean(result)
    assert repr(result) == before
    assert len(data_line(shown)) <= 2 * len(data_line(result)) + 100
    data_line(lean(shown))


SHAPES = st.recursive(
    st.sampled_from(["text", "number", "same"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=9),
    max_leaves=40,
)
#: As operations return them, so that every rule has something to leave out.
FORMS: list[Any] = [
    {**HIT, "snippet": "text", "matching_lines": [{**HIT["matching_lines"][0], "text": "text"}]},
    {
        "start_time": 0,
        "end_time": 0,
        "center_time": 0,
        "text": "text",
        "source": "speech",
        "entity_id": "text",
        "evidence": [],
    },
    {"entity_id": "text", "hint": "text", "category": "text", "first_time": 0, "last_time": 0, "appearances": 2},
    {
        "scene_id": "text",
        "start_time": 0,
        "end_time": 0,
        "path_repr": "text",
        "enters_from": "left",
        "leaves_to": "right",
    },
    {"memory_id": "text", "content": "text", "start_time": 0, "end_time": 0, "snippet": "text", "source": "memory"},
    PIECE,
]
FORM = st.builds(
    lambda form, more: {**form, **more},
    st.sampled_from(FORMS),
    st.dictionaries(st.sampled_from(NAMES), SHAPES, max_size=4),
)
OUTPUTS = st.dictionaries(st.sampled_from(NAMES), SHAPES | FORM | st.lists(FORM | SHAPES, max_size=4), max_size=5)


class Filled:
    """A result of a drawn shape: each text and each number in it is another one, and times run forwards."""

    def __init__(self, shape: Any) -> None:
        self._count = 10_000
        self.value = self._fill(shape, "")

    def _fill(self, shape: Any, key: str) -> Any:
        self._count += 7
        if isinstance(shape, dict):
            names = sorted(shape, key=lambda name: name != "start_time")
            filled = {name: self._fill(shape[name], name) for name in names}
            ends = [filled.get("start_time"), filled.get("end_time")]
            if isinstance(shape.get("center_time"), float) and all(isinstance(end, float) for end in ends):
                filled["center_time"] = sum(ends) / 2
            return filled
        if isinstance(shape, list):
            return [self._fill(item, key) for item in shape]
        if shape == "text" or (shape == "number" and key in ("source", "text", "snippet")):
            return f"w{self._count}"
        if shape == "number" or (key in TIMES and not isinstance(shape, str)):
            return self._count + 0.125
        return shape


def facts(value: Any, key: str = "", record: Any = None, above: str = "") -> Iterator[str]:
    """The texts and numbers of a result that the documented rules let nothing say but themselves."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from facts(item, name, value, key)
    elif isinstance(value, list):
        for item in value:
            yield from facts(item, key, record, above)
    elif not left_out(key, value, record, above):
        yield value if isinstance(value, str) else f"{value:.3f}" if key != "bbox" else str(round(value))


def left_out(key: str, value: Any, record: Any, above: str) -> bool:
    """Whether a rule lets a value be left out: see the head of ``rendering``."""
    if isinstance(value, bool) or value in (None, "") or not isinstance(record, dict):
        return isinstance(value, bool) or value in (None, "")
    times = [
        (record.get(one), record.get(other)) for one, other in (("start_time", "end_time"), ("first_time", "last_time"))
    ]
    has_time = any(isinstance(start, float) and isinstance(end, float) for start, end in times)
    is_hit = {"snippet", "source"} <= record.keys()
    return (
        (has_time and key in ("video_id", "scene_id", "center_time"))
        or (is_hit and key in ("score", "segment_id"))
        or (key == "matched" and record.get("unmatched") == [])
        or (key == "frame_time" and "source" in record)
        or above == "evidence"
        or (key == "source" and value in ("speech", "tracker", "memory"))
    )


@settings(max_examples=300)
@given(outputs=OUTPUTS, status=st.sampled_from(["ok", "partial", "empty"]))
def test_no_fact_in_the_outputs_of_a_tool_is_lost(outputs: dict[str, Any], status: str) -> None:
    filled = Filled(outputs).value
    result = {"status": status, "summary": status, "outputs": filled, "evidence": [], "warnings": []}
    line = data_line(lean(result))
    missing = [fact for fact in facts(filled) if fact not in line and fact.rstrip("0").rstrip(".") not in line]
    assert missing == []


@pytest.mark.parametrize(
    "record",
    [
        {"start_time": 3.0, "end_time": 4.0, "time": "noon"},
        {"items": [{"label": "a", "size": "large"}] * 3, "all_items": "of the first floor"},
        {"brief_caption": "a short one", "caption": "a long one"},
        {"category": "car", "hint": "carmine coat"},
        {"path_repr": "left -> middle (comes into view, moves to the right)", "leaves_to": "right"},
        {"items": [{"kind": 1}, {"kind": True}, {"kind": 1.0}]},
        {"evidence": [{"start_time": 3.0, "end_time": 4.0}]},
        {"evidence": [{**PIECE, "confidence": "high"}]},
        {"evidence": [{**PIECE, "caption": "closer"}], "caption": "at 146.5-48.2 s"},
        {"may_be": [{"entity_id": "ent_1", "score": "high"}, {"entity_id": ["ent_2"], "score": 1}]},
        {"moments": [None, {"text": 5}], "candidates": [{**HIT, "matching_lines": ["a line", {"text": 4}]}]},
        {"status": "partial", "summary": "cannot tell", "outputs": "none"},
        {"boxes": [1.5, 2.5], "bbox": [0.25, 0.5, 0.75, 1.0]},
    ],
    ids=" ".join,
)
def test_a_record_that_only_resembles_those_of_operations_keeps_what_it_has(record: dict[str, Any]) -> None:
    shown = lean({"items": [record]})["items"][0]
    texts = [value for _, value in leaves(record) if value not in (None, "v", "build") and not isinstance(value, bool)]
    line = data_line(shown)
    for value in texts:
        said = (
            value if isinstance(value, str) else f"{value:g}" if value < 1 else f"{value:.3f}".rstrip("0").rstrip(".")
        )
        assert said in line or value in (46.542, 48.184, 47.0, 44.562), value
    assert shown.keys() >= record.keys() - {"start_time", "end_time", "path_repr"}


def test_an_interval_that_is_the_whole_result_is_still_an_object() -> None:
    result = {"start_time": 3.0, "end_time": 4.0}
    assert lean(result) == {"time": "3-4"}
    assert lean({**PIECE})["source"] == "speech"


def test_evidence_in_the_outputs_of_a_tool_is_counted() -> None:
    pieces = [{**PIECE, "start_time": float(n), "end_time": n + 0.5} for n in range(9)]
    seen = Observation(
        call=ToolCall(id="c", tool="t", arguments={}, written="{}"),
        result={**TOOL, "outputs": {"evidence": pieces}, "evidence": []},
        is_data=True,
    )
    body = parse_json(seen.message(ResultPages(), limit=MAX_RESULT_CHARACTERS)["content"])
    assert len(body["data_from_video"]["outputs"]["evidence"]) == 4
    assert body["truncated"] == {"shown": {"outputs.evidence": "4 of 9"}}


@pytest.mark.parametrize("cut", [None, 30.0])
def test_results_of_operations_shrink_and_keep_their_times(open_made: Any, cut: float | None) -> None:
    session = open_made(as_of=cut)
    for tool, asked in (
        ("list_entities", {}),
        ("list_scenes", {}),
        ("search_segments_by_text", {"query": "the blue folder", "top_k": 5}),
        ("describe_segment", {"start_time": 20.0, "end_time": 29.0}),
        ("recognize_actions", {"start_time": 20.0, "end_time": 29.0}),
    ):
        arguments = {"video_id": "made", **asked}
        result = run(session, tool, arguments)
        line = data_line(lean(result, arguments))
        assert len(line) < 0.75 * len(data_line(result)), tool
        starts = [item["start_time"] for item in result.get("actions", result.get("scenes", []))]
        assert all(f'"{start:g}-' in line for start in starts), tool
