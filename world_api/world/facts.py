"""What a view tells, one by one: scenes, spoken lines, captions and actions."""

from __future__ import annotations

from dataclasses import dataclass

from world_api.core.identifiers import scene_id
from world_api.core.spans import TimeSpan
from world_api.world.arrays.items import Items, Times


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A scene: shots that belong together. ``strength`` (0 to 1): how little it looks like what came before."""

    ordinal: int
    span: TimeSpan
    strength: float

    @property
    def scene_id(self) -> str:
        """Its identifier."""
        return scene_id(self.ordinal)


@dataclass(frozen=True, kw_only=True)
class SpokenWord:
    """A recognised word of a spoken line."""

    span: TimeSpan
    text: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A spoken line. ``source``: sidecar, embedded, recognised or truth; only recognised lines have ``words``."""

    span: TimeSpan
    text: str
    speaker: str
    confidence: float
    language: str
    source: str
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, kw_only=True)
class Said:
    """A stored sentence or label about a stretch (a caption or an action)."""

    span: TimeSpan
    text: str
    subject: str
    confidence: float
    producer: str


class Scenes(Items[Scene]):
    """The scenes; ``strengths`` (n): how little each looks like what came before it, 0 to 1."""

    def __init__(self, tiles: Items[TimeSpan], strengths: Times) -> None:
        self.strengths = strengths
        super().__init__(tiles.starts, tiles.ends, self._scene)

    def _scene(self, position: int) -> Scene:
        span = TimeSpan(start=float(self.starts[position]), end=float(self.ends[position]))
        return Scene(ordinal=position, span=span, strength=float(self.strengths[position]))
