"""A film as data: who wears what, which rooms there are, who does what when.

Times in a shot are seconds from the shot's start; places are pixels of the frame, feet on the floor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

WIDTH, HEIGHT = 640, 360

RoomKind = Literal["office", "kitchen", "library", "corridor"]
HairStyle = Literal["short", "long", "bun"]
GestureKind = Literal["puts down", "takes", "drinks", "waves"]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a person wears: colour words of ``palette.COLOURS``; ``height`` relative to an average person."""

    coat: str
    trousers: str
    hair: str
    hair_style: HairStyle
    skin: str
    height: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Actor:
    """A person; ``pitch`` is the voice's fundamental frequency in hertz."""

    name: str
    look: Look
    pitch: float

    @property
    def description(self) -> str:
        """``a person in a red coat and black trousers``."""
        return f"a person in a {self.look.coat} coat and {self.look.trousers} trousers"


@dataclass(frozen=True, kw_only=True)
class Prop:
    """A thing that is carried and put down."""

    name: str
    category: str
    colour: str


@dataclass(frozen=True, kw_only=True)
class Room:
    """A room as the camera sees it; ``seed`` decides its textures, ``sign`` and ``notes`` can be read."""

    kind: RoomKind
    name: str
    sign: str
    notes: tuple[str, ...] = ()
    clock: str = ""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Walk:
    """A straight walk from one place on the floor to another."""

    start: float
    end: float
    origin: tuple[float, float]
    goal: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Gesture:
    """Something done while standing. ``facing`` is 1 to the right, -1 to the left.

    ``place`` is where the hand goes when it takes a thing or puts it down: that thing's lower middle in pixels.
    """

    start: float
    end: float
    kind: GestureKind
    label: str
    facing: int
    place: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """A spoken line, shown as a subtitle. The speaker looks towards ``facing``."""

    start: float
    end: float
    speaker: Actor
    text: str
    facing: int


@dataclass(frozen=True, kw_only=True)
class Carry:
    """A stretch during which an actor holds a prop."""

    start: float
    end: float
    prop: Prop


@dataclass(frozen=True, kw_only=True)
class Resting:
    """A stretch during which a prop lies somewhere; ``place`` is its lower middle in pixels."""

    start: float
    end: float
    prop: Prop
    place: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Performance:
    """What one actor does in one shot. Between two walks the actor stands."""

    actor: Actor
    walks: tuple[Walk, ...]
    gestures: tuple[Gesture, ...] = ()
    carries: tuple[Carry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One room without a cut. ``captions`` tell its events, ``caption`` the whole of it."""

    room: Room
    duration: float
    caption: str
    performances: tuple[Performance, ...] = ()
    resting: tuple[Resting, ...] = ()
    lines: tuple[Line, ...] = ()
    captions: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Card:
    """A card with a large line and a small one."""

    title: str
    subtitle: str
    duration: float
    caption: str


@dataclass(frozen=True, kw_only=True)
class Film:
    """A film: shots and cards joined by hard cuts. ``frame_rate`` in frames a second."""

    title: str
    frame_rate: int
    parts: tuple[Shot | Card, ...]

    @property
    def duration(self) -> float:
        """Seconds."""
        return sum(part.duration for part in self.parts)

    def placed(self) -> Iterator[tuple[float, Shot | Card]]:
        """Each part with the time at which it begins, in seconds of the film."""
        start = 0.0
        for part in self.parts:
            yield start, part
            start += part.duration

    def shots(self) -> Iterator[tuple[float, Shot]]:
        """The parts that are shots, each with its start in seconds."""
        for start, part in self.placed():
            if isinstance(part, Shot):
                yield start, part
