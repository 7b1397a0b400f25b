"""Attributes of entities that a vision model is asked about: the words for each kind, and which of them a text surely asks for.

No measurement of a profile judges these words. They are words of a description ("a woman with glasses"), so a text
asks for one of them only if nothing else in the text could own it: "a person beside a man" does not ask for a man.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from world_api.core.lexicon import CATEGORIES, COLOURS
from world_api.core.vocabulary import CHINESE, LATIN, fold, longest_first

Words = tuple[tuple[str, ...], tuple[str, ...]]

#: attribute -> (English words, Chinese words). These are kinds of people, so that they may be the noun of a description.
PEOPLE: Mapping[str, Words] = {
    "woman": (("woman", "women", "lady", "female"), ("女人", "女子", "女士", "女性")),
    "man": (("man", "men", "gentleman", "male"), ("男人", "男子", "男士", "男性")),
    "child": (("child", "children", "kid", "kids"), ("孩子", "小孩", "儿童")),
}
#: What people wear, carry, or have on head and face.
WORN: Mapping[str, Words] = {
    "glasses": (("glasses", "spectacles", "eyeglasses"), ("眼镜",)),
    "hat": (("hat", "hats", "cap", "beanie"), ("帽子", "帽")),
    "beard": (("beard", "bearded"), ("胡子", "胡须")),
    "headphones": (("headphones", "headset", "earphones"), ("耳机",)),
    "scarf": (("scarf",), ("围巾",)),
    "backpack": (("backpack", "rucksack"), ("背包", "双肩包")),
    "handbag": (("handbag", "purse"), ("手提包",)),
    "bald": (("bald",), ("光头", "秃头")),
}
_PERSON = {**PEOPLE, **WORN}
#: Attributes that last as long as a video does: what a person is, and the colours of a thing. What is worn or carried is put on
#: and taken off, so that a picture shows it for its own moment alone.
LASTING = frozenset({*PEOPLE, "beard", "bald", *COLOURS})

_PERSONS = frozenset(CATEGORIES["person"][0])
#: Words that may be beside attributes without changing whose they are. After one of ``_CUES`` a word for a person is of another one.
_CUES = frozenset("with wearing wears wear has have having carrying carries in".split())
_BESIDE = _CUES | frozenset(
    "a an the is are was were does do did he she it they this that who one any and also colour color look like what".split()
)
_ENGLISH_MARKS = re.compile(r"[^a-z0-9'\s,.?!_-]")


@cache
def _names() -> dict[str, str]:
    """Return the attribute that each word names, in English and Chinese; made when first used, since few questions need it."""
    return {word: name for name, own in _PERSON.items() for words in own for word in words}


@cache
def _chinese_part() -> re.Pattern[str]:
    """Return a pattern of the parts of a Chinese text that may be beside attributes, and the attributes."""
    return longest_first([*_names(), *CATEGORIES["person"][1], *"戴着穿有留背一个位名的和他她它是吗这那色？。，"])


def attributes_of(category: str) -> tuple[str, ...]:
    """Return the attributes that a vision model is asked about an entity of a category.

    Of a detected thing they are the colours, since what was measured in its box may be of what is behind it.
    """
    return tuple(_PERSON if category == "person" else COLOURS)


def attribute_of(word: str) -> str | None:
    """Return the attribute that a word names, in English or Chinese; None if it names none."""
    return _names().get(word)


def asked_attributes(text: str) -> frozenset[str]:
    """Return the attributes of people that a description or question surely asks of the one person that it is about.

    They are none if anything else is in it: another noun, a negation, ``or``. The noun itself ("woman" in "a woman at the
    desk") is one no matter what follows. Colours are left to the parser of descriptions.
    """
    folded = fold(text)
    return _in_chinese(folded) if CHINESE.search(folded) else _in_english(folded)


def _in_english(folded: str) -> frozenset[str]:
    if re.search(r"\bor\b|\bnot\b|n't\b|\bno\b|/", folded):
        return frozenset()
    noun: set[str] = set()
    others: set[str] = set()
    is_owned = False  # a noun or a cue came before, so that a word for a person names another one
    for token in LATIN.findall(folded):
        name = _names().get(token)
        if name is not None and name in PEOPLE and not is_owned:
            noun.add(name)
            is_owned = True
        elif name is not None and name not in PEOPLE:
            others.add(name)
        elif token in _PERSONS and not is_owned:
            is_owned = True
        elif token in _BESIDE:
            is_owned = is_owned or token in _CUES
        else:
            return frozenset(noun)
    return frozenset(noun if _ENGLISH_MARKS.search(folded) else noun | others)


def _in_chinese(folded: str) -> frozenset[str]:
    parts = _chinese_part().findall(folded)
    if "".join(parts) != "".join(folded.split()):
        return frozenset()
    named = [name for part in parts if part.strip("吗？。，") and (name := _names().get(part, "")) is not None]
    people = [place for place, name in enumerate(named) if name in PEOPLE]
    if people and people != [len(named) - 1]:  # the noun is the last word
        return frozenset()
    return frozenset(filter(None, named))
