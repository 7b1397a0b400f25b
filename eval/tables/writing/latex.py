"""A table as LaTeX: ``booktabs`` rules, everything that comes from outside escaped. It needs ``booktabs`` and ``graphicx``."""

from __future__ import annotations

import unicodedata

from eval.tables.table import Cell, Column, Table
from eval.tables.writing.wording import BLANK, cell_text, heading, remarks

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": r"{-}",
    "?": r"{?}",
    "!": r"{!}",
    "[": r"{[}",
    "]": r"{]}",
    "*": r"{*}",
}
_WIDE = 7  #: columns beyond which a table is made as small as the page is wide


def escaped(text: str) -> str:
    r"""Text that LaTeX sets as it stands, on one line. What has no printed form is left out.

    Ligatures (``--``, ``?```) are broken up, and brackets are kept from being read as an argument of ``\\``.
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(_printed(text).split()))


def _printed(text: str) -> str:
    """Without control signs, lone surrogates, unassigned and private signs; whatever separates words is a space."""
    kept = []
    for letter in text:
        category = unicodedata.category(letter)
        if category.startswith("Z") or letter in "\t\n\r\f\v":
            kept.append(" ")
        elif category not in ("Cc", "Cf", "Cs", "Cn", "Co"):
            kept.append(letter)
    return "".join(kept)


def latex(table: Table) -> str:
    """The table as a ``table`` environment, with what must be read beside it under its rules."""
    columns = [(place, column) for place, column in enumerate(table.columns) if _is_shown(table, place, column)]
    align = "".join("l" if column.kind in ("text", "yes_no") else "r" for _, column in columns)
    lines = [
        "% needs \\usepackage{booktabs,graphicx,textcomp} and \\usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\label{{tab:{_label(table.name)}}}",
        *([r"\resizebox{\linewidth}{!}{%"] if len(columns) > _WIDE else []),
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        " & ".join(escaped(heading(column)) for _, column in columns) + r" \\",
        r"\midrule",
        *(" & ".join(_cell(row.cells[place], column) for place, column in columns) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}" + ("}" if len(columns) > _WIDE else ""),
        "",
        r"\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        *(escaped(text) + r"\par" for text in _beside(table)),
        r"\end{minipage}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _is_shown(table: Table, place: int, column: Column) -> bool:
    """Not what stands aside, nor a column that is blank in every row."""
    return not column.aside and (not table.rows or any(row.cells[place].value not in (None, "") for row in table.rows))


def _cell(cell: Cell, column: Column) -> str:
    text = escaped(cell_text(cell, column))
    return "{--}" if text == escaped(BLANK) else text


def _beside(table: Table) -> list[str]:
    said = sorted({remarks(cell) for row in table.rows for cell in row.cells if cell.value is not None} - {""})
    watermark = [table.watermark] if table.watermark is not None else []
    return [
        *watermark,
        table.footer,
        *([table.note] if table.note else []),
        *(["* " + "; ".join(said)] if said else []),
    ]


def _label(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-:") else "-" for letter in name)
