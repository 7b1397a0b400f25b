"""Words of categories and descriptions, read with the closed vocabulary of a world."""

from __future__ import annotations

import pytest

from world_api.core import Vocabulary, judged_at_build

CLASSICAL = Vocabulary(judged_at_build("classical", ()))


@pytest.mark.parametrize("word", ["person", "People", "persons", "anybody", "人", "人们", "人物"])
def test_plurals_synonyms_and_chinese_words_are_the_category(word: str) -> None:
    read = CLASSICAL.read_category(word)
    assert (read.kinds, read.matched, read.unmatched) == ({"person"}, (word.casefold(),), ())


@pytest.mark.parametrize("word", ["man", "women", "guys", "ladies", "gentlemen", "children", "男人", "小孩"])
def test_a_narrower_word_is_its_category_and_a_word_that_nobody_judged(word: str) -> None:
    read = CLASSICAL.read_category(word)
    assert (read.kinds, read.matched, read.unmatched) == ({"person"}, ("person",), (word,))


@pytest.mark.parametrize("word", ["zebra", "car", "personal", "person carrier", "机器人", "not a person", "red", "?"])
def test_any_other_word_cannot_be_judged(word: str) -> None:
    read = CLASSICAL.read_category(word)
    assert (read.kinds, read.matched, read.unmatched) == (frozenset(), (), (word,))


def test_colours_beside_a_category_are_judged_and_other_words_are_not() -> None:
    read = CLASSICAL.read_category("people in red coats")
    assert (read.kinds, read.colours, read.unmatched) == ({"person"}, {"red"}, ("coats",))


@pytest.mark.parametrize(
    ("text", "colours", "unmatched"),
    [
        ("people in red hats", set(), {"red", "hats"}),
        ("woman with hair that is brown", set(), {"brown", "hair", "woman"}),
        ("red-haired person", set(), {"red", "haired"}),
        ("person in grey with black trousers", {"grey"}, {"black", "trousers"}),
        ("person with a red and white bag", set(), {"red", "white", "bag"}),
        ("person in red, white and black coat", {"red", "white", "black"}, {"coat"}),
        ("a black man", set(), {"black", "man"}),
        ("a person whose coat is red", {"red"}, {"whose", "coat"}),
        ("person in red walks to the door", {"red"}, {"walks", "door"}),
        ("person in a long red running jacket", {"red"}, {"long", "running", "jacket"}),
        ("金色长发的人", set(), {"金色", "长发"}),
        ("头发是金色的人", set(), {"金色", "头发"}),
        ("戴红帽子的人", set(), {"红", "帽子"}),
        ("背红色背包的人", set(), {"红色"}),
        ("somebody tall in red", {"red"}, {"tall"}),
        ("穿和服的人", set(), {"和服"}),
        ("黑人", set(), {"黑"}),
        ("黑色的人", {"black"}, set()),
        ("穿红色和白色衣服的人", {"red", "white"}, set()),
    ],
)
def test_a_colour_is_that_of_the_noun_beside_it(text: str, colours: set[str], unmatched: set[str]) -> None:
    read = CLASSICAL.read(text)
    assert (read.kinds, read.colours) == ({"person"}, colours)
    assert unmatched <= set(read.unmatched)
    assert not unmatched & set(read.matched)


@pytest.mark.parametrize(
    "text",
    "a dog,狗,red bottle,the dog next to a man,a woman's bag,女人的狗,a unicorn eats pizza,red and white hat,running dog,机器人,"
    "test pattern,打开冰箱".split(","),
)
def test_a_description_of_something_outside_the_vocabulary_is_of_no_kind(text: str) -> None:
    read = CLASSICAL.read(text)
    assert (read.kinds, read.matched, read.is_judged) == (frozenset(), (), False)
    assert read.unmatched


@pytest.mark.parametrize(
    "text", ["the one in red", "the second one", "in grey", "light grey shirt", "红衣服", "那个", "red"]
)
def test_a_description_without_a_kind_may_be_of_any(text: str) -> None:
    assert CLASSICAL.read(text).kinds is None


