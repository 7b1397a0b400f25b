"""Porter's stemmer with the changes of NLTK's, which LoCoMo's evaluation takes as it comes.

Sources: Porter 1980, "An algorithm for suffix stripping"; for the changes NLTK's ``PorterStemmer`` in its default mode: a short
list of irregular words, words of two letters as they are, ``-ies`` and ``-ied`` after one letter to ``-ie``, ``y`` to ``i`` after a
consonant that is not the first letter, ``-alli``, ``-fulli``, ``-logi``, and stems such as ``ag`` keep their ``e``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

Rules = Sequence[tuple[str, str]]

_IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
    "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
    "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
_STEP_2: Rules = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
)  # fmt: skip
_STEP_3: Rules = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Rules = tuple(
    (suffix, "") for suffix in "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()
)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a word in small letters."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    return _final_e(_fourth(_third(_second(_y_to_i(_past(_plural(word)))))))


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((end for end in ("ed", "ing") if word.endswith(end) and "v" in _shape(word[: -len(end)])), None)
    if ending is None:
        return word
    bare = word[: -len(ending)]
    if bare.endswith(("at", "bl", "iz")):
        return bare + "e"
    if len(bare) > 1 and bare[-1] == bare[-2] and _shape(bare)[-1] == "c":
        return bare if bare[-1] in "lsz" else bare[:-1]
    return bare + "e" if _measure(bare) == 1 and _is_short(bare) else bare


def _y_to_i(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 and _shape(word)[-2] == "c" else word


def _second(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _second(word[:-2])
    found = _by_rule(word, _STEP_2, lambda bare: _measure(bare) > 0)
    if found is None and word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return word if found is None else found


def _third(word: str) -> str:
    return _by_rule(word, _STEP_3, lambda bare: _measure(bare) > 0) or word


def _fourth(word: str) -> str:
    def goes(bare: str) -> bool:
        return _measure(bare) > 1 and (not word.endswith("ion") or bare[-1] in "st")

    return _by_rule(word, _STEP_4, goes) or word


def _final_e(word: str) -> str:
    bare = word[:-1]
    if word.endswith("e") and (_measure(bare) > 1 or (_measure(bare) == 1 and not _is_short(bare))):
        word = bare
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _by_rule(word: str, rules: Rules, goes: Callable[[str], bool]) -> str | None:
    """The word after the first rule whose suffix it has, if what stands before allows it; None where it has none."""
    for suffix, instead in rules:
        if word.endswith(suffix):
            bare = word[: -len(suffix)]
            return bare + instead if goes(bare) else word
    return None


def _shape(word: str) -> str:
    """Consonants and vowels, as ``c`` and ``v``; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How often a consonant follows a vowel: Porter's m."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y; or a vowel and a consonant alone."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"
