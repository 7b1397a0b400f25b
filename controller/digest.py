"""The digest: what the model knows of the world before its first call, in a few hundred tokens.

A short clip and a film of ten hours have digests of the same size. Persons come before other things, all of them while
they fit; tracks whose looks are nearly the same are one entity with several appearances; neighbouring scenes are joined;
of the lines that are said or written the most telling one of each part is quoted; of memories the latest are listed.
Texts are whole while they fit; else the least relevant ones are cut first. ``shown`` says how many of how many are listed, how
many of these are cut, and the size of the digest.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from controller.rendering import lean, span_text
from world_api.chat.messages import estimate_tokens
from world_api.core.faults import VideoWorldError
from world_api.core.spans import TimeSpan, round_time
from world_api.core.vocabulary import words

if TYPE_CHECKING:
    from world_api.session.session import Session

#: Shares of the remaining tokens that memories, persons, scenes and quotes may use, in this order; other things get the rest.
_MEMORIES, _PERSONS, _SCENES, _QUOTES = 0.3, 0.5, 0.5, 0.8
#: Characters of a text that remain where it is cut, so that more entries fit.
_CUT = {"caption": 80, "hint": 60, "label": 60, "content": 200, "said": 120, "written": 120}
_LEAST = 40  #: tokens
_SIZE, _ENTRY = 32, 36  #: tokens of ``shown``, and of one entry
_APPEARANCES = 6  #: of an entity that are listed
_ASCII = 3  #: characters of a token, at least, in most texts
_LINE = 40  #: characters that a line costs beside its text
_OF_A_PART = 4  #: lines quoted of each part of the video
#: From this score two tracks that are never seen together are shown as one entity. Measured in docs/controller.md.
NEARLY_SURE = 0.95
_PERSON = "person"

Entries = list[dict[str, Any]]
#: Entries in their order, each with how relevant it is among them.
_Ranked = Sequence[tuple[float, dict[str, Any]]]
_Known = tuple[list[TimeSpan], dict[str, float]]


def digest_of(session: Session, tokens: int) -> dict[str, Any] | None:
    """Return a summary of the visible part of the session's world in about ``tokens`` at most; None if ``tokens`` < 40.

    Under a causal cut the digest contains only what is known by then.
    """
    if tokens < _LEAST:
        return None
    video = {"video_id": session.video_id}
    known = _result(session, "get_video_metadata", video)
    digest: dict[str, Any] = {"duration": known.get("duration"), "vocabulary": known.get("vocabulary")}
    left = tokens - _tokens(digest) - _SIZE
    memories: Entries = [
        {
            "memory_id": memory.memory_id,
            "level": memory.level,
            "start_time": memory.span.start,
            "end_time": memory.span.end,
            "content": memory.content,
        }
        for memory in session.memories()
    ]
    entities = _entities(session)
    persons = [one for one in entities if one.category == _PERSON]
    things = [one for one in entities if one.category != _PERSON]
    scenes: Entries = _result(session, "list_scenes", video).get("scenes", [])
    lines = _lines(session)
    shown: list[str] = []
    for name, total, make, share in (
        ("memories", len(memories), lambda number: list(enumerate(memories))[len(memories) - number :], _MEMORIES),
        ("persons", len(persons), lambda number: _most_present(persons, number), _PERSONS),
        ("scenes", len(scenes), lambda number: _joined(scenes, number), _SCENES),
        ("quotes", len(lines), lambda number: _most_telling(lines, number), _QUOTES),
        ("things", len(things), lambda number: _most_present(things, number), 1.0),
    ):
        entries, cut = _fitting(make, total, max(round(left * share), min(left, _ENTRY)))
        left -= _tokens(entries)
        if total:
            digest[name] = entries
            shown.append(f"{len(entries)} of {total} {name}" + (f" ({cut} cut)" if cut else ""))
    digest = {key: digest[key] for key in _ORDER if digest.get(key)}
    size = _tokens(digest) + _SIZE
    return {**digest, "shown": f"{', '.join(shown)}; about {size} tokens"}


_ORDER = ("duration", "vocabulary", "persons", "things", "scenes", "quotes", "memories")


def _result(session: Session, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    from world_api.operations import run

    try:
        return run(session, operation, arguments)
    except VideoWorldError:
        return {}  # the digest leaves this part out


def _tokens(value: Any) -> int:
    """Return the estimated tokens of a digest, or of one section, as the model reads it."""
    return estimate_tokens(digest_in_lines(value if isinstance(value, Mapping) else {"": value}))


def digest_in_lines(digest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a digest as the model reads it: each entry of a section is a line, such as ``ent_1 person in red: 3-8.5``."""
    facts = lean({key: value for key, value in digest.items() if not isinstance(value, list)})
    return {
        key: [_line(one) for one in value] if isinstance(value, list) else facts[key]
        for key, value in digest.items()
        if isinstance(value, list) or key in facts
    }


