"""The plans: which tools to call in which order for each kind of question.

A plan is a generator. It yields the calls it wants made at once, gets their results (empty where a tool failed or is
not on offer), and returns what it concludes. So it reads from top to bottom, and it ends whatever the tools return.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from world_api.backends.chat.completions import Call
from world_api.backends.chat.rules import wording
from world_api.backends.chat.rules.results import (
    count_in,
    is_number,
    records_in,
    sentence_in,
    span_of,
    spans_in,
)
from world_api.backends.chat.rules.tools import Facts
from world_api.core.spans import TimeSpan

#: By words first, then by meaning.
SEARCHES = ("search_segments_by_text", "search_segments_by_semantics")
_CANDIDATES = 20
_LOOKS = 12
_SCENES_DESCRIBED = 3
_SPANS_CITED = 8
_ALIKE = 0.9  #: from this score on, two entities that look alike are said to be perhaps one
_LONGEST_LOOK = 10.0  #: seconds of a stretch that are described


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a plan ends with. ``number`` is what was counted; ``value`` the answer in the type asked for, where it has one."""

    text: str
    spans: tuple[TimeSpan, ...] = ()
    number: int | None = None
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """A stretch that fits the question, and what the tool said of it."""

    span: TimeSpan
    detail: str


_Result = Mapping[str, Any]
Plan = Generator[Sequence[Call], Sequence[_Result], Conclusion]
_Search = Generator[Sequence[Call], Sequence[_Result], Found | None]
_Finds = Generator[Sequence[Call], Sequence[_Result], list[Found]]
_One = Generator[Sequence[Call], Sequence[_Result], _Result]


def plan_for(facts: Facts, library: Call | None) -> Plan:
    """The plan for a question. ``library`` is the call of an induced tool that fits it, if one is on offer."""
    match facts.question.intent:
        case "facts":
            return _technical_facts(facts)
        case "times":
            return _count_times(facts, library)
        case "count":
            return _count(facts, library)
        case "summary":
            return _summarise(facts, library)
        case _:
            return _find(facts, library)


def _one(call: Call) -> _One:
    """A single call."""
    [result] = yield [call]
    return result


def _find(facts: Facts, library: Call | None) -> Plan:
    question = facts.question
    found = yield from find(facts, library)
    if found is None:
        return Conclusion(text=wording.not_found(question.target, chinese=question.chinese))
    looked = yield from _one(_describe(facts, found.span))
    detail = found.detail if question.intent == "words" and found.detail else sentence_in(looked) or found.detail
    text = wording.found(question.target, found.span, detail, chinese=question.chinese)
    yield from _one(_remember(facts, found.span, text))
    return Conclusion(text=text, spans=(found.span,))


def find(facts: Facts, library: Call | None) -> _Search:
    """Where the target of a question is, by one tool that does the whole search, else by the operations."""
    found = None if library is None else (yield from _with_library(library))
    return found if found is not None else (yield from _with_operations(facts))


def stretches(facts: Facts) -> Generator[Sequence[Call], Sequence[_Result], list[TimeSpan]]:
    """The stretches that a look confirms, in order of time."""
    candidates = yield from _candidates(facts)
    seen = (yield from _seen(facts, candidates)) if candidates else []
    return sorted({item.span for item in seen})


def _with_library(library: Call) -> _Search:
    """One tool that does the whole search."""
    return first_found((yield from _one(library)))


def first_found(result: _Result) -> Found | None:
    """The first stretch of a result."""
    spans = spans_in(result)
    return Found(span=spans[0], detail=sentence_in(result)) if spans else None


def search(facts: Facts, *, tool: str) -> Call:
    """A search for the target."""
    query = {"video_id": facts.video_id, "query": facts.question.target, "top_k": _CANDIDATES}
    return Call(tool=tool, arguments=query)


def _with_operations(facts: Facts) -> _Search:
    """Search by words, then look at the candidates in time order until one shows what is asked for."""
    candidates = yield from _candidates(facts)
    if not candidates or facts.question.intent != "place":
        return candidates[0] if candidates else None
    seen = yield from _seen(facts, candidates)
    return seen[0] if seen else candidates[0]


def _candidates(facts: Facts) -> _Finds:
    """What a search by words finds, the best first; by meaning, where there are no words to be found."""
    hits: list[_Result] = []
    for tool in SEARCHES:
        hits = hits or records_in((yield from _one(search(facts, tool=tool))))
    return [Found(span=span, detail=sentence_in(hit)) for hit in hits if (span := span_of(hit)) is not None]


def _seen(facts: Facts, candidates: Sequence[Found]) -> _Finds:
    """The candidates that a look confirms, the earliest first (the latest, where the question wants the last)."""
    in_order = sorted(candidates, key=lambda item: item.span, reverse=facts.question.wants_last)[:_LOOKS]
    looks = yield [_look(facts, candidate.span.center) for candidate in in_order]
    return [
        Found(span=span_of(detections[0]) or candidate.span, detail=candidate.detail)
        for candidate, seen in zip(in_order, looks, strict=True)
        if (detections := records_in(seen))
    ]


def _counted_by(library: Call, facts: Facts) -> Generator[Sequence[Call], Sequence[_Result], Conclusion | None]:
    """One tool that does the whole counting."""
    question = facts.question
    result = yield from _one(library)
    number = count_in(result)
    if number is None:
        return None
    text = wording.counted(question.target, number, sentence_in(result), chinese=question.chinese)
    return Conclusion(text=text, spans=tuple(spans_in(result)[:_SPANS_CITED]), number=number)


