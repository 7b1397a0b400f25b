"""A pair of real ONNX encoders that knows mean colours and a few words, each with the colour that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.tiny_onnx import write_onnx

#: Word -> the sign of red, green and blue that a picture of it has, compared with grey. Longer words first: the merges of a
#: shorter one must not break them.
WORDS = {
    "kitchen": (-1, 1, -1),
    "dancing": (-1, 1, -1),
    "green": (-1, 1, -1),
    "photo": (-1, -1, -1),
    "brick": (0, -1, 0),
    "mango": (1, 0, -1),
    "blue": (-1, -1, 1),
    "red": (1, -1, -1),
}
CONTEXT, SIDE = 64, 16
#: The options under which a mean colour becomes its difference from grey.
OPTIONS: dict[str, Any] = {"side": SIDE, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "context": CONTEXT}


def write_pair(folder: Path, *, words: Mapping[str, tuple[int, ...]] = WORDS, batch: int | str = "batch") -> Path:
    """Write ``image.onnx``, ``text.onnx`` and the vocabulary into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = [("GlobalAveragePool", ["pixels"], "pooled"), ("Flatten", ["pooled"], "image_embeds")]
    write_onnx(
        folder / "image.onnx", nodes, given={"pixels": [batch, 3, SIDE, SIDE]}, made={"image_embeds": [batch, 3]}
    )
    merges: list[tuple[str, str]] = []
    for word in words:
        parts = [*word[:-1], word[-1] + "</w>"]
        for place in range(1, len(parts)):
            pair = ("".join(parts[:place]), parts[place])
            merges += [] if pair in merges else [pair]
    (folder / "vocabulary.txt").write_text("version 1\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    size = len(next(iter(words.values())))
    table = np.zeros((512 + len(merges) + 2, size), dtype=np.float32)
    for word, colour in words.items():
        table[512 + [a + b for a, b in merges].index(word + "</w>")] = colour
    write_onnx(
        folder / "text.onnx",
        [
            ("Gather", ["table", "input_ids"], "tokens"),
            ("Transpose", ["tokens"], "turned", {"perm": [0, 2, 1]}),
            ("GlobalAveragePool", ["turned"], "pooled"),
            ("Flatten", ["pooled"], "text_embeds"),
        ],
        given={"input_ids": [batch, CONTEXT]},
        made={"text_embeds": [batch, size]},
        constants={"table": table},
        integers=["input_ids"],
    )
    return folder


def write_classifier(path: Path, *, factor: float = 5) -> Path:
    """Write a classifier of ``red``, ``green`` and ``blue`` pictures, whose output are logits."""
    nodes = [
        ("GlobalAveragePool", ["pixels"], "pooled"),
        ("Flatten", ["pooled"], "flat"),
        ("Mul", ["flat", "k"], "logits"),
    ]
    constants = {"k": np.full((1, 3), factor, dtype=np.float32)}
    return write_onnx(
        path, nodes, given={"pixels": ["batch", 3, SIDE, SIDE]}, made={"logits": ["batch", 3]}, constants=constants
    )
