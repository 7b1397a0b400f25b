"""Arranged rooms: their colours, their furniture, and the places that scripts are written against.

All places are pixels of the frame. ``stand`` is the place of a person's feet who takes or opens something, ``facing`` the side
to which that person looks (1 right, -1 left). ``the desk`` and the like are words that a sentence can use.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from eval.sandbox.script import WIDTH, RoomKind

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


Place = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A place for one thing: ``on`` is the furniture below it (``the desk``), ``name`` the place on it.

    ``place`` is the thing's lower middle. A spot with ``hangs`` takes hats, scarves, bags, umbrellas and keys; any other
    takes anything that can be carried.
    """

    name: str
    on: str
    place: Place
    stand: Place
    facing: int
    hangs: bool = False


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Something to sit on: a person walks to ``stand`` and sits down there, looking to ``facing``."""

    name: str
    stand: Place
    facing: int


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A drawer, a cupboard or a door; things are put in and taken out at the ``handle`` too."""

    name: str
    handle: Place
    stand: Place
    facing: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A room's places. ``left`` and ``right`` are outside the frame: people come from there and go there."""

    kind: RoomKind
    left: Place
    right: Place
    positions: tuple[Place, ...]  #: places for people, from left to right, a step or more apart
    spots: tuple[Spot, ...]
    seats: tuple[Seat, ...]
    openings: tuple[Opened, ...]


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
    """A part of the wall: the furniture before it (kind, offset, width, facing), and the pieces on it (kind, offset)."""

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
    """Name the pieces; two of one kind are the left and the right one."""
    found = []
    for piece in pieces:
        alike = sorted(other.x for other in pieces if other.kind == piece.kind)
        name = piece.kind if len(alike) == 1 else f"{'left' if piece.x == alike[0] else 'right'} {piece.kind}"
        found.append(replace(piece, name=name))
    return tuple(sorted(found, key=lambda piece: piece.kind not in WALL_KINDS))


WALL_KINDS: frozenset[str] = frozenset({"sign", "clock", "board", "window", "picture", "hooks"})


FEET = 326.0  #: pixels from the top to where people walk and stand
SEATED_FEET = 318.0  #: and to where the feet of people who sit are
_OUTSIDE = 70.0  #: pixels beyond the edge where people wait to come in
_ARM = 40.0  #: pixels from the feet to a thing that is taken
_EDGE = 46.0  #: pixels from the frame's edge to the nearest place for a person

#: The places of things on a surface: pixels from the top, and shares of its width from its middle.
TOPS: dict[str, float] = {"desk": 234, "table": 234, "counter": 226, "workbench": 230, "sideboard": 222, "chest": 200}
_THREE = (("left end", -0.33), ("middle", 0.0), ("right end", 0.33))
_TWO = (("left side", -0.25), ("right side", 0.25))
_WIDE = 160.0
HOOK_TOP, HOOK_STEP = 138.0, 36.0  #: pixels from the top to the hooks, and between them
HANGING = 34.0  #: pixels from a hook to the lower middle by which a hanging thing is held
DRAWER = 226.0  #: pixels from the top to the drawers' handles
_HANDLES: dict[str, float] = {"cupboard": 206, "fridge": 196, "door": 172}  #: and to those of doors
SEATS = ("chair", "armchair", "stool", "bench")
LEAVES = ("cupboard", "fridge", "door")


@lru_cache(maxsize=256)
def plan_of(kind: RoomKind, variant: int) -> Plan:
    """Where people and things can be in a room of that variant (1 and up).

    Raises:
        ValueError: for variant 0, the sample film's own rooms.
    """
    made = arrange(kind, variant)
    return Plan(
        kind=kind,
        left=(-_OUTSIDE, FEET),
        right=(WIDTH + _OUTSIDE, FEET),
        positions=tuple((x, FEET) for x in (96.0, 208.0, 320.0, 432.0, 544.0)),
        spots=tuple(_spots(made)),
        seats=tuple(_seats(made)),
        openings=tuple(_openings(made)),
    )


def giving_place(one: Place, other: Place) -> Place:
    """Return the place of both gestures when a thing is given between two people ``GIVING_APART`` pixels apart."""
    return (one[0] + other[0]) / 2, 216.0


GIVING_APART = 118.0


def _spots(made: Arrangement) -> Iterator[Spot]:
    for piece in made.only(*TOPS):
        for name, share in _THREE if piece.width >= _WIDE else _TWO:
            place = (piece.x + share * piece.width, TOPS[piece.kind])
            side = -1 if share > 0 else 1
            stand, facing = _place_before(place, side)
            yield Spot(
                name=f"the {name} of the {piece.name}", on=f"the {piece.name}", place=place, stand=stand, facing=facing
            )
    for piece in made.only("hooks"):
        for name, share in (("left", -1), ("middle", 0), ("right", 1)):
            place = (piece.x + share * HOOK_STEP, HOOK_TOP + HANGING)
            stand, facing = _place_before(place, -1 if share > 0 else 1)
            yield Spot(name=f"the {name} hook", on="the hooks", place=place, stand=stand, facing=facing, hangs=True)


def _seats(made: Arrangement) -> Iterator[Seat]:
    for piece in made.only(*SEATS):
        yield Seat(name=f"the {piece.name}", stand=(piece.x, SEATED_FEET), facing=piece.facing)


def _openings(made: Arrangement) -> Iterator[Opened]:
    for piece in made.only("chest", *LEAVES):
        if piece.kind == "chest":
            for side in (-1, 1):
                stand, facing = _place_before((handle := drawer_handle(piece, side)), -side)
                word = "left" if side < 0 else "right"
                yield Opened(name=f"the {word} drawer", handle=handle, stand=stand, facing=facing)
        else:
            stand, facing = _place_before((handle := leaf_handle(piece)), hinge_side(piece))
            yield Opened(name=f"the {piece.name}", handle=handle, stand=stand, facing=facing)


def drawer_handle(piece: Piece, side: int) -> Place:
    """The handle of a chest's left (-1) or right (1) drawer."""
    return piece.x + side * piece.width / 4, DRAWER


def hinge_side(piece: Piece) -> int:
    """The side (-1 left, 1 right) of a door's hinges."""
    return 1 if piece.kind == "fridge" else -1


def leaf_handle(piece: Piece) -> Place:
    """The handle of a door, on the other side than its hinges."""
    return piece.x - hinge_side(piece) * (piece.width / 2 - 12), _HANDLES[piece.kind]


def _place_before(place: Place, facing: int) -> tuple[Place, int]:
    """Return the feet and the side of a person for a place; the other side if the requested one is too near the edge."""
    for side in (facing, -facing):
        x = place[0] - side * _ARM
        if _EDGE <= x <= WIDTH - _EDGE:
            return (x, FEET), side
    return (min(max(place[0] - facing * _ARM, _EDGE), WIDTH - _EDGE), FEET), facing
