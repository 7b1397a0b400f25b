"""Pages of long results: each fits, together they have everything, and each says which part it is."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from world_api.chat import Page, ResultPages, data_line, first_page

LIMIT = 2_000
ACTIONS = [{"label": f"walks to place {n}", "start_time": float(n), "end_time": n + 1.0} for n in range(388)]


def pages_of(result: dict[str, Any], limit: int) -> list[Page]:
    """All pages of a result."""
    pages = [first_page(result, limit)]
    while pages[-1].rest is not None:
        assert len(pages) < 5_000
        pages.append(pages[-1].following(limit))
    return pages


_anything = st.recursive(
    st.integers()
    | st.text(max_size=400)
    | st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=60), inner, max_size=40),
    max_leaves=40,
)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(result=st.dictionaries(st.text(max_size=60), _anything, max_size=40), limit=st.integers(20, 400))
def test_every_page_of_whatever_a_tool_returns_fits_the_limit(result: dict[str, Any], limit: int) -> None:
    before = data_line(result)
    pages = pages_of(result, limit)
    assert all(len(data_line(page.shown)) <= limit for page in pages)
    assert data_line(result) == before
    assert (len(pages) == 1) is (pages[0].shown == result)


@settings(deadline=None, max_examples=60)
@given(
    lists=st.dictionaries(
        st.sampled_from("abcdef"), st.lists(st.integers() | st.text(max_size=300), max_size=40), min_size=1, max_size=4
    ),
    text=st.text(max_size=3_000),
    limit=st.integers(700, 1_500),
)
def test_all_pages_together_have_every_entry_and_every_character_once_in_order(
    lists: dict[str, list[Any]], text: str, limit: int
) -> None:
    result = {**lists, "text": text, "outputs": {"nested": [text, 1, 2]}}
    pages = pages_of(result, limit)
    assert "".join(page.shown.get("text", "") for page in pages) == text
    for key, entries in lists.items():
        assert [entry for page in pages for entry in page.shown.get(key, [])] == entries
    nested = [entry for page in pages for entry in page.shown.get("outputs", {}).get("nested", [])]
    assert "".join(entry for entry in nested if isinstance(entry, str)) == text
    assert [entry for entry in nested if not isinstance(entry, str)] == [1, 2]


@pytest.mark.parametrize(
    "result",
    [
        {f"k{n}": "v" * 150 for n in range(300)},
        {"status": "ok", "outputs": {f"k{n}": "v" * 150 for n in range(300)}},
        {"a": [{f"k{n}": n for n in range(900)}]},
        {"k" * 9_000: 1, "b": 2},
        {f"{n}": [["x" * 190]] for n in range(90)},
        {"error": {"code": "x", "message": "m", "hint": {f"k{n}": "v" for n in range(900)}}},
        functools.reduce(lambda inner, _: {"deep" * 30: inner}, range(200), {}),
        {"lines": ["<" * 100] * 200},
    ],
)
def test_no_page_is_beyond_the_limit(result: dict[str, Any]) -> None:
    pages = pages_of(result, LIMIT)
    assert len(pages) > 1
    assert all(len(data_line(page.shown)) <= LIMIT for page in pages)


def test_a_result_that_fits_is_one_page_and_says_nothing_of_pages() -> None:
    page = first_page({"a": [1, 2]}, LIMIT)
    assert (page.shown, page.rest, page.parts) == ({"a": [1, 2]}, None, {})


def test_each_page_says_which_entries_it_has_of_how_many() -> None:
    pages = pages_of({"actions": ACTIONS, "hint": "a hint"}, LIMIT)
    assert pages[0].shown["hint"] == "a hint"
    ends = [page.parts["actions"] for page in pages]
    assert ends[0].startswith("1-")
    assert ends[-1].endswith("-388 of 388")
    count = len(pages[0].shown["actions"])
    assert ends[1].startswith(f"{count + 1}-")


def test_small_fields_are_whole_and_large_ones_share_the_page() -> None:
    page = first_page(
        {"status": "ok", "outputs": {"count": 3, "told": ["x" * 90] * 90, "done": ["y" * 90] * 90}}, LIMIT
    )
    outputs = page.shown["outputs"]
    assert outputs["count"] == 3
    assert len(outputs["told"]) == len(outputs["done"]) > 5


def test_a_part_of_an_entry_says_which_entry_it_is_of() -> None:
    entry = {"segment_id": "seg_1", "start_time": 1.0, "text": "word " * 2_000}
    pages = pages_of({"candidates": [entry, {"segment_id": "seg_2", "text": "short"}]}, LIMIT)
    shown = [one for page in pages for one in page.shown["candidates"]]
    assert {one["segment_id"] for one in shown[:-1]} == {"seg_1"}
    assert "".join(one["text"] for one in shown[:-1]) == entry["text"]
    assert shown[-1] == {"segment_id": "seg_2", "text": "short"}
    assert all(one["text"].endswith(" ") for one in shown[:-1])


def test_a_field_without_room_is_announced_and_comes_later() -> None:
    result = {f"list_{n}": [["x" * 100]] * 5 for n in range(15)}
    pages = pages_of(result, 600)
    assert pages[0].shown.keys() == result.keys()
    assert any(part == "0 of 5" for part in pages[0].parts.values())


def test_cursors_are_short_and_open_the_same_page_again() -> None:
    pages = ResultPages()
    first = first_page({"actions": ACTIONS}, LIMIT)
    said = pages.announced(first)["truncated"]
    assert said == {"shown": {"actions": first.parts["actions"]}, "cursor": "1"}
    again = [pages.before("1") for _ in range(2)]
    assert all(page is not None and page.following(LIMIT) == first.following(LIMIT) for page in again)
    assert pages.announced(first.following(LIMIT))["truncated"]["cursor"] == "2"
    assert pages.before("3") is None
    assert json.dumps(pages.announced(first_page({"a": 1}, LIMIT))) == "{}"