def _line(entry: Mapping[str, Any]) -> str:
    """Return an entry as a line: ids and words, times, what it says, and in brackets what it may be the same as."""
    spans = entry.get("appearances") or [entry]
    when = ", ".join(span_text(span["start_time"], span["end_time"]) for span in spans)
    if (number := entry.get("of_appearances")) is not None:
        when += f" ({len(spans)} of {number})"
    label = entry.get("label")
    names = [entry.get("entity_id"), entry.get("memory_id"), entry.get("level"), entry.get("hint")]
    name = " ".join(filter(None, (*names, f'"{label}"' if label else None)))
    how = next((key for key in ("said", "written") if key in entry), "")
    words = next((entry[key] for key in (how, "caption", "content", "brief_caption") if key in entry), "")
    count = f"({entry['scenes']} scenes)" if "scenes" in entry else ""
    alike = "; ".join(
        f"{key.replace('_', ' ')} " + ", ".join(f"{one['entity_id']} {one['score']:g}" for one in entry[key])
        for key in ("joined", "may_be")
        if key in entry
    )
    head = f"{name}: {when}" if name else when
    return " ".join(filter(None, (head, how, count, words, f"({alike})" if alike else "")))


def _fitting(make: Callable[[int], _Ranked], most: int, tokens: int) -> tuple[Entries, int]:
    """Return ``make(number)`` for the largest tried ``number`` up to ``most`` that takes at most ``tokens``; none if 1 takes more.

    If the texts do not fit, those of the least relevant entries are cut; the second value is the number of these entries.
    """
    number = most
    while number > 0:
        ranked = make(number)
        whole = [entry for _, entry in ranked]
        if _tokens(whole) <= tokens:
            return whole, 0
        shown = [_cut(entry) for entry in whole]
        if (used := _tokens(shown)) <= tokens:
            for place in sorted(range(number), key=lambda place: -ranked[place][0]):
                longer = [*shown]
                longer[place] = _cut(whole[place], more=_ASCII * (tokens - used))
                if longer[place] != shown[place] and (size := _tokens(longer)) <= tokens:
                    shown, used = longer, size
            return shown, sum(entry != one for entry, one in zip(whole, shown, strict=True))
        number = min(number - 1, number * 4 // 5)
    return [], 0


def _cut(entry: Mapping[str, Any], more: int = 0) -> dict[str, Any]:
    """Return an entry with its texts cut to the characters of ``_CUT`` and ``more``."""
    return {key: _short(text, _CUT[key] + more) if key in _CUT else text for key, text in entry.items()}


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "..."


# --- scenes and lines -----------------------------------------------------------------------------------------------


def _joined(scenes: Sequence[dict[str, Any]], number: int) -> _Ranked:
    """Return the scenes joined into ``number`` intervals, each with its first telling caption and its number of scenes, if over 1."""
    from world_api.operations.evidence import is_quiet

    edges = [round(place * len(scenes) / number) for place in range(number + 1)]
    joined = []
    for first, end in itertools.pairwise(edges):
        part = scenes[first:end]
        captions = (str(scene.get("brief_caption") or "") for scene in part)
        caption = next((one for one in captions if one and not is_quiet(one)), "")
        entry: dict[str, Any] = {"start_time": part[0]["start_time"], "end_time": part[-1]["end_time"]}
        count = sum(int(scene.get("scenes", 1)) for scene in part)
        entry |= {"caption": caption} if caption else {}
        joined.append((entry["end_time"] - entry["start_time"], entry | ({"scenes": count} if count > 1 else {})))
    return joined


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A line that is ``said`` or ``written``, and how telling it is."""

    span: TimeSpan
    text: str
    known_as: str
    weight: float


def _lines(session: Session) -> list[_Line]:
    """Return what is said and written, in time order, each text once.

    A line is telling if few other lines have its words (inverse document frequency); numbers alone tell nothing.
    """
    view = session.view
    items = [(item.span, item.text, "said") for item in view.speech]
    items += [(item.span, item.text, "written") for item in view.screen_texts]
    first: dict[str, tuple[TimeSpan, str, str]] = {}
    for item in sorted(items, key=lambda item: (item[0].start, item[2])):
        first.setdefault(item[1].casefold(), item)
    terms = [{term for term in words(text) if not term.isdecimal()} for _, text, _ in first.values()]
    frequency = Counter(term for own in terms for term in own)
    return [
        _Line(
            span=span,
            text=text,
            known_as=how,
            weight=sum(math.log(1 + len(terms) / frequency[term]) for term in sorted(own))
            / math.sqrt(len(text) + _LINE),
        )
        for (span, text, how), own in zip(first.values(), terms, strict=True)
        if own
    ]


def _most_telling(lines: Sequence[_Line], number: int) -> _Ranked:
    """Return ``number`` lines, in time order: the most telling ones of each part; parts have equally many lines."""
    parts = math.ceil(number / _OF_A_PART)
    edges = [round(place * len(lines) / parts) for place in range(parts + 1)]
    ranked = [sorted(lines[first:end], key=lambda line: -line.weight) for first, end in itertools.pairwise(edges)]
    by_rank = [line for rank in itertools.zip_longest(*ranked) for line in rank if line is not None]
    chosen = sorted(by_rank[:number], key=lambda line: (line.span.start, line.known_as))
    return [
        (
            line.weight,
            {
                "start_time": round_time(line.span.start),
                "end_time": round_time(line.span.end),
                line.known_as: line.text,
            },
        )
        for line in chosen
    ]


# --- entities -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Entity:
    """An entity of the digest: one track or registration, or several that look nearly the same.

    ``joined`` and ``may_be`` are the ids of other tracks with the score of their looks: those that are taken for the same
    one, and those that may be.
    """

    entity_id: str
    category: str
    hint: str
    label: str | None
    spans: tuple[TimeSpan, ...]
    joined: Mapping[str, float] = field(default_factory=dict)
    may_be: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Seconds in which it is seen."""
        return sum(span.duration for span in self.spans)

    def entry(self) -> dict[str, Any]:
        """Return the entity as the digest lists it; of many appearances the first ones and the last."""
        spans = [{"start_time": round_time(span.start), "end_time": round_time(span.end)} for span in self.spans]
        kept = spans if len(spans) <= _APPEARANCES else [*spans[: _APPEARANCES - 1], spans[-1]]
        return {
            "entity_id": self.entity_id,
            "hint": self.hint,
            **({} if self.label is None else {"label": self.label}),
            **(kept[0] if len(spans) == 1 else {"appearances": kept}),
            **({"of_appearances": len(spans)} if len(kept) < len(spans) else {}),
            **{
                key: [{"entity_id": name, "score": score} for name, score in alike.items()]
                for key, alike in (("joined", self.joined), ("may_be", self.may_be))
                if alike
            },
        }


def _most_present(entities: Sequence[_Entity], number: int) -> _Ranked:
    """Return the ``number`` entities that are seen longest, in the order of the list."""
    by_presence = sorted(range(len(entities)), key=lambda place: (-entities[place].seconds, place))
    return [(entities[place].seconds, entities[place].entry()) for place in sorted(by_presence[:number])]


def _entities(session: Session) -> list[_Entity]:
    """Return all visible entities in the order of their first appearance; persons that look nearly the same are one.

    ``list_entities`` is called only if another source (an oracle) answers it: else it omits entities of a long film.
    """
    if "list_entities" in session.stand_ins:
        listed: Entries = _result(session, "list_entities", {"video_id": session.video_id}).get("entities", [])
        return [
            _Entity(
                entity_id=item["entity_id"],
                category=item["category"],
                hint=item["hint"],
                label=item.get("label"),
                spans=(TimeSpan(start=item["first_time"], end=item["last_time"]),),
            )
            for item in listed
        ]
    registered = {item.entity_id: item for item in session.registrations()}
    found = []
    for track in session.view.tracks:
        own = registered.pop(track.entity_id, None)
        label = None if own is None else own.label
        spans = tuple(track.appearances)
        found.append(
            _Entity(entity_id=track.entity_id, category=track.category, hint=track.hint, label=label, spans=spans)
        )
    found = _with_likenesses(session, found)
    for item in sorted(registered.values(), key=lambda item: (item.time, item.entity_id)):
        spans = (session.view.frame_at(item.time),)
        found.append(
            _Entity(entity_id=item.entity_id, category=item.category, hint=item.hint, label=item.label, spans=spans)
        )
    return found


def _with_likenesses(session: Session, entities: Sequence[_Entity]) -> list[_Entity]:
    """Return the entities with persons that look nearly the same joined, and with the less sure likenesses of each.

    Two are never joined if they are seen at the same time, or if the session registered them under different labels.
    """
    alike = {
        one.entity_id: {other.entity_id: other.score for other in session.view.may_be(one.entity_id)}
        for one in entities
        if one.category == _PERSON
    }
    group = {one.entity_id: one for one in entities}
    links = {
        (-score, min(name, other), max(name, other))
        for name, others in alike.items()
        for other, score in others.items()
    }
    for unlike, name, other in sorted(links):
        score = -unlike
        first, second = sorted((group[name], group[other]), key=lambda one: (one.spans[0].start, one.entity_id))
        if score < NEARLY_SURE or first is second or not _may_be_one(first, second):
            continue
        whole = replace(
            first,
            label=first.label or second.label,
            spans=tuple(sorted((*first.spans, *second.spans), key=lambda span: span.start)),
            joined={**first.joined, second.entity_id: score, **second.joined},
        )
        group |= dict.fromkeys((whole.entity_id, *whole.joined), whole)
    merged = []
    for one in dict.fromkeys(one.entity_id for one in group.values()):
        whole = group[one]
        own = {whole.entity_id, *whole.joined}
        others = [(score, name) for part in own for name, score in alike.get(part, {}).items() if name not in own]
        may_be: dict[str, float] = {}
        for score, name in sorted(others, key=lambda item: (-item[0], item[1])):
            may_be.setdefault(group[name].entity_id, score)
        merged.append(replace(whole, may_be=may_be))
    return merged


def _may_be_one(first: _Entity, second: _Entity) -> bool:
    if first.label is not None and second.label is not None and first.label != second.label:
        return False
    return not any(one.overlaps(other) for one, other in itertools.product(first.spans, second.spans))
