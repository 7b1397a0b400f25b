"""Dense text vectors without a model: hashed words and character n-grams.

Texts that share words, word parts or Chinese character pairs lie close; meaning beyond spelling is not captured.
Source of the method: feature hashing, Weinberger et al. 2009. The hash is BLAKE2, so vectors are the same on every
machine and Python version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from world_api.core.lexicon import concepts, content_words
from world_api.core.ports import Vectors

_WORD_WEIGHT, _CONCEPT_WEIGHT, _GRAM_WEIGHT = 2.0, 2.0, 0.5
_GRAM = 4


class HashedTextEmbedder:
    """The ``TextEmbedder`` of the classical profile."""

    producer = "hashed-ngrams/1"
    dimension = 512
    #: Texts without a word in common seldom come closer than this (hash collisions and shared word parts).
    noise_floor = 0.15

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text (``len(texts) x 512``); zero for a text without words."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for feature, weight in _features(text).items():
                place, sign = _place(feature, self.dimension)
                vectors[row, place] += sign * weight
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


def _features(text: str) -> dict[str, float]:
    """Features with their weight: rising with the logarithm of how often one occurs."""
    counts = Counter(_occurrences(text))
    weights = {"w": _WORD_WEIGHT, "#": _CONCEPT_WEIGHT, "g": _GRAM_WEIGHT}
    return {feature: weights[feature[0]] * (1.0 + float(np.log(count))) for feature, count in counts.items()}


def _occurrences(text: str) -> Iterator[str]:
    for word in content_words(text):
        yield f"w{word}"
        padded = f"^{word}$"
        for start in range(max(0, len(padded) - _GRAM + 1)):
            yield f"g{padded[start : start + _GRAM]}"
    for concept in sorted(concepts(text)):
        yield f"#{concept}"


@lru_cache(maxsize=65536)
def _place(feature: str, dimension: int) -> tuple[int, float]:
    digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return digest % dimension, 1.0 if digest >> 63 else -1.0
