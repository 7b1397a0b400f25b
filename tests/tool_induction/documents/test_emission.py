"""What a model may be made to write under a schema is the language itself, as far as decoders support it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from tool_induction import load_library
from tool_induction.documents import emission_schema


def test_every_list_of_words_has_a_type() -> None:
    bare = [node for node in _parts(emission_schema()) if "enum" in node and "type" not in node]
    assert bare == []


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _parts(child)


def test_the_schema_takes_the_language_as_it_is_and_no_unknown_operation() -> None:
    schema = Draft202012Validator(emission_schema())
    Draft202012Validator.check_schema(emission_schema())
    library = {"tools": [item.frozen for item in load_library("hand_A").tools.values()]}

    assert schema.is_valid(library)
    wrong = copy.deepcopy(library)
    wrong["tools"][0]["steps"][0]["api"] = "look_harder"
    assert not schema.is_valid(wrong)


def test_decoders_are_not_asked_for_what_they_do_not_know() -> None:
    text = json.dumps(emission_schema())

    assert not any(word in text for word in ('"if":', '"then": {"$ref', '"not":', '"dependentRequired"', "(?!"))
