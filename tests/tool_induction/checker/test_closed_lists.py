"""Words of closed lists: compared, looked for in lists, and kept as such by projections."""

from typing import Any

import pytest

from tool_induction import compile_document

PROJECTION = {
    "type": "project",
    "inputs": "hits",
    "fields": {
        "source": "{{ item.source }}",
        "half": "{{ 'early' if item.start_time < 9 else 'late' }}",
        "how": "said",
    },
    "save_as": "rows",
}


def kept(where: str, inputs: str = "hits") -> Any:
    return {"type": "filter", "inputs": inputs, "where": f"{{{{ {where} }}}}", "save_as": "few"}


def errors(document: Any) -> list[tuple[str, str, str]]:
    said = compile_document(document).diagnostics
    return [(item.code, item.json_path, item.suggestion) for item in said if item.severity == "error"]


@pytest.mark.parametrize(
    ("where", "suggestion"),
    [
        ("item.source in ['speeh', 'caption']", "did you mean 'speech'?"),
        ("item.source not in ['caption', 'screen_txt']", "did you mean 'screen_text'?"),
        ("'capton' in [item.source]", "did you mean 'caption'?"),
        ("item.source in [3]", ""),
        ("item.start_time in ['0:10']", ""),
        ("item.start_time in words", ""),
    ],
)
def test_a_member_that_can_never_be_equal_is_refused(document: Any, where: str, suggestion: str) -> None:
    inputs = {"words": "list<string>"}

    assert errors(document(kept(where), inputs=inputs)) == [("E_TYPE", "$.steps[1].where", suggestion)]


@pytest.mark.parametrize(
    "where",
    [
        "item.source in ['speech', 'caption']",
        "item.source in words",
        "item.snippet in ['yes', 'no']",
        "item.confidence in [0.5, none]",
        "'yes' in item.snippet",
        "item.start_time in [1, 2.5]",
        "item.source in []",
    ],
)
def test_a_member_that_may_be_equal_is_taken(document: Any, where: str) -> None:
    assert errors(document(kept(where), inputs={"words": "list<string>"})) == []


def test_a_projection_keeps_the_words_of_a_field(document: Any) -> None:
    at = "$.steps[2].where"
    for where, suggestion in (
        ("item.source == 'speeh'", "did you mean 'speech'?"),
        ("item.source in ['capton']", "did you mean 'caption'?"),
        ("item.half == 'lat'", "did you mean 'late'?"),
    ):
        assert errors(document(PROJECTION, kept(where, "rows"))) == [("E_TYPE", at, suggestion)]
    for where in ("item.source == 'speech'", "item.half == 'late'", "item.how == 'seen'", "item.source == query"):
        assert errors(document(PROJECTION, kept(where, "rows"))) == []


def test_a_called_tool_hands_on_the_words_of_its_rows(document: Any) -> None:
    callee = document(PROJECTION, outputs={"rows": "list<record>"}, name="list_rows")
    call = {
        "type": "call_tool",
        "tool": "list_rows",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
        "save_as": "listed",
    }
    caller = document(call, kept("item.source == 'speeh'", "listed.rows"), name="pick_rows")

    assert errors([callee, caller]) == [("E_TYPE", "$[1].steps[2].where", "did you mean 'speech'?")]
