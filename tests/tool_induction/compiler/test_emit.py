from typing import Any

from jsonschema import Draft202012Validator

from tool_induction import load_library, run_tool
from tool_induction.compiler import (
    inputs_schema,
    mcp_declaration,
    openai_declaration,
    result_schema,
    signature_card,
    writes_of,
)


def test_every_face_of_the_packaged_library_is_valid() -> None:
    for compiled in load_library("hand_A").tools.values():
        for strict in (False, True):
            face = openai_declaration(compiled, strict=strict)["function"]
            assert face["name"] == compiled.name
            Draft202012Validator.check_schema(face["parameters"])
        mcp = mcp_declaration(compiled, writes=False)
        Draft202012Validator.check_schema(mcp["inputSchema"])
        Draft202012Validator.check_schema(mcp["outputSchema"])


def test_a_result_fits_the_emitted_output_schema(
    seed_text: str, compiled: Any, seed: dict[str, Any], world: Any
) -> None:
    tools = compiled(seed)
    schema = result_schema(tools["locate_first_appearance"].tool)

    for seen in ([65.0], []):
        world.seen = seen
        result = run_tool(tools, "locate_first_appearance", {"video_id": "v", "person_query": "x"}, call=world)
        Draft202012Validator(schema).validate(result)


def test_inputs_say_their_units_defaults_and_choices(compiled: Any, document: Any) -> None:
    tools = compiled(
        document(
            {"type": "filter", "inputs": "hits", "where": "item.start_time > after", "save_as": "later"},
            {"type": "set", "value": "{{ side }} {{ span.duration }}", "save_as": "text"},
            inputs={
                "after": {"type": "Time", "description": "From when on.", "default": 0},
                "side": {"type": "enum", "enum": ["left", "right"]},
                "span": "Interval",
            },
            outputs={"n": {"type": "int", "from": "{{ later | length }}"}, "text": "string"},
        )
    )

    schema = inputs_schema(tools["small_tool"].tool)

    assert schema["properties"]["after"] == {
        "type": "number",
        "minimum": 0,
        "description": "From when on. (seconds)",
        "default": 0,
    }
    assert schema["properties"]["side"] == {"type": "string", "enum": ["left", "right"]}
    assert schema["properties"]["span"]["required"] == ["start_time", "end_time"]
    assert schema["required"] == ["video_id", "query", "side", "span"]


def test_a_tool_writes_if_an_operation_or_a_tool_it_calls_does(compiled: Any, document: Any) -> None:
    write = {
        "type": "call_world_api",
        "api": "write_memory",
        "params": {
            "video_id": "{{video_id}}",
            "level": "event",
            "time_range": {"start_time": 0, "end_time": 1},
            "content": "x",
        },
        "save_as": "kept",
    }
    call = {
        "type": "call_tool",
        "tool": "writing",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
        "save_as": "inner",
    }
    tools = compiled(document(name="reading"), document(write, name="writing"), document(call, name="calling"))

    assert {name: writes_of(name, tools) for name in tools} == {"reading": False, "writing": True, "calling": True}


def test_a_signature_card_tells_signature_purpose_and_price(compiled: Any, document: Any) -> None:
    card = signature_card(compiled(document())["small_tool"])

    assert card.startswith("small_tool(video_id: string, query: string) -> {found: int}")
    assert "1 to 1 calls" in card
