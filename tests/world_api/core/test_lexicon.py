"""Words and concepts in two languages."""

from __future__ import annotations

import pytest

from world_api.core.lexicon import categories_in, colours_in, content_words, unseen_words, words


@pytest.mark.parametrize("text", ["a man in black", "黑衣男子", "somebody dressed in BLACK", "穿黑色衣服的人"])
def test_the_same_description_names_the_same_concepts_in_two_languages(text: str) -> None:
    assert colours_in(text) == {"black"}
    assert categories_in(text) == {"person"}


def test_a_colour_inside_another_word_is_not_a_colour() -> None:
    assert colours_in("a bored tanker in Redmond") == frozenset()


def test_chinese_is_indexed_by_pairs_and_english_without_endings() -> None:
    assert words("花园 walks") == ["walk", "花园"]
    assert words("安静的") == ["安静", "静的"]


def test_stop_words_go_unless_nothing_else_is_there() -> None:
    assert content_words("where is the folder") == ["folder"]
    assert content_words("who is it") == ["who", "is", "it"]


def test_words_that_colour_and_kind_cannot_check_are_told() -> None:
    assert unseen_words("a woman in a red coat") == ["coat"]
    assert unseen_words("a person in black") == []
