"""Words that mean the same thing or deed, for which a search and a description should not depend on the one chosen.

Only words that replace each other in nearly every sentence are here. A Chinese word has two characters, a unit of the index.
"""

from __future__ import annotations

from functools import lru_cache

from world_api.core.vocabulary import words

_GROUPS = (
    "fridge refrigerator 冰箱", "sofa couch settee 沙发", "tv television telly 电视", "cupboard cabinet 柜子 橱柜",
    "phone telephone cellphone smartphone 手机 电话", "rubbish garbage trash 垃圾", "bicycle bike 单车", "cup mug 杯子",
    "picture photo photograph 照片 相片", "spectacles eyeglasses 眼镜", "backpack rucksack 背包", "parcel package 包裹",
    "stairs staircase stairway 楼梯", "lift elevator 电梯", "flashlight torch 手电", "trousers pants 裤子", "film movie 电影",
    "jumper sweater pullover 毛衣", "shop store 商店", "baby infant 婴儿", "doctor physician 医生 大夫", "rug carpet 地毯",
    "mother mum mom 妈妈 母亲", "father dad 爸爸 父亲", "corridor hallway 走廊 过道", "kitchen 厨房", "bedroom 卧室",
    "open 打开", "begin start 开始", "leave depart 离开", "chat converse 聊天", "throw toss 抛出", "shout yell scream",
    "cry weep 哭泣", "buy purchase 购买", "repair fix mend 修理", "jump leap 跳跃", "hide conceal 隐藏",
)  # fmt: skip


@lru_cache(maxsize=1)
def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for group in _GROUPS:
        units = frozenset(unit for word in group.split() for unit in words(word)[-1:])
        for unit in units:
            groups[unit] = groups.get(unit, frozenset()) | units
    return groups


def synonyms(unit: str) -> frozenset[str]:
    """Return a unit of a text (as ``words`` gives them) and the units of the words that mean the same."""
    return _groups().get(unit, frozenset()) | {unit}
