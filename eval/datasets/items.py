"""A question with what is known of its answer, and the sets that questions come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.questions import Question
from eval.datasets.texts.dialogue import Dialogue
from tool_induction.domains.domain import SplitName
from world_api.core.canonical import content_hash
from world_api.core.spans import TimeSpan

#: Answers by kind of question, as ``Episode.value`` holds them: ``open`` text; ``choice`` a letter; ``interval``
#: ``{"start_time", "end_time"}`` in seconds; ``count`` a whole number; ``order`` all letters, first to last.
Value = Any


@dataclass(frozen=True, kw_only=True)
class Item:
    """One question of a dataset.

    ``answer`` is in the type of the question (see ``Value``); ``also`` are other answers that count as right. ``spans`` are the
    stretches that show it, where they are known. ``domain`` is the task domain (the name of a domain file), ``content``
    what the video is about, ``template`` the id of the domain's template the question was made from. ``labels`` are the
    dataset's own (its types of questions, say), as JSON.
    """

    id: str  #: unique in its dataset: letters, digits and ``._+-``
    video_id: str
    question: Question
    answer: Value
    also: tuple[Value, ...] = ()
    spans: tuple[TimeSpan, ...] = ()
    domain: str | None = None
    content: str | None = None
    template: str | None = None
    split: SplitName | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class VideoFile:
    """A video of a dataset: where it should be, and whether it is there. ``path`` None: nobody said where, or it was not found.

    ``name`` is what its dataset calls it, where that is no id; ``subtitles`` are those the dataset keeps for it
    (``subtitles.py`` makes them ready for a build). A video that is a ``text`` (a dialogue) needs no file: its
    world is written from the words.
    """

    video_id: str
    path: Path | None = None
    name: str = ""
    subtitles: Path | None = None
    subtitles_begin: float = 0.0  #: the time in the subtitles at which the video begins, in seconds
    text: Dialogue | None = None

    @property
    def is_there(self) -> bool:
        """Whether the file is on this machine."""
        return self.text is not None or (self.path is not None and self.path.is_file())


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A question of others' file that cannot be asked: where it stands, and why."""

    where: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Questions about videos, with the protocol they are asked and scored by.

    ``protocol`` is what the adapter fixes, as JSON (which scorer for which kind, how questions map to domains, how ``as_of`` is
    made, whose judge), so that it can be published beside a figure. ``hash`` covers items and protocol, not the videos.
    ``left_out`` are questions of the file that cannot be asked; they are in no figure.
    """

    name: str
    items: tuple[Item, ...]
    videos: Mapping[str, VideoFile]
    protocol: Mapping[str, Any] = field(default_factory=dict)
    hash: str = ""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The ids of the videos that are asked about and are not here, sorted."""
        asked = {item.video_id for item in self.items}
        return tuple(sorted(item for item in asked if item not in self.videos or not self.videos[item].is_there))

    @property
    def missing_hash(self) -> str:
        """A hash of which videos are missing: figures over different parts of a dataset cannot be compared."""
        return content_hash(list(self.missing))
