"""From what was found to what is returned: evidence items, hits, rounded times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from world_api.core.evidence import Source
from world_api.core.identifiers import segment_id
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.declaring.results import Candidates, EvidenceItem, Hit, MatchingLine
from world_api.world.search.passages import Passage
from world_api.world.search.searcher import MatchingPassage, SegmentHit
from world_api.world.sessions.session import Session

#: A result cites at most this many pieces of evidence, so that a model can read it.
MAX_EVIDENCE = 8
#: A hit tells at most this many matching lines.
MAX_LINES = 12
SNIPPET_CHARACTERS = 200


class Times(TypedDict):
    """The three times every stretch carries, in seconds."""

    start_time: float
    end_time: float
    center_time: float


def times(span: TimeSpan) -> Times:
    """The three times every stretch carries."""
    return {
        "start_time": round_time(span.start),
        "end_time": round_time(span.end),
        "center_time": round_time(span.center),
    }


def evidence(
    session: Session, span: TimeSpan, source: Source, confidence: float | None, frame_time: float | None = None
) -> EvidenceItem:
    """One piece of evidence; its frame lies inside the visible part."""
    shown = span.center if frame_time is None else frame_time
    return EvidenceItem(
        video_id=session.video_id,
        start_time=round_time(span.start),
        end_time=round_time(span.end),
        source=source,
        confidence=confidence,
        frame_time=round_time(min(max(shown, 0.0), session.view.duration)),
    )


def cite_passages(session: Session, passages: Iterable[Passage], *, most: int = MAX_EVIDENCE) -> list[EvidenceItem]:
    """Evidence for passages, without repetition, at most so many."""
    found: dict[tuple[float, float, str], EvidenceItem] = {}
    for passage in passages:
        item = evidence(session, passage.span, passage.source, passage.confidence, passage.frame_time)
        found.setdefault((item.start_time, item.end_time, item.source), item)
    return list(found.values())[:most]


def hits(session: Session, found: Sequence[SegmentHit]) -> list[Hit]:
    """Search hits in their wire form."""
    return [
        Hit(
            **times(hit.span),
            segment_id=segment_id(hit.span),
            score=hit.score,
            snippet=shorten(hit.passage.text) if hit.passage else "",
            source=hit.passage.source if hit.passage else "look",
            confidence=None,
            matching_lines=[_line(session, line) for line in hit.lines[:MAX_LINES]],
        )
        for hit in found
    ]


def _line(session: Session, line: MatchingPassage) -> MatchingLine:
    passage = line.passage
    return MatchingLine(
        **times(passage.span),
        text=shorten(passage.text),
        source=passage.source,
        as_given=line.as_given,
        evidence=cite_passages(session, [passage]),
    )


def candidates(session: Session, found: Sequence[SegmentHit]) -> Candidates:
    """What a search for words or meaning returns."""
    return Candidates(
        candidates=hits(session, found),
        evidence=cite_hits(session, found),
        truncated=any(len(hit.lines) > MAX_LINES for hit in found),
        hint=nothing_found(found),
    )


def cite_hits(session: Session, found: Sequence[SegmentHit]) -> list[EvidenceItem]:
    """Evidence for the best hits."""
    with_passage = [hit.passage for hit in found if hit.passage is not None]
    if with_passage:
        return cite_passages(session, with_passage)
    return [evidence(session, hit.span, "look", None) for hit in found[:MAX_EVIDENCE]]


def nothing_found(found: Sequence[object]) -> str:
    """The hint of an empty search."""
    return "" if found else "nothing matched; use fewer or other words, or list_scenes for an overview"


def shorten(text: str, limit: int = SNIPPET_CHARACTERS) -> str:
    """A text on one line, cut at a limit with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