@pytest.mark.parametrize(
    "text", ["man opens doors", "那个人", "中年男人", "穿红衣服的女孩", "person eating a red apple"]
)
def test_words_for_deeds_and_looks_beside_a_person_change_no_kind(text: str) -> None:
    read = CLASSICAL.read(text)
    assert read.kinds == {"person"}
    assert read.colours <= {"red"} - ({"red"} if "apple" in text else set())


@pytest.mark.parametrize("text", ["person in navy", "person in a beige coat", "穿金色衣服的人", "person not in teal"])
def test_a_shade_is_not_judged_as_the_colour_nearest_to_it(text: str) -> None:
    read = CLASSICAL.read(text)
    assert (read.kinds, read.wanted, read.negated_colours) == ({"person"}, [], frozenset())
    assert {"navy", "beige", "金色", "teal"} & set(read.unmatched)


@pytest.mark.parametrize("text", ["nobody in red", "no people", "no one wears black", "没有人穿红色"])
def test_that_there_is_none_of_a_kind_describes_nothing_to_look_for(text: str) -> None:
    read = CLASSICAL.read(text)
    assert (read.matched, read.is_judged) == ((), False)
    assert read.unmatched


def test_a_colour_of_skin_beside_a_category_is_not_that_of_clothes() -> None:
    read = CLASSICAL.read_category("black man")
    assert (read.kinds, read.colours, set(read.unmatched)) == ({"person"}, frozenset(), {"black", "man"})
    assert CLASSICAL.read("person in a blue-and-black jacket").colours == {"blue", "black"}


def test_looks_of_one_of_several_categories_are_not_asked_of_the_others() -> None:
    read = CLASSICAL.read_category("people in red and moving objects")
    assert (read.kinds, read.colours, read.unmatched) == ({"person", "moving_object"}, frozenset(), ("red",))


@pytest.mark.parametrize("text", ["非洲人穿红色", "穿无袖红衣的人"])
def test_a_character_of_negation_inside_another_word_negates_nothing(text: str) -> None:
    read = CLASSICAL.read(text)
    assert (read.colours, read.negated_colours) == ({"red"}, frozenset())


def test_several_categories_are_told_apart_from_words_beyond_them() -> None:
    read = CLASSICAL.read_category("persons and zebras")
    assert (read.kinds, read.matched, read.unmatched) == ({"person"}, ("persons",), ("zebras",))


@pytest.mark.parametrize(
    ("word", "kind"),
    [("cups", "cup"), ("杯子", "cup"), ("red mugs", "red_mug"), ("folders", "folder"), ("文件夹", "folder")],
)
def test_the_oracle_judges_what_its_truth_records(word: str, kind: str) -> None:
    oracle = Vocabulary(judged_at_build("oracle", {"person", "cup", "red_mug", "folder"}))
    assert oracle.read_category(word).kinds == {kind}
    assert oracle.read_category("boxes").kinds == frozenset()


def test_a_world_that_followed_nothing_judges_what_it_recorded() -> None:
    assert judged_at_build("classical", (), follows=False) == frozenset()
    assert judged_at_build("made by others", {"dog"}) == {"dog"}


def test_an_oracle_judges_people_before_the_first_of_them_is_seen() -> None:
    assert judged_at_build("oracle", ()) == {"person"}


