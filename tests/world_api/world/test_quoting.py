"""Words as they are given."""

from __future__ import annotations

import pytest

from world_api.search import holds_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Oh, hello.", "HELLO"),
        ("I didn’t know you were there.", "i didn't know"),
        ("我们明天在花园里见面", "花园"),
        ("我说hello了", "hello"),
        ("Part 2: the garden", "2 the"),
    ],
)
def test_words_are_found_whatever_their_case_and_punctuation(text: str, words: str) -> None:
    assert holds_words(text, words)


@pytest.mark.parametrize(
    ("text", "words"), [("Othello", "hello"), ("12 men", "2 men"), ("there you are", "you there"), ("What?", "?")]
)
def test_parts_of_words_and_words_in_another_order_are_not_found(text: str, words: str) -> None:
    assert not holds_words(text, words)
