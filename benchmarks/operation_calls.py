"""Seeded random calls of every operation on a world, as a controller might make them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.made_worlds import KINDS, vocabulary
from world_api.core.lexicon import CATEGORIES, COLOURS
from world_api.operations import run
from world_api.session.session import Session
from world_api.world.tracks import Track

Arguments = dict[str, Any]
#: How many of the most frequent words queries draw from; stop words of the made languages are among them.
_COMMON = 3000
_TOP_K = (3, 5, 10, 20)
_STATES = ("where is it?", "what is it doing?", "who else is there?", "穿什么颜色", "what is said?")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of the table: an operation, how its arguments are drawn, and what sets it apart from another row of it."""

    operation: str
    draw: Callable[[Draws], Arguments]
    variant: str = ""

    @property
    def name(self) -> str:
        """The row of the table."""
        return f"{self.operation} {self.variant}".rstrip()


class Draws:
    """Arguments that fit one session, drawn by seed."""

    def __init__(self, session: Session, seed: int) -> None:
        self._session = session
        self._random = random.Random(seed)  # noqa: S311 - arguments, not secrets

    def time_range(self, longest: float = 120.0) -> Arguments:
        """A time range of the visible part."""
        duration = self._session.view.duration
        start = self._random.uniform(0.0, duration * 0.98)
        end = min(duration, start + self._random.uniform(1.0, longest))
        return {"start_time": round(start, 2), "end_time": max(round(end, 2), round(start, 2) + 0.01)}

    def part(self) -> Arguments:
        """A long time range: from a hundredth to the whole of the visible part."""
        return self.time_range(self._session.view.duration * self._random.choice((0.01, 0.1, 1.0)))

    def time(self) -> float:
        """A moment."""
        return round(self._random.uniform(0.0, self._session.view.duration), 2)

    def query(self) -> str:
        """Words of either language, or a description."""
        kind = self._random.randrange(4)
        if kind == 0:
            colour, thing = self._random.choice(list(COLOURS.values())), CATEGORIES[self._random.choice(KINDS)]
            which = self._random.randrange(2)
            return f"a {thing[0][0]} in {colour[0][0]}" if which == 0 else f"{colour[1][0]}的{thing[1][0]}"
        languages = (("en",), ("zh",), ("en", "zh"))[kind - 1]
        drawn = (vocabulary(language).words[:_COMMON] for language in languages)
        return " ".join(word for words in drawn for word in self._random.sample(words, self._random.randint(1, 3)))

    def search(self) -> Arguments:
        """What to look for, and how many hits to give."""
        return {"query": self.query(), "top_k": self.top_k()}

    def top_k(self) -> int:
        """How many hits."""
        return self._random.choice(_TOP_K)

    def category(self) -> str:
        """A kind of thing."""
        return self._random.choice(("any", *KINDS))

    def entity(self) -> str:
        """A build-time identity."""
        track = self._track()
        return track.entity_id if track else "ent_none"

    def moment_of_entity(self) -> Arguments:
        """An identity and a moment at which it was seen."""
        track = self._track()
        if track is None:
            return {"entity_id": "ent_none", "time": 0.0}
        return {"entity_id": track.entity_id, "time": round(self._random.uniform(track.span.start, track.span.end), 2)}

    def sighted(self) -> tuple[float, str]:
        """A moment at which something was seen, and what it looks like."""
        track = self._track()
        if track is None:
            return 0.0, "a person"
        return round(float(track.times[self._random.randrange(len(track.times))]), 2), track.hint

    def _track(self) -> Track | None:
        tracks = self._session.view.tracks
        return tracks[self._random.randrange(len(tracks))] if len(tracks) else None

    def pick(self, choices: Sequence[str]) -> str:
        """One of them."""
        return self._random.choice(choices)

    def events(self) -> list[str]:
        """Ids of some event memories of the session."""
        ids = [memory.memory_id for memory in self._session.memories("event")]
        return self._random.sample(ids, 3)


def _register(draws: Draws) -> Arguments:
    time, hint = draws.sighted()
    return {"timestamp": time, "entity_hint": hint}


CASES = (
    Case(operation="list_scenes", draw=lambda draws: {}),
    Case(operation="list_scenes", variant="in a range", draw=lambda draws: {"time_range": draws.part()}),
    Case(operation="get_segment", draw=lambda draws: draws.time_range()),
    Case(operation="search_segments_by_text", draw=lambda draws: draws.search()),
    Case(operation="describe_segment", draw=lambda draws: draws.time_range()),
    Case(
        operation="detect_objects",
        draw=lambda draws: {"timestamp": draws.time(), "category": draws.category()},
    ),
    Case(
        operation="detect_objects",
        variant="in a range",
        draw=lambda draws: {"timestamp": draws.time(), "category": draws.category(), "time_range": draws.time_range()},
    ),
    Case(operation="recognize_actions", draw=lambda draws: draws.time_range()),
    Case(operation="register_entity", draw=_register),
    Case(
        operation="get_entity_trajectory",
        draw=lambda draws: {"entity_id": draws.entity()},
    ),
    Case(
        operation="query_entity_state",
        draw=lambda draws: {**draws.moment_of_entity(), "query": draws.pick(_STATES)},
    ),
    Case(operation="search_segments_by_semantics", draw=lambda draws: draws.search()),
    Case(
        operation="search_segments_by_semantics",
        variant="in a range",
        draw=lambda draws: {**draws.search(), "time_range": draws.part()},
    ),
    Case(
        operation="search_similar_to_example",
        draw=lambda draws: {"example_segment": draws.time_range(20.0), "top_k": draws.top_k()},
    ),
    Case(
        operation="write_memory",
        draw=lambda draws: {"level": "event", "time_range": draws.time_range(), "content": draws.query()},
    ),
    Case(
        operation="read_memory",
        draw=lambda draws: {"level": "event", **draws.search()},
    ),
    Case(operation="merge_events", draw=lambda draws: {"event_ids": draws.events()}),
    Case(operation="list_entities", draw=lambda draws: {}),
    Case(operation="get_video_metadata", draw=lambda draws: {}),
)


def call(session: Session, case: Case, draws: Draws) -> dict[str, Any]:
    """One call with drawn arguments.

    Raises:
        OperationFault: what the operation names, for arguments that name nothing that is there.
    """
    return run(session, case.operation, {"video_id": session.video_id, **case.draw(draws)})
