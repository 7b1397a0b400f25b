"""Category data: what each profile judges when it builds a world, and the words that people use for categories.

A profile that judges more adds its categories here; nothing else has to change. Words that search compares are in ``lexicon``.
"""

from __future__ import annotations

from world_api.core.lexicon import CATEGORIES

#: profile -> the categories that its tracks tell apart; what it does not list it cannot judge.
#: The oracle's truth is complete for people; of things it judges the categories that it records.
JUDGED_BY_PROFILE: dict[str, frozenset[str]] = {
    "classical": frozenset({"person", "moving_object"}),
    "oracle": frozenset({"person"}),
}

#: The category of words that name no kind: things of any category, people included.
ANY = "any"

#: canonical category -> (English words, Chinese words), beside those that search knows.
MORE_CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ANY: (
        ("object", "thing", "item", "anything", "something", "everything", "stuff"),
        ("物体", "东西", "物品", "事物", "任何", "所有", "一切", "全部"),
    ),
    "person": (
        ("persons", "anyone", "anybody", "everyone", "everybody", "baby", "toddler", "teenager", "crowd"),
        ("人们", "大人", "成年人", "小孩", "儿童", "老人", "年轻人", "男性", "女性"),
    ),
    "moving_object": (("moving object", "moving thing"), ("运动物体", "移动物体")),
    "folder": (("folder",), ("文件夹",)),
    "cup": (("cup", "mug"), ("杯子", "杯", "茶杯")),
    "book": (("book",), ("书", "书本")),
    "box": (("box",), ("盒子", "箱子")),
    "bag": (("bag",), ("包", "袋子")),
    "key": (("key",), ("钥匙",)),
    "umbrella": (("umbrella",), ("雨伞", "伞")),
    "hat": (("hat",), ("帽子",)),
    "scarf": (("scarf",), ("围巾",)),
    "letter": (("letter",), ("信", "信件")),
}

#: Words for a narrower kind than their category, beside those that search knows: nothing measured tells age, sex or number.
NARROWER = frozenset("baby toddler teenager crowd 大人 成年人 小孩 儿童 老人 年轻人 男性 女性".split())


def english_names() -> dict[str, str]:
    """English word or phrase -> canonical category; singular forms, and the plurals that are listed."""
    return {
        word: name for table in (CATEGORIES, MORE_CATEGORIES) for name, (words, _) in table.items() for word in words
    }


def chinese_names() -> dict[str, str]:
    """Chinese word -> canonical category."""
    return {
        word: name for table in (CATEGORIES, MORE_CATEGORIES) for name, (_, words) in table.items() for word in words
    }
