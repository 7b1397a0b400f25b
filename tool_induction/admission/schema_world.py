"""Worlds made from the operations' own schemas, on which a tool is tried before it runs on a video.

They answer every declared operation. An answer is a function of the operation, its arguments and a seed; it has the shape of the
operation's result schema, keeps to the requested interval and number of entries, and uses ids that other answers know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from tool_induction.admission.film import (
    VIDEO,
    VIDEO_ID,
    WORDS,
    Film,
    Question,
    draw,
    mixed,
    own_id,
    parameters_of,
    place_of,
    resolved,
    understood,
)
from tool_induction.language.types import JUDGEMENT
from world_api.core.canonical import canonical_json
from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan, round_time
from world_api.operations import EVERY_OPERATION

Failing = Literal["never", "some", "always"]
#: the code of the fault that failing worlds raise
PLANTED = "planted_fault"


@dataclass(frozen=True, kw_only=True)
class SchemaWorld:
    """A world without a video. Calling it answers an operation; it has no state, so threads may call it.

    ``failing``: ``always`` every call fails; ``some``: every second call about an interval or an id fails.
    """

    name: str
    amount: Amount = "many"
    nulls: bool = False
    failing: Failing = "never"
    film: Film = field(default_factory=Film)
    revision: int = 0

    @property
    def video_id(self) -> str:
        """Return the id of the imagined film."""
        return VIDEO_ID

    def of_seed(self, seed: int) -> SchemaWorld:
        """Return the same world of another film."""
        return replace(self, film=replace(self.film, seed=seed))

    @property
    def memo_key(self) -> str:
        """The key of everything that results depend on beside operation and arguments."""
        return canonical_json(
            [self.name, self.amount, self.nulls, self.failing, self.film.seed, self.film.words, self.film.crowded]
        )

    @property
    def session_key(self) -> str:
        """The revision; writes change no answer."""
        return str(self.revision)

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of an operation.

        Raises:
            OperationFault: ``unknown_operation``, ``bad_arguments``, ``bad_time_range``, ``unknown_id`` (an id that no
                answer ever held), ``planted_fault`` in failing worlds.
        """
        question = understood(operation, arguments)
        if self.failing == "always" or (self.failing == "some" and self._is_unlucky(operation, arguments)):
            raise OperationFault(
                PLANTED, f"{operation} failed, as the trial wants it", hint="nothing was wrong with the call"
            )
        for identifier in question.ids:
            if place_of(identifier) is None:
                raise OperationFault(
                    "unknown_id", f"{operation}: nothing has the id {identifier[:64]!r}", hint="ids come from results"
                )
        return Answering(
            film=self.film, operation=operation, question=question, amount=self.amount, nulls=self.nulls
        ).record()

    def _is_unlucky(self, operation: str, arguments: Mapping[str, Any]) -> bool:
        schema = parameters_of(operation)
        parts = {name: resolved(schema["properties"][name], schema)[0] for name in arguments if name != VIDEO}
        is_narrow = any(part.get("x-type") == "Time" or name.endswith("_id") for name, part in parts.items())
        return is_narrow and draw(self.film.seed, operation, canonical_json(arguments)) % 2 == 0


def schema_worlds(
    words: tuple[str, ...] = (), *, seed: int = 0, as_of: float | None = None
) -> Mapping[str, SchemaWorld]:
    """Return the worlds that a tool is tried on, by name: ``empty one many crowded nulls failing failing_some``.

    Moments of ``many`` are short, follow each other, and are as many as requested. In ``crowded`` they are of any length, overlap, are
    reported by several sources or twice, and are sometimes fewer than requested.

    Args:
        words: Further words of the film, for instance those that a tool compares texts with.
        seed: Another film.
        as_of: Seconds; nothing later is known.
    """
    whole = Film(seed=seed, words=tuple(dict.fromkeys((*words, *WORDS))))
    film = whole if as_of is None else Film(seed=seed, words=whole.words, ends=min(as_of, whole.ends))
    worlds = (
        SchemaWorld(name="empty", amount="none", film=film),
        SchemaWorld(name="one", amount="one", film=film),
        SchemaWorld(name="many", film=film),
        SchemaWorld(name="crowded", film=replace(film, crowded=True)),
        SchemaWorld(name="nulls", nulls=True, film=film),
        SchemaWorld(name="failing", failing="always", film=film),
        SchemaWorld(name="failing_some", failing="some", film=film),
    )
    return {world.name: world for world in worlds}


