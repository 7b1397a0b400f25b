"""A film as data: looks, rooms, actions. Times are seconds from the shot's start, places pixels, feet on the floor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

WIDTH, HEIGHT = 640, 360
CARD = "A card: "  #: how the caption of a card begins

RoomKind = Literal[
    "office", "kitchen", "library", "corridor", "meeting room", "workshop", "entrance hall", "living room"
]
HairStyle = Literal["short", "long", "bun"]
#: "takes" and "picks up" are one motion. Giver and receiver meet at the same place at the same time.
GestureKind = Literal[
    "puts down", "takes", "picks up", "drinks", "waves", "sits down", "stands up", "puts on", "takes off", "gives",
    "receives", "opens", "closes",
]  # fmt: skip
#: What can be carried; a hat and a scarf can be worn too.
PropKind = Literal["folder", "cup", "book", "box", "bag", "key", "umbrella", "hat", "scarf", "letter"]


def with_article(words: str) -> str:
    """The words with their indefinite article: "a red label", "an orange label"."""
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def capital(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a person wears: colour words of ``canvas.COLOURS``; ``height`` relative to an average person."""

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
    def id(self) -> str:
        """``person_mia``."""
        return f"person_{self.name.lower()}"

    @property
    def reference(self) -> str:
        """``the person in the red coat``."""
        return f"the person in the {self.look.coat} coat"

    @property
    def description(self) -> str:
        """``a person in a red coat and black trousers``."""
        return f"a person in {with_article(self.look.coat)} coat and {self.look.trousers} trousers"


@dataclass(frozen=True, kw_only=True)
class Prop:
    """A thing that is carried and put down; ``category`` is a ``PropKind``, ``label`` the colour of a label on it."""

    name: str
    category: str
    colour: str
    label: str = ""

    @property
    def id(self) -> str:
        """``folder_blue``."""
        return f"{self.category}_{self.colour}"

    @property
    def reference(self) -> str:
        """``the blue folder``."""
        return f"the {self.name}"

    @property
    def is_worn(self) -> bool:
        """Whether it can be put on."""
        return self.category in {"hat", "scarf"}

    @property
    def description(self) -> str:
        """``a blue folder with an orange label``."""
        return with_article(self.name) + (f" with {with_article(self.label)} label" if self.label else "")


@dataclass(frozen=True, kw_only=True)
class Room:
    """A room as the camera sees it; ``seed`` decides its textures, ``sign`` and ``notes`` can be read.

    ``variant`` from 1 on decides its colours and arrangement, and where things are: ``room_plans.plan_of``.
    """

    kind: RoomKind
    name: str
    sign: str
    notes: tuple[str, ...] = ()
    clock: str = ""
    seed: int = 0
    variant: int = 1


@dataclass(frozen=True, kw_only=True)
class _Interval:
    """Seconds of the shot."""

    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Walk(_Interval):
    """A straight walk from one place on the floor to another."""

    origin: tuple[float, float]
    goal: tuple[float, float]

    @property
    def facing(self) -> int:
        """1 to the right, -1 to the left."""
        return 1 if self.goal[0] >= self.origin[0] else -1


@dataclass(frozen=True, kw_only=True)
class Gesture(_Interval):
    """Something done between walks. ``facing`` is 1 to the right, -1 to the left.

    ``place`` is the lower middle of a thing that is taken, put down, given or received, or the handle of something that is
    opened or closed (pixels). An actor who "sits down" sits until a "stands up"; one who "stands up" without having sat down
    in the shot sat from its start. ``prop`` is the thing that is taken, received or put on.

    What changes at a gesture changes in its middle: a ``Carry``, ``Resting``, ``Wear`` ends there and another begins.
    """

    kind: GestureKind
    label: str
    facing: int
    place: tuple[float, float] | None = None
    prop: Prop | None = None


@dataclass(frozen=True, kw_only=True)
class Line(_Interval):
    """A spoken line, shown as a subtitle. The speaker looks towards ``facing``."""

    speaker: Actor
    text: str
    facing: int


@dataclass(frozen=True, kw_only=True)
class Carry(_Interval):
    """An interval in which an actor holds a prop."""

    prop: Prop


@dataclass(frozen=True, kw_only=True)
class Wear(Carry):
    """An interval in which an actor wears a hat or a scarf."""


@dataclass(frozen=True, kw_only=True)
class Opening(_Interval):
    """An interval in which something of the room is open: ``target`` is a name of the room's plan.

    It opens in the first half second, unless it is open when the shot begins, and closes in the last one, unless it is
    open when the shot ends.
    """

    target: str


@dataclass(frozen=True, kw_only=True)
class Resting(Carry):
    """An interval in which a prop is at rest; ``place`` is its lower middle in pixels."""

    place: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Performance:
    """What one actor does in one shot. Between two walks the actor does not move."""

    actor: Actor
    walks: tuple[Walk, ...]
    gestures: tuple[Gesture, ...] = ()
    carries: tuple[Carry, ...] = ()
    wears: tuple[Wear, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One room without a cut. ``captions`` describe its events, ``caption`` the whole of it."""

    room: Room
    duration: float
    caption: str
    performances: tuple[Performance, ...] = ()
    resting: tuple[Resting, ...] = ()
    lines: tuple[Line, ...] = ()
    captions: tuple[tuple[float, float, str], ...] = ()
    openings: tuple[Opening, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Card:
    """A card with a large line and, where it is not empty, a small one."""

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

    def tracks(self) -> dict[Actor | Prop, str]:
        """The people and things that the truth follows, with ids that give nothing away: numbers in the script's order."""
        found: dict[Actor | Prop, str] = {}
        for _, shot in self.shots():
            seen: list[Actor | Prop] = [item.prop for item in shot.resting]
            for performance in shot.performances:
                seen += [performance.actor, *(item.prop for item in (*performance.carries, *performance.wears))]
            for subject in seen:
                found.setdefault(subject, f"s{len(found) + 1:04d}")
        return found
