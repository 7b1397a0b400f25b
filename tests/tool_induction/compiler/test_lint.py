from typing import Any

from tool_induction import compile_document


def said(document: Any) -> Any:
    return {(item.code, item.json_path) for item in compile_document(document).diagnostics}


def test_a_wrapper_of_one_call_is_noted(document: Any) -> None:
    assert ("L_WRAPPER", "$.steps") in said(document())


def test_an_id_that_no_caller_can_know_is_noted(document: Any) -> None:
    found = said(document({"type": "set", "value": "{{ entity_id }}", "save_as": "x"}, inputs={"entity_id": "string"}))

    assert ("L_UNKNOWABLE_ID", "$.inputs.entity_id") in found


def test_an_answer_that_cannot_be_looked_at_again_is_noted(document: Any) -> None:
    assert ("L_NO_EVIDENCE", "$.outputs") in said(document())
    assert ("L_NO_EVIDENCE", "$.outputs") not in said(
        document(outputs={"start_time": {"type": "Time?", "from": "{{ hits[0].start_time }}"}})
    )


def test_too_many_inputs_are_noted_with_those_that_have_a_default(document: Any) -> None:
    inputs = {f"x{n}": {"type": "string", "default": "a"} for n in range(5)}

    assert ("L_TOO_MANY_INPUTS", "$.inputs") in said(document(inputs=inputs))


def test_two_tools_with_the_same_steps_are_noted(document: Any) -> None:
    assert ("L_DUPLICATE", "$[1].steps") in said([document(name="one"), document(name="two")])


def test_a_poor_description_is_noted(document: Any) -> None:
    assert ("L_DESCRIPTION", "$.description") in said(document() | {"description": "a tool"})


def test_advice_stops_nothing(document: Any) -> None:
    compilation = compile_document(document() | {"description": "a tool"})

    assert compilation.ok
    assert {item.severity for item in compilation.diagnostics} >= {"lint"}


def test_unused_and_shadowing_names_are_warned_of(document: Any) -> None:
    found = said(
        document(
            {"type": "set", "value": 1, "save_as": "never"},
            {
                "type": "loop",
                "loop_over": "hits",
                "save_as": "texts",
                "do": [
                    {"type": "filter", "inputs": "hits", "where": "item.start_time > 5", "save_as": "inner"},
                ],
            },
            outputs={"texts": "list"},
            inputs={"idle": "string"},
        )
    )

    assert ("W_UNUSED", "$.steps[1].save_as") in found
    assert ("W_UNUSED", "$.inputs.idle") in found
    assert ("W_SHADOW", "$.steps[2].do[0].where") in found
