"""Readings of frames put together into stretches of text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from world_api.core import TimeSpan
from world_api.world import ScreenText, join_readings, rows_from_records, same_line

WHOLE = TimeSpan(start=0.0, end=300.0)


def reading(time: float, text: str, *, y: float = 10.0, confidence: float = 0.9) -> dict[str, Any]:
    box = {"x1": 0.0, "y1": y, "x2": 90.0, "y2": y + 10} if text else {"x1": 0.0, "y1": 0.0, "x2": 0.0, "y2": 0.0}
    return {"time": time, "text": text, **box, "confidence": confidence, "known_at": time, "producer": "made/1"}


def joined(*rows: dict[str, Any], shots: tuple[float, ...] = ()) -> list[ScreenText]:
    edges = [0.0, *shots, WHOLE.end]
    spans = [TimeSpan(start=a, end=b) for a, b in pairwise(edges)]
    return join_readings(rows_from_records("screen_texts", list(rows)), spans, WHOLE)


def test_slips_of_reading_do_not_part_a_text_and_the_surest_spelling_is_kept() -> None:
    (text,) = joined(
        reading(1, "PRODUCED BR", confidence=0.6), reading(6, "PRODUCED BY", confidence=0.9),
        reading(11, "PRODUCED B", confidence=0.7), reading(12, ""),
    )  # fmt: skip
    assert (text.text, text.confidence, text.frame_time) == ("PRODUCED BY", 0.9, 6.0)
    assert (text.span.start, text.span.end) == (1.0, 12.0)


def test_slips_of_reading_that_add_up_are_no_other_text() -> None:
    (text,) = joined(
        reading(1, "DIRECTED BY", confidence=0.9), reading(6, "DIRECTED BV", confidence=0.8),
        reading(11, "DIRECTEO BV", confidence=0.7), reading(12, ""),
    )  # fmt: skip
    assert (text.text, text.span.start, text.span.end) == ("DIRECTED BY", 1.0, 12.0)


def test_a_clock_is_one_text_that_lists_its_readings() -> None:
    (label, clock) = joined(
        reading(3, "GEAR 1"), reading(3, "00:10:02.12", y=50), reading(3.5, "GEAR 1"), reading(8.5, "GEAR 1"),
        reading(15, "GEAR 1"), reading(20, "GEAR 1"),
        reading(33, "GEAR 1"), reading(33, "00:10:32.28", y=50), reading(33.5, "GEAR 1"),
    )  # fmt: skip
    assert (label.text, label.span.start) == ("GEAR 1", 3.0)
    assert clock.text == "00:10:02.12 … 00:10:32.28"
    assert (clock.span.start, clock.span.end) == (3.0, 33.5)


def unread(time: float, *, y: float = 10.0) -> dict[str, Any]:
    return reading(time, "9", y=y) | {"text": ""}


def test_a_clock_goes_on_while_it_stands_there_unread() -> None:
    label, clock = joined(
        *(reading(t, "GEAR 1") for t in (3, 8, 13, 18)), reading(3, "00:10", y=50), unread(8, y=50), unread(13, y=50),
    )  # fmt: skip
    assert (label.span.start, label.span.end) == (3.0, 33.0)
    assert (clock.text, clock.span.start, clock.span.end) == ("00:10", 3.0, 18.0)


def test_what_stands_unread_is_nothing_else_than_figures_at_its_place_in_its_shot() -> None:
    (words,) = joined(reading(3, "GEAR"), unread(8))
    (elsewhere,) = joined(reading(3, "00:10"), unread(8, y=50))
    (later,) = joined(reading(3, "00:10"), reading(6, ""), unread(8))
    (before_cut,) = joined(reading(3, "00:10"), unread(8), shots=(7.0,))
    assert [text.span.end for text in (words, elsewhere, later, before_cut)] == [8.0, 8.0, 6.0, 7.0]
    assert joined(unread(3)) == []


@pytest.mark.parametrize("end", [4.0, 9.0, 14.0, 29.0])
def test_a_clock_that_stands_unread_knows_no_future(end: float) -> None:
    rows = [reading(3, "00:10"), *(unread(t) for t in (8.0, 13.0, 18.0)), reading(28, "00:35"), reading(30, "")]
    (text,) = join_readings(
        rows_from_records("screen_texts", [row for row in rows if row["known_at"] <= end]),
        [TimeSpan(start=0.0, end=end)],
        TimeSpan(start=0.0, end=end),
    )
    assert (text.span.start, text.span.end) == (3.0, end)


def test_a_clock_of_an_hour_is_cut_into_stretches_that_lose_no_reading() -> None:
    texts = joined(*(reading(3.0 + 30 * n, f"0{n}:00") for n in range(8)))
    assert [text.text for text in texts] == ["00:00 … 01:00 … 02:00", "03:00 … 04:00 … 05:00", "06:00 … 07:00"]


def test_no_text_stays_where_nothing_was_decoded() -> None:
    rows = rows_from_records("screen_texts", [reading(3, "GEAR")])
    [whole] = join_readings(rows, [WHOLE], WHOLE)
    [text] = join_readings(rows, [WHOLE], WHOLE, [TimeSpan(start=1.0, end=2.0), TimeSpan(start=5.0, end=9.0)])
    assert (text.span.start, text.span.end) == (3.0, 5.0)
    assert whole.span.end > 9.0


def test_figures_at_two_places_are_two_texts() -> None:
    texts = joined(reading(3, "12", y=10), reading(4, "13", y=200))
    assert [text.text for text in texts] == ["12", "13"]


def test_a_logo_stands_through_cuts() -> None:
    (logo,) = joined(*(reading(float(t), "NEWS") for t in range(0, 30, 5)), reading(27, ""), shots=(7.0, 13.0, 21.0))
    assert (logo.span.start, logo.span.end) == (0.0, 27.0)


def test_a_text_that_was_gone_between_is_two() -> None:
    texts = joined(reading(1, "EXIT ONLY"), reading(3, ""), reading(5, "EXIT ONLY"), reading(6, ""))
    assert [(text.span.start, text.span.end) for text in texts] == [(1.0, 3.0), (5.0, 6.0)]


def test_chinese_lines_are_joined_by_the_same_rule() -> None:
    (text,) = joined(reading(1, "今天的花园很安静"), reading(6, "今天的花园很安睛", confidence=0.5), reading(7, ""))
    assert (text.text, text.span.end) == ("今天的花园很安静", 7.0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("GEAR 1", "gear  1", True),
        ("SQUARE GEAR 1", "SQUARE GEAR )", True),
        ("Chapter 10", "Chapter 11", False),
        ("00:10:02.12", "00:10:20.12", False),
        ("Chapter 1", "Chapter 10", False),
        ("PRODUCED BY", "PRODUCED B", True),
        ("EXIT", "EDIT", False),
        ("Ann", "Bob", False),
    ],
)
def test_what_is_one_line(one: str, other: str, same: bool) -> None:
    assert same_line(one, other) is same
    assert same_line(other, one) is same
