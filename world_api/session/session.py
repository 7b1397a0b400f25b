"""A session: a world behind a causal cut, with an overlay for what the caller writes.

For measurements of single operations a session can have stand-ins: objects that answer an operation in place of the
world. A stand-in receives the checked call; the session's records list the operations with stand-ins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

from world_api.core.canonical import content_hash
from world_api.core.faults import OperationFault
from world_api.core.ports import Source, TextEmbedder
from world_api.core.spans import Box, TimeSpan, round_time
from world_api.core.vocabulary import Vocabulary
from world_api.search.captions import CaptionIndex, Meanings
from world_api.search.searcher import Searcher
from world_api.session.overlay import EntityRegistered, Level, MemoryWritten, Overlay
from world_api.session.vision import FrameLooker, Vision
from world_api.world.tracks import hint_in_words
from world_api.world.view import View


class StandIn(Protocol):
    """Answers one or several operations in place of a session's world."""

    @property
    def record(self) -> Mapping[str, Any]:
        """What its answers depend on besides the session, as JSON; part of cache keys."""
        ...

    def answer(self, session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of an operation. Rows that the operation writes are written to the session.

        Raises VideoWorldError: any fault that the operation declares.
        """
        ...


#: Prefix of the ids of things that were detected on demand and not tracked.
SEEN = "ent_seen_"


@dataclass(frozen=True, kw_only=True)
class Backends:
    """Models that a session can use in addition to stored rows.

    ``looker`` is None without the video or a detector, ``seeing`` if no vision model was chosen, and ``meanings`` if no
    model that embeds captions was chosen.
    """

    text_embedder: TextEmbedder
    looker: FrameLooker | None
    seeing: Vision | None = None
    meanings: Meanings | None = None


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A registered entity, from the overlay or from committed rows.

    ``label`` contains the words it was registered with; no measurement confirms them.
    """

    entity_id: str
    label: str
    category: str
    time: float
    box: tuple[float, float, float, float]
    confidence: float
    committed: bool

    @property
    def hint(self) -> str:
        """Its category in words: ``person``. Its colours are not recorded."""
        return hint_in_words(self.category, ())

    @property
    def place(self) -> Box:
        """Its box at the moment of the registration."""
        x1, y1, x2, y2 = self.box
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)

    @property
    def source(self) -> Source:
        """What found it: ``tracker``, or ``detector`` if it was detected in a single frame."""
        return "detector" if self.entity_id.startswith(SEEN) else "tracker"


