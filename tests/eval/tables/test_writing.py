"""LaTeX and CSV say what the cells say, whatever stands in them."""

from __future__ import annotations

import csv
import io
import re

from hypothesis import given, strategies as st

from eval.tables import Column, Kind, Row, Table, TableCell, cell_text, comma_separated, latex
from eval.tables.table import escaped, guarded, value_text

#: Commands that escaped text may hold; nothing else may begin with a backslash.
_ALLOWED = re.compile(
    r"\\(?:textbackslash\{\}|textasciitilde\{\}|textasciicircum\{\}|textless\{\}|textgreater\{\}|textbar\{\}"
    r"|textquotedbl\{\}|textquotesingle\{\}|textasciigrave\{\}|[{}$&#_%])"
)
_ACTIVE = set("\\$&#_%~^<>|\"'`")


def _table(text: str) -> Table:
    return Table(
        name="made",
        title=text,
        columns=(Column(key="a", title=text), Column(key="b", title="share", kind="share")),
        rows=(Row(cells=(TableCell(value=text), TableCell(value=0.5, low=0.25, high=1.0, n=4, mark=text))),),
        note=text,
        left_out={"for a reason": 2, "for none": 0},
    )


@given(st.text())
def test_no_text_is_a_command_of_latex(text: str) -> None:
    rest = _ALLOWED.sub("", escaped(text))
    assert not _ACTIVE & set(re.sub(r"\{(-|\?|!|\[|\]|\*)\}", "", rest))
    braces = re.sub(r"\\[{}]", "", escaped(text))
    assert braces.count("{") == braces.count("}")
    assert "\n" not in escaped(text)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1))
def test_escaped_text_still_says_the_same(text: str) -> None:
    plain = escaped(text)
    for shown, letter in (
        (r"\textbackslash{}", "\0"), (r"\textasciitilde{}", "~"), (r"\textasciicircum{}", "^"), (r"\textless{}", "<"),
        (r"\textgreater{}", ">"), (r"\textbar{}", "|"), (r"\textquotedbl{}", '"'), (r"\textquotesingle{}", "'"),
        (r"\textasciigrave{}", "`"),
    ):  # fmt: skip
        plain = plain.replace(shown, letter)
    plain = re.sub(r"\{(-|\?|!|\[|\]|\*)\}", r"\1", plain)
    plain = re.sub(r"\\([{}$&#_%])", r"\1", plain).replace("\0", "\\")
    assert plain == " ".join(text.split())


def test_a_row_of_latex_has_as_many_cells_as_columns() -> None:
    text = latex(_table(r"a & b \\ \input{x} % hidden"))
    [body] = re.findall(r"\\midrule\n(.*)\n\\bottomrule", text)
    assert len(re.split(r"(?<!\\)&", body)) == 2
    assert r"\input" not in text
    assert "50.0 {[}25.0, 100.0{]}{*}" in body


@given(st.text())
def test_no_field_of_csv_is_a_formula(text: str) -> None:
    assert not guarded(text).lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_csv_reads_back_what_was_written(text: str) -> None:
    made = comma_separated(_table(text))
    [head, row] = list(csv.reader(io.StringIO(made, newline=""), strict=True))
    record = dict(zip(head, row, strict=True))
    assert record["a"] in (text, "'" + text)
    assert (float(record["b"]), float(record["b_low"]), float(record["b_high"]), record["b_n"]) == (0.5, 0.25, 1.0, "4")
    assert record["left_out"] == "2 for a reason"


def test_a_blank_is_empty_in_csv_and_its_reason_stands_beside() -> None:
    table = Table(
        name="made",
        title="t",
        columns=(Column(key="a", title="a", kind="share"),),
        rows=(Row(cells=(TableCell(why="no price is known"),)),),
    )
    [head, row] = list(csv.reader(io.StringIO(comma_separated(table))))
    assert dict(zip(head, row, strict=True)) == {
        "a": "", "a_remark": "no price is known", "watermark": "", "left_out": "",
    }  # fmt: skip
    assert cell_text(table.rows[0].cells[0], table.columns[0]) == "-"


def test_figures_are_worded_by_their_kind() -> None:
    def said(kind: Kind, value: float) -> str:
        return value_text(value, Column(key="k", title="t", kind=kind))

    assert said("share", 0.625) == "62.5"
    assert said("points", -0.04) == "-4.0"
    assert said("points", 0.0) == "0.0"
    assert said("points", -0.00001) == "0.0"
    assert said("p", 0.0002) == "<0.001"
    assert said("tokens", 12345.6) == "12,346"
    assert said("change", 12.5) == "+12.50"
