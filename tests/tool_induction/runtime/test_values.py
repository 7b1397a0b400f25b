import json
from typing import Any

import pytest

from tool_induction import ToolFault, run_tool
from tool_induction.language import INT, INTERVAL, STRING, EnumType, ListType, optional
from tool_induction.runtime import Unfit, check_json, fitted

ARGUMENTS = {"video_id": "film", "query": "somebody"}


def aggregate(operation: str, **params: Any) -> Any:
    inputs = {} if operation == "sample_times" else {"inputs": "hits"}
    return {"type": "aggregate", "operation": operation, **inputs, "params": params, "save_as": "x"}


def with_x(document: Any, step: Any, type_: str, **inputs: Any) -> Any:
    return document(step, outputs={"x": type_}, inputs=inputs)


@pytest.mark.parametrize(
    ("operation", "params", "type_", "value"),
    [
        ("nth", {"n": "{{ number }}"}, "record?", "seg_10"),
        ("top_k", {"k": "{{ number }}"}, "list", 1),
        ("top_k", {"k": 2.0}, "list", 2),
    ],
)
def test_a_whole_number_written_as_a_float_is_a_whole_number(
    run: Any, document: Any, operation: str, params: Any, type_: str, value: Any
) -> None:
    made = with_x(document, aggregate(operation, **params), type_, number={"type": "number", "default": 1.0})
    found = run(made)["outputs"]["x"]

    assert (len(found) if isinstance(found, list) else found["segment_id"]) == value


def test_a_number_of_items_that_is_not_whole_is_a_fault_of_the_tool(run: Any, document: Any) -> None:
    half = with_x(document, aggregate("top_k", k="{{ number }}"), "list", number="number")
    result = run(half, arguments={**ARGUMENTS, "number": 1.5})

    assert (result["status"], result["error"]["code"]) == ("error", "bad_parameter")


def test_max_items_may_be_written_as_a_float(run: Any, document: Any, world: Any) -> None:
    step = {
        "type": "call_world_api",
        "api": "detect_objects",
        "loop_over": "hits",
        "max_items": 2.0,
        "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
        "save_as": "seen",
    }

    assert run(document(step))["status"] == "ok"
    assert world.names().count("detect_objects") == 2


@pytest.mark.parametrize(
    ("step", "given"),
    [
        (aggregate("sample_times", interval="{{iv}}", step=1, max_items=5), "zzz"),
        (aggregate("sample_times", interval="{{iv}}", step=1, max_items=5), {"start_time": 1}),
        (aggregate("filter_in_interval", interval="{{iv}}"), [1]),
        (aggregate("concat_text", key="snippet", sep="{{iv}}"), 3),
        (aggregate("next_after", time="{{iv}}"), "late"),
        (aggregate("order_check", labels="{{iv}}"), 7),
        (aggregate("sort_by", key="score", descending="{{iv}}"), "down"),
    ],
)
def test_a_parameter_of_unknown_type_is_looked_at_when_it_is_known(
    run: Any, document: Any, step: Any, given: Any
) -> None:
    result = run(with_x(document, step, "any", iv="any"), arguments={**ARGUMENTS, "iv": given})

    assert result["error"]["code"] == "bad_parameter"
    assert step["operation"] in result["error"]["message"]


@pytest.mark.parametrize("step", [1e-320, 1e-9])
def test_a_tiny_step_gives_as_many_moments_as_were_asked_for(run: Any, document: Any, step: float) -> None:
    interval = {"start_time": 0, "end_time": 10}
    result = run(with_x(document, aggregate("sample_times", interval=interval, step=step, max_items=4), "list"))

    assert result["outputs"]["x"] == [0.0, 2.5, 5.0, 7.5]


def test_more_moments_than_anything_could_look_at_are_refused(run: Any, document: Any) -> None:
    interval = {"start_time": 0, "end_time": 10}
    sample = aggregate("sample_times", interval=interval, step=1e-9, max_items="{{ many }}")
    result = run(with_x(document, sample, "list", many="int"), arguments={**ARGUMENTS, "many": 10**9})

    assert result["error"]["code"] == "bad_step"


@pytest.mark.parametrize("value", ["{{ n * 2 }}", "{{ n / 2 }}", "{{ n | round }}", "{{ n }}"])
@pytest.mark.parametrize(
    "number",
    [10**400, 10**5000, float("inf"), float("-inf"), float("nan"), 1e300],
    ids=["large", "unprintable", "inf", "-inf", "nan", "1e300"],
)
def test_numbers_nobody_can_compute_with_are_refused_as_arguments(
    run: Any, document: Any, value: str, number: float
) -> None:
    step = {"type": "set", "value": value, "save_as": "x"}

    with pytest.raises(ToolFault, match="a number is") as caught:
        run(with_x(document, step, "number", n="number"), arguments={**ARGUMENTS, "n": number})

    assert caught.value.code == "bad_arguments"


