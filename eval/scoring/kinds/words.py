"""Words of an answer and how far they are those of another: exact match and token F1 as SQuAD defines them.

Source: Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text", and its evaluation script 1.1: text in
lower case, without ASCII punctuation and English articles, split at white space; F1 over the two bags of tokens. The
variant ``cjk`` is ours: half-width forms (NFKC), punctuation of every script left out, and each Chinese, Japanese or
Korean character a token of its own.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: Han, kana, hangul and the letters beside them: scripts that set no spaces between words, or need not.
_CJK = re.compile(r"[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
                  r"\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")  # fmt: skip

Tokeniser = Callable[[str], list[str]]


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """How two answers agree in words, each 0 to 1."""

    exact: bool
    f1: float
    precision: float
    recall: float


def squad_tokens(text: str) -> list[str]:
    """Tokens as SQuAD's evaluation makes them."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def cjk_tokens(text: str) -> list[str]:
    """Tokens where characters may be words: as SQuAD's for words with spaces between them."""
    plain = "".join(
        "" if unicodedata.category(character)[0] == "P" or character in string.punctuation else character
        for character in unicodedata.normalize("NFKC", text).lower()
    )
    return _CJK.sub(lambda found: f" {found[0]} ", _ARTICLES.sub(" ", plain)).split()


def has_cjk(text: str) -> bool:
    """Whether a text holds a character of such a script."""
    return _CJK.search(text) is not None


def overlap(given: Sequence[str], accepted: Sequence[str]) -> Overlap:
    """Exact match and F1 of two lists of tokens; without a common token F1 is 0, also where both are empty."""
    shared = (Counter(given) & Counter(accepted)).total()
    exact = list(given) == list(accepted)
    if not shared:
        return Overlap(exact=exact, f1=0.0, precision=0.0, recall=0.0)
    precision, recall = shared / len(given), shared / len(accepted)
    return Overlap(exact=exact, f1=2 * precision * recall / (precision + recall), precision=precision, recall=recall)
