import json
from typing import Any

from tool_induction import Trace, compile_document, run_tool
from tool_induction.runtime import tree_lines

NAME = "locate_first_appearance"
ARGUMENTS = {"video_id": "film", "person_query": "a person in red"}


def test_the_seed_document_compiles_exactly_as_written_and_says_what_it_decided(seed_text: str) -> None:
    compilation = compile_document(seed_text)

    said = {(item.code, item.json_path) for item in compilation.diagnostics}
    assert compilation.ok
    assert ("W_ALIAS", "$.steps[2].operation") in said
    assert ("W_IMPLICIT_BINDING", "$.steps[1].loop_over") in said
    assert ("W_IMPLICIT_BINDING", "$.outputs.start_time") in said
    assert ("W_IMPLICIT_REQUIRE", "$.outputs.start_time") in said
    assert ("W_COERCED", "$.outputs.evidence") in said


def test_the_frozen_form_writes_out_what_the_seed_leaves_open(seed_text: str) -> None:
    frozen = compile_document(seed_text).tools[NAME].frozen

    assert frozen["steps"][1]["loop_over"] == "{{ candidates.candidates }}"
    assert frozen["steps"][2]["operation"] == "pick_earliest"
    assert frozen["steps"][3] == {
        "type": "require",
        "condition": "{{ first_hit is not none }}",
        "status": "empty",
        "reason": "nothing was found",
    }
    assert frozen["outputs"]["start_time"] == {"type": "number", "from": "{{ first_hit.start_time }}"}


def test_the_price_of_the_seed_is_known_before_it_runs(seed_text: str) -> None:
    price = compile_document(seed_text).tools[NAME].price

    assert (price.least.calls, price.expected.calls, price.most.calls) == (1, 21, 21)


def test_the_seed_finds_the_earliest_detection_with_the_evidence_that_led_to_it(seed_text: str, world: Any) -> None:
    tools = compile_document(seed_text).tools

    result = run_tool(tools, NAME, ARGUMENTS, call=world)

    assert result["status"] == "ok"
    assert result["outputs"]["start_time"] == 34.0  # a detection keeps its own stretch
    assert result["outputs"]["end_time"] == 37.0
    assert "34.0-37.0 s (detector" in result["outputs"]["evidence"]
    assert [piece["source"] for piece in result["evidence"]] == ["detector", "caption"]
    assert result["calls"] == {"logical": 4, "physical": 4}
    assert result["summary"].startswith("start_time: 34 s")


def test_the_seed_is_empty_where_nothing_matches(seed_text: str, world: Any) -> None:
    world.seen = []

    result = run_tool(compile_document(seed_text).tools, NAME, ARGUMENTS, call=world)

    assert result["status"] == "empty"
    assert result["outputs"] == {"start_time": None, "end_time": None, "evidence": None}


def test_a_trace_shows_every_call(seed_text: str, world: Any) -> None:
    trace = Trace()

    run_tool(compile_document(seed_text).tools, NAME, ARGUMENTS, call=world, trace=trace)

    assert sum("detect_objects(" in line for line in tree_lines(trace.root)) == 3
    json.dumps(trace.root.record())


def test_the_frozen_form_compiles_to_itself(seed_text: str) -> None:
    frozen = compile_document(seed_text).tools[NAME].frozen

    again = compile_document(json.dumps(frozen))

    assert again.tools[NAME].frozen == frozen
    assert again.tools[NAME].frozen == compile_document(frozen).tools[NAME].frozen
    assert not {item.code for item in again.diagnostics} & {"W_IMPLICIT_BINDING", "W_IMPLICIT_REQUIRE", "W_ALIAS"}


def test_spelling_and_key_order_do_not_change_the_hash(seed: dict[str, Any], seed_text: str) -> None:
    spaced = seed | {"steps": [dict(reversed(list(step.items()))) for step in seed["steps"]]}

    assert compile_document(spaced).tools[NAME].frozen == compile_document(seed_text).tools[NAME].frozen
