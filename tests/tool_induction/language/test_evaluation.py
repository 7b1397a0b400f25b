from typing import Any

import pytest

from tool_induction import ToolFault, limits
from tool_induction.language import evaluate, parse_expression, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("7 / 2", 3.5),
        ("7 % 4", 3),
        ("1 == 1.0", True),
        ("1 == true", False),
        ("[1, 2] == [1, 2]", True),
        ("'b' in 'abc'", True),
        ("2 in [1, 2]", True),
        ("2 not in [1, 2]", False),
        ("none is none", True),
        ("x.y.z is none", True),
        ("x.y.z | default(4)", 4),
        ("0 | default(4)", 0),
        ("false | default(true)", False),
        ("[] | length", 0),
        ("'三个字' | length", 3),
        ("[3, 1, 2] | max", 3),
        ("[] | min", None),
        ("2.567 | round(1)", 2.6),
        ("2.567 | round", 3),
        ("-3 | abs", 3),
        ("'Ab' | lower", "ab"),
        ("items[0]", "first"),
        ("items[5]", None),
        ("items[-1]", "last"),
        ("1 if false else 2", 2),
        ("1 if false", None),
        ("false and missing", False),
        ("true or missing", True),
        ("'a' < 'b'", True),
    ],
)
def test_an_expression_has_the_value_a_reader_expects(text: str, value: Any) -> None:
    assert evaluate(parse_expression(text), {"x": {}, "items": ["first", "last"]}) == value


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "1 % 0",
        "'a' + 'b'",
        "'a' * 3",
        "true + 1",
        "1 < 'a'",
        "none > 1",
        "1 and 2",
        "not 1",
        "1 in 5",
        "5 | length",
        "'x' | round",
        "x.y",
        "unbound",
        "999999999999999 * 999999999999999",
        "1.5 | round(20)",
    ],
)
def test_operands_that_do_not_fit_are_a_named_fault(text: str) -> None:
    with pytest.raises(ToolFault) as fault:
        evaluate(parse_expression(text), {"x": 3})
    assert fault.value.code == "bad_expression"


def test_text_has_a_largest_size() -> None:
    scope = {"a": "x" * (limits.MAX_STRING_RESULT // 2 + 1)}

    with pytest.raises(ToolFault):
        evaluate(parse_value("{{ a }}{{ a }}"), scope)


def test_text_writes_values_as_json_and_null_as_nothing() -> None:
    scope = {"a": [1, "zwei"], "b": None, "c": True, "d": {"k": 1.5}}

    assert evaluate(parse_value("{{ a }}|{{ b }}|{{ c }}|{{ d }}"), scope) == '[1, "zwei"]||true|{"k": 1.5}'
