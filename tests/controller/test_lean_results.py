"""What a model reads of a result: everything once, nothing that says nothing, and what is not known in plain words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from controller.rendering import lean
from world_api.chat import data_line
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
    other = {**HIT["matching_lines"][0], "start_time": 41.0, "end_time": 42.0, "text": "Hello?"}
    [shown] = lean(found({**HIT, "matching_lines": [other, *HIT["matching_lines"]]}, evidence=[PIECE]))["candidates"]
    assert shown["said"] == ["41-42 Hello?", f"46.542-48.184 {SPOKEN}"]


def test_words_that_a_moment_has_are_not_repeated_by_its_segment() -> None:
    moment = {**HIT["matching_lines"][0], "entity_id": None, "lacks": []}
    del moment["as_given"]
    other = {**HIT, "snippet": "person in grey", "source": "tracker", "matching_lines": []}
    shown = lean(
        found(HIT, other, evidence=[PIECE, {**PIECE, "start_time": 40.68, "end_time": 48.444}], moments=[moment])
    )
    assert shown["candidates"] == [{"time": "40.68-48.444"}, {"time": "40.68-48.444", "seen": "person in grey"}]
    assert shown["moments"] == [{"time": "46.542-48.184", "said": SPOKEN}]


@pytest.mark.parametrize(
    "doubt",
    [
        {"unmatched": ["hat"], "matched": ["person"]},
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
    "summary": "partial: cannot tell (not seen to fit: hat) (count: 4 (3 possible), last: yes)",
    "outputs": {"count": 4, "last": None, "center_time": 5.0, "evidence": [PIECE]},
    "evidence": [PIECE],
    "warnings": [],
    "unsure": {
        "count": {"possible": 3, "lacks": ["hat"], "why": "lacks"},
        "things": {"possible": 3, "lacks": ["hat"], "why": "lacks"},
    },
    "judged": {"unmatched": ["hat"]},
}


def test_the_result_of_a_tool_keeps_its_outputs_and_its_doubts() -> None:
    assert lean(TOOL) == {
        "status": "partial",
        "summary": "cannot tell (not seen to fit: hat)",
        "outputs": {"count": 4, "last": None, "center_time": 5, "evidence": ["46.542-48.184 speech"]},
        "unsure": {"count, things": {"possible": 3, "lacks": ["hat"]}},
        "judged": {"unmatched": ["hat"]},
    }


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


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "start_time end_time first_time last_time source snippet frame_time evidence outputs unsure may_be bbox path_repr "
                "status summary matched unmatched not_judged scene_ids scene_id matching_lines hint category memory_id content "
                "brief_caption entity_id score text unused_words".split()
            )
            | st.text(max_size=5),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@given(
    result=st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["evidence", "outputs", "status", "summary"]), ANYTHING
    )
)
def test_whatever_a_tool_returns_can_be_shown(result: dict[str, Any]) -> None:
    before = repr(result)
    shown = lean(result)
    assert repr(result) == before
    assert len(data_line(shown)) <= 2 * len(data_line(result)) + 100
    data_line(lean(shown))


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
