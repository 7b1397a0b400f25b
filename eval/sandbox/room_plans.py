"""Rooms as plans: their colours, their furniture, and the places that scripts refer to.

All places are pixels of the frame. Pictures are drawn from a plan, so that a hand reaches the handle. Names such as
``the desk`` can be used in sentences.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from eval.sandbox.script import WIDTH, RoomKind
from world_api.core.yaml_text import packaged_yaml

FloorKind = Literal["planks", "tiles", "carpet"]


@dataclass(frozen=True, kw_only=True)
class Style:
    """A room's colours; ``lower`` is a band at the foot of the wall, empty for none."""

    wall: str
    lower: str
    floor: FloorKind
    floor_tone: str
    wood: str  #: of desks, tables and chests
    accent: str  #: of cupboards and cushions


#: The colours and the furniture of rooms, as ``rooms.yaml`` describes them.
_ROOMS: Mapping[str, Any] = packaged_yaml("eval.sandbox", "rooms.yaml")
WALL_COUNT = len(_ROOMS["walls"])  #: variants that differ modulo this number have different walls


def style_of(variant: int) -> Style:
    """Return the colours of a variant. ``variant + 1`` has another wall, ``variant + 8`` has only another floor."""
    turn = variant // WALL_COUNT
    wall, lower, accent, *floors = _ROOMS["walls"][variant % WALL_COUNT]
    floor, tone = _ROOMS["floors"][floors[turn % 2]]
    return Style(
        wall=wall,
        lower=lower if (variant + turn) % 3 == 0 else "",
        floor=floor,
        floor_tone=tone,
        wood=_ROOMS["woods"][(variant + turn) % len(_ROOMS["woods"])],
        accent=accent,
    )