def _count_times(facts: Facts, library: Call | None) -> Plan:
    question = facts.question
    counted = None if library is None else (yield from _counted_by(library, facts))
    if counted is not None:
        return counted
    spans = yield from stretches(facts)
    if not spans:
        return (yield from _none_counted(facts))
    return Conclusion(
        text=wording.counted(question.target, len(spans), "", chinese=question.chinese),
        spans=tuple(spans[:_SPANS_CITED]),
        number=len(spans),
    )


def _count(facts: Facts, library: Call | None) -> Plan:
    question = facts.question
    counted = None if library is None else (yield from _counted_by(library, facts))
    if counted is not None:
        return counted
    listed = yield from _one(Call(tool="list_entities", arguments={"video_id": facts.video_id}))
    entities = [item for item in records_in(listed) if _is_a(item, question.category)]
    if not entities:
        return (yield from _none_counted(facts))
    names = "; ".join(str(item.get("hint") or item.get("entity_id") or "") for item in entities)
    returning = _returning(entities)
    text = wording.counted(question.target, len(entities), names, chinese=question.chinese, returning=returning)
    return Conclusion(text=text, number=len(entities))


def _none_counted(facts: Facts) -> Plan:
    """Nothing was found to count: a look may tell why, for one that knows of no such thing cannot claim a zero."""
    question = facts.question
    looked = {} if question.category == "any" else (yield from _one(_look(facts, 0.0)))
    hint = looked.get("hint")
    if isinstance(hint, str) and hint:
        return Conclusion(text=wording.none_counted(question.target, hint, chinese=question.chinese))
    return Conclusion(text=wording.counted(question.target, 0, "", chinese=question.chinese))


def _returning(entities: Sequence[_Result]) -> int:
    """How many entities may well be one that was listed before them."""
    earlier: set[object] = set()
    count = 0
    for entity in entities:
        links = entity.get("may_be")
        count += any(
            link.get("entity_id") in earlier and is_number(score := link.get("score")) and score >= _ALIKE
            for link in (links if isinstance(links, list) else ())
            if isinstance(link, Mapping)
        )
        earlier.add(entity.get("entity_id"))
    return count


def _summarise(facts: Facts, library: Call | None) -> Plan:
    question = facts.question
    if library is not None:
        result = yield from _one(library)
        told = sentence_in(result)
        if told:
            return Conclusion(
                text=wording.told(told, chinese=question.chinese), spans=tuple(spans_in(result)[:_SPANS_CITED])
            )
    listed = yield from _one(Call(tool="list_scenes", arguments={"video_id": facts.video_id}))
    scenes = [span for item in records_in(listed) if (span := span_of(item)) is not None]
    calls = [_describe(facts, span) for span in _spread(scenes)]
    described = (yield calls) if calls else []
    spans = [_asked(call) for call in calls]
    parts = [f"{wording.clock(span.start)} {sentence_in(item)}" for span, item in zip(spans, described, strict=True)]
    text = wording.told("\n".join(parts), chinese=question.chinese)
    if spans:
        yield from _one(_remember(facts, TimeSpan(start=spans[0].start, end=spans[-1].end), text))
    return Conclusion(text=text, spans=tuple(spans))


def _technical_facts(facts: Facts) -> Plan:
    known = yield from _one(Call(tool="get_video_metadata", arguments={"video_id": facts.video_id}))
    parts = []
    duration, rate, resolution = known.get("duration"), known.get("frame_rate"), known.get("resolution")
    if is_number(duration):
        parts.append(f"duration {duration} s ({wording.clock(duration)})")
    if isinstance(resolution, Mapping):
        parts.append(f"resolution {resolution.get('width')}x{resolution.get('height')}")
    if is_number(rate):
        parts.append(f"frame rate {rate} fps")
    return Conclusion(text=wording.told(", ".join(parts), chinese=facts.question.chinese))


def _look(facts: Facts, time: float) -> Call:
    question = facts.question
    arguments = {
        "video_id": facts.video_id,
        "timestamp": time,
        "category": question.category,
        "text_query": question.target,
    }
    return Call(tool="detect_objects", arguments=arguments)


def _describe(facts: Facts, span: TimeSpan) -> Call:
    end = min(max(span.end, span.start + 1.0), span.start + _LONGEST_LOOK)
    arguments = {"video_id": facts.video_id, "start_time": span.start, "end_time": end}
    return Call(tool="describe_segment", arguments=arguments)


def _remember(facts: Facts, span: TimeSpan, text: str) -> Call:
    arguments = {
        "video_id": facts.video_id,
        "level": "event",
        "time_range": {"start_time": span.start, "end_time": max(span.end, span.start + 1.0)},
        "content": text[:2000],
    }
    return Call(tool="write_memory", arguments=arguments)


def _is_a(entity: Mapping[str, Any], category: str) -> bool:
    """Whether an entity is of a category; one that does not say counts."""
    own = str(entity.get("category") or entity.get("hint") or "").lower()
    return category == "any" or not own or category in own


def _spread(scenes: Sequence[TimeSpan]) -> list[TimeSpan]:
    """A few stretches from the whole length: scenes where there are enough of them, else equal parts."""
    if len(scenes) >= _SCENES_DESCRIBED:
        places = (round(part * (len(scenes) - 1) / (_SCENES_DESCRIBED - 1)) for part in range(_SCENES_DESCRIBED))
        return [scenes[place] for place in places]
    if not scenes:
        return []
    start, end = scenes[0].start, scenes[-1].end
    edges = [round(start + (end - start) * part / _SCENES_DESCRIBED, 1) for part in range(_SCENES_DESCRIBED)]
    return [TimeSpan(start=edge, end=max(edge, later)) for edge, later in zip(edges, [*edges[1:], end], strict=True)]


def _asked(call: Call) -> TimeSpan:
    """The stretch a call asked to have described."""
    span = span_of(call.arguments) if isinstance(call.arguments, dict) else None
    return span or TimeSpan(start=0.0, end=0.0)
