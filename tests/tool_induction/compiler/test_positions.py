from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction.compiler import at_line, locate_all
from tool_induction.language import format_path

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


def test_many_paths_are_found_in_one_reading() -> None:
    paths = [("a b",), ("a b", 1, "e"), ("f",), (), ("nowhere",), ("a b", 1, 'c"d')]

    found = locate_all(TEXT, paths)

    assert found == {path: place for path in paths if (place := locate(TEXT, path)) is not None}
    assert len(found) == 5


def test_a_mark_reaches_to_the_end_of_what_it_marks_or_of_the_line() -> None:
    one, all_of_it = locate(TEXT, ("a b", 1, "e")), locate(TEXT, ())

    assert one is not None
    assert all_of_it is not None
    assert one.caret().split("\n")[1].strip() == "^~~~~~~~"
    assert all_of_it.caret() == "{\n^"


def test_a_mark_stands_under_letters_of_double_width() -> None:
    text = '{"描述": "红色", "x": 1}'
    place = locate(text, ("x",))

    assert place is not None
    assert place.caret().split("\n")[1] == " " * (len('{"描述": "红色", ') + 4) + "^~~~~~"


def test_in_a_long_line_the_mark_is_still_seen() -> None:
    text = "[" + ", ".join(["12345"] * 200) + "]"
    place = locate(text, (150,))

    assert place is not None
    shown, mark = place.caret().split("\n")
    assert len(shown) <= 110
    assert shown[mark.index("^") :].startswith("12345")


@pytest.mark.parametrize("text", ["", "[1,", '{"a" 1}', "\u00e9", '{"a": [}', "[" * 50])
def test_a_text_that_is_no_json_gives_what_can_be_found(text: Any) -> None:
    assert locate_all(text, [("a", 0), (7,)]) == {}


def test_a_line_as_a_parser_tells_it() -> None:
    place = at_line("ab\r\ncd", 1, 2)

    assert place is not None
    assert (place.text, place.caret()) == ("ab", "ab\n ^")
    assert at_line("ab", 9, 1) is None


@pytest.mark.parametrize(
    ("before", "wide"),
    [("e\u0301te\u0301", 3), ("\u200b\u202e", 2), ("東京", 4), ("\x9b", 1), ("é", 1), ("\u20dd", 0)],
)
def test_the_mark_stands_under_its_place_whatever_is_written_before_and_in_it(before: str, wide: int) -> None:
    place = locate(f'{{"{before}": 1, "b{before}": 2}}', (f"b{before}",))
    assert place is not None

    line, mark = place.caret().split("\n")

    assert mark.index("^") == len('{"": 1, ') + wide
    assert len(mark) - mark.index("^") == len('"b": 2') + wide
    assert all(letter.isprintable() for letter in line)
