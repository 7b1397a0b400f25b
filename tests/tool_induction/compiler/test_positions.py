from typing import Any

import pytest

from tool_induction.compiler.positions import locate
from tool_induction.language.diagnostics import format_path

TEXT = """{
  "a b": [1, {"c\\"d": null,
      "e": "x"}],
  "f": {}
}"""


@pytest.mark.parametrize(
    ("path", "line", "marked"),
    [
        (("a b",), 2, '"a b"'),
        (("a b", 0), 2, "1,"),
        (("a b", 1), 2, "{"),
        (("a b", 1, 'c"d'), 2, '"c\\"d"'),
        (("a b", 1, "e"), 3, '"e"'),
        (("f",), 4, '"f"'),
        ((), 1, "{"),
    ],
)
def test_a_path_is_found_in_the_text(path: Any, line: Any, marked: Any) -> None:
    place = locate(TEXT, path)

    assert place is not None
    assert place.line == line
    assert place.text[place.column - 1 :].startswith(marked)
    assert place.caret().split("\n")[1].index("^") == place.column - 1


@pytest.mark.parametrize("path", [("g",), ("f", "x"), ("a b", 7), ("a b", "x"), ("f", 0)])
def test_a_path_that_is_not_there_has_no_position(path: Any) -> None:
    assert locate(TEXT, path) is None


def test_odd_keys_are_quoted_in_paths() -> None:
    assert format_path(("a", 0, "it's b")) == "$.a[0]['it\\'s b']"
