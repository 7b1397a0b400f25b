"""Looks of people in descriptions: what is read where it can be judged, and what stays with the other words."""

from __future__ import annotations

import pytest

from world_api.core import PartLook, Vocabulary, in_chinese, in_words

PARTS = frozenset({"upper", "lower", "hair", "facing"})
JUDGING = Vocabulary(frozenset({"person", "bottle"}), PARTS)
PLAIN = Vocabulary(frozenset({"person", "bottle"}))


@pytest.mark.parametrize(
    ("text", "looks", "unmatched"),
    [
        ("a woman with long black hair in a grey cardigan", ["black hair", "grey top"], ["woman", "long", "cardigan"]),
        ("a black-haired man in blue jeans", ["black hair", "blue bottoms"], ["man", "jeans"]),
        ("the person whose hair is blonde", ["blonde hair"], ["whose"]),
        ("a blond man facing the camera", ["blonde hair", "facing the camera"], ["man"]),
        ("person in black and grey trousers", ["black bottoms", "grey bottoms"], ["trousers"]),
        ("a person in a grey top and black bottoms", ["black bottoms", "grey top"], []),
        ("穿灰色上衣的黑发女子", ["black hair", "grey top"], ["女子"]),
        ("金发女人穿着黑色长裤", ["blonde hair", "black bottoms"], ["女人", "长裤"]),
        ("背对镜头的人", ["from behind"], []),
    ],
)  # fmt: skip
def test_looks_of_parts_are_read_in_both_languages(text: str, looks: list[str], unmatched: list[str]) -> None:
    reading = JUDGING.read(text, of=frozenset({"person"}))
    assert sorted(map(str, reading.looks)) == sorted(looks)
    assert set(reading.unmatched) - {"whose"} == set(unmatched) - {"whose"}
    assert not reading.colours


@pytest.mark.parametrize("text", ["red hair", "black or brown hair", "a person not in blue jeans", "hair"])
def test_what_is_not_judged_of_a_part_stays_unmatched(text: str) -> None:
    reading = JUDGING.read(text, of=frozenset({"person"}))
    assert not reading.looks
    assert reading.unmatched


def test_the_colour_of_the_whole_outfit_is_no_look_of_a_part() -> None:
    for text in ("a person in black", "黑衣男子", "a person with black clothes"):
        reading = JUDGING.read(text)
        assert (reading.colours, reading.looks) == (frozenset({"black"}), frozenset())


@pytest.mark.parametrize(
    "text", ["a person with black hair", "a person in a grey cardigan", "a person in blue jeans, from behind"]
)
def test_a_world_that_judges_no_parts_reads_as_before(text: str) -> None:
    reading = PLAIN.read(text)
    assert not reading.looks
    assert {"behind"} & set(reading.unmatched) == {"behind"} & set(text.split())
    assert reading.colours == ({"grey"} if "cardigan" in text else set())


def test_a_hint_in_words_is_read_as_the_looks_that_it_names() -> None:
    looks = (
        PartLook("upper", "grey"), PartLook("upper", "black"), PartLook("lower", "blue"), PartLook("hair", "yellow"),
        PartLook("facing", "away"),
    )  # fmt: skip
    assert in_words(looks) == "in grey and black top and blue bottoms, blonde hair, from behind"
    assert JUDGING.read(f"person {in_words(looks)}").looks == set(looks)
    chinese = in_chinese(looks, {"grey": "灰色", "black": "黑色", "blue": "蓝色"}.__getitem__)
    assert chinese == "灰色黑色上衣 蓝色下装 金色头发 背对镜头"
    assert JUDGING.read(f"{chinese} 的人").looks == set(looks)
    assert in_words(()) == ""
