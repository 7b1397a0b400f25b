"""Finding tools in what a model wrote, without changing a character of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tool_induction.inducer import read_tools

TOOL = {
    "tool_name": "find_it",
    "inputs": {"x": "string"},
    "steps": [{"type": "set", "value": "{{ x }} [", "save_as": "y"}],
}
TEXT = json.dumps(TOOL)
OTHER = TEXT.replace("find_it", "count_it")


def names(reply: str) -> list[str]:
    return [item.name for item in read_tools(reply).tools]


def faults(found: Any) -> list[str]:
    return [item.fault for item in found.tools]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(f"[{TEXT}, {OTHER}]", id="list"),
        pytest.param(f'{{"tools": [{TEXT}, {OTHER}]}}', id="file"),
        pytest.param(f"{TEXT}\n{OTHER}", id="one after the other"),
        pytest.param(f"```json\n[{TEXT}, {OTHER}]\n```", id="fence"),
        pytest.param(f"First:\n```json\n{TEXT}\n```\nthen\n```\n{OTHER}\n```", id="two fences"),
        pytest.param(
            f'It\'s {{fine}} [1], "ok" {{{{ x }}}}: {TEXT} and: {OTHER}.', id="prose with brackets and quotes"
        ),
        pytest.param(f'{{"library": {{"name": "x", "all": [{TEXT}, {OTHER}]}}}}', id="wrapped deeper"),
        pytest.param(f'<think>[{{"a": 1</think>{TEXT}{OTHER}', id="thought that breaks off"),
        pytest.param(f"\ufeff[{TEXT},{OTHER}]", id="byte order mark"),
    ],
)
def test_tools_are_found_wherever_they_stand(reply: str) -> None:
    found = read_tools(reply)
    assert [item.name for item in found.tools] == ["find_it", "count_it"]
    assert [item.value["steps"] for item in found.tools] == [TOOL["steps"]] * 2
    assert (
        [reply[item.start : item.end] for item in found.tools] == [item.text for item in found.tools] == [TEXT, OTHER]
    )


def test_what_belongs_to_no_tool_is_kept_with_its_place() -> None:
    reply = f"Here it is:\n```json\n[{TEXT}]\n```\nEnjoy."
    found = read_tools(reply)
    assert [part.text for part in found.left_out] == ["Here it is:\n```json\n[", "]\n```\nEnjoy."]
    pieces = [*((part.start, part.text) for part in found.left_out), *((item.start, item.text) for item in found.tools)]
    assert "".join(text for _, text in sorted(pieces)) == reply
    assert not found.is_pure


@pytest.mark.parametrize("reply", [f"[{TEXT}]", f'{{"tools": [{TEXT}, {OTHER}]}}\n', TEXT])
def test_a_reply_that_is_json_alone_leaves_nothing_out(reply: str) -> None:
    found = read_tools(reply)
    assert (found.left_out, found.is_pure) == ([], True)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param(TEXT.replace("}]}", "},]}"), "not JSON", id="comma too many"),
        pytest.param(TEXT.replace('"x"', "'x'"), "not JSON", id="single quotes"),
        pytest.param(TEXT.replace('"set"', "NaN"), "NaN is not a JSON number", id="NaN"),
        pytest.param(TEXT.replace('"inputs"', '"tool_name": "b", "inputs"'), "more than once", id="key twice"),
        pytest.param(TEXT.replace('"set"', "9" * 400), "larger than", id="huge number"),
        pytest.param(TEXT.replace("{{ x }}", "\\ud800"), "not valid Unicode", id="half a character"),
        pytest.param(TEXT.replace('"set"', "[" * 60 + "]" * 60), "nested more than", id="deep"),
        pytest.param(TEXT.replace('"inputs"', '// why\n"inputs"'), "not JSON", id="comment"),
    ],
)
def test_a_tool_that_cannot_be_read_is_kept_as_it_stands_and_its_neighbours_are_read(reply: str, told: str) -> None:
    third = OTHER.replace("count_it", "list_it")
    found = read_tools(f"[{OTHER}, {reply}, {third}]")
    assert [item.fault == "" for item in found.tools] == [True, False, True]
    broken = found.tools[1]
    assert told in broken.fault
    assert (broken.text, broken.value) == (reply, None)


@pytest.mark.parametrize("cut", range(2, len(TEXT), 7))
def test_wherever_a_reply_breaks_off_whole_tools_are_read_and_no_torn_one_is_taken_for_whole(cut: int) -> None:
    found = read_tools(f"[{OTHER}, {TEXT[:cut]}")
    assert found.tools[0].name == "count_it"
    assert all(item.cut_off and item.value is None for item in found.tools[1:])


def test_a_tool_within_a_tool_is_one_tool() -> None:
    nested = json.dumps({"tool_name": "outer", "steps": [], "helper": TOOL})
    assert names(nested) == ["outer"]


@pytest.mark.parametrize(
    "reply", ["", "   ", "No.", "[]", "{}", "[1, 2]", '{"a": {"b": []}}', '"tool_name"', "[{]}", "}{"]
)
def test_what_holds_no_tool_gives_none(reply: str) -> None:
    assert read_tools(reply).tools == []


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("{" * 300_000, id="open braces"),
        pytest.param("[{}" * 100_000, id="open lists"),
        pytest.param('{"' * 150_000, id="open strings"),
        pytest.param('{"tool_name": "a_b", ' * 30_000, id="open tools"),
        pytest.param("[" + ", ".join([TEXT] * 2_000) + "]", id="many tools"),
        pytest.param('"tools" :' * 80_000, id="keys"),
        pytest.param("x" * 1_200_000, id="too long"),
        pytest.param("\\" * 200_000 + "{", id="backslashes"),
    ],
)
def test_nothing_takes_long_or_raises(reply: str) -> None:
    found = read_tools(reply)
    assert all(reply[item.start : item.end] == item.text for item in found.tools)


@given(st.text(alphabet='{}[]",:\\ab \n`', max_size=200), st.text(alphabet='{}[]",:\\ab \n`', max_size=60))
def test_any_text_around_a_tool_neither_raises_nor_changes_it(before: str, after: str) -> None:
    reply = f"{before}\n{TEXT}\n{after}"
    found = read_tools(reply)
    assert all(reply[item.start : item.end] == item.text for item in found.tools)
    assert all(item.value is None or item.value == json.loads(item.text) for item in found.tools)


def set_aside(found: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(part.why, part.tools) for part in found.left_out if part.why]


class TestReasoning:
    @pytest.mark.parametrize(
        "before",
        [
            pytest.param(f"<think>Let me try: {TEXT}</think>\n", id="the tool itself"),
            pytest.param(f"<think>{OTHER.replace('count_it', 'draft_it')} no</think>", id="another draft"),
            pytest.param('<think>\n{"tool_name": "draft_it", "steps": [ hmm\n</think>', id="a torn draft"),
            pytest.param('<THINKING>"a { b</THINKING>', id="brackets and quotes"),
            pytest.param(f"I begin with {OTHER} and so on.\n</think>\n", id="no opening mark"),
            pytest.param(f"<think>{OTHER}</think>\nWell.\n<think>{TEXT}</think>", id="twice"),
        ],
    )
    def test_drafts_in_it_are_no_tools_of_the_reply(self, before: str) -> None:
        found = read_tools(f"{before}```json\n[{TEXT}]\n```")
        assert [(item.name, item.start >= len(before)) for item in found.tools] == [("find_it", True)]
        assert {why for why, _ in set_aside(found)} == {"reasoning"}

    def test_json_alone_after_it_is_json_alone(self) -> None:
        assert read_tools(f"<think>so</think>\n[{TEXT}]").is_pure
        assert not read_tools(f"<think>so</think>\nHere: [{TEXT}]").is_pure

    def test_a_reply_that_breaks_off_in_it_holds_no_tool(self) -> None:
        found = read_tools(f"<think>First {TEXT} then")
        assert (found.tools, set_aside(found)) == ([], [("reasoning", ("find_it",))])

    @pytest.mark.parametrize("mark", ["<think>", "</think>", "<think> </think>"])
    def test_its_marks_inside_a_tool_are_text(self, mark: str) -> None:
        text = TEXT.replace("{{ x }} [", mark)
        assert [item.text for item in read_tools(f"[{OTHER}, {text}]").tools] == [OTHER, text]


class TestRepeats:
    def test_the_same_tool_is_one_tool(self) -> None:
        found = read_tools(f'{{"tools": [{TEXT}, {TEXT}, {OTHER}, {TEXT}]}}')
        assert [item.name for item in found.tools] == ["count_it", "find_it"]
        assert set_aside(found) == [("repeat", ("find_it",))] * 2

    def test_a_tool_that_is_quoted_first_is_the_one_that_is_written_last(self) -> None:
        mended = TEXT.replace("set", "project")
        found = read_tools(f"You had {TEXT}, which must read\n```json\n[{mended}]\n```")
        assert [item.text for item in found.tools] == [mended]
        assert set_aside(found) == [("repeat", ("find_it",))]

    def test_a_sound_one_counts_and_not_a_torn_one_after_it(self) -> None:
        found = read_tools(f"Draft: {TEXT}\n```json\n[{TEXT[:-9]}")
        assert [item.text for item in found.tools] == [TEXT]

    def test_different_tools_of_one_name_in_one_list_are_both_kept(self) -> None:
        other = TEXT.replace("set", "project")
        assert [item.text for item in read_tools(f"[{TEXT}, {other}]").tools] == [TEXT, other]
