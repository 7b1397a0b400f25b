"""Colours of rooms, as hexadecimal codes.

Walls and floors are light or strongly tinted, so that clothes of every colour word, also grey, brown and white ones, stand
out in front of them; the eight walls are far apart, so that a cut from room to room can be seen as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FloorKind = Literal["planks", "tiles", "carpet"]

WALL_COUNT = 8  #: variants with different remainders by this have different walls


@dataclass(frozen=True, kw_only=True)
class Style:
    """A room's colours; ``lower`` is a band along the wall's foot, empty for none."""

    wall: str
    lower: str
    floor: FloorKind
    floor_tone: str
    wood: str  #: of desks, tables and chests
    accent: str  #: of cupboards and cushions


@dataclass(frozen=True, kw_only=True)
class _Wall:
    tone: str
    lower: str
    accent: str
    floors: tuple[str, str]  #: those that differ most from it


_WALLS = (
    _Wall(tone="#a9cbf2", lower="#7fa9dd", accent="#d9824f", floors=("wood", "clay")),
    _Wall(tone="#f2e190", lower="#d8bd55", accent="#4f8fc4", floors=("tiles", "clay")),
    _Wall(tone="#f3b3bb", lower="#d98793", accent="#5aa58f", floors=("tiles", "carpet")),
    _Wall(tone="#b2dfa6", lower="#86bd78", accent="#c97398", floors=("wood", "tiles")),
    _Wall(tone="#cdb6ef", lower="#a68ad6", accent="#d0a03c", floors=("carpet", "wood")),
    _Wall(tone="#f8cc9c", lower="#e0a05f", accent="#5b93b8", floors=("tiles", "carpet")),
    _Wall(tone="#8ed6cc", lower="#6cb9b0", accent="#d07a62", floors=("clay", "wood")),
    _Wall(tone="#cdec8f", lower="#a3c95c", accent="#b07ac0", floors=("clay", "tiles")),
)
_FLOORS: dict[str, tuple[FloorKind, str]] = {
    "wood": ("planks", "#d2a66c"),
    "tiles": ("tiles", "#84aade"),
    "carpet": ("carpet", "#8fbf7d"),
    "clay": ("tiles", "#d68a72"),
}
_WOODS = ("#cf9c60", "#d9ab74", "#c68f5c")


def style_of(variant: int) -> Style:
    """The colours of a variant: the next one has another wall, the one after eight the same with another floor."""
    wall, turn = _WALLS[variant % WALL_COUNT], variant // WALL_COUNT
    floor, tone = _FLOORS[wall.floors[turn % 2]]
    return Style(
        wall=wall.tone,
        lower=wall.lower if (variant + turn) % 3 == 0 else "",
        floor=floor,
        floor_tone=tone,
        wood=_WOODS[(variant + turn) % len(_WOODS)],
        accent=wall.accent,
    )
