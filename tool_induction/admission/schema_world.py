"""Artificial worlds that answer operations from their schemas; a tool is tried on them before it runs on a video.

An answer is a function of the operation, its arguments and a seed. It has the shape of the operation's result schema,
keeps to the requested interval and number of entries, and uses ids that occur in other answers. The content comes from
an imagined film with moments and words; what a call refers to is read from the schema of its parameters.

Scores, scenes and lengths are shaped like those of three built worlds (a composite of seven clips, 337 s; six people who
enter a room, 139 s; the sample film, 100 s; profile ``classical``), measured on 8 searches each and all scenes and visits:

- a best score is 0.016 to 0.033 by text, 0.16 to 0.73 by meaning, 0.69 to 1.0 by example; the next one is 0.985 (median; at
  least 0.48) of it, and 0 to 71 % of neighbours are equal. No hit has a confidence;
- a scene holds 1 to 16 segments (median 3 to 14) and lasts 3 to 139 s; a segment lasts 1 to 10 s (median 6 to 10);
- an entity is seen for 1 to 45 s at a time (median 6 to 16).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from tool_induction.language.types import JUDGEMENT, resolved
from world_api.core.canonical import canonical_json
from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan, round_time
from world_api.operations import EVERY_OPERATION

VIDEO_ID = "film"
#: Words that are said and seen in the film by default.
WORDS = ("a red kettle", "two people talking", "the door opens", "a dog", "somebody writes", "rain on a window")
_SPACING = 10.0  #: seconds from one moment to the next
_MOMENTS = 200
DURATION = _MOMENTS * _SPACING  #: of the film, in seconds
#: shortest and longest duration of moments in a crowded film, in seconds, by kind
_LENGTHS = ((0.2, 2.0), (2.0, 8.0), (2.0, 8.0), (8.0, 30.0), (30.0, 150.0))
_MAX_OVERLAP = 15  #: later moments that a moment of a crowded film may overlap
_WORD = 2**64 - 1


def draw(*parts: object) -> int:
    """Return a pseudo-random 64-bit number that depends on the parts alone and is the same on every machine."""
    text = "\x1f".join(map(repr, parts))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def mixed(drawn: int, place: int) -> int:
    """Return a pseudo-random 64-bit number for a number from ``draw`` and a place (SplitMix64, Steele and others, 2014)."""
    number = (drawn + place * 0x9E3779B97F4A7C15) & _WORD
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _WORD
    return number ^ (number >> 31)


@lru_cache(maxsize=16 * _MOMENTS)
def _span(seed: int, place: int, *, crowded: bool) -> TimeSpan:
    start = round(place * _SPACING + draw(seed, "start", place) % 30 / 10, 3)
    chance = draw(seed, "length", place)
    shortest, longest = _LENGTHS[draw(seed, "kind of length", place) % len(_LENGTHS)]
    length = shortest + (longest - shortest) * (chance % 1000) / 1000 if crowded else 1 + chance % 61 / 10
    return TimeSpan(start=start, end=round(start + length, 3))


@dataclass(frozen=True, kw_only=True)
class ImaginedFilm:
    """A film of numbered intervals, its moments, which start about ten seconds apart.

    They last a few seconds and do not overlap. In a ``crowded`` film some are very short and some last minutes,
    neighbours overlap or touch, and one thing is reported more than once.
    """

    words: tuple[str, ...] = WORDS
    seed: int = 0
    crowded: bool = False

    def span(self, place: int) -> TimeSpan:
        """Return the interval of a moment, in seconds."""
        return _span(self.seed, place, crowded=self.crowded)

    def place(self, time: float) -> int:
        """Return the number of the moment at a time in seconds; there is one moment in every ten seconds."""
        return max(0, min(_MOMENTS - 1, int(time // _SPACING)))

    def within(self, bounds: TimeSpan | None) -> list[int]:
        """Return the numbers of the moments that overlap ``bounds`` (None: all) and end before the film does."""
        first, last = (0, _MOMENTS - 1) if bounds is None else (self.place(bounds.start), self.place(bounds.end))
        if self.crowded:
            first = max(0, first - _MAX_OVERLAP)
        spans = ((place, self.span(place)) for place in range(first, last + 1))
        return [place for place, span in spans if span.end <= DURATION and (bounds is None or span.overlaps(bounds))]

    def text(self, name: str, place: int, query: tuple[str, ...]) -> str:
        """Return the text of the field ``name`` at a moment: every third is exactly a word, others a sentence with one.

        The words of the query are used too, so that conditions on words hold for some moments and not for others.
        """
        words = tuple(dict.fromkeys((*query, *self.words)))
        word = words[(place + draw(self.seed, name) % 7) % len(words)]
        return word if place % 3 == 0 else f"{word}, as {name} of moment {place} has it"


_OWN_ID = re.compile(r"\w+-(\d{1,4})")
VIDEO = "video_id"
_AROUND = (1.0, 2.0)  #: seconds before and after a moment that an answer about it covers


@dataclass(frozen=True, kw_only=True)
class CallMeaning:
    """What a call refers to, read from its arguments ``given``.

    ``about`` is the interval that the answer describes; ``confined`` is one that all entries must be in (a time among
    the arguments is then ignored). ``most`` is the largest number of entries; ``ids`` are the ids among the arguments,
    ``words`` the texts searched for.
    """

    given: Mapping[str, Any]
    about: TimeSpan | None = None
    confined: TimeSpan | None = None
    most: int | None = None
    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def parameters_of(operation: str) -> dict[str, Any]:
    """Return the JSON Schema of an operation's parameters (cached)."""
    return EVERY_OPERATION[operation].parameters_schema()