@pytest.mark.parametrize(
    ("text", "colours", "negated", "unmatched"),
    [
        ("light grey shirt and blue jeans", {"grey"}, set(), ("light", "shirt", "blue", "jeans")),
        ("person not in black", set(), {"black"}, ()),
        ("a person who isn’t in red", set(), {"red"}, ()),
        ("a person in red without a hat", {"red"}, set(), ("without", "hat")),
        ("without a hat in a red coat", {"red"}, set(), ("without", "hat", "coat")),
        ("not black but red", {"red"}, {"black"}, ()),
        ("neither black nor white", set(), {"black", "white"}, ()),
        ("anyone other than the person in black", set(), {"black"}, ()),
        ("non-black clothes", set(), {"black"}, ()),
        ("穿红色不穿黑色的人", {"red"}, {"black"}, ()),
        ("不穿黑色衣服的人", set(), {"black"}, ()),
        ("没穿黑色，穿红色", {"red"}, {"black"}, ()),
        ("没有戴帽子的人", set(), set(), ("没有戴", "帽子")),
        ("not a woman", set(), set(), ("not", "woman")),
        ("person in grey (large)", {"grey"}, set(), ()),
        ("不穿黑色或白色", set(), {"black", "white"}, ()),
        ("not black/grey", set(), {"black", "grey"}, ()),
    ],
)
def test_what_a_negation_turns_around_is_never_asked_for(
    text: str, colours: set[str], negated: set[str], unmatched: tuple[str, ...]
) -> None:
    read = CLASSICAL.read(text)
    assert (read.colours, read.negated_colours, read.unmatched) == (colours, negated, unmatched)


def test_other_things_that_a_description_names_are_not_judged_by_looking_at_the_one() -> None:
    oracle = Vocabulary(frozenset({"person", "cup"}))
    for text in ("a person with a cup", "拿杯子的人"):
        read = oracle.read(text)
        assert read.kinds == {"person"}
        assert set(read.unmatched) & {"cup", "杯子"}


@pytest.mark.parametrize(
    "text",
    ["person in grey or black", "grey or in black", "black/grey", "either grey or black", "灰色或黑色", "灰色或者黑色"],
)
def test_of_colours_with_or_between_them_one_is_asked_for(text: str) -> None:
    read = CLASSICAL.read(text)
    assert (read.colours, read.either, read.unmatched) == (frozenset(), ({"grey", "black"},), ())


def test_or_beside_and_asks_for_any_of_the_colours_and_is_told() -> None:
    read = CLASSICAL.read("red and white or blue")
    assert (read.either, read.unmatched) == (({"red", "white", "blue"},), ("or",))


def test_or_between_two_words_for_the_same_kind_parts_no_colours() -> None:
    assert CLASSICAL.read("a man or woman in red").colours == {"red"}


@pytest.mark.parametrize(
    "text",
    [
        "in red or with a hat",
        "black or not red",
        "not in black or in white",
        "not only black",
        "not just black",
        "never not black",
        "not in all black",
        "不只是黑色",
        "不是黑色就是红色",
        "不是不穿黑色",
        "不穿黑色或者穿红色",
    ],
)
def test_what_is_not_plainly_asked_for_or_excluded_is_neither(text: str) -> None:
    read = CLASSICAL.read(text)
    assert (read.wanted, read.negated_colours, read.matched) == ([], frozenset(), ())
    assert {"red", "black", "黑色"} & set(read.unmatched)


@pytest.mark.parametrize(
    ("text", "word"),
    [(f"the {word} person", word) for word in "first second third last other same".split()]
    + [("another person", "another"), ("第一人", "第一"), ("另一个人", "另一个")],
)
def test_a_word_for_which_one_of_several_is_meant_cannot_be_judged(text: str, word: str) -> None:
    assert CLASSICAL.read(text).unmatched == (word,)


@pytest.mark.parametrize(
    "word", ["object", "an object", "thing", "things", "item", "anything", "物体", "东西", "物品", "任何东西"]
)
def test_words_that_name_no_kind_are_all_things_in_a_category_and_in_a_description(word: str) -> None:
    for read in (CLASSICAL.read_category(word), CLASSICAL.read(word)):
        assert (read.kinds, read.matched, read.unmatched) == (None, (), ())
    assert CLASSICAL.read_category("moving objects").kinds == {"moving_object"}


def test_an_apposition_tells_of_what_category_a_thing_is() -> None:
    named = CLASSICAL.read("the visitor, a person in black")
    assert (named.kinds, named.colours, named.unmatched) == ({"person"}, {"black"}, ("visitor",))
    assert CLASSICAL.read("a dog, a white one").kinds == frozenset()