def test_a_lone_surrogate_and_endless_nesting_are_refused_as_arguments(run: Any, document: Any) -> None:
    nested: Any = 1
    for _ in range(5000):
        nested = [nested]
    for value in ("\ud800", nested, {"\ud800": 1}, {1: 2}, object()):
        with pytest.raises(ToolFault) as caught:
            run(
                with_x(document, {"type": "set", "value": "{{ v }}", "save_as": "x"}, "any", v="any"),
                arguments={**ARGUMENTS, "v": value},
            )
        assert caught.value.code == "bad_arguments"


def test_an_operation_whose_numbers_are_not_finite_is_a_fault_and_no_crash(compiled: Any, document: Any) -> None:
    tools = compiled(document(aggregate("pick_best")))
    for number in (float("nan"), 10**400):
        result = run_tool(
            tools, "small_tool", ARGUMENTS, call=lambda *_, number=number: {"candidates": [{"score": number}]}
        )
        assert result["error"]["code"] == "bad_result"


def test_a_whole_number_input_takes_an_integral_float(run: Any, document: Any) -> None:
    step = aggregate("top_k", k="{{k}}")

    for type_ in ("int", "number", "any"):
        result = run(with_x(document, step, "list", k=type_), arguments={**ARGUMENTS, "k": 2.0})
        assert len(result["outputs"]["x"]) == 2


def test_fitting_says_where_a_value_does_not_fit() -> None:
    assert fitted([1.0, 2], ListType(item=INT)) == [1, 2]
    assert fitted(None, optional(STRING)) is None
    assert fitted("a", EnumType(("a", "b"))) == "a"
    assert fitted({"start_time": 1, "end_time": 2, "label": "x"}, INTERVAL)["label"] == "x"  # type: ignore[index,call-overload]
    for value, wanted, message in (
        ([1, True], ListType(item=INT), r"x\[1\]: a whole number is wanted, found a boolean"),
        ({"start_time": 1}, INTERVAL, r"x\.end_time: Time is wanted, found null"),
        ("c", EnumType(("a", "b")), "x: enum"),
        (["a"], EnumType(("a", "b")), "x: enum"),
    ):
        with pytest.raises(Unfit, match=message):
            fitted(value, wanted, place="x")  # type: ignore[arg-type]


def test_plain_json_passes() -> None:
    check_json({"a": [1, 2.5, None, True, "text", {"b": -1e15}]})


@pytest.mark.parametrize(
    "value",
    [
        ["" for _ in range(500)],
        ["a" * (n % 7) for n in range(500)],
        ["花园" for _ in range(500)],
        [{"start_time": 12.5, "label": "person", "lacks": []} for _ in range(500)],
        [[] for _ in range(500)],
        [None, True, 12.34, -7] * 200,
        {f"key {n}": "text" for n in range(500)},
    ],
)
def test_the_size_of_a_value_is_about_that_of_its_json(value: Any) -> None:
    written = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    assert check_json(value) == pytest.approx(written, rel=0.4)


def test_what_one_tool_gives_another_is_checked_like_any_argument(run: Any, document: Any) -> None:
    inner = document(
        {"type": "set", "value": "{{ n }} {{ m }}", "save_as": "x"},
        inputs={"m": {"type": "enum", "enum": ["a", "b"]}, "n": "int"},
        outputs={"x": "string"},
        name="inner",
    )

    def outer(m: str, n: str) -> Any:
        params = {"video_id": "{{video_id}}", "query": "q", "m": m, "n": n}
        step = {"type": "call_tool", "tool": "inner", "params": params, "save_as": "y"}
        outputs = {"x": {"type": "string", "from": "{{ y.x }}"}}
        return document(step, outputs=outputs, inputs={"number": "number"}, name="outer")

    def told(m: str, number: float, query: str = "q") -> Any:
        return run(inner, outer(m, "{{number}}"), arguments={**ARGUMENTS, "query": query, "number": number})

    assert told("{{query}}", 2.0, "a")["outputs"]["x"] == "2 a"
    assert [told("{{query}}", 2.0)["error"]["code"], told("a", 2.5)["error"]["code"]] == ["bad_arguments"] * 2
