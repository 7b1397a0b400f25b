from typing import Any

from tool_induction import compile_document
from tool_induction.checker.expressions import Inference


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


def test_two_thousand_faults_are_cut_and_that_is_said(document: Any) -> None:
    broken = document()
    broken["steps"][0] |= {f"extra_{n}": n for n in range(1_900)}

    compilation = compile_document(broken)

    assert len(compilation.diagnostics) == 301
    assert compilation.diagnostics[-1].code == "E_SIZE"


def test_a_huge_word_is_not_repeated_in_the_findings(document: Any) -> None:
    broken = document()
    broken["steps"][0]["api"] = "x" * 200_000

    said = [item.record() for item in compile_document(broken).diagnostics]

    assert max(len(text) for record in said for text in record.values()) <= 500


def test_words_of_the_language_are_no_names(document: Any, codes: Any) -> None:
    broken = document({"type": "set", "value": 1, "save_as": "not"}, inputs={"item": "string", "a-b": "int"})

    assert codes(compile_document(broken)) == {
        ("E_NAME", "$.steps[1].save_as"),
        ("E_NAME", "$.inputs.item"),
        ("E_NAME", "$.inputs['a-b']"),
    }


def test_a_default_must_fit_its_type(document: Any, codes: Any) -> None:
    inputs = {
        "n": {"type": "int", "default": "three"},
        "t": {"type": "Time", "default": 3},
        "side": {"type": "enum", "enum": ["left", "right"], "default": "middle"},
        "rows": {"type": "list<int>", "default": [1]},
        "maybe": {"type": "string?", "default": None},
    }

    assert codes(compile_document(document(inputs=inputs))) == {
        ("E_TYPE", "$.inputs.n.default"),
        ("E_TYPE", "$.inputs.side.default"),
        ("E_TYPE", "$.inputs.rows.default"),
    }


def test_a_list_of_an_operation_gets_a_bound_and_that_is_written_out(document: Any) -> None:
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "loop_over": "scenes",
        "params": {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
        "save_as": "texts",
    }
    scenes = {
        "type": "call_world_api",
        "api": "list_scenes",
        "params": {"video_id": "{{video_id}}"},
        "save_as": "scenes",
    }

    compilation = compile_document(document(scenes, describe, outputs={"texts": "list"}))

    tool = compilation.tools["small_tool"]
    assert tool.frozen["steps"][2]["max_items"] == 50
    assert ("W_IMPLICIT_BINDING", "$.steps[2]") in {(item.code, item.json_path) for item in compilation.diagnostics}
    assert (tool.price.least.calls, tool.price.expected.calls, tool.price.most.calls) == (2, 7, 52)


def test_a_price_stops_counting_for_sure_at_a_require(document: Any) -> None:
    stop = {"type": "require", "condition": "hits | length > 3", "status": "empty", "reason": "few"}
    more = {
        "type": "call_world_api",
        "api": "list_entities",
        "params": {"video_id": "{{video_id}}"},
        "save_as": "entities",
    }

    price = compile_document(document(stop, more)).tools["small_tool"].price

    assert (price.least.calls, price.most.calls) == (1, 2)


def test_a_branch_costs_at_least_its_cheaper_side(document: Any) -> None:
    call = {"type": "call_world_api", "api": "list_entities", "params": {"video_id": "{{video_id}}"}, "save_as": "x"}
    choose = {
        "type": "if",
        "condition": "hits | length > 3",
        "then": [call],
        "else": [{"type": "set", "value": {"entities": []}, "save_as": "x"}],
    }

    compilation = compile_document(document(choose))

    price = compilation.tools["small_tool"].price
    assert (price.least.calls, price.expected.calls, price.most.calls) == (1, 2, 2)


def test_every_part_of_an_expression_is_typed_once(document: Any, monkeypatch: Any) -> None:
    asked: list[Any] = []
    infer = Inference.infer
    monkeypatch.setattr(Inference, "infer", lambda at, expr: asked.append(expr) or infer(at, expr))
    expression = "v"
    for _ in range(10):
        expression = f"(v + {expression})"
    nested = "hits"
    for _ in range(5):
        nested = f"([{nested}] | length)"
    steps = ({"type": "set", "value": f"{{{{ {expr} }}}}", "save_as": f"x{len(expr)}"} for expr in (expression, nested))

    compile_document(document(*steps, inputs={"v": "int"}))

    assert len(asked) < 100


def test_types_that_double_with_each_step_are_followed_only_so_far(document: Any) -> None:
    steps = [{"type": "set", "value": {"a": "{{query}}", "b": "{{query}}"}, "save_as": "x0"}]
    for place in range(1, 50):
        before = f"{{{{ x{place - 1} }}}}"
        steps.append({"type": "set", "value": {"a": before, "b": before}, "save_as": f"x{place}"})

    for type_ in ("string", "record", "any"):
        compilation = compile_document(document(*steps, outputs={"x": {"type": type_, "from": "{{ x49 }}"}}))
        assert compilation.ok
        assert compile_document(compilation.tools["small_tool"].frozen).ok


def test_of_a_block_that_is_too_long_nothing_else_is_said(document: Any, codes: Any) -> None:
    loop = {"type": "loop", "loop_over": "hits", "save_as": "x", "do": [{"type": "nothing"}] * 5000}
    many = document()
    many["steps"] = [{"type": "nothing"}] * 5000

    assert codes(compile_document(many)) == {("E_SIZE", "$.steps")}
    assert codes(compile_document(document(loop))) == {("E_SIZE", "$.steps[1].do")}
    assert codes(compile_document(document(inputs={f"i{place}": "int" for place in range(5000)}))) == {
        ("E_SIZE", "$.inputs")
    }


def one_code(document: Any) -> list[tuple[str, str]]:
    return [(item.code, item.json_path) for item in compile_document(document).diagnostics]


def test_a_record_or_list_with_too_many_members_is_refused_before_it_is_looked_at(document: Any) -> None:
    many = {f"key_{n}": "{{ item.start_time }}" for n in range(101)}
    project = {"type": "project", "inputs": "hits", "fields": many, "save_as": "rows"}

    assert one_code(document(project)) == [("E_SIZE", "$.steps[1].fields")]
    assert one_code(document({"type": "set", "value": [1] * 5_001, "save_as": "x"})) == [("E_SIZE", "$.steps[1].value")]


def test_ten_thousand_steps_in_blocks_are_refused(document: Any) -> None:
    block = [{"type": "set", "value": 1, "save_as": f"n{n}"} for n in range(50)]
    branch = {"type": "if", "condition": True, "then": block, "else": block}

    assert one_code(document(*[branch] * 50)) == [("E_SIZE", "$.steps")]


def test_a_document_of_a_hundred_thousand_values_is_refused(document: Any) -> None:
    tools = [document({"type": "set", "value": [1] * 1_900, "save_as": "x"}, name=f"t{n}") for n in range(30)]

    assert [code for code, _ in one_code(tools)] == ["E_SIZE"]


def test_names_that_are_nearly_right_by_the_thousand_are_all_told_the_first_with_a_suggestion(document: Any) -> None:
    wrong = [
        {"type": "set", "value": [f"{{{{ hit{n}_{m} }}}}" for m in range(4)], "save_as": f"x{n}"} for n in range(50)
    ]

    found = [item for item in compile_document(document(*wrong)).diagnostics if item.code == "E_UNDEFINED"]

    assert len(found) == 200
    assert [bool(item.suggestion) for item in found[:5]] == [True] * 5
    assert not found[-1].suggestion
