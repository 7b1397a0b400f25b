"""Tables of words: colours, categories, and words without content, in English and Chinese.

The eleven colours are the basic colour terms of Berlin and Kay (1969). A profile that judges more adds its categories.
"""

from __future__ import annotations

from world_api.core.object_names import COCO, NARROWER_OBJECTS

#: canonical word -> (English words, Chinese words); the canonical word is the first.
COLOURS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "black": (("black",), ("黑色", "黑")),
    "white": (("white",), ("白色", "白")),
    "grey": (("grey", "gray"), ("灰色", "灰")),
    "red": (("red",), ("红色", "红")),
    "orange": (("orange",), ("橙色", "橘色", "橙")),
    "yellow": (("yellow",), ("黄色", "黄")),
    "green": (("green",), ("绿色", "绿")),
    "blue": (("blue",), ("蓝色", "蓝")),
    "purple": (("purple", "violet"), ("紫色", "紫")),
    "pink": (("pink",), ("粉色", "粉红")),
    "brown": (("brown",), ("棕色", "褐色", "咖啡色")),
}

#: Shade -> the colour under which search ranks it. A measured colour shows neither that it is the shade nor, since shades
#: cross the borders of colours, that it is not.
SHADES = {
    **dict.fromkeys(("silver", "银色"), "grey"),
    **dict.fromkeys(("crimson", "scarlet", "maroon"), "red"),
    **dict.fromkeys(("golden", "金色"), "yellow"),
    "olive": "green",
    **dict.fromkeys(("navy", "teal", "cyan", "turquoise", "青色"), "blue"),
    "lilac": "purple",
    "magenta": "pink",
    **dict.fromkeys(("beige", "tan"), "brown"),
}

#: Measured colour -> colours that about a quarter or more of what is named so may be called as well, in other light or by
#: another camera (``world_api.build.colours.near_names``). Of such a colour a measured word shows as little as of a shade.
NEIGHBOURS: dict[str, frozenset[str]] = {
    "black": frozenset({"grey", "red", "green", "blue", "purple", "brown"}),
    "white": frozenset({"grey", "orange", "green", "blue", "pink"}),
    "grey": frozenset({"black", "white", "yellow", "green", "blue", "brown"}),
    "red": frozenset({"pink", "brown"}),
    "orange": frozenset({"red", "yellow", "brown"}),
    "yellow": frozenset({"green"}),
    "green": frozenset(),
    "blue": frozenset({"purple"}),
    "purple": frozenset({"blue", "pink"}),
    "pink": frozenset({"red", "purple"}),
    "brown": frozenset({"black", "red", "orange"}),
}

#: Colours that hair, shoes and trousers often have. If a description has no other colour, the whole outfit is meant.
NEUTRALS = frozenset({"black", "white", "grey", "brown"})

#: canonical category -> (English words, Chinese words)
CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "person": (
        (
            "person", "persons", "people", "man", "men", "woman", "women", "boy", "girl", "guy", "lady", "gentleman",
            "child", "children", "kid", "someone", "somebody", "pedestrian", "human", "adult", "individual",
        ),
        ("人", "男子", "女子", "男人", "女人", "男孩", "女孩", "男生", "女生", "孩子", "行人", "人物", "先生", "女士", "谁"),
    ),
    "face": (("face", "faces"), ("脸", "面孔")),
    "moving_object": (("moving_object", "object", "thing", "item"), ("物体", "东西", "物品")),
    "car": (("car", "cars", "automobile"), ("汽车", "轿车", "车辆", "车")),
    "bottle": (("bottle", "bottles"), ("瓶子",)),
    "dog": (("dog", "dogs"), ("狗",)),
    "cat": (("cat", "cats"), ("猫",)),
    "text": (("text", "words", "writing", "caption", "subtitle"), ("文字", "字幕")),
}  # fmt: skip

#: Words that contain a word of the tables above and mean something else.
OTHER_CHINESE = (
    "火车", "列车", "电车", "马车", "自行车", "单车", "摩托车", "公交车", "车站", "车间", "车票", "风车", "水车",
    "机器人", "雪人", "稻草人", "和服",
)  # fmt: skip

#: Words without content in a description or a question.
STOP_WORDS = frozenset(
    "a an the in on at of to and or with by for from is are was were be been being this that these those it its he she "
    "they them him his her their there here who whom which what when where why how do does did doing done has have had not "
    "as into out up down over under me my we our you your i s t "
    "wearing wears wear dressed clothes clothing clad coloured colored first second last time appear appears appeared".split()
)
#: The same in Chinese: single characters and pairs, the units of the index.
STOP_CHINESE = frozenset(
    "的 了 在 是 我 你 他 她 它 们 这 那 有 和 与 或 就 都 也 很 到 说 要 会 着 看 吗 吧 呢 么 什 怎 哪 "
    "穿 衣 服 第 一 次 出 现 首 时 中 里 "
    "没有 什么 哪里 时候 怎么 衣服 的衣 服的 穿着 一次 第一 出现 首次 视频 在做 他们 她们 我们 你们 这个 那个 一个".split()
)

#: Words of these tables that are narrower than their category: age, sex and number are not measured.
NARROWER_WORDS = frozenset(
    "man men woman women boy girl guy lady gentleman child children kid baby toddler teenager crowd pedestrian adult automobile "
    "男子 女子 男人 女人 男孩 女孩 男生 女生 男性 女性 孩子 小孩 儿童 大人 成年人 老人 年轻人 行人 先生 女士 轿车".split()
).union(*(words for both in NARROWER_OBJECTS.values() for words in both))

#: profile -> the categories that it judges. The oracle records all people; of other categories it judges recorded ones.
JUDGED_BY_PROFILE: dict[str, frozenset[str]] = {
    "classical": frozenset({"person", "moving_object"}),
    "oracle": frozenset({"person"}),
}

#: The category of words such as "thing" that mean things of any category, people included.
ANY = "any"

#: canonical category -> (English words, Chinese words), in addition to those of ``CATEGORIES``.
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
    "cup": COCO["cup"],
    "book": COCO["book"],
    "umbrella": COCO["umbrella"],
    "box": (("box",), ("盒子", "箱子")),
    "bag": (("bag",), ("包", "袋子")),
    "key": (("key",), ("钥匙",)),
    "hat": (("hat",), ("帽子",)),
    "scarf": (("scarf",), ("围巾",)),
    "letter": (("letter",), ("信", "信件")),
}
