"""Colours of rooms, as hexadecimal codes: walls that no coat of ``drawing.palette`` is lost in front of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eval.sandbox.script import RoomKind

FloorKind = Literal["planks", "tiles", "carpet"]


@dataclass(frozen=True, kw_only=True)
class Style:
    """A room's colours; ``lower`` is a band along the wall's foot, empty for none."""

    wall: str
    lower: str
    floor: FloorKind
    floor_tone: str
    wood: str  #: of desks, tables and chests
    accent: str  #: of cupboards, cushions and rugs


def _style(wall: str, lower: str, floor: FloorKind, floor_tone: str, wood: str, accent: str) -> Style:
    return Style(wall=wall, lower=lower, floor=floor, floor_tone=floor_tone, wood=wood, accent=accent)


#: Several for each kind of room, each far in colour from the others.
STYLES: dict[RoomKind, tuple[Style, ...]] = {
    "office": (
        _style("#bcd3df", "", "planks", "#b98c61", "#9a6b42", "#5f7f95"),
        _style("#d9cfe6", "#b5a6cc", "carpet", "#8d87a3", "#6f5a4a", "#6d5f91"),
        _style("#cfe3c4", "", "carpet", "#7c8f86", "#b48455", "#55785c"),
        _style("#f0dcc0", "#dcb98b", "planks", "#8a6244", "#7a5236", "#a5684e"),
    ),
    "kitchen": (
        _style("#f1e6bd", "#a9cabd", "tiles", "#c9bfb2", "#c79a68", "#6f8f86"),
        _style("#cfe8e6", "#efe9da", "tiles", "#a9b4ba", "#a9764b", "#c26a4f"),
        _style("#f3d5c4", "#f4efe4", "tiles", "#b7a08c", "#8f6642", "#5d7ea0"),
    ),
    "library": (
        _style("#c9b08f", "", "planks", "#7a5438", "#6b4528", "#7d3f35"),
        _style("#a9b89a", "#7f8f6c", "carpet", "#6e5a4a", "#7d5636", "#54613f"),
        _style("#c3a7a0", "", "carpet", "#5c5560", "#5a3d2b", "#6a4a66"),
    ),
    "corridor": (
        _style("#e9dfcd", "#93a89c", "tiles", "#b5aa98", "#8b6a4e", "#7f8796"),
        _style("#d3dfec", "#8ea7c2", "tiles", "#9fa4ab", "#74614f", "#4f6d8e"),
        _style("#ecd6dc", "#b98a98", "carpet", "#8b7480", "#7a5a48", "#94586b"),
    ),
    "meeting room": (
        _style("#c8dccb", "#7fa48a", "carpet", "#5f7568", "#a97b50", "#3f6a58"),
        _style("#e4d3b5", "", "carpet", "#7b6a5c", "#5e3f2b", "#9c6b3c"),
        _style("#c6cfe8", "#8b98c4", "planks", "#9a9ca8", "#8a6a52", "#4d5c93"),
    ),
    "workshop": (
        _style("#d8c49a", "#b09462", "tiles", "#8f8a80", "#a87848", "#4f7c86"),
        _style("#b9cdd0", "#86a3a8", "tiles", "#77797a", "#b58a56", "#c2703d"),
        _style("#d2b7a6", "", "planks", "#857463", "#8c6a45", "#5a7a52"),
    ),
    "entrance hall": (
        _style("#f2e2cf", "#c58f6a", "tiles", "#d2c4b2", "#7c4f33", "#8a4b3c"),
        _style("#d6e6dc", "", "tiles", "#b9c3bd", "#9d7047", "#4f7f74"),
        _style("#dcd2ea", "#a796c4", "planks", "#9c7f68", "#6d4c3a", "#6e5a99"),
    ),
    "living room": (
        _style("#f0cdb0", "", "planks", "#a0714c", "#6f4830", "#b65c48"),
        _style("#c4dde6", "", "carpet", "#8b97a6", "#94683f", "#4a7598"),
        _style("#dfe0b4", "#bcbf7e", "planks", "#8f6a48", "#7b5434", "#7f8a3c"),
    ),
}
