"""What the single request of a system without tools holds: pictures, lines of speech, captions; in tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from controller.budgets import Budget
from controller.systems.base import read_options
from controller.systems.baselines import (
    Blind,
    BlindOptions,
    Direct,
    DirectOptions,
    Socratic,
    SocraticOptions,
    transcript,
    transcript_tokens,
)
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.running.worlds import open_for
from world_api.backends.chat.usage import IMAGE_TOKENS, estimate_tokens
from world_api.core.faults import VideoWorldError

#: Videos whose lines of speech are looked at, so that a dry run is over soon.
_MOST_VIDEOS = 5
#: What is assumed of a caption, and of all that is neither picture nor speech nor caption.
_CAPTION, _BARE = 80, 1_500


@dataclass(frozen=True, kw_only=True)
class Material:
    """Tokens of the request, and what they are of."""

    tokens: int
    basis: str


def material_of(cell: Cell, budget: Budget, *, store: Path, items: Sequence[Item]) -> Material | None:
    """What a sample of a cell sends in its one request; None of a system that acts with tools.

    Lines of speech are those of the first few worlds that are built; where none is, as many as the system takes at most.
    """
    system, settings = cell.arm.system, cell.arm.settings
    if system == Direct.name:
        shown = read_options(DirectOptions, settings, system=system)
        parts = [(IMAGE_TOKENS * shown.frames, f"{shown.frames} pictures of {IMAGE_TOKENS} tokens")]
        return _of([*parts, _speech(cell, budget, store, items)] if shown.transcript else parts)
    if system == Blind.name:
        heard = read_options(BlindOptions, settings, system=system).variant == "transcript"
        return _of([_speech(cell, budget, store, items)] if heard else [])
    if system == Socratic.name:
        captions = read_options(SocraticOptions, settings, system=system).top_k
        return _of([(_CAPTION * captions, f"{captions} captions")])
    return None


def _of(parts: Iterable[tuple[int, str]]) -> Material:
    found = list(parts)
    told = ", ".join(["1 request", *(what for _, what in found)])
    return Material(tokens=_BARE + sum(tokens for tokens, _ in found), basis=f"assumed: {told}")


def _speech(cell: Cell, budget: Budget, store: Path, items: Sequence[Item]) -> tuple[int, str]:
    """Tokens of the lines that are spoken, by the worlds that are there."""
    most = transcript_tokens(budget)
    found: list[int] = []
    for item in {item.video_id: item for item in reversed(items)}.values():
        with suppress(VideoWorldError):  # such as a world that is not built yet
            session = open_for(store, cell.world, item)
            found.append(estimate_tokens(transcript(session, max_tokens=most)))
        if len(found) == _MOST_VIDEOS:
            break
    if not found:
        return most, f"at most {most:,} tokens of speech (no world is built)"
    return round(sum(found) / len(found)), f"speech as in {len(found)} worlds"
