"""What is said and written in a made world: words by Zipf's law, in English, in Chinese, and in both.

The words are made of syllables and characters, so that no text of anybody's is needed; colours and kinds of things are
the project's own words, so that what is said and what is seen can be searched for in either language.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from world_api.core.colours import COLOURS
from world_api.core.lexicon import CATEGORIES

_ENGLISH_WORDS, _CHINESE_WORDS, _CHARACTERS = 8000, 6000, 1200
#: Where the unified ideographs begin.
_FIRST_CHARACTER = 0x4E00
_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl r s st t tr v w".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = ["", "", "n", "r", "t", "l", "m", "ck", "nd", "ss"]
#: How often each language is spoken: English, Chinese, both in one line.
SHARES = (0.45, 0.4, 0.15)
LANGUAGES = ("en", "zh", "mixed")

KINDS = ("person", "car", "dog", "bottle", "moving_object")
KIND_SHARES = (0.7, 0.14, 0.06, 0.05, 0.05)
_PLACES = (("kitchen", "厨房"), ("street", "街上"), ("garden", "花园"), ("office", "办公室"), ("station", "车站"))
_DEEDS = (("walks past", "走过"), ("stands beside", "站在旁边"), ("picks up", "拿起"), ("talks to", "交谈"))


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Words by falling frequency; ``p`` is each rank's share."""

    words: tuple[str, ...]
    p: tuple[float, ...]


@cache
def vocabulary(language: str) -> Vocabulary:
    """The words of ``en`` or ``zh``: the same in every world."""
    rng = np.random.default_rng(20_260 if language == "en" else 20_261)
    words = list(dict.fromkeys(_english(rng) if language == "en" else _chinese(rng)))
    which = 0 if language == "en" else 1
    known = [names[which][0] for names in (*COLOURS.values(), *CATEGORIES.values())]
    for place, word in zip(rng.integers(20, 600, len(known)).tolist(), known, strict=True):
        words.insert(place, word)
    weights = 1.0 / (np.arange(len(words)) + 2.7)
    return Vocabulary(words=tuple(words), p=tuple((weights / weights.sum()).tolist()))


def _english(rng: np.random.Generator) -> list[str]:
    syllables = [onset + vowel + coda for onset in _ONSETS for vowel in _VOWELS for coda in _CODAS]
    sizes = rng.integers(1, 4, _ENGLISH_WORDS).tolist()
    return ["".join(syllables[i] for i in rng.integers(0, len(syllables), size)) for size in sizes]


def _chinese(rng: np.random.Generator) -> list[str]:
    places = rng.integers(0, _CHARACTERS, (_CHINESE_WORDS, 2))
    pairs = np.where(rng.random(_CHINESE_WORDS) < 0.2, -1, places[:, 1])
    return [
        chr(_FIRST_CHARACTER + a) + (chr(_FIRST_CHARACTER + b) if b >= 0 else "")
        for a, b in zip(places[:, 0].tolist(), pairs.tolist(), strict=True)
    ]


def sentences(rng: np.random.Generator, language: str, sizes: list[int]) -> list[str]:
    """One line of so many words each, in a language of ``LANGUAGES``."""
    if language == "mixed":
        halves = [sentences(rng, part, [max(1, size // 2) for size in sizes]) for part in ("zh", "en")]
        return [f"{chinese} {english}" for chinese, english in zip(*halves, strict=True)]
    spoken = vocabulary(language)
    drawn = rng.choice(len(spoken.words), sum(sizes), p=spoken.p).tolist()
    gap = " " if language == "en" else ""
    lines, at = [], 0
    for size in sizes:
        lines.append(gap.join(spoken.words[i] for i in drawn[at : at + size]))
        at += size
    return lines


def caption(rng: np.random.Generator, language: str) -> str:
    """A sentence about what a captioner might see."""
    colours, kinds = list(COLOURS.values()), [CATEGORIES[kind] for kind in KINDS[:4]]
    a, b = rng.integers(0, len(colours), 2).tolist()
    kind = kinds[int(rng.choice(4, p=(0.7, 0.16, 0.08, 0.06)))]
    deed, place = _DEEDS[int(rng.integers(len(_DEEDS)))], _PLACES[int(rng.integers(len(_PLACES)))]
    if language == "zh":
        return f"穿{colours[a][1][0]}衣服的人在{place[1]}{deed[1]}，旁边是{colours[b][1][0]}的{kind[1][0]}"
    return f"A person in {colours[a][0][0]} {deed[0]} a {colours[b][0][0]} {kind[0][0]} in the {place[0]}"