Amount = Literal["none", "one", "many"]
_IN_AN_INTERVAL = 3  #: entries about one interval or one id
_IN_THE_FILM = 24  #: entries of an unbounded list
_REFERRED = 6  #: different things that entries refer to
_ANY_COUNT = (0, 1, 2, 3, 5, 8, 13)  #: entries about one interval or one id in a crowded film
_BEST_SCORES = (0.6, 1.0, 4.0, 12.0, 30.0)  #: possible best scores if the schema has no maximum
_NUMBERS = (0, 1, 2, 4, 7, 12, 30)  #: added to the minimum of a whole number in a crowded film
#: Fields that are the same on every film.
_TECHNICAL = {"duration": 0.0, "frame_rate": 25, "width": 640, "height": 360}


@lru_cache(maxsize=64)
def result_of(operation: str) -> dict[str, Any]:
    """Return the result's schema, cached."""
    return EVERY_OPERATION[operation].result_schema()


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """The moment that one record of an answer is about; the root has no ``rank``.

    ``facet``: the source; several sources may report one moment, each in its own words.
    """

    place: int
    span: TimeSpan
    rank: int | None = None
    facet: int = 0


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Fills the result schema of one call. ``nulls``: every nullable field is null."""

    film: Film
    operation: str
    question: Question
    amount: Amount
    nulls: bool = False

    def record(self) -> dict[str, Any]:
        """Return the whole result."""
        schema = result_of(self.operation)
        return self._record(schema, self._root())

    def _root(self) -> _Entry:
        about = self.question.about
        places = self._places()
        span = about or (self.film.span(places[0]) if places else TimeSpan(start=0.0, end=0.0))
        # Answers about one thing differ between times, and answers at one time between things.
        by_ids = sum(place_of(identifier) or 0 for identifier in self.question.ids)
        by_words = self._chance("root") % _REFERRED if self.question.words else 0
        return _Entry(place=self.film.place(span.center) + by_ids + by_words, span=span)

    def _chance(self, *parts: object) -> int:
        """Return a number that depends on the words of the call and on nothing else of it."""
        return draw(self.film.seed, self.operation, self.question.words, *parts)

    @property
    def _schema(self) -> dict[str, Any]:
        return result_of(self.operation)

    def _record(self, schema: Mapping[str, Any], entry: _Entry) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for name, raw in schema.get("properties", {}).items():
            part, nullable = resolved(raw, self._schema)
            optional = name not in schema.get("required", ())
            if nullable and (self.nulls or self.amount == "none"):
                record[name] = None
            elif name in JUDGEMENT and part.get("type") == "array":
                record[name] = []  # every word counts as judged
            elif optional and "default" in raw and not self._holds_records(part):
                record[name] = raw["default"]
            else:
                record[name] = self._value(name, part, entry, refers=nullable)
        return record

    def _holds_records(self, part: Mapping[str, Any]) -> bool:
        """Whether it is a list of records; other fields with a default describe how the result came about."""
        return part.get("type") == "array" and resolved(part.get("items", {}), self._schema)[0].get("type") == "object"

    def _value(self, name: str, part: Mapping[str, Any], entry: _Entry, *, refers: bool = False) -> Any:
        if name == VIDEO:
            return self.question.given.get(VIDEO, VIDEO_ID)
        if "const" in part:
            return part["const"]
        if part.get("x-type") == "Time":
            return _time(name, entry, self.question)
        match part.get("type"):
            case "array":
                return self._list(name, part, entry)
            case "object":
                return self._record(part, entry)
            case "string" | "boolean" | "integer" | "number" as kind:
                echoed = self._echoed(name, part)
                return self._scalar(name, kind, part, entry, refers=refers) if echoed is None else echoed
        return None

    def _echoed(self, name: str, part: Mapping[str, Any]) -> Any:
        """Return the call's own argument of this name, if it fits the field."""
        parameter, _ = resolved(parameters_of(self.operation).get("properties", {}).get(name, {}), {})
        given = self.question.given.get(name)
        return given if given is not None and parameter.get("type") == part.get("type") else None

    def _list(self, name: str, part: Mapping[str, Any], entry: _Entry) -> list[Any]:
        item, _ = resolved(part.get("items", {}), self._schema)
        least, most = int(part.get("minItems", 0)), part.get("maxItems")
        if part.get("x-type") == "Box":
            return [float(entry.place % 10 * 10), 20.0, float(entry.place % 10 * 10 + 40), 100.0]
        if entry.rank is not None or item.get("type") != "object":  # a list inside an entry, or of bare values
            count = max(least, {"none": 0, "one": 1, "many": 2}[self.amount])
            inner = [replace(entry, place=entry.place + 1 + step, rank=step) for step in range(count)]
            return [self._value(name, item, one, refers=True) for one in inner]
        entries = self._entries()
        if name == "evidence" and not self._has_entries() and self.amount != "none":
            entries = [replace(entry, rank=0)]
        while len(entries) < least:
            entries.append(replace(entry, rank=len(entries)))
        return [self._record(item, one) for one in entries[:most]]

    def _has_entries(self) -> bool:
        """Whether the answer is a list of things, not one thing."""
        parts = self._schema.get("properties", {}).items()
        beside = JUDGEMENT | {"evidence"}
        return any(name not in beside and resolved(raw, self._schema)[0].get("type") == "array" for name, raw in parts)

    def _entries(self) -> list[_Entry]:
        """Return the entries of the answer: parts of the requested interval, or moments."""
        about = self.question.about
        count = self._count()
        if about is not None and not self._seeks():
            spans = self._parts(about, count)
            return [_Entry(place=self.film.place(one.center), span=one, rank=rank) for rank, one in enumerate(spans)]
        places = self._places()[:count]
        entries = [_Entry(place=place, span=self.film.span(place), rank=rank) for rank, place in enumerate(places)]
        if self.film.crowded and self.amount == "many" and self._is_narrow():
            entries = [replace(entry, rank=rank) for rank, entry in enumerate(self._repeated(entries)[:count])]
        return entries

    def _repeated(self, entries: list[_Entry]) -> list[_Entry]:
        """Return the entries, some of them twice: by another source, word for word, or a little later."""
        confined = self.question.confined
        end = min(self.film.ends, confined.end) if confined else self.film.ends
        found: list[_Entry] = []
        for entry in entries:
            found.append(entry)
            span = entry.span
            match mixed(self._chance("again"), entry.place) % 6:
                case 0:
                    found.append(replace(entry, facet=1))
                case 1:
                    found.append(entry)
                case 2:
                    wanted = span.duration * (1 + entry.place % 3) / 2 + entry.place % 5 / 4
                    later = max(0.0, min(end - span.end, wanted))
                    moved = TimeSpan(start=span.start + later, end=span.end + later)
                    found.append(replace(entry, span=moved, facet=entry.place % 2))
        return found

    def _parts(self, about: TimeSpan, count: int) -> list[TimeSpan]:
        """Return parts of an interval in order; their number and bounds depend on the words of the call."""
        if self.question.words and count > 1:
            count = 1 + self._chance("count") % count
        step = about.duration / max(1, count)
        cuts = [(self._chance("start", rank) % 40 / 100, self._chance("end", rank) % 40 / 100) for rank in range(count)]
        if not self.question.words:
            cuts = [(0.0, 0.0)] * count
        if self.film.crowded:  # some overlap the next
            cuts = [(first, last - self._chance("on", rank) % 3 * 0.7) for rank, (first, last) in enumerate(cuts)]
        return [
            TimeSpan(
                start=about.start + (rank + first) * step, end=min(about.end, about.start + (rank + 1 - last) * step)
            )
            for rank, (first, last) in enumerate(cuts)
        ]

    def _seeks(self) -> bool:
        """Whether the call is a search of the whole film: as many entries as requested, the best first."""
        return self.question.most is not None

    def _count(self) -> int:
        if self.amount != "many":
            return int(self.amount == "one")
        if self._seeks():
            most = self.question.most or 0
            chance = self._chance("how many")
            return 1 + chance % most if self.film.crowded and most and chance % 3 else most
        if self.film.crowded and self._is_narrow():
            return _ANY_COUNT[self._draw() % len(_ANY_COUNT)]
        return _IN_AN_INTERVAL if self._is_narrow() else _IN_THE_FILM

    def _is_narrow(self) -> bool:
        """Whether the call is about something in particular, not about the whole film."""
        return bool(self.question.about or self.question.ids or self.question.words)

    def _draw(self) -> int:
        """Return a number that depends on everything the call is about."""
        return draw(self.film.seed, self.operation, self.question.words, self.question.ids, self.question.about)

    def _places(self) -> list[int]:
        """Return the moments that the answer may describe, in its order."""
        if self.amount == "none":
            return []
        places = self.film.within(self.question.confined)
        if self.question.confined and len(places) > 1:  # not every moment fits the words
            about = self._chance("about")
            places = [place for place in places if mixed(about, place) % 4] or places[:1]
        drawn = self._draw()
        if self.amount == "one":
            return places[:1]
        if self._seeks():
            return sorted(places, key=lambda place: mixed(drawn, place))
        if self._is_narrow():
            chosen = sorted(places, key=lambda place: mixed(drawn, place))
            return sorted(chosen[: self._count()])
        return places[:: max(1, len(places) // _IN_THE_FILM)]

    def _scalar(self, name: str, kind: str, part: Mapping[str, Any], entry: _Entry, *, refers: bool) -> Any:
        if name == "duration":
            return round_time(self.film.ends if entry.rank is None and not self.question.about else entry.span.duration)
        if name in _TECHNICAL:
            return int(_TECHNICAL[name]) if kind == "integer" else float(_TECHNICAL[name])
        if name.endswith(("_id", "_ids")) or (kind == "string" and refers and name == "parts"):
            return own_id(name, self._referred(entry) if refers else self._own_place(entry))
        if "enum" in part:
            return part["enum"][0 if self.amount == "none" else (entry.place + entry.facet) % len(part["enum"])]
        if kind == "boolean":
            return self.amount != "none" and entry.place % 2 == 0
        if kind == "string":
            text = "" if self.amount == "none" else self.film.text(name, entry.place + entry.facet, self.question.words)
            return text.ljust(int(part.get("minLength", 0)), ".")
        return self._number(name, kind, part, entry)

    def _referred(self, entry: _Entry) -> int:
        """Return one of a few things; it depends on the moment and on the words of the call."""
        return (entry.place + self._chance() % _REFERRED) % _REFERRED

    def _own_place(self, entry: _Entry) -> int:
        """Return the number of an entry's own id; entries of a whole list are numbered in order, so that others can refer to them."""
        return entry.place if entry.rank is None or self.question.given.keys() - {VIDEO} else entry.rank

    def _number(self, name: str, kind: str, part: Mapping[str, Any], entry: _Entry) -> float | int:
        low: float = part.get("minimum", 0)
        if self.amount == "none":
            return int(low) if kind == "integer" else float(low)
        if kind == "integer":
            more = _NUMBERS[entry.place % len(_NUMBERS)] if self.film.crowded else entry.place % 4
            return int(min(low + 1 + more, part.get("maximum", low + 50)))
        if name == "score":
            return self._score(part, entry.rank or 0)
        high: float = part.get("maximum", 1)
        share = 0.04 + draw(self.film.seed, self.operation, name, entry.place) % 940 / 1000
        return round(low + (high - low) * share, 3)

    def _score(self, part: Mapping[str, Any], rank: int) -> float:
        """Return a score that never rises with the rank; in a crowded film some entries have the same."""
        if not self.film.crowded:
            return round(1 - rank / 400, 4)
        best = _BEST_SCORES[self._chance("best") % len(_BEST_SCORES)]
        most = float(part.get("maximum", best))
        return round(min(best, most) * math.pow(0.9, rank // 2), 4)


def _time(name: str, entry: _Entry, question: Question) -> float:
    moment = question.given.get(name)
    if isinstance(moment, int | float) and name not in ("start_time", "end_time"):
        return round_time(moment)
    words = name.split("_")
    if "start" in words or "first" in words:
        return round_time(entry.span.start)
    return round_time(entry.span.end if "end" in words or "last" in words else entry.span.center)
