import json
from typing import Any

import pytest

from tool_induction import compile_document, limits


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (b'{"a": 1, "a": 2}', "E_JSON"),
        (b'{"a": NaN}', "E_JSON"),
        (b'{"a": 1e999}', "E_JSON"),
        (b'{"a": Infinity}', "E_JSON"),
        (b"\xff\xfe\x00", "E_JSON"),
        (b'{"a": "\\ud800"}', "E_JSON"),
        (b"", "E_JSON"),
        (b"{", "E_JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "E_JSON"),
        (b'{"a": ' + b"9" * 100 + b"}", "E_SIZE"),
        (b"[" * 5000, "E_SIZE"),
        (b"[" * 100 + b"]" * 100, "E_SIZE"),
        (b'{"a": "' + b"x" * limits.MAX_DOCUMENT_BYTES + b'"}', "E_SIZE"),
        (b"null", "E_SHAPE"),
        (b"[]", "E_SHAPE"),
        (b"[1, null]", "E_SHAPE"),
        (b'{"tools": 3}', "E_SHAPE"),
        (b"{}", "E_SHAPE"),
        (json.dumps([{}] * 100).encode(), "E_SIZE"),
    ],
)
def test_what_is_no_document_is_a_diagnostic_never_a_crash(source: Any, code: str) -> None:
    compilation = compile_document(source)

    assert not compilation.ok
    assert code in {item.code for item in compilation.diagnostics}
    json.dumps(compilation.record(), allow_nan=False)


@pytest.mark.parametrize("value", [{1: 2}, {"a": object()}, {"a": float("nan")}, {"a": {1, 2}}, 3, "text"])
def test_values_that_are_not_json_are_refused_the_same_way(value: Any) -> None:
    assert not compile_document(value).ok


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    assert not compile_document(loop).ok


def test_a_byte_order_mark_is_no_fault(seed_text: str) -> None:
    assert compile_document(b"\xef\xbb\xbf" + seed_text.encode()).ok


def test_the_repeated_key_is_named_at_its_place() -> None:
    compilation = compile_document('{"tools": [{"tool_name": "a", "tool_name": "b"}]}')

    assert [(item.code, item.json_path) for item in compilation.diagnostics] == [("E_JSON", "$.tools[0].tool_name")]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000], ids=lambda text: text[:9])
def test_a_number_that_json_does_not_have_is_told_at_its_place(number: str) -> None:
    (item,) = compile_document('{"tools": [{"tool_name": "a", "steps": [1, {"value": ' + number + "}]}]}").diagnostics

    assert (item.code, item.json_path) == ("E_JSON", "$.tools[0].steps[1].value")
    assert "is not a JSON number" in item.message
    assert item.suggestion
