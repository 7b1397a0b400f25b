import sys
from typing import Any

import pytest

from tool_induction import ToolFault, limits
from tool_induction.language import Const, ExpressionFault, Text, evaluate, parse_expression, parse_value, to_json


@pytest.fixture
def no_jinja_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything of Jinja that compiles, renders or runs a template fails the test."""
    from jinja2 import Environment, Template, compiler, optimizer

    def forbidden(*_: object, **__: object) -> None:
        pytest.fail("Jinja was asked to do more than to parse")

    for owner, names in {
        Environment: ("compile", "from_string", "compile_expression", "get_template", "_generate", "_compile"),
        Template: ("__new__", "render", "generate"),
        compiler: ("generate",),
        optimizer: ("optimize",),
    }.items():
        for name in names:
            monkeypatch.setattr(owner, name, forbidden)


HOSTILE = [
    "{{ 'a' * 1000000000 }}",
    "{{ 9 ** 9999999 }}",
    "{{ lipsum(n=1000000) }}",
    "{{ 'a'.ljust(1000000000) }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ video_id.__class__ }}",
    "{{ video_id['__class__'] }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os }}",
    "{{ " + "(" * 240 + "1" + ")" * 240 + " }}",
    "{{ " + "[" * 240 + "]" * 240 + " }}",
    "{{ " + "not " * 120 + "true }}",
    "{{ " + "-" * 400 + "1 }}",
    "{{ " + "1 if true else " * 30 + "1 }}",
    "{{ a" + ".a" * 240 + " }}",
    "{{ a" + "|abs" * 120 + " }}",
    "{{ 1" + "0" * 400 + " }}",
    "{{ 1e999 }}",
    "{% for i in range(1000000000) %}x{% endfor %}",
    "{% import 'os' as os %}",
    "{{ x | attr('__class__') }}",
    "{{ x | map('upper') }}",
    "{{ range(1000000000) }}",
    "{{ {'a': 1} }}",
    "{{ x[1:1000] }}",
    "{{ 'a' ~ 'b' }}",
    "{{ x is defined }}",
    "{{ a " + "+ a" * 300 + " }}",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_hostile_is_ever_compiled_rendered_or_run(no_jinja_compiler: Any, text: str) -> None:
    scope = {"video_id": "film", "a": 1, "x": [1]}
    with pytest.raises((ExpressionFault, ToolFault)) as refused:
        evaluate(parse_value(text), scope)
    assert not isinstance(refused.value, ToolFault) or refused.value.code == "bad_expression"


def test_a_deep_stack_of_the_caller_does_not_turn_a_fault_into_a_crash() -> None:
    def deep(level: int) -> None:
        if level:
            deep(level - 1)
        else:
            with pytest.raises(ExpressionFault):
                parse_value("{{ " + "(" * 18 + "1" + ")" * 18 + " }}")

    deep(sys.getrecursionlimit() - 250)


def test_one_whole_expression_keeps_its_type_and_text_around_it_makes_a_string() -> None:
    assert evaluate(parse_value(" {{ n }} "), {"n": 3}) == 3
    assert evaluate(parse_value("at {{ n }} s"), {"n": 3}) == "at 3 s"
    assert evaluate(parse_value("{{ n }}{{ n }}"), {"n": 3}) == "33"


def test_text_that_looks_like_a_number_stays_text() -> None:
    assert evaluate(parse_value("2"), {}) == "2"
    assert evaluate(parse_value("{{ x }}"), {"x": "None"}) == "None"


def test_keys_are_looked_up_in_mappings_only() -> None:
    scope = {"item": {"items": 5, "keys": "k"}}

    assert evaluate(parse_value("{{ item.items }}"), scope) == 5
    assert evaluate(parse_value("{{ item.values }}"), scope) is None
    with pytest.raises(ToolFault):
        evaluate(parse_value("{{ item.keys.upper }}"), scope)


@pytest.mark.parametrize(
    "text",
    [
        "a.b[0].c | default(none) | round(1)",
        "not a is none and (b or c) < 3",
        "(a + b) * c - (d - (e - f))",
        "-x | abs",
        "[1, 2, x] | max",
        "(a if b else c) | upper",
        "a if b else (c if d else e)",
        "'it''s' if a else \"}}\"",
        "a['odd key'].b",
        "x[-1]",
        "a < b <= c",
        "a not in [1, 'zwei', '三']",
    ],
)
def test_writing_an_expression_down_and_reading_it_again_gives_the_same_tree(text: str) -> None:
    tree = parse_expression(text)

    assert parse_value(str(to_json(tree))) == tree


def test_conditions_are_written_with_or_without_braces() -> None:
    assert parse_expression("a > 1") == parse_expression("{{ a > 1 }}")


def test_a_condition_with_text_around_it_is_refused() -> None:
    with pytest.raises(ExpressionFault) as refused:
        parse_expression("{{ a }} > 1")
    assert refused.value.code == "E_EXPR_SYNTAX"


def test_braces_inside_constants_survive() -> None:
    tree = parse_value("a {{ '{{ b }}' }} c")

    assert isinstance(tree, Text)
    assert evaluate(tree, {}) == "a {{ b }} c"
    assert evaluate(parse_value(str(to_json(tree))), {}) == "a {{ b }} c"


def test_plain_text_is_a_constant_however_it_looks() -> None:
    assert parse_value("100 % } sure") == Const("100 % } sure")


def test_the_limits_are_the_documented_ones() -> None:
    assert (limits.MAX_EXPRESSION_CHARACTERS, limits.MAX_EXPRESSION_NODES, limits.MAX_EXPRESSION_DEPTH) == (512, 64, 12)
    parse_expression(" + ".join("1" for _ in range(12)))
    with pytest.raises(ExpressionFault):
        parse_value("[" + ",".join("{{ a }}" for _ in range(65)) + "]")


@pytest.mark.parametrize("text", ['{{ "\\ud800" }}', '{{ x["\\udfff"] }}', 'a {{ "\\ud83d" }}'])
def test_an_escape_that_is_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(ExpressionFault, match="Unicode"):
        parse_value(text)


def test_a_boolean_is_no_index() -> None:
    for text in ("{{ x[-true] }}", "{{ x[true] }}"):
        with pytest.raises(ExpressionFault, match="index"):
            parse_value(text)


@pytest.mark.parametrize("text", ["{{ '{' }}{{ x }}", "a{{ '{' }}{{ x }}{{ '{' }}b", "{{ x }} {", "{ {{ x }}"])
def test_braces_in_a_text_can_be_written_and_read_again(text: str) -> None:
    value = parse_value(text)

    assert evaluate(parse_value(str(to_json(value))), {"x": 1}) == evaluate(value, {"x": 1})
