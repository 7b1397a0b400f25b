"""What happened so far: events, stretches, causes, facts, in seconds of the film."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from eval.sandbox.facts import (
    Cause,
    Event,
    EventKind,
    Fact,
    FilmFacts,
    Relation,
    RelationKind,
    Visit,
    Written,
)
from eval.sandbox.stories.casting import Cast
from eval.sandbox.stories.words import Told

FRAME_RATE = 10  #: frames a second of generated films; every time of a story lies on a frame


def on_frame(seconds: float) -> float:
    """The nearest moment that is a frame."""
    return round(seconds * FRAME_RATE) / FRAME_RATE


class Chronicle:
    """Collects what is true while a story is being told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._visits: list[Visit] = []
        self.scenes: list[Visit] = []
        self._relations: list[Relation] = []
        self.causes: list[Cause] = []
        self.learned_so_far: list[Fact] = []
        self._written: list[Written] = []
        self._open: dict[tuple[RelationKind, str, str], float] = {}

    def happens(
        self,
        kind: EventKind,
        *,
        start: float,
        end: float,
        actor: str,
        subject: str,
        place: str,
        told: Told,
        thing: str = "",
        other: str = "",
        target: str = "",
        words: str = "",
    ) -> Event:
        """Note an event; ``subject`` is the actor in words."""
        event = Event(
            id=f"e{len(self.events) + 1:04d}",
            kind=kind,
            start=start,
            end=end,
            actor=actor,
            place=place,
            clause=f"{subject} {told.predicate}",
            verb_phrase=told.base,
            thing=thing,
            other=other,
            target=target,
            words=words,
        )
        self.events.append(event)
        return event

    def shown(self, subject: str, place: str, start: float, end: float) -> None:
        """Note that somebody or something is on screen."""
        if end > start:
            self._visits.append(Visit(subject=subject, place=place, start=start, end=end))

    def scene(self, place: str, start: float, end: float, texts: tuple[str, ...]) -> None:
        """Note that the camera shows a room, in which these texts can be read."""
        self.scenes.append(Visit(subject="", place=place, start=start, end=end))
        self._written += [Written(text=text, place=place, start=start, end=end) for text in texts]

    def begins(self, kind: RelationKind, subject: str, other: str, time: float) -> None:
        """A relation holds from now on."""
        self._open[kind, subject, other] = time

    def ends(self, kind: RelationKind, subject: str, other: str, time: float) -> None:
        """A relation that holds ends."""
        start = self._open.pop((kind, subject, other))
        if time > start:
            self._relations.append(Relation(kind=kind, subject=subject, object=other, start=start, end=time))

    def brings_about(self, cause: Event, effect: Event, reason: str) -> None:
        """One event brought another about."""
        self.causes.append(Cause(cause=cause.id, effect=effect.id, reason=reason))

    def learned(
        self,
        kind: Literal["rule", "appointment", "habit", "number"],
        text: str,
        values: Mapping[str, str],
        spans: list[tuple[float, float]],
    ) -> None:
        """Note what can be learned from several moments."""
        self.learned_so_far.append(
            Fact(
                id=f"f{len(self.learned_so_far) + 1:02d}", kind=kind, text=text, values=dict(values), spans=tuple(spans)
            )
        )

    def facts(self, film: str, seed: int, cast: Cast, duration: float, extras: Mapping[str, object]) -> FilmFacts:
        """Everything, when the film is over; what still holds then ends with it."""
        for kind, subject, other in list(self._open):
            self.ends(kind, subject, other, duration)
        return FilmFacts(
            film=film,
            seed=seed,
            duration=duration,
            people=tuple(player.person for player in cast.players),
            things=tuple(article.thing for article in cast.articles),
            places=tuple(location.place for location in cast.locations),
            scenes=tuple(self.scenes),
            visits=tuple(sorted(self._visits, key=lambda item: (item.start, item.subject))),
            events=tuple(sorted(self.events, key=lambda item: (item.start, item.end, item.id))),
            relations=tuple(sorted(self._relations, key=lambda item: (item.start, item.subject, item.kind))),
            causes=tuple(self.causes),
            facts=tuple(self.learned_so_far),
            written=tuple(self._written),
            extras=extras,
        )
