"""What the model is shown: long results come in pages, whole results stay in the record."""

from __future__ import annotations

from typing import Any

from controller.messages import ToolCall
from controller.rendering import Observation
from world_api.chat import MAX_RESULT_CHARACTERS, Call, ResultPages
from world_api.core import parse_json

CALL = ToolCall(id="c", tool="find", arguments={"query": "rain"}, written="{}")
CANDIDATES = [
    {"start_time": float(n), "end_time": n + 1.5, "segment_id": f"seg_{n}", "snippet": f"rain falls, part {n}"}
    for n in range(800)
]

#: The candidates as a model reads them.
LEAN = [{"time": f"{n}-{n + 1.5}", "segment_id": f"seg_{n}", "snippet": f"rain falls, part {n}"} for n in range(800)]


def test_a_result_that_fits_is_shown_as_it_is() -> None:
    message = Observation(call=CALL, result={"a": [1, 2]}, is_data=True).message(
        ResultPages(), limit=MAX_RESULT_CHARACTERS
    )
    assert message == {"role": "tool", "tool_call_id": "c", "content": '{"data_from_video":{"a":[1,2]}}'}


def reads_on(hold: Any, replies: Any, fake_tools: Any, *cursors: str) -> Any:
    """An episode that finds 800 things and reads on with each cursor."""
    tools = fake_tools()
    tools.result = {"candidates": CANDIDATES, "hint": ""}
    more = [
        replies.calls(Call(tool="read_more", arguments={"cursor": cursor}, id=f"m{n}"))
        for n, cursor in enumerate(cursors)
    ]
    find = replies.calls(Call(tool="find", arguments={"query": "rain"}, id="c0"))
    return hold(find, *more, replies.submits("yes", (700.0, 701.5)), tools=tools)


def test_a_long_result_is_read_to_its_end_page_by_page(hold: Any, replies: Any, fake_tools: Any) -> None:
    held = reads_on(hold, replies, fake_tools, "1", "2", "3")
    told = [held.observation(call) for call in ("c0", "m0", "m1", "m2")]
    shown = [one for page in told for one in page["data_from_video"]["candidates"]]
    assert shown == LEAN
    assert [page["truncated"].get("cursor") for page in told] == ["1", "2", "3", None]
    said = [item["content"] for item in held.episode.messages if item["role"] == "tool"]
    assert max(map(len, said)) < MAX_RESULT_CHARACTERS + 200
    assert held.episode.calls[0].result["candidates"] == CANDIDATES
    assert held.tools.called == [("find", {"query": "rain"})]


def test_pages_count_as_calls_and_what_they_show_was_returned_by_the_call_itself(
    hold: Any, replies: Any, fake_tools: Any
) -> None:
    episode = reads_on(hold, replies, fake_tools, "1", "2", "3").episode
    assert [call.tool for call in episode.tool_calls] == ["find", *["read_more"] * 3]
    assert [span.returned_by for span in episode.spans] == [["c0"]]


def test_a_cursor_of_no_result_is_a_slip_that_says_what_to_send(hold: Any, replies: Any, fake_tools: Any) -> None:
    held = reads_on(hold, replies, fake_tools, "7", "1")
    error = held.observation("m0")["error"]
    assert error["code"] == "bad_cursor"
    assert "truncated" in error["hint"]
    assert held.episode.slips == {"bad_cursor": 1}
    first, second = (held.observation(call)["data_from_video"]["candidates"] for call in ("c0", "m1"))
    assert first + second == LEAN[: len(first + second)]


def test_what_is_left_for_later_pages_is_the_least_relevant() -> None:
    def entity(n: int) -> dict[str, Any]:
        hint, lacks = ("person in red", []) if n % 9 == 8 else ("moving object in blue", ["person"])
        times = {"first_time": float(n), "last_time": n + 5.0, "appearances": 1}
        return {
            "entity_id": f"ent_{n}",
            "hint": hint,
            "category": hint.split(" in ")[0].replace(" ", "_"),
            **times,
            "lacks": lacks,
        }

    def shown(count: int) -> dict[str, Any]:
        seen = Observation(call=CALL, result={"entities": [entity(n) for n in range(count)]}, is_data=True)
        body: dict[str, Any] = parse_json(seen.message(ResultPages(), limit=4_000)["content"])
        return body

    long, short = shown(400), shown(18)
    page = long["data_from_video"]["entities"]
    persons = [f"ent_{n}" for n in range(8, 400, 9)]
    others = [f"ent_{n}" for n in range(400) if n % 9 != 8]
    assert [one["entity_id"] for one in page] == [*persons, *others][: len(page)]
    assert len(persons) < len(page) < 400
    assert long["truncated"]["shown"] == {"entities": f"1-{len(page)} of 400, by relevance"}
    assert [one["entity_id"] for one in short["data_from_video"]["entities"]] == [f"ent_{n}" for n in range(18)]


def test_every_system_with_tools_offers_to_read_on(hold: Any, replies: Any) -> None:
    held = hold(replies.submits("yes"))
    assert [item["function"]["name"] for item in held.episode.tools] == ["find", "fail", "read_more", "submit_answer"]
