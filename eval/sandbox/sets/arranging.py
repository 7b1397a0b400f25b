"""What stands where in a room: columns of furniture in an order and with gaps that the room's variant decides."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eval.sandbox.script import WIDTH, RoomKind
from eval.sandbox.sets.styles import Style, style_of

FloorPiece = Literal[
    "desk", "table", "counter", "workbench", "sideboard", "chest", "shelf", "cupboard", "fridge", "door", "chair",
    "armchair", "stool", "bench", "plant",
]  # fmt: skip
WallPiece = Literal["sign", "clock", "board", "window", "picture", "hooks"]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One thing of a room, centred on ``x`` (pixels); ``name`` is what a sentence calls it, without its article."""

    kind: FloorPiece | WallPiece
    x: float
    width: float
    name: str = ""
    facing: int = 1
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """All of a room: its colours and its pieces, those at the wall first."""

    kind: RoomKind
    style: Style
    pieces: tuple[Piece, ...]

    def only(self, *kinds: str) -> tuple[Piece, ...]:
        """The pieces of these kinds, from left to right."""
        return tuple(sorted((piece for piece in self.pieces if piece.kind in kinds), key=lambda piece: piece.x))


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A stretch of the wall: what stands before it (kind, offset, width, facing), and what hangs on it (kind, offset)."""

    width: float
    floor: tuple[tuple[FloorPiece, float, float, int], ...] = ()
    wall: tuple[tuple[WallPiece, float], ...] = ()


def _column(width: float, floor: FloorPiece, *wall: tuple[WallPiece, float]) -> _Column:
    return _Column(width=width, floor=((floor, 0.0, width - 12, 0),), wall=wall)


_TABLE_WITH_CHAIRS = _Column(
    width=318,
    floor=(("chair", -126.0, 60.0, 1), ("table", 0.0, 178.0, 0), ("chair", 126.0, 60.0, -1)),
    wall=(("sign", -62.0), ("clock", 108.0)),
)
_COLUMNS: dict[RoomKind, tuple[_Column, ...]] = {
    "office": (
        _column(186, "desk", ("sign", 0)),
        _column(158, "chest", ("board", 0)),
        _column(96, "shelf"),
        _column(96, "chair", ("clock", 0)),
    ),
    "kitchen": (
        _column(262, "counter", ("sign", -52), ("clock", 80)),
        _column(84, "fridge"),
        _column(90, "cupboard"),
        _column(134, "chair", ("board", 0)),
    ),
    "library": (
        _column(100, "shelf"),
        _column(160, "table", ("sign", 0)),
        _column(100, "shelf"),
        _column(100, "armchair", ("clock", 0)),
        _column(126, "chest", ("board", 0)),
    ),
    "corridor": (
        _column(104, "door"),
        _column(170, "bench", ("sign", 0)),
        _Column(width=128, wall=(("hooks", 0.0), ("clock", 0.0))),
        _column(150, "sideboard", ("board", 0)),
    ),
    "meeting room": (
        _TABLE_WITH_CHAIRS,
        _column(90, "cupboard"),
        _column(148, "chest", ("board", 0)),
    ),
    "workshop": (
        _column(214, "workbench", ("sign", 0)),
        _column(90, "cupboard"),
        _column(150, "chest", ("board", 0)),
        _column(92, "stool", ("clock", 0)),
    ),
    "entrance hall": (
        _column(104, "door"),
        _Column(width=140, floor=(("bench", 0.0, 110.0, 0),), wall=(("hooks", 0.0), ("clock", 0.0))),
        _column(176, "chest", ("sign", 0)),
        _column(146, "sideboard", ("board", 0)),
    ),
    "living room": (
        _column(112, "armchair", ("picture", 0)),
        _column(166, "sideboard", ("sign", 0)),
        _column(154, "chest", ("board", 0)),
        _column(96, "shelf"),
        _column(80, "plant", ("clock", 0)),
    ),
}
_MARGIN = 6.0


@lru_cache(maxsize=256)
def arrange(kind: RoomKind, variant: int) -> Arrangement:
    """The arrangement of a room; ``variant`` from 1 on.

    Raises:
        ValueError: for variant 0, which is the sample film's own rooms.
    """
    if variant < 1:
        raise ValueError("a room of variant 0 has no arrangement; variants count from 1")
    chance = random.Random(f"{kind} {variant}")
    columns = list(_COLUMNS[kind])
    chance.shuffle(columns)
    spare = WIDTH - 2 * _MARGIN - sum(column.width for column in columns)
    shares = [chance.uniform(0.5, 1.5) for _ in range(len(columns) + 1)]
    gaps = [spare * share / sum(shares) for share in shares]
    pieces: list[Piece] = []
    left = _MARGIN
    for column, gap in zip(columns, gaps, strict=False):
        left += gap
        pieces += _placed(column, left + column.width / 2, chance)
        left += column.width
    return Arrangement(kind=kind, style=style_of(variant), pieces=_named(pieces))


def _placed(column: _Column, middle: float, chance: random.Random) -> list[Piece]:
    found = [
        Piece(kind=kind, x=round(middle + offset), width=100.0, seed=chance.randrange(10_000))
        for kind, offset in column.wall
    ]
    for kind, offset, width, facing in column.floor:
        side = facing or chance.choice((1, -1))
        found.append(
            Piece(kind=kind, x=round(middle + offset), width=width, facing=side, seed=chance.randrange(10_000))
        )
    return found


def _named(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Pieces of one kind are told apart as the left and the right one."""
    found = []
    for piece in pieces:
        alike = sorted(other.x for other in pieces if other.kind == piece.kind)
        name = piece.kind if len(alike) == 1 else f"{'left' if piece.x == alike[0] else 'right'} {piece.kind}"
        found.append(
            Piece(kind=piece.kind, x=piece.x, width=piece.width, name=name, facing=piece.facing, seed=piece.seed)
        )
    return tuple(sorted(found, key=lambda piece: piece.kind not in WALL_KINDS))


WALL_KINDS: frozenset[str] = frozenset({"sign", "clock", "board", "window", "picture", "hooks"})