Position = tuple[float, float]
PieceKind = Literal[
    "desk", "table", "counter", "workbench", "sideboard", "chest", "shelf", "cupboard", "fridge", "door", "chair",
    "armchair", "stool", "bench", "plant", "sign", "clock", "board", "picture", "hooks",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of furniture, or a thing on the wall, centred on ``x``; ``name`` is its name without article."""

    kind: PieceKind
    x: float
    width: float
    name: str = ""
    facing: int = 1
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Fixture:
    """A place that a person uses: a spot or a hook for one thing, a seat, or a drawer, a cupboard or a door.

    ``place`` is where the thing's lower middle, the seat or the handle is; ``stand`` is the position of the person's feet,
    ``facing`` the direction of the person (1 right, -1 left). ``words`` describe the place of a thing: ``the desk``,
    ``the left hook``.
    """

    kind: Literal["spot", "hook", "seat", "opening"]
    name: str
    words: str
    place: Position
    stand: Position
    facing: int


FEET = 326.0  #: pixels from the top to the feet of people who walk and stand
SEATED_FEET = 318.0  #: and to the feet of people who sit
_OUTSIDE = 70.0  #: pixels beyond the edge from which people come in
LEFT, RIGHT = (-_OUTSIDE, FEET), (WIDTH + _OUTSIDE, FEET)


@dataclass(frozen=True, kw_only=True)
class RoomPlan:
    """A room: its colours, its pieces (those on the wall first), and its places.

    ``left`` and ``right`` are outside the frame, where people come from and go to. ``positions`` are places for people,
    from left to right, at least a step apart.
    """

    style: Style
    pieces: tuple[Piece, ...]
    #: First surfaces, for all things; then hooks, for hats, scarves, bags, umbrellas and keys.
    spots: tuple[Fixture, ...]
    seats: tuple[Fixture, ...]
    openings: tuple[Fixture, ...]
    left: Position = LEFT
    right: Position = RIGHT
    positions: tuple[Position, ...] = ((96.0, FEET), (208.0, FEET), (320.0, FEET), (432.0, FEET), (544.0, FEET))


_MARGIN = 6.0
_ON_WALLS = frozenset({"sign", "clock", "board", "picture", "hooks"})


@lru_cache(maxsize=256)
def plan_of(kind: RoomKind, variant: int) -> RoomPlan:
    """Return the plan of a room. Raises ValueError: ``variant`` is below 1."""
    if variant < 1:
        raise ValueError(f"there is no variant {variant} of a room; variants count from 1")
    chance = random.Random(f"{kind} {variant}")
    columns = list(_ROOMS["columns"][kind])
    chance.shuffle(columns)
    spare = WIDTH - 2 * _MARGIN - sum(width for width, *_ in columns)
    shares = [chance.uniform(0.5, 1.5) for _ in range(len(columns) + 1)]
    pieces: list[Piece] = []
    left = _MARGIN
    for (width, *parts), share in zip(columns, shares, strict=False):
        left += spare * share / sum(shares)
        for part, offset, *of_furniture in parts:
            wide, facing = of_furniture or (100.0, 1)
            x, side = round(left + width / 2 + offset), facing or chance.choice((1, -1))
            pieces.append(Piece(kind=part, x=x, width=wide, facing=side, seed=chance.randrange(10_000)))
        left += width
    named = sorted((_named(piece, pieces) for piece in pieces), key=lambda piece: piece.kind not in _ON_WALLS)
    fixtures = [fixture for piece in sorted(named, key=lambda piece: piece.x) for fixture in _fixtures(piece)]
    surfaces, hooks, seats, openings = (
        tuple(item for item in fixtures if item.kind == kind) for kind in ("spot", "hook", "seat", "opening")
    )
    spots = surfaces + hooks
    return RoomPlan(style=style_of(variant), pieces=tuple(named), spots=spots, seats=seats, openings=openings)


def _named(piece: Piece, pieces: list[Piece]) -> Piece:
    """Return the piece with a name; of two pieces of one kind these are the left and the right one."""
    alike = sorted(other.x for other in pieces if other.kind == piece.kind)
    side = "" if len(alike) == 1 else "left " if piece.x == alike[0] else "right "
    return replace(piece, name=f"{side}{piece.kind}")


_ARM = 40.0  #: pixels from the feet to a thing within reach
_EDGE = 46.0  #: pixels from the frame's edge to the nearest place for a person

#: The places of things on a surface: pixels from the top, and shares of its width from its middle.
TOPS: dict[str, float] = {"desk": 234, "table": 234, "counter": 226, "workbench": 230, "sideboard": 222, "chest": 200}
_THREE = (("left end", -0.33), ("middle", 0.0), ("right end", 0.33))
_TWO = (("left side", -0.25), ("right side", 0.25))
_WIDE = 160.0
HOOK_TOP, HOOK_STEP = 138.0, 36.0  #: pixels from the top to the hooks, and between them
HANGING = 34.0  #: pixels from a hook down to the ``place`` of a hanging thing
_DRAWER = 226.0  #: pixels from the top to the drawers' handles
LEAVES: dict[str, float] = {"cupboard": 206, "fridge": 196, "door": 172}  #: and to those of doors
SEATS = ("chair", "armchair", "stool", "bench")
GIVING_APART = 118.0


def giving_place(one: Position, other: Position) -> Position:
    """Return where the hands of two people meet who stand ``GIVING_APART`` pixels apart."""
    return (one[0] + other[0]) / 2, 216.0


def _fixtures(piece: Piece) -> Iterator[Fixture]:
    """Yield the places that people use at a piece of furniture."""
    words = f"the {piece.name}"
    if piece.kind in TOPS:
        for name, share in _THREE if piece.width >= _WIDE else _TWO:
            place = (piece.x + share * piece.width, TOPS[piece.kind])
            yield _fixture("spot", f"the {name} of {words}", place, -1 if share > 0 else 1, words)
    if piece.kind == "hooks":
        for name, step in (("left", -1), ("middle", 0), ("right", 1)):
            place = (piece.x + step * HOOK_STEP, HOOK_TOP + HANGING)
            yield _fixture("hook", f"the {name} hook", place, -1 if step > 0 else 1)
    if piece.kind in SEATS:
        feet = (piece.x, SEATED_FEET)
        yield Fixture(kind="seat", name=words, words=words, place=feet, stand=feet, facing=piece.facing)
    if piece.kind == "chest":
        for name, side in (("left", -1), ("right", 1)):
            yield _fixture("opening", f"the {name} drawer", (piece.x + side * piece.width / 4, _DRAWER), -side)
    if piece.kind in LEAVES:
        yield _fixture("opening", words, leaf_handle(piece), hinge_side(piece))


def hinge_side(piece: Piece) -> int:
    """Return the side (-1 left, 1 right) of the hinges of a door."""
    return 1 if piece.kind == "fridge" else -1


def leaf_handle(piece: Piece) -> Position:
    """Return the place of the handle of a door, opposite its hinges."""
    return piece.x - hinge_side(piece) * (piece.width / 2 - 12), LEAVES[piece.kind]


def _fixture(
    kind: Literal["spot", "hook", "opening"], name: str, place: Position, facing: int, words: str = ""
) -> Fixture:
    """Return a fixture with the person's feet and direction, mirrored if these are too near the frame's edge."""
    stands = [(place[0] - side * _ARM, side) for side in (facing, -facing)]
    x, side = next((stand for stand in stands if _EDGE <= stand[0] <= WIDTH - _EDGE), stands[0])
    stand = (min(max(x, _EDGE), WIDTH - _EDGE), FEET)
    return Fixture(kind=kind, name=name, words=words or name, place=place, stand=stand, facing=side)
