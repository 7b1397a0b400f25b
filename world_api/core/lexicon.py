"""Words and concepts: English and Chinese words for colours and categories, mapped to one canonical word each.

Search and detection compare concepts, so that "a man in black", "黑衣男子" and a track marked ``person``, ``black`` match. The
eleven colours are the basic colour terms of Berlin and Kay (1969).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock
from typing import Any

#: canonical word -> (English words, Chinese words); the canonical word is the first.
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
)  # fmt: skip

ANYTHING = frozenset({"any", "anything", "all", "everything", "object", "objects", "*", "任何", "所有"})

#: Words without content in a description or a question.
STOP_WORDS = frozenset(
    "a an the in on at of to and or with by for from is are was were be been being this that these those it its he she "
    "they them his her their there here who whom which what when where why how do does did doing done has have had not "
    "as into out up down over under me my we our you your i s t "
    "wearing wears wear dressed clothes clothing clad coloured colored first second last time appear appears appeared".split()
)
#: The same in Chinese: single characters and pairs, the units of the index.
_STOP_CHINESE = frozenset(
    "的 了 在 是 我 你 他 她 它 们 这 那 有 和 与 或 就 都 也 很 到 说 要 会 着 看 吗 吧 呢 么 什 怎 哪 "
    "穿 衣 服 第 一 次 出 现 首 时 中 里 "
    "没有 什么 哪里 时候 怎么 衣服 的衣 服的 穿着 一次 第一 出现 首次 视频 在做 他们 她们 我们 你们 这个 那个 一个".split()
)

#: Chinese characters that join words. At the edge of a run of three or more, or inside a run of four or more
#: characters, they are not part of a word.
_JOINING_CHINESE = "的了着在是和与或及跟"

#: Words of these tables that are narrower than their category: no measurement distinguishes a man from a woman.
NARROWER_WORDS = frozenset(
    "man men woman women boy girl guy lady gentleman child children kid pedestrian adult automobile "
    "男子 女子 男人 女人 男孩 女孩 男生 女生 孩子 行人 先生 女士 轿车".split()
)
#: Words that negate the words after them.
_NEGATION = re.compile(
    r"\b(?:not|no|without|never|neither|nor|except|\w+n't)\b|不是|不在|不穿|不戴|没有|没穿|没戴|除了"
)

#: Latin words, and runs of Chinese characters, of a folded text.
LATIN = re.compile(r"[a-z0-9]+(?:[_'][a-z0-9]+)*")
CHINESE = re.compile(r"[㐀-䶿一-鿿豈-﫿]+")

_TABLES = (*COLOURS.items(), *CATEGORIES.items())
#: Word -> concept. Chinese words that mean something else have no concept.
_ENGLISH_CONCEPTS = {word: concept for concept, (english, _) in _TABLES for word in english}
_CHINESE_CONCEPTS = {word: concept for concept, (_, chinese) in _TABLES for word in chinese} | dict.fromkeys(
    OTHER_CHINESE, ""
)


def longest_first(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of these words, the longest possible one: 黑色 before 黑."""
    return re.compile("|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))))


_CHINESE_WORD = longest_first(_CHINESE_CONCEPTS)


def fold(text: str) -> str:
    """Return a text in Unicode's compatibility form (NFKC) and case-folded, the form in which words are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def words(text: str) -> list[str]:
    """Return the searchable words of a text: stems of Latin words, Chinese characters and pairs of characters.

    Pairs are the usual index unit without a dictionary; single characters are included since many Chinese words have
    only one. Stems are those of Snowball's English stemmer.
    """
    folded = fold(text)
    return [_stem(word.replace("'", "")) for word in LATIN.findall(folded)] + _chinese_units(folded)


def content_words(text: str) -> list[str]:
    """Return the words of a text (as ``words``) without stop words; all words if only stop words remain."""
    folded = fold(text)
    found = [_stem(word.replace("'", "")) for word in LATIN.findall(folded) if word not in STOP_WORDS]
    found += [unit for unit in _chinese_units(folded) if unit not in _STOP_CHINESE]
    return found or words(text)


def _chinese_units(folded: str) -> list[str]:
    units: list[str] = []
    for run in CHINESE.findall(folded):
        units.extend(run)
        units.extend(run[i : i + 2] for i in range(len(run) - 1))
    return units


def concepts(text: str) -> frozenset[str]:
    """Return the canonical colours and categories that a text names, such as ``red`` and ``person``."""
    folded = fold(text)
    found = {_ENGLISH_CONCEPTS.get(word, "") for word in LATIN.findall(folded)}
    # Runs of characters stay apart, so that no word is read over the gap between two of them.
    found |= {_CHINESE_CONCEPTS[word] for word in _CHINESE_WORD.findall(" ".join(CHINESE.findall(folded)))}
    return frozenset(found - {""})


def unseen_words(text: str) -> list[str]:
    """Return the content words that name no colour and no category: stems, and whole runs of Chinese characters."""
    folded = _CHINESE_WORD.sub(lambda word: " " if _CHINESE_CONCEPTS[word[0]] else word[0], fold(text))
    latin = [word for word in LATIN.findall(folded) if word not in STOP_WORDS and word not in _ENGLISH_CONCEPTS]
    runs = [run for run in CHINESE.findall(folded) if any(character not in _STOP_CHINESE for character in run)]
    return [_stem(word) for word in latin] + runs


def required_terms(text: str) -> list[str]:
    """Return the terms that a matching text must contain: words, and concepts such as ``#red`` instead of their words.

    Words without content and everything after a negation are not required; if nothing else remains, all words are.
    """
    kept, _ = _before_negation(text)
    found: list[str] = []
    for word in unseen_words(kept):
        found += _chinese_terms(word) if CHINESE.match(word) else [word]
    found += sorted(f"#{concept}" for concept in concepts(kept))
    return list(dict.fromkeys(found or words(text)))


def unrequired_words(text: str) -> list[str]:
    """Return the words of a description that ``required_terms`` ignores, without stop words, as written and in order.

    These are words that are narrower than what can be judged (``woman``), and a negation with everything after it.
    """
    kept, negated = _before_negation(text)
    unseen = set(unseen_words(kept))
    found = [word for word in LATIN.findall(kept) if word in NARROWER_WORDS or _stem(word) in unseen]
    found += [word for run in CHINESE.findall(kept) for word in _CHINESE_WORD.findall(run) if word in NARROWER_WORDS]
    found += [word for word in unseen_words(kept) if CHINESE.search(word)]
    found += [word for word in LATIN.findall(negated) if word not in STOP_WORDS or _NEGATION.fullmatch(word)]
    found += CHINESE.findall(negated)
    used = set(required_terms(text))
    return [word for word in dict.fromkeys(found) if not {_stem(word), *_chinese_terms(word)} & used]


def _chinese_terms(run: str) -> list[str]:
    """Return the search terms of a run of Chinese characters: its pairs; a single character is a term itself."""
    if len(run) >= 3:
        run = run.strip(_JOINING_CHINESE) or run
    parts = (re.sub(f"[{_JOINING_CHINESE}]", " ", run).split() or [run]) if len(run) >= 4 else [run]
    terms: list[str] = []
    for part in parts:
        units = [part] if len(part) == 1 else [part[i : i + 2] for i in range(len(part) - 1)]
        terms += [unit for unit in units if unit not in _STOP_CHINESE] or units
    return terms


def _before_negation(text: str) -> tuple[str, str]:
    """Return the folded text before the first negation (``not``, ``without``, 没有), and the rest from it on."""
    folded = fold(text).replace("’", "'")
    found = _NEGATION.search(folded)
    return (folded, "") if found is None else (folded[: found.start()], folded[found.start() :])


#: A stemmer holds the current word as state, so only one thread may use it at a time.
_STEMMING = Lock()


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    with _STEMMING:
        return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")
