"""What can be read in a picture."""

from __future__ import annotations

from dataclasses import dataclass

from world_api.core.boxes import Box
from world_api.core.ports import Image


@dataclass(frozen=True, kw_only=True)
class WrittenText:
    """A line that can be read in a picture, and where its ink is."""

    text: str
    box: Box


@dataclass(frozen=True, kw_only=True)
class Backdrop:
    """An empty room or a card: the picture and everything written in it."""

    image: Image
    texts: tuple[WrittenText, ...]