class Session:
    """One caller's view of one video: what is visible, what the caller wrote, and the optional groups of operations."""

    def __init__(
        self, *, view: View, overlay: Overlay, backends: Backends, name: str, groups: frozenset[str] = frozenset()
    ) -> None:
        self.view = view
        self.overlay = overlay
        self.backends = backends
        self.name = name
        self.groups = groups
        #: Operation name -> stand-in; empty except in measurements.
        self.stand_ins: Mapping[str, StandIn] = {}
        seeing = backends.seeing
        #: The captions that captioning runs listed; fixed while the session is open.
        self._listed = None if seeing is None else seeing.kept.listed()
        said = [] if seeing is None or self._listed is None else seeing.said(self._listed, until=view.duration)
        self.captions = CaptionIndex(said)

    @property
    def video_id(self) -> str:
        """The id of the session's video."""
        return self.view.video_id

    @property
    def as_of(self) -> float | None:
        """The causal cut in seconds; None if the whole video is visible."""
        return self.view.as_of

    @property
    def world_hash(self) -> str:
        """The hash of the world's canonical rows."""
        return self.view.world.manifest.world_hash

    @property
    def revision(self) -> int:
        """The number of events in the overlay; 0 again after the session was dropped."""
        return len(self.overlay.events())

    @property
    def session_key(self) -> str:
        """Cache key of what the session wrote; results that depend on it are cached under this and ``memo_key``."""
        return self.overlay.digest()

    @property
    def memo_key(self) -> str:
        """Cache key of results that do not depend on what the session wrote."""
        beside = "".join(f"+{content_hash(part)}" for part in (self.perception, self.stood_in) if part is not None)
        return f"{self.world_hash}@{'all' if self.as_of is None else self.as_of}{beside}"

    @property
    def stood_in(self) -> dict[str, Any] | None:
        """The ``record`` of each stand-in by the name of its operation; None if there is no stand-in."""
        return {name: dict(self.stand_ins[name].record) for name in sorted(self.stand_ins)} or None

    @property
    def perception(self) -> dict[str, Any] | None:
        """The vision model, the searched captions and their embedding model, as JSON; None without a vision model.

        ``caption_set`` identifies the captions that a captioning run listed, ``captions`` those of them that this
        session sees.
        """
        seeing, meanings = self.backends.seeing, self.backends.meanings
        if seeing is None:
            return None
        return {
            "vision": seeing.producer,
            "embedding": None if meanings is None else meanings.producer,
            "caption_set": "" if self._listed is None else self._listed.hash,
            "captions": self.captions.digest,
            "looks": seeing.most_looks,
        }

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The categories that visible rows or the detector for single frames can judge."""
        looker = self.backends.looker
        return self.view.vocabulary.extended(() if looker is None else looker.categories())

    @cached_property
    def searcher(self) -> Searcher:
        """The search over the visible part."""
        return Searcher(self.view, self.backends.text_embedder, captions=self.captions, meanings=self.backends.meanings)

    def check_video(self, video_id: str) -> None:
        """Check that a call is for this session's video.

        Raises OperationFault: ``wrong_video``.
        """
        if video_id != self.video_id:
            raise OperationFault(
                "wrong_video",
                f"this session is on video {self.video_id!r}, not {video_id[:80]!r}",
                hint=f'use "{self.video_id}"',
            )

    def memories(self, level: Level | None = None) -> list[MemoryWritten]:
        """Return the visible memories of a level (None: of all), committed ones first, each in the order of writing."""
        rows = self.view.rows("memories").drop_columns(["number", "producer"]).to_pylist()
        committed = (MemoryWritten.model_construct(**{**row, "parts": tuple(row["parts"])}) for row in rows)
        written = (event for event in self._visible_events() if isinstance(event, MemoryWritten))
        found = {memory.memory_id: memory for memory in (*committed, *written)}
        return [memory for memory in found.values() if level is None or memory.level == level]

    def registrations(self) -> list[Registration]:
        """Return the visible registered entities, committed ones first, each in the order of registration."""
        found: dict[str, Registration] = {}
        for row in self.view.rows("registrations").to_pylist():
            box = tuple(round(row[side], 1) for side in ("x1", "y1", "x2", "y2"))
            found[row["entity_id"]] = _registration({**row, "box": box}, committed=True)
        for event in self._visible_events():
            if isinstance(event, EntityRegistered):
                found[event.entity_id] = _registration(dict(event), committed=False)
        return list(found.values())

    def write_memory(self, *, level: Level, span: TimeSpan, content: str, parts: Sequence[str] = ()) -> MemoryWritten:
        """Append a memory to the overlay and return it. Sessions with a cut before the end of this view do not see it.

        Its id is a hash of its content, its number in the log and the session's name.
        """

        def make(number: int) -> MemoryWritten:
            seed = "\x1f".join([self.name, str(number), level, repr(span.start), repr(span.end), content, *parts])
            return MemoryWritten(
                memory_id=f"mem_{sha256(seed.encode()).hexdigest()[:12]}",
                level=level,
                start=round_time(span.start),
                end=round_time(span.end),
                content=content,
                parts=tuple(parts),
                known_at=self.view.duration,
            )

        event = self.overlay.append(make)
        assert isinstance(event, MemoryWritten)  # noqa: S101 - what make returned
        return event

    def register(self, registration: Registration) -> None:
        """Append a registered entity to the overlay."""
        record = {name: getattr(registration, name) for name in ("entity_id", "category", "time", "box", "confidence")}
        event = EntityRegistered(**record, hint=registration.label, known_at=self.view.duration)
        self.overlay.append(lambda _: event)

    def _visible_events(self) -> list[MemoryWritten | EntityRegistered]:
        return [event for event in self.overlay.events() if self.view.cut.shows(event.known_at)]


def _registration(record: Mapping[str, Any], *, committed: bool) -> Registration:
    """Return the registration in a row or an event, in which ``hint`` contains the caller's words."""
    same = {name: record[name] for name in ("entity_id", "category", "time", "box")}
    return Registration(**same, label=record["hint"], confidence=round(record["confidence"], 2), committed=committed)
