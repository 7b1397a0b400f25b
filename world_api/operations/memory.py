"""Hierarchical memory: the caller writes, reads and merges memories in the session's overlay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from world_api.core.cost import Cost
from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.operations.evidence import evidence, interval, times
from world_api.operations.recorded import has_word
from world_api.operations.registry import operation
from world_api.operations.schema import (
    Level,
    Memories,
    Memory,
    MergedEvent,
    Query,
    TimeRange,
    TopK,
    VideoId,
    WrittenMemory,
)
from world_api.search.indexes import LexicalIndex, best_first
from world_api.search.searcher import terms_of
from world_api.session.session import MemoryWritten, Session

Content = Annotated[str, Field(min_length=1, max_length=20_000, description="What to remember.")]
About = Annotated[TimeRange, Field(description="What it is about, in seconds.")]
EventIds = Annotated[list[str], Field(min_length=2, max_length=100, description="Ids of event memories to merge.")]


@operation(category="memory", state="writes", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def write_memory(
    session: Session, *, video_id: VideoId, level: Level, time_range: About, content: Content
) -> WrittenMemory:
    """Write a memory about a span, to be found again with read_memory."""
    about = interval(session, video_id, time_range.start_time, time_range.end_time)
    written = session.write_memory(level=level, span=about, content=content)
    return WrittenMemory(memory_id=written.memory_id, evidence=[evidence(session, about, "memory", None)])


@operation(category="memory", price=Cost(calls=1, seconds=0.002), depends_on_session=True)
def read_memory(session: Session, *, video_id: VideoId, level: Level, query: Query, top_k: TopK) -> Memories:
    """Search the memories of one level by words; the best match comes first."""
    session.check_video(video_id)
    memories = session.memories(level)
    scores = session.searcher.scores_of(query, [memory.content for memory in memories])
    found = [(memories[i], float(scores[i])) for i in best_first(scores)[:top_k]]
    # Memories are the caller's own words, so what none of them has is not known to be absent from the video.
    reading = session.vocabulary.read(query)
    asked = [*reading.matched, *reading.unmatched]
    texts = [terms_of(memory.content, "") for memory, _ in found]
    matched = [word for word in asked if any(has_word(text, word) for text in texts)]
    unmatched = [word for word in asked if word not in matched]
    return Memories(
        memories=[
            _entry(
                memory,
                query,
                score,
                lacks=[word for word in asked if not has_word(text, word)],
            )
            for (memory, score), text in zip(found, texts, strict=True)
        ],
        matched=matched,
        unmatched=unmatched,
        not_judged=[] if matched else unmatched,
        evidence=[evidence(session, memory.span, "memory", None) for memory, _ in found],
        hint="" if found else f"no {level} memory matched; {len(memories)} are kept at this level",
    )


@operation(category="memory", state="writes", price=Cost(calls=1, seconds=0.005), depends_on_session=True)
def merge_events(session: Session, *, video_id: VideoId, event_ids: EventIds) -> MergedEvent:
    """Merge event memories into one of the whole span; the parts are kept and linked."""
    session.check_video(video_id)
    events = {memory.memory_id: memory for memory in session.memories("event")}
    if unknown := [identifier for identifier in event_ids if identifier not in events]:
        raise OperationFault(
            "unknown_memory",
            "no event memory " + ", ".join(repr(identifier[:40]) for identifier in unknown[:5]),
            hint="only event memories merge; write_memory with level event makes one, read_memory finds them",
        )
    parts = sorted({events[i].memory_id: events[i] for i in event_ids}.values(), key=lambda m: (m.span, m.memory_id))
    if len(parts) < 2:
        raise OperationFault(
            "nothing_to_merge", "merging takes two different events", hint="give at least two event ids"
        )
    about = TimeSpan(start=min(p.span.start for p in parts), end=max(p.span.end for p in parts))
    content = "\n".join(dict.fromkeys(line for part in parts for line in part.content.splitlines() if line.strip()))
    written = session.write_memory(level="event", span=about, content=content, parts=[p.memory_id for p in parts])
    return MergedEvent(
        merged_event=_entry(written, content, 0.0),
        evidence=[evidence(session, part.span, "memory", None) for part in parts],
    )


def _entry(memory: MemoryWritten, query: str, score: float, *, lacks: Sequence[str] = ()) -> Memory:
    lines = memory.content.splitlines() or [memory.content]
    scores = LexicalIndex.of_texts(lines).scores(query)
    return Memory(
        **times(memory.span),
        memory_id=memory.memory_id,
        level=memory.level,
        time_range=TimeRange(start_time=memory.span.start, end_time=memory.span.end),
        content=memory.content,
        parts=list(memory.parts),
        snippet=lines[int(scores.argmax())],
        source="memory",
        score=round(score, 4),
        confidence=None,
        lacks=list(lacks),
    )
