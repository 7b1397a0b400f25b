"""What a model may be made to write under a schema comes back as a document of the language."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tool_induction import compile_document, load_library
from tool_induction.documents import document_from_emission, emission_schema
from world_api.schemas import strict_violations

STRICT = {
    "tools": [
        {
            "tool_name": "describe_moments",
            "description": "Describes the moments that a search finds, in order. Not for counting.",
            "inputs": [
                {"name": "video_id", "type": "string", "description": None, "default": None, "enum": None},
                {"name": "query", "type": "string", "description": "what to look for", "default": None, "enum": None},
            ],
            "outputs": [
                {"name": "rows", "type": "list<record>", "description": None, "from": None},
                {"name": "n", "type": "int", "description": None, "from": "{{ hits | length }}"},
            ],
            "steps": [
                {
                    "type": "call_world_api",
                    "api": "search_segments_by_semantics",
                    "params": [
                        {"name": "video_id", "value": "{{video_id}}"},
                        {"name": "query", "value": "{{query}}"},
                        {"name": "top_k", "value": 4},
                        {"name": "time_range.start_time", "value": 0},
                        {"name": "time_range.end_time", "value": 60},
                    ],
                    "on_error": None,
                    "save_as": "hits",
                    "loop_over": None,
                    "as": None,
                    "max_items": None,
                    "until": None,
                },
                {
                    "type": "loop",
                    "do": [
                        {
                            "type": "call_world_api",
                            "api": "describe_segment",
                            "params": [
                                {"name": "video_id", "value": "{{video_id}}"},
                                {"name": "start_time", "value": "{{item.start_time}}"},
                                {"name": "end_time", "value": "{{item.end_time}}"},
                            ],
                            "on_error": None,
                            "save_as": "one",
                            "loop_over": None,
                            "as": None,
                            "max_items": None,
                            "until": None,
                        }
                    ],
                    "on_error": "skip",
                    "save_as": "rows",
                    "loop_over": "hits",
                    "as": None,
                    "max_items": 4,
                    "until": None,
                },
            ],
        }
    ]
}


def test_the_strict_schema_meets_every_rule_of_strict_mode() -> None:
    assert strict_violations(emission_schema(strict=True)) == []
    Draft202012Validator.check_schema(emission_schema(strict=True))


@pytest.mark.parametrize("strict", [True, False])
def test_every_list_of_words_has_a_type(strict: bool) -> None:
    bare = [node for node in _parts(emission_schema(strict=strict)) if "enum" in node and "type" not in node]
    assert bare == []


def test_every_part_of_the_strict_schema_says_what_it_is() -> None:
    """A part is what a property, an item or an alternative may be."""
    parts = [child for node in _parts(emission_schema(strict=True)) for child in _children(node)]
    assert len(parts) > 100
    assert [part for part in parts if not part.keys() & {"type", "anyOf", "$ref"}] == []


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _parts(child)


def _children(node: dict[str, Any]) -> list[dict[str, Any]]:
    properties = node["properties"] if node.get("type") == "object" else {}
    items = [node["items"]] if node.get("type") == "array" else []
    return [*properties.values(), *items, *node.get("anyOf", ())]


def test_an_emission_in_the_strict_form_becomes_a_document_that_compiles() -> None:
    assert Draft202012Validator(emission_schema(strict=True)).is_valid(STRICT)

    document = document_from_emission(STRICT)
    compilation = compile_document(document)

    assert compilation.ok, [item.record() for item in compilation.diagnostics]
    assert document["tools"][0]["inputs"]["video_id"] == {"type": "string"}
    assert document["tools"][0]["steps"][0]["params"]["time_range"] == {"start_time": 0, "end_time": 60}
    assert list(document["tools"][0]["steps"][1]["do"][0]) == ["type", "api", "params", "save_as"]
    assert "W_UNUSED" not in {item.code for item in compilation.diagnostics}


def test_the_loose_schema_takes_the_language_as_it_is_and_no_unknown_operation() -> None:
    schema = Draft202012Validator(emission_schema(strict=False))
    Draft202012Validator.check_schema(emission_schema(strict=False))
    library = {"tools": [item.frozen for item in load_library("hand_A").tools.values()]}

    assert schema.is_valid(library)
    assert document_from_emission(library) == library
    wrong = copy.deepcopy(library)
    wrong["tools"][0]["steps"][0]["api"] = "look_harder"
    assert not schema.is_valid(wrong)


@pytest.mark.parametrize("strict", [True, False])
def test_decoders_are_not_asked_for_what_they_do_not_know(strict: bool) -> None:
    text = json.dumps(emission_schema(strict=strict))

    assert not any(word in text for word in ('"if":', '"then": {"$ref', '"not":', '"dependentRequired"', "(?!"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"tools": 3},
        {"tools": [None, 4, {"inputs": [1], "outputs": "x", "steps": [1, {"params": [{"name": 1}]}]}]},
        {"tools": [{"inputs": [{"name": "a"}, {"name": "a"}], "steps": [{"fields": [{"name": "a"}]}]}]},
        {"tools": [{"steps": [{"params": [{"name": "a", "value": 1}, {"name": "a.b", "value": 2}]}]}]},
    ],
)
def test_anything_else_is_left_for_the_compiler_to_refuse(value: Any) -> None:
    assert not compile_document(document_from_emission(value)).tools


def test_the_dotted_names_of_a_list_become_a_list() -> None:
    step = {"type": "aggregate", "params": [{"name": "labels.0", "value": "a"}, {"name": "labels.1", "value": "b"}]}

    assert document_from_emission({"tools": [{"steps": [step]}]})["tools"][0]["steps"][0]["params"] == {
        "labels": ["a", "b"]
    }


def test_a_default_of_null_is_what_strict_mode_cannot_say() -> None:
    emission = copy.deepcopy(STRICT)
    emission["tools"][0]["inputs"][1] |= {"type": "string?", "default": None}
    assert "default" not in document_from_emission(emission)["tools"][0]["inputs"]["query"]