def understood(operation: str, arguments: Mapping[str, Any]) -> CallMeaning:
    """Return what a call refers to: an interval, ids, texts searched for, and the number of entries.

    Raises:
        OperationFault: ``unknown_operation``, ``bad_arguments``, ``bad_time_range``.
    """
    if operation not in EVERY_OPERATION:
        raise OperationFault("unknown_operation", f"there is no operation {operation[:64]!r}")
    EVERY_OPERATION[operation].validate(arguments)
    schema = parameters_of(operation)
    required = set(schema.get("required", ()))
    times: dict[str, float] = {}
    about = confined = most = None
    ids: list[str] = []
    words: list[str] = []
    for name, given in arguments.items():
        part, _ = resolved(schema.get("properties", {}).get(name, {}), schema)
        if given is None or name == VIDEO:
            continue
        if part.get("x-type") == "Time":
            times[name] = float(given)
        elif part.get("x-type") == "Interval":
            span = _checked_span(given["start_time"], given["end_time"])
            about, confined = (span, confined) if name in required else (about, span)
        elif name.endswith(("_id", "_ids")):
            ids.extend(_texts(given))
        elif part.get("type") == "integer" and "maximum" in part:
            most = given if most is None else min(most, given)
        elif "enum" not in part:
            words.extend(_texts(given))
    return CallMeaning(
        given=arguments,
        about=_interval(times, confined) or about,
        confined=confined,
        most=most,
        ids=tuple(ids),
        words=tuple(words),
    )


def own_id(name: str, place: int) -> str:
    """Return the id for a moment in the field ``name``: ``entity-3`` for ``entity_id`` and moment 3."""
    return f"{name.removesuffix('s').removesuffix('_id') or 'id'}-{place}"


def place_of(identifier: str) -> int | None:
    """Return the number of the moment that an id was made for, or None for an id of another form."""
    found = _OWN_ID.fullmatch(identifier)
    return None if found is None else int(found.group(1))


def _interval(times: Mapping[str, float], confined: TimeSpan | None) -> TimeSpan | None:
    starts = [value for name, value in times.items() if name.startswith("start")]
    ends = [value for name, value in times.items() if name.startswith("end")]
    if starts and ends:
        return _checked_span(starts[0], ends[0])
    moment = next(iter(times.values()), None)
    if moment is None or confined is not None:
        return None
    return TimeSpan(start=max(0.0, moment - _AROUND[0]), end=moment + _AROUND[1])


def _checked_span(start: float, end: float) -> TimeSpan:
    if end <= start:
        raise OperationFault(
            "bad_time_range", f"an interval from {start} to {end}", hint="end_time comes after start_time"
        )
    return TimeSpan(start=float(start), end=float(end))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


