"""What an expression may not do, whatever is written in it: reach Python, or take long."""

from __future__ import annotations

from typing import Any

import pytest

from tool_induction import compile_document, run_tool
from tool_induction.admission import schema_worlds

ESCAPES = {
    "a chain of attributes": "{{ query.__class__.__mro__[1].__subclasses__() }}",
    "an attribute of Python": "{{ query.__class__ }}",
    "a hidden key": "{{ hits._private }}",
    "a hidden key in brackets": "{{ hits['__class__'] }}",
    "the attr filter": "{{ query | attr('__class__') }}",
    "a call": "{{ query.upper() }}",
    "a method that is also a key": "{{ hits.items() }}",
    "format": "{{ '{0.__class__}' | format(query) }}",
    "str.format": "{{ '{0.__class__}'.format(query) }}",
    "lipsum": "{{ lipsum(n=1000000) }}",
    "lipsum's globals": "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "cycler": "{{ cycler.__init__.__globals__ }}",
    "range": "{{ range(100000000) | length }}",
    "a namespace": "{{ namespace(a=1) }}",
    "self": "{{ self._TemplateReference__context }}",
    "a loop": "{% for a in [1, 2] %}{{ a }}{% endfor %}",
    "set": "{% set a = 1 %}{{ a }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}",
    "a macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "ljust": "{{ 'a'.ljust(1000000000) }}",
    "center": "{{ 'a' | center(1000000000) }}",
    "a long text": "{{ 'a' * 1000000000 }}",
    "a long list": "{{ [1] * 1000000000 }}",
    "a power": "{{ 9 ** 9999999 }}",
    "a shift": "{{ 1 << 999999999 }}",
    "a slice": "{{ query[::-1] }}",
    "a record": "{{ {'a': 1} }}",
    "a tuple": "{{ (1, 2) }}",
    "joined texts": "{{ query ~ query }}",
    "a test": "{{ query is callable }}",
    "map": "{{ [query] | map('upper') | list }}",
    "a walrus": "{{ (a := 1) }}",
    "a lambda": "{{ (lambda: 1)() }}",
    "an f-string": "{{ f'{query}' }}",
    "a huge number": "{{ " + "9" * 400 + " }}",
    "a number with a huge exponent": "{{ 1e999 }}",
}
FORBIDDEN = {"E_EXPR_FORBIDDEN", "E_EXPR_SYNTAX", "E_EXPR_SIZE", "E_UNDEFINED", "E_TYPE", "E_SIZE", "E_JSON"}


@pytest.mark.parametrize("expression", ESCAPES.values(), ids=ESCAPES)
def test_a_way_out_of_an_expression_is_refused_before_it_is_computed(document: Any, expression: str) -> None:
    compilation = compile_document(document({"type": "set", "value": expression, "save_as": "x"}))

    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    assert errors
    assert errors[0].json_path == "$.steps[1].value"
    assert {item.code for item in errors} <= FORBIDDEN
    assert not compilation.tools


PLACES: dict[str, Any] = {
    "a parameter": {
        "type": "call_world_api",
        "api": "list_entities",
        "params": {"video_id": "{{ BOMB }}"},
        "save_as": "x",
    },
    "a condition": {"type": "require", "condition": "BOMB"},
    "a reason": {"type": "require", "condition": "1 > 0", "reason": "so {{ BOMB }}"},
    "where": {"type": "filter", "inputs": "hits", "where": "BOMB", "save_as": "x"},
    "a field": {"type": "project", "inputs": "hits", "fields": {"a": "{{ BOMB }}"}, "save_as": "x"},
    "inputs": {"type": "aggregate", "operation": "count", "inputs": "{{ BOMB }}", "save_as": "x"},
    "an aggregate's parameter": {
        "type": "aggregate",
        "operation": "top_k",
        "inputs": "hits",
        "params": {"k": "{{ BOMB }}"},
        "save_as": "x",
    },
    "any's condition": {
        "type": "aggregate",
        "operation": "any",
        "inputs": "hits",
        "params": {"where": "BOMB"},
        "save_as": "x",
    },
    "a list in a record": {"type": "set", "value": {"a": ["{{ BOMB }}"]}, "save_as": "x"},
    "loop_over": {
        "type": "loop",
        "loop_over": "{{ BOMB }}",
        "max_items": 3,
        "do": [{"type": "set", "value": 1, "save_as": "y"}],
        "save_as": "x",
    },
    "until": {
        "type": "loop",
        "loop_over": "hits",
        "until": "BOMB",
        "do": [{"type": "set", "value": 1, "save_as": "y"}],
        "save_as": "x",
    },
}


def _with(value: Any, bomb: str) -> Any:
    if isinstance(value, dict):
        return {key: _with(item, bomb) for key, item in value.items()}
    if isinstance(value, list):
        return [_with(item, bomb) for item in value]
    return value.replace("BOMB", bomb) if isinstance(value, str) else value


@pytest.mark.parametrize("bomb", ["lipsum()", "query.__class__", "9 ** 9999999", "'a' * 1000000000"])
@pytest.mark.parametrize("place", PLACES)
def test_no_place_of_a_document_takes_what_an_expression_may_not(document: Any, place: str, bomb: str) -> None:
    compilation = compile_document(document(_with(PLACES[place], bomb)))

    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    assert any(item.json_path.startswith("$.steps[1]") and item.code in FORBIDDEN for item in errors)
    assert not compilation.tools


def test_an_output_takes_no_escape_either(document: Any) -> None:
    compilation = compile_document(document(outputs={"x": {"type": "string", "from": "{{ lipsum.__globals__ }}"}}))

    assert "$.outputs.x.from" in {item.json_path for item in compilation.diagnostics if item.severity == "error"}


def test_what_came_from_the_world_is_never_read_as_an_expression(compiled: Any, document: Any) -> None:
    tools = compiled(document(outputs={"text": {"type": "string", "from": "{{ query }} at {{ hits | length }}"}}))

    arguments = {"video_id": "film", "query": "{{ 9 ** 9999999 }} {{ query.__class__ }}"}
    result = run_tool(tools, "small_tool", arguments, call=schema_worlds()["many"])

    assert result["outputs"]["text"] == "{{ 9 ** 9999999 }} {{ query.__class__ }} at 5"


def test_a_key_named_like_a_method_is_a_key(compiled: Any, document: Any) -> None:
    record = {"type": "set", "value": {"items": 3, "keys": 4, "get": 5}, "save_as": "r"}
    tools = compiled(document(record, outputs={"n": {"type": "int", "from": "{{ r.items + r.keys + r.get }}"}}))

    result = run_tool(tools, "small_tool", {"video_id": "film", "query": "a"}, call=schema_worlds()["one"])

    assert result["outputs"]["n"] == 12
