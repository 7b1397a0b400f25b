"""Whatever a document holds, reading it ends, and what can be read can be written down."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tool_induction.compiler import compile_document
from tool_induction.language import Const, ExpressionFault, evaluate, parse_value, to_json
from world_api.core import ToolFault

NAMES = st.sampled_from(["a", "b", "item", "rows"])
NUMBERS = st.one_of(st.integers(-50, 50), st.floats(-50, 50).map(lambda number: round(number, 3)))
LEAVES = st.one_of(
    NAMES,
    NUMBERS.map(str),
    st.sampled_from(["none", "true", "'x'", '"{{"', "a.b", "rows[0]", "a['k k']"]),
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "<", "==", "and", "or", "in", "not in"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda text: f"not {text}"),
        inner.map(lambda text: f"(-{text})"),
        inner.map(lambda text: f"({text} is not none)"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
        st.tuples(inner, st.sampled_from(["length", "abs", "round", "lower", "max", "default(0)"])).map(
            lambda parts: f"({parts[0]} | {parts[1]})"
        ),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
    ),
    max_leaves=8,
)
SCOPE = {"a": {"b": 3, "k k": "x"}, "b": "text", "item": None, "rows": [{"t": 1.5}, 2]}


@settings(max_examples=100)
@given(EXPRESSIONS)
def test_writing_down_and_reading_again_changes_neither_tree_nor_value(text: str) -> None:
    try:
        tree = parse_value(f"{{{{ {text} }}}}")
    except ExpressionFault:
        return
    written = to_json(tree)
    again = parse_value(written) if isinstance(written, str) else Const(written)
    assert again == tree
    try:
        value = evaluate(tree, SCOPE)
    except ToolFault as fault:
        assert fault.code == "bad_expression"
        return
    assert evaluate(again, SCOPE) == value


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
@settings(max_examples=100)
@given(st.text(alphabet="{}[]()%#|.,'\"\\ ab01+-*/<>=!&~\n_", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for form in (text, f"{{{{ {text} }}}}"):
        try:
            evaluate(parse_value(form), SCOPE)
        except (ExpressionFault, ToolFault):
            continue


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["tool_name", "steps", "type", "inputs", "outputs", "params", "save_as", "do", "if", "x"]),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_any_json_value_compiles_to_diagnostics(value: Any) -> None:
    compilation = compile_document(value)

    assert not compilation.ok
    assert compilation.diagnostics
