"""Colour words: the closed English list that perception writes, and the English and Chinese words people use for them.

The eleven are the basic colour terms of Berlin and Kay (1969).
"""

from __future__ import annotations

#: canonical word -> (English words, Chinese words); the canonical word stands first.
COLOURS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "black": (("black",), ("黑色", "黑")),
    "white": (("white",), ("白色", "白")),
    "grey": (("grey", "gray", "silver"), ("灰色", "灰", "银色")),
    "red": (("red", "crimson", "scarlet", "maroon"), ("红色", "红")),
    "orange": (("orange",), ("橙色", "橘色", "橙")),
    "yellow": (("yellow", "golden"), ("黄色", "黄", "金色")),
    "green": (("green", "olive"), ("绿色", "绿")),
    "blue": (("blue", "navy", "teal", "cyan", "turquoise"), ("蓝色", "蓝", "青色")),
    "purple": (("purple", "violet", "lilac"), ("紫色", "紫")),
    "pink": (("pink", "magenta"), ("粉色", "粉红")),
    "brown": (("brown", "beige", "tan"), ("棕色", "褐色", "咖啡色")),
}

#: Colours that hair, shoes and trousers often have: alone in a description, such a word speaks of the whole outfit.
NEUTRALS = frozenset({"black", "white", "grey", "brown"})
