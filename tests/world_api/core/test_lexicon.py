"""Words and concepts in two languages."""

from __future__ import annotations

import pytest

from world_api.core import concepts, content_words, required_terms, unrequired_words, words


@pytest.mark.parametrize("text", ["a man in black", "黑衣男子", "somebody dressed in BLACK", "穿黑色衣服的人"])
def test_the_same_description_names_the_same_concepts_in_two_languages(text: str) -> None:
    assert concepts(text) == {"black", "person"}


def test_a_colour_inside_another_word_is_not_a_colour() -> None:
    assert not concepts("a bored tanker in Redmond")


def test_chinese_is_indexed_by_characters_and_pairs_and_english_by_stems() -> None:
    assert words("花园 walks") == ["walk", "花", "园", "花园"]
    assert words("making boxes stopped movies") == words("make box stop movie")


@pytest.mark.parametrize(
    ("query", "text"), [("中国", "中国人很多"), ("船", "一只船在河上"), ("里面", "箱子里面"), ("时间", "会议时间")]
)
def test_a_chinese_word_meets_the_text_that_holds_it(query: str, text: str) -> None:
    assert set(content_words(query)) <= set(words(text))
    assert query in words(text)


def test_stop_words_go_unless_nothing_else_is_there() -> None:
    assert content_words("where is the folder") == ["folder"]
    assert content_words("who is it") == ["who", "is", "it"]


def test_a_text_must_hold_the_words_and_the_concepts_of_a_description() -> None:
    assert required_terms("a woman in a red coat") == ["coat", "#person", "#red"]
    assert required_terms("a person in black") == ["#black", "#person"]


def test_a_chinese_word_inside_another_one_is_not_read() -> None:
    assert concepts("红色的车") == {"red", "car"}
    assert not concepts("火车站外的自行车")
    assert required_terms("红色的火车") == ["火车", "#red"]


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("a person in black", []),
        ("somebody", []),
        ("the woman with blonde hair", ["woman"]),
        ("person not in black", ["not", "black"]),
        ("a person in red without a hat", ["without", "hat"]),
        ("a person who isn’t in red", ["isn't", "red"]),
        ("穿黑衣服的女人", ["女人"]),
        ("没有戴帽子的人", []),  # nothing else is left, so all of it is required
    ],
)
def test_words_that_make_no_difference_are_told(text: str, unused: list[str]) -> None:
    assert unrequired_words(text) == unused