Failing = Literal["never", "some", "always"]
#: the code of the fault that failing worlds raise
PLANTED = "planted_fault"


@dataclass(frozen=True, kw_only=True)
class SchemaWorld:
    """A world without a video. Calling it answers an operation; it has no state, so threads may call it.

    ``amount``: entries of an answer (``none``, ``one``, ``many``); ``nulls``: nullable fields are null. ``failing``:
    ``always`` means that every call fails, ``some`` that about half of the calls with a time or an id do.
    """

    name: str
    video_id: str = VIDEO_ID
    amount: Amount = "many"
    nulls: bool = False
    failing: Failing = "never"
    film: ImaginedFilm = field(default_factory=ImaginedFilm)

    def of_seed(self, seed: int) -> SchemaWorld:
        """Return the same world with another film."""
        return replace(self, film=replace(self.film, seed=seed))

    @property
    def memo_key(self) -> str:
        """A text made from everything besides operation and arguments that results depend on."""
        return canonical_json(
            [self.name, self.amount, self.nulls, self.failing, self.film.seed, self.film.words, self.film.crowded]
        )

    @property
    def session_key(self) -> str:
        """Always empty, since writing operations change no answer."""
        return ""

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of an operation.

        Raises:
            OperationFault: ``unknown_operation``, ``bad_arguments``, ``bad_time_range``, ``unknown_id`` (an id of
                another form than this world's), ``planted_fault`` in failing worlds.
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


def schema_worlds(words: tuple[str, ...] = ()) -> Mapping[str, SchemaWorld]:
    """Return the worlds that a tool is tried on, by name: ``empty one many crowded nulls failing failing_some``.

    In ``many``, moments are short, do not overlap, and are as many as requested. In ``crowded`` they have any length,
    overlap, are reported twice or by several sources, and are sometimes fewer than requested. ``words`` are further
    words of the film, for instance those that a tool compares texts with.
    """
    film = ImaginedFilm(words=tuple(dict.fromkeys((*words, *WORDS))))
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
_IN_THE_FILM = 25  #: entries of an unbounded list, such as scenes
_HITS = 60  #: entries of a search, no matter how many more were asked for; the default bound of a loop is below it
_REFERRED = 6  #: different things that entries refer to
_ANY_COUNT = (0, 1, 2, 3, 5, 8, 13)  #: entries about one interval or one id in a crowded film
_SCENE = 8  #: moments of a scene
_BEST_SCORES = (0.016, 0.033, 0.4, 0.7, 0.99)  #: of a search; fixed by the film, the operation and the words
_STEP, _STEEP = 0.985, 0.7  #: of a score to the one before; the steep one once, in a crowded film
_NUMBERS = (0, 1, 2, 4, 7, 12, 30)  #: added to the minimum of a whole number in a crowded film
#: Fields that are the same on every film.
_TECHNICAL = {"frame_rate": 25, "width": 640, "height": 360}


@lru_cache(maxsize=64)
def result_of(operation: str) -> dict[str, Any]:
    """Return the JSON Schema of an operation's result (cached)."""
    return EVERY_OPERATION[operation].result_schema()


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """The moment that one record of an answer describes; ``rank``: its position in the list (None: the whole result).

    ``facet``: the number of the source; several sources may report one moment, each in its own words.
    """

    place: int
    span: TimeSpan
    rank: int | None = None
    facet: int = 0


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Fills the result schema of one call with values. ``nulls``: every nullable field is null."""

    film: ImaginedFilm
    operation: str
    question: CallMeaning
    amount: Amount
    nulls: bool = False

    def record(self) -> dict[str, Any]:
        """Return the whole result of the call."""
        about = self.question.about
        places = self._places()
        span = about or (self.film.span(places[0]) if places else TimeSpan(start=0.0, end=0.0))
        # Answers about one thing differ between times, and answers at one time between things.
        by_ids = sum(place_of(identifier) or 0 for identifier in self.question.ids)
        by_words = self._chance("root") % _REFERRED if self.question.words else 0
        root = _Entry(place=self.film.place(span.center) + by_ids + by_words, span=span)
        return self._record(result_of(self.operation), root)

    def _chance(self, *parts: object) -> int:
        """Return a 64-bit number that depends on the film's seed, operation, ``parts`` and texts searched for alone."""
        return draw(self.film.seed, self.operation, self.question.words, *parts)

    def _record(self, schema: Mapping[str, Any], entry: _Entry) -> dict[str, Any]:
        record: dict[str, Any] = {}
        is_hit = "score" in schema.get("properties", {})
        for name, raw in schema.get("properties", {}).items():
            part, nullable = resolved(raw, result_of(self.operation))
            optional = name not in schema.get("required", ())
            if nullable and (self.nulls or self.amount == "none" or (name == "confidence" and is_hit)):
                record[name] = None
            elif name in JUDGEMENT and part.get("type") == "array":
                record[name] = []  # every word counts as judged
            elif optional and "default" in raw and self._item(part).get("type") != "object":
                record[name] = raw["default"]
            else:
                record[name] = self._value(name, part, entry, refers=nullable)
        return record

    def _item(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of a list's items; empty if ``part`` is not the schema of a list."""
        return resolved(part.get("items", {}), result_of(self.operation))[0] if part.get("type") == "array" else {}

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
        """Return the call's argument of this name, to repeat it in the result; None if missing or of another type."""
        parameter, _ = resolved(parameters_of(self.operation).get("properties", {}).get(name, {}), {})
        given = self.question.given.get(name)
        return given if given is not None and parameter.get("type") == part.get("type") else None

    def _list(self, name: str, part: Mapping[str, Any], entry: _Entry) -> list[Any]:
        item = self._item(part)
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
        """Whether the answer is a list of entries, not a single entry."""
        parts = result_of(self.operation).get("properties", {}).items()
        beside = JUDGEMENT | {"evidence"}
        return any(
            name not in beside and resolved(raw, result_of(self.operation))[0].get("type") == "array"
            for name, raw in parts
        )

    def _entries(self) -> list[_Entry]:
        """Return the entries of the answer: parts of the requested interval, or moments of the film."""
        about = self.question.about
        count = self._count()
        if about is not None and not self._seeks():
            spans = self._parts(about, count)
            return [_Entry(place=self.film.place(one.center), span=one, rank=rank) for rank, one in enumerate(spans)]
        places = self._places()[:count]
        entries = [_Entry(place=place, span=self.film.span(place), rank=rank) for rank, place in enumerate(places)]
        if not self._is_narrow() and not self._seeks():  # a list of the whole film: its entries follow one another
            ends = [*(entry.span.start for entry in entries[1:]), DURATION]
            entries = [
                replace(entry, span=replace(entry.span, end=end)) for entry, end in zip(entries, ends, strict=False)
            ]
        if self.film.crowded and self.amount == "many" and self._is_narrow():
            entries = [replace(entry, rank=rank) for rank, entry in enumerate(self._repeated(entries)[:count])]
        return entries

    def _repeated(self, entries: list[_Entry]) -> list[_Entry]:
        """Return the entries with some of them repeated: by another source, word for word, or a little later."""
        confined = self.question.confined
        end = min(DURATION, confined.end) if confined else DURATION
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
        """Return ``count`` parts of an interval, in order; words searched for determine their bounds and may make them fewer."""
        words, spans = self.question.words, []
        if words and count > 1:
            count = 1 + self._chance("count") % count
        step = about.duration / max(1, count)
        for rank in range(count):
            first, last = (self._chance(end, rank) % 40 / 100 if words else 0.0 for end in ("start", "end"))
            if self.film.crowded:  # some overlap the next
                last -= self._chance("on", rank) % 3 * 0.7
            end = min(about.end, about.start + (rank + 1 - last) * step)
            spans.append(TimeSpan(start=about.start + (rank + first) * step, end=end))
        return spans

    def _seeks(self) -> bool:
        """Whether the call is a search: the number of entries is requested, and the best come first."""
        return self.question.most is not None

    def _count(self) -> int:
        if self.amount != "many":
            return int(self.amount == "one")
        if self._seeks():
            most = min(self.question.most or 0, _HITS)
            chance = self._chance("how many")
            return 1 + chance % most if self.film.crowded and most and chance % 3 else most
        if self.film.crowded and self._is_narrow():
            return _ANY_COUNT[self._draw() % len(_ANY_COUNT)]
        return _IN_AN_INTERVAL if self._is_narrow() else _IN_THE_FILM

    def _is_narrow(self) -> bool:
        """Whether the call is about an interval, ids or texts, not about the whole film."""
        return bool(self.question.about or self.question.ids or self.question.words)

    def _draw(self) -> int:
        """Return a 64-bit number that depends on the film's seed, operation, and the words, ids and interval of the call."""
        return draw(self.film.seed, self.operation, self.question.words, self.question.ids, self.question.about)

    def _places(self) -> list[int]:
        """Return the numbers of the moments that the answer may describe, in the order of its entries."""
        if self.amount == "none":
            return []
        places = self.film.within(self.question.confined)
        if self.question.confined and len(places) > 1:  # not every moment fits the words
            about = self._chance("about")
            places = [place for place in places if mixed(about, place) % 4] or places[:1]
        if self.amount == "one":
            return places[:1]
        if not self._seeks() and not self._is_narrow():
            return places[:: max(1, len(places) // _IN_THE_FILM)]
        drawn = self._draw()
        chosen = sorted(places, key=lambda place: mixed(drawn, place))
        return chosen if self._seeks() else sorted(chosen[: self._count()])

    def _scalar(self, name: str, kind: str, part: Mapping[str, Any], entry: _Entry, *, refers: bool) -> Any:
        if name == "duration":
            return round_time(DURATION if entry.rank is None and not self.question.about else entry.span.duration)
        if name in _TECHNICAL:
            return int(_TECHNICAL[name]) if kind == "integer" else float(_TECHNICAL[name])
        if name.endswith(("_id", "_ids")) or (kind == "string" and refers and name == "parts"):
            # Entries of a whole list are numbered in order, so that others can refer to them.
            is_numbered = entry.rank is not None and not self.question.given.keys() - {VIDEO}
            if name.startswith("scene_id") and not is_numbered:
                return own_id(name, entry.place // _SCENE)
            if refers:  # one of a few things, by the moment and the words of the call
                return own_id(name, (entry.place + self._chance() % _REFERRED) % _REFERRED)
            return own_id(name, entry.rank or 0 if is_numbered else entry.place)
        if "enum" in part:
            return part["enum"][0 if self.amount == "none" else (entry.place + entry.facet) % len(part["enum"])]
        if kind == "boolean":
            return self.amount != "none" and entry.place % 2 == 0
        if kind == "string":
            text = "" if self.amount == "none" else self.film.text(name, entry.place + entry.facet, self.question.words)
            return text.ljust(int(part.get("minLength", 0)), ".")
        return self._number(name, kind, part, entry)

    def _number(self, name: str, kind: str, part: Mapping[str, Any], entry: _Entry) -> float | int:
        low: float = part.get("minimum", 0)
        if self.amount == "none":
            return int(low) if kind == "integer" else float(low)
        if kind == "integer":
            more = _NUMBERS[entry.place % len(_NUMBERS)] if self.film.crowded else entry.place % 4
            return int(min(low + 1 + more, part.get("maximum", low + 50)))
        if name == "score":
            rank = entry.rank or 0  # A score never rises with the rank; in a crowded film some entries have the same.
            best = _BEST_SCORES[self._chance("best") % len(_BEST_SCORES)]
            steps, steep = (rank // 2, _STEEP if rank else 1) if self.film.crowded else (rank, 1)
            return round(best * steep * math.pow(_STEP, steps), 6)
        high: float = part.get("maximum", 1)
        share = 0.04 + draw(self.film.seed, self.operation, name, entry.place) % 940 / 1000
        return round(low + (high - low) * share, 3)


def _time(name: str, entry: _Entry, question: CallMeaning) -> float:
    moment = question.given.get(name)
    if isinstance(moment, int | float) and name not in ("start_time", "end_time"):
        return round_time(moment)
    words = name.split("_")
    if "start" in words or "first" in words:
        return round_time(entry.span.start)
    return round_time(entry.span.end if "end" in words or "last" in words else entry.span.center)
