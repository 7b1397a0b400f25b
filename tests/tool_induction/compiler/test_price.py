"""A price is a sum over steps of what an operation costs times how often it is done: at least, as a rule, at most."""

from typing import Any

from tool_induction import compile_document
from tool_induction.check_report import priced


def search(top_k: int, save_as: str = "hits") -> Any:
    params = {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": top_k}
    return {"type": "call_world_api", "api": "search_segments_by_text", "params": params, "save_as": save_as}


def describe(over: str, save_as: str) -> Any:
    params = {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"}
    return {
        "type": "call_world_api",
        "api": "describe_segment",
        "loop_over": over,
        "params": params,
        "save_as": save_as,
    }


def tool(name: str, *steps: Any) -> Any:
    return {
        "tool_name": name,
        "description": "A tool whose price is looked at, and nothing else about it.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"rows": "list"},
        "steps": list(steps),
    }


def calls(compilation: Any, name: str) -> tuple[int, int, int]:
    price = compilation.tools[name].price
    return price.least.calls, price.expected.calls, price.most.calls


def test_a_called_tool_costs_what_it_costs_times_the_loops_around_it() -> None:
    inner = tool("inner", search(3), describe("hits", "rows"))
    nested = {
        "type": "loop",
        "loop_over": "hits",
        "do": [
            {
                "type": "call_tool",
                "tool": "inner",
                "params": {"video_id": "{{video_id}}", "query": "{{item.snippet}}"},
                "save_as": "one",
            }
        ],
        "save_as": "rows",
    }

    compilation = compile_document([inner, tool("outer", search(4), nested)])

    assert calls(compilation, "inner") == (1, 1 + 3, 1 + 3)
    assert calls(compilation, "outer") == (1, 1 + 4 * 4, 1 + 4 * 4)


def test_max_items_bounds_the_price_and_a_branch_costs_its_dearer_side_at_most() -> None:
    few = describe("hits", "rows") | {"max_items": 2}
    either = {
        "type": "if",
        "condition": "{{ query == 'x' }}",
        "then": [describe("hits", "rows")],
        "else": [few],
    }

    compilation = compile_document([tool("few", search(9), few), tool("either", search(9), either)])

    assert calls(compilation, "few") == (1, 3, 3)
    assert calls(compilation, "either")[2] == 10


def test_what_stops_a_tool_takes_later_steps_out_of_its_least_price() -> None:
    ask = {"type": "require", "condition": "{{ hits | length > 0 }}", "status": "empty", "reason": "nothing"}

    compilation = compile_document(tool("asks", search(2), ask, search(5, "more"), describe("more", "rows")))

    assert calls(compilation, "asks") == (1, 7, 7)


def test_a_price_is_told_in_words() -> None:
    compilation = compile_document(tool("few", search(2), describe("hits", "rows")))

    assert priced(compilation.tools["few"].price.record()).startswith("1 to 3 calls (usually 3)")
