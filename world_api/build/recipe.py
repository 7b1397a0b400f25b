"""A recipe: the stages a world is built with, in an order in which each finds the rows it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from world_api.build.stage import Stage


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """``stages(video)`` makes fresh stages for one video file; each table is written by one of them at most."""

    profile: str
    stages: Callable[[Path], Sequence[Stage]]


def keys_of(stages: Sequence[Stage], source_hash: str) -> dict[str, str]:
    """The key of every stage's files: what the rows depend on, those of the stages before it included."""
    keys: dict[str, str] = {}
    for stage in stages:
        keys[stage.spec.name] = stage.spec.key(source_hash=source_hash, upstream=keys)
    return keys
