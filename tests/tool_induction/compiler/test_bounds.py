from typing import Any

from tool_induction.compiler.compiling import compile_document


def test_too_many_calls_are_over_budget(document: Any, codes: Any) -> None:
    over = document(
        {
            "type": "call_world_api",
            "api": "search_segments_by_text",
            "params": {"video_id": "{{video_id}}", "query": "a", "top_k": 200},
            "save_as": "many",
        },
        {
            "type": "loop",
            "loop_over": "many",
            "as": "segment",
            "save_as": "all",
            "do": [
                {
                    "type": "call_world_api",
                    "api": "detect_objects",
                    "loop_over": "many",
                    "params": {
                        "video_id": "{{video_id}}",
                        "timestamp": "{{ (item.center_time + segment.center_time) / 2 }}",
                        "category": "person",
                    },
                    "save_as": "seen",
                }
            ],
        },
    )

    assert ("E_BUDGET", "$.steps") in codes(compile_document(over))


def test_loops_nest_to_depth_two(document: Any, codes: Any) -> None:
    inner = {
        "type": "call_world_api",
        "api": "describe_segment",
        "loop_over": "hits",
        "params": {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
        "save_as": "texts",
    }
    middle = {"type": "loop", "loop_over": "hits", "as": "one", "do": [inner], "save_as": "inner"}
    deep = {"type": "loop", "loop_over": "hits", "as": "two", "do": [middle], "save_as": "outer"}

    assert "E_DEPTH" not in {code for code, _ in codes(compile_document(document(middle)))}
    assert ("E_DEPTH", "$.steps[1].do[0].do[0]") in codes(compile_document(document(deep)))


def test_tools_call_tools_at_most_three_deep(document: Any, codes: Any) -> Any:
    def calling(name: str, target: str) -> Any:
        call = {"type": "call_tool", "tool": target, "params": {"video_id": "{{video_id}}", "query": "{{query}}"}}
        return document({**call, "save_as": "inner"}, name=name)

    tools = [document(name="t1"), calling("t2", "t1"), calling("t3", "t2"), calling("t4", "t3")]

    assert compile_document(tools[:3]).ok
    assert ("E_DEPTH", "$[3].steps[1].tool") in codes(compile_document(tools))


def test_a_circle_of_tools_is_refused(document: Any, codes: Any) -> Any:
    def calling(name: str, target: str) -> Any:
        call = {"type": "call_tool", "tool": target, "params": {"video_id": "{{video_id}}", "query": "{{query}}"}}
        return document({**call, "save_as": "inner"}, name=name)

    compilation = compile_document([calling("one", "two"), calling("two", "one")])

    assert "E_CYCLE" in {code for code, _ in codes(compilation)}
    assert not compilation.tools


def test_a_caller_of_a_broken_tool_is_not_offered(document: Any, codes: Any) -> None:
    broken = document(name="broken", outputs={"x": "string"})
    call = {"type": "call_tool", "tool": "broken", "params": {"video_id": "{{video_id}}", "query": "a"}, "save_as": "y"}

    compilation = compile_document([broken, document(call, name="caller")])

    assert ("E_UNKNOWN_TOOL", "$[1].steps[1].tool") in codes(compilation)
