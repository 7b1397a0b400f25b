"""The plan of a room, from its arrangement."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from eval.sandbox.script import WIDTH, RoomKind
from eval.sandbox.sets.arranging import Arrangement, Piece, arrange
from eval.sandbox.sets.plan import Opened, Place, Plan, Seat, Spot

FEET = 326.0  #: pixels from the top to where people walk and stand
SEATED_FEET = 318.0  #: and to where the feet of people who sit are
_OUTSIDE = 70.0  #: pixels beyond the edge where people wait to come in
_ARM = 40.0  #: pixels from the feet to what the hand reaches for
_EDGE = 46.0  #: nobody need stand nearer to the frame's edge

#: Where things lie on a surface: pixels from the top, and from its middle.
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
        stands=tuple((x, FEET) for x in (96.0, 208.0, 320.0, 432.0, 544.0)),
        spots=tuple(_spots(made)),
        seats=tuple(_seats(made)),
        openings=tuple(_openings(made)),
    )


def giving_place(one: Place, other: Place) -> Place:
    """Where two people who stand ``GIVING_APART`` pixels apart meet with their hands; both gestures have this place."""
    return (one[0] + other[0]) / 2, 216.0


GIVING_APART = 118.0


def _spots(made: Arrangement) -> Iterator[Spot]:
    for piece in made.only(*TOPS):
        for name, share in _THREE if piece.width >= _WIDE else _TWO:
            place = (piece.x + share * piece.width, TOPS[piece.kind])
            side = -1 if share > 0 else 1
            stand, facing = _reaching(place, side)
            yield Spot(
                name=f"the {name} of the {piece.name}", on=f"the {piece.name}", place=place, stand=stand, facing=facing
            )
    for piece in made.only("hooks"):
        for name, share in (("left", -1), ("middle", 0), ("right", 1)):
            place = (piece.x + share * HOOK_STEP, HOOK_TOP + HANGING)
            stand, facing = _reaching(place, -1 if share > 0 else 1)
            yield Spot(name=f"the {name} hook", on="the hooks", place=place, stand=stand, facing=facing, hangs=True)


def _seats(made: Arrangement) -> Iterator[Seat]:
    for piece in made.only(*SEATS):
        yield Seat(name=f"the {piece.name}", stand=(piece.x, SEATED_FEET), facing=piece.facing)


def _openings(made: Arrangement) -> Iterator[Opened]:
    for piece in made.only("chest", *LEAVES):
        if piece.kind == "chest":
            for side in (-1, 1):
                stand, facing = _reaching((handle := drawer_handle(piece, side)), -side)
                word = "left" if side < 0 else "right"
                yield Opened(name=f"the {word} drawer", handle=handle, stand=stand, facing=facing)
        else:
            stand, facing = _reaching((handle := leaf_handle(piece)), hinge_side(piece))
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


def _reaching(place: Place, facing: int) -> tuple[Place, int]:
    """Where to stand for a place, on the side that is asked for unless that is too near to the edge."""
    for side in (facing, -facing):
        x = place[0] - side * _ARM
        if _EDGE <= x <= WIDTH - _EDGE:
            return (x, FEET), side
    return (min(max(place[0] - facing * _ARM, _EDGE), WIDTH - _EDGE), FEET), facing
