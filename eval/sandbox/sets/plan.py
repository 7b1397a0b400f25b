"""The plan of a room: where people come in and stand, where things lie, what can be sat on and opened.

All places are pixels of the frame. ``stand`` is where the feet are of whoever reaches for something, ``facing`` the side
that person looks to (1 right, -1 left). ``the desk`` and the like are words that a sentence can use.
"""

from __future__ import annotations

from dataclasses import dataclass

from eval.sandbox.script import RoomKind

Place = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Where one thing can lie or hang: ``on`` is what it lies on (``the desk``), ``name`` which place of it.

    ``place`` is the thing's lower middle. A spot with ``hangs`` takes hats, scarves, bags, umbrellas and keys; any other
    takes whatever can be carried.
    """

    name: str
    on: str
    place: Place
    stand: Place
    facing: int
    hangs: bool = False


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Something to sit on: one walks to ``stand`` and sits down there, looking to ``facing``."""

    name: str
    stand: Place
    facing: int


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A drawer, a cupboard or a door; ``handle`` is where the hand goes, also to put a thing in or take it out."""

    name: str
    handle: Place
    stand: Place
    facing: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A room's places. ``left`` and ``right`` lie outside the frame: there people come from and go to."""

    kind: RoomKind
    left: Place
    right: Place
    stands: tuple[Place, ...]  #: places to stand, wave and talk at, from left to right, a step or more apart
    spots: tuple[Spot, ...]
    seats: tuple[Seat, ...]
    openings: tuple[Opened, ...]
