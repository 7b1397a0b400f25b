"""A film as data: looks, rooms, actions. Times are seconds of the shot, places are pixels (of people: their feet)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

WIDTH, HEIGHT = 640, 360
CARD = "A card: "  #: the beginning of the caption of a card

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
    """Return words with their indefinite article: "a red label", "an orange label"."""
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def capital(sentence: str) -> str:
    """Return a sentence with a capital letter at its beginning."""
    return sentence[:1].upper() + sentence[1:]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a person looks: colour words of ``canvas.COLOURS``; ``height`` is relative to an average person."""

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
        """The id: ``person_mia``."""
        return f"person_{self.name.lower()}"

    @property
    def reference(self) -> str:
        """The words for this person in events: ``the person in the red coat``."""
        return f"the person in the {self.look.coat} coat"

    @property
    def description(self) -> str:
        """The words with more detail: ``a person in a red coat and black trousers``."""
        return f"a person in {with_article(self.look.coat)} coat and {self.look.trousers} trousers"


@dataclass(frozen=True, kw_only=True)
class Prop:
    """A thing that people carry and put down; ``category`` is a ``PropKind``, ``label`` the colour of its label."""

    name: str
    category: str
    colour: str
    label: str = ""

    @property
    def id(self) -> str:
        """The id: ``folder_blue``."""
        return f"{self.category}_{self.colour}"

    @property
    def reference(self) -> str:
        """The words for it in events: ``the blue folder``."""
        return f"the {self.name}"

    @property
    def is_worn(self) -> bool:
        """Whether people can put it on."""
        return self.category in {"hat", "scarf"}

    @property
    def description(self) -> str:
        """The words with more detail: ``a blue folder with an orange label``."""
        return with_article(self.name) + (f" with {with_article(self.label)} label" if self.label else "")


@dataclass(frozen=True, kw_only=True)
class Room:
    """A room as the camera shows it; ``sign``, ``notes`` and ``clock`` are texts on screen; ``seed`` determines textures.

    ``variant``, from 1, selects colours and the positions of things (``room_plans.plan_of``).
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
    """An interval in seconds of the shot."""

    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Walk(_Interval):
    """A straight walk from one place on the floor to another."""

    origin: tuple[float, float]
    goal: tuple[float, float]

    @property
    def facing(self) -> int:
        """The direction: 1 to the right, -1 to the left."""
        return 1 if self.goal[0] >= self.origin[0] else -1


@dataclass(frozen=True, kw_only=True)
class Gesture(_Interval):
    """An action between walks. ``facing`` is 1 to the right, -1 to the left.

    ``place`` is the lower middle of a thing that is taken, put down, given or received, or the handle of something that
    is opened or closed (pixels). An actor who "sits down" sits until a "stands up"; one who "stands up" without having
    sat down in the shot sat from its start. ``prop`` is the thing that is taken, received or put on.

    A gesture takes effect in its middle: there a ``Carry``, ``Resting`` or ``Wear`` ends and another begins.
    """

    kind: GestureKind
    label: str
    facing: int
    place: tuple[float, float] | None = None
    prop: Prop | None = None


@dataclass(frozen=True, kw_only=True)
class Line(_Interval):
    """A spoken line, shown as a subtitle. The speaker looks in the direction ``facing`` (1 right, -1 left)."""

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
    """An interval in which a drawer, cupboard or door is open; ``target`` is its name in the room's plan.

    It moves open in the first half second, unless it is open when the shot begins, and shut in the last half second,
    unless it is open when the shot ends.
    """

    target: str


@dataclass(frozen=True, kw_only=True)
class Resting(Carry):
    """An interval in which a prop rests on a spot; ``place`` is its lower middle in pixels."""

    place: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Performance:
    """All actions of one actor in one shot. Between two walks the actor remains at one place."""

    actor: Actor
    walks: tuple[Walk, ...]
    gestures: tuple[Gesture, ...] = ()
    carries: tuple[Carry, ...] = ()
    wears: tuple[Wear, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One room without a cut. ``captions`` are (start, end, text) of its events, ``caption`` describes all of it."""

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
    """A title card: a large line of text and, unless it is empty, a small one."""

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
        """The duration in seconds."""
        return sum(part.duration for part in self.parts)

    def placed(self) -> Iterator[tuple[float, Shot | Card]]:
        """Yield each part with the time at which it begins, in seconds of the film."""
        start = 0.0
        for part in self.parts:
            yield start, part
            start += part.duration

    def shots(self) -> Iterator[tuple[float, Shot]]:
        """Yield each shot with its start in seconds of the film."""
        for start, part in self.placed():
            if isinstance(part, Shot):
                yield start, part

    def tracks(self) -> dict[Actor | Prop, str]:
        """Return the track id of each person and thing: ``s0001``, ... in the order of the script, so that it reveals no name."""
        found: dict[Actor | Prop, str] = {}
        for _, shot in self.shots():
            seen: list[Actor | Prop] = [item.prop for item in shot.resting]
            for performance in shot.performances:
                seen += [performance.actor, *(item.prop for item in (*performance.carries, *performance.wears))]
            for subject in seen:
                found.setdefault(subject, f"s{len(found) + 1:04d}")
        return found
