"""Pages of a scan: every segment in time order, those listed that match, and a cursor to the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from world_api.core.canonical import content_hash
from world_api.core.evidence import Source
from world_api.core.faults import OperationFault
from world_api.core.identifiers import segment_id
from world_api.core.lexicon import unrequired_words
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.answering.citing import cite_passage, evidence, matching_line, shorten, times
from world_api.operations.answering.wording import brief
from world_api.operations.declaring.arguments import TimeRange
from world_api.operations.declaring.inspected import MAX_MATCHES, ScannedSegments
from world_api.operations.declaring.results import EvidenceItem, Hit
from world_api.world.gathered import ORDER
from world_api.world.scanning import Scan, scanner_of
from world_api.world.search.passages import Passage, passages_of
from world_api.world.search.quoting import holds_words
from world_api.world.search.searcher import MatchingPassage
from world_api.world.sessions.session import Session

#: So many of its lines are told of each match.
LINES = 3
_LINES_CUT = f"of a segment the first {LINES} matching lines are told"
_CURSOR = re.compile(r"s([0-9a-f]{1,12})\.([0-9a-f]{16})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a scan was asked for; a cursor belongs to one of these."""

    query: str | None
    within: TimeSpan | None
    least: float | None

    def seal(self, session: Session, place: int) -> str:
        """What only a cursor of this scan of this world says of a place."""
        bounds = None if self.within is None else [self.within.start, self.within.end]
        return content_hash([session.memo_key, self.query, bounds, self.least, place])[:16]


def scanned(
    session: Session, query: str | None, within: TimeSpan | None, least: float | None, cursor: str | None
) -> ScannedSegments:
    """The page that a cursor opens, or the first.

    Raises:
        OperationFault: ``bad_cursor``.
    """
    asked = _Asked(query=query, within=within, least=least)
    scan = scanner_of(session.view).scan(query, session.captions, within=within, least=least)
    begin = scan.first if cursor is None else _opened(session, asked, scan, cursor)
    before = int(np.searchsorted(scan.matching, begin))
    listed = scan.matching[before : before + MAX_MATCHES]
    more = len(scan.matching) - before - len(listed)
    end = int(scan.matching[before + MAX_MATCHES]) if more else scan.end
    hits, cited, cut = _hits(session, query, scan, listed.tolist())
    return ScannedSegments(
        matches=hits,
        matched_in_all=len(scan.matching),
        segments_in_all=scan.end - scan.first,
        matched=before + len(listed),
        looked_at=end - scan.first,
        scanned_from=_edge(session, scan, begin),
        scanned_until=_edge(session, scan, end),
        next_cursor=f"s{end:x}.{asked.seal(session, end)}" if more else None,
        unused_words=[] if query is None else unrequired_words(query),
        not_found=[] if len(scan.matching) or scan.end == scan.first else [_whole(session, scan)],
        evidence=cited,
        truncated=more > 0 or cut,
        hint="; ".join(filter(None, [_hint(session, scan, within, more), _LINES_CUT if cut else ""])),
    )


def _opened(session: Session, asked: _Asked, scan: Scan, cursor: str) -> int:
    """The position of the first segment of the page that a cursor opens."""
    read = _CURSOR.fullmatch(cursor)
    place = int(read[1], 16) if read else -1
    if read is None or asked.seal(session, place) != read[2] or not scan.first <= place < scan.end:
        raise OperationFault(
            "bad_cursor",
            "the cursor is none of this scan",
            hint="give next_cursor as it was given, with the same query, time_range and min_confidence on the same video; "
            "or leave it out to begin anew",
        )
    return place


def _edge(session: Session, scan: Scan, segment: int) -> float:
    """Where a segment begins (seconds), or the last one ends."""
    segments = session.view.segments
    if segment < scan.end:
        return round_time(float(segments.starts[segment]))
    return round_time(float(segments.ends[segment - 1])) if segment else 0.0


def _whole(session: Session, scan: Scan) -> TimeRange:
    """The stretch that a whole scan looks at."""
    return TimeRange(start_time=_edge(session, scan, scan.first), end_time=_edge(session, scan, scan.end))


def _hits(
    session: Session, query: str | None, scan: Scan, listed: Sequence[int]
) -> tuple[list[Hit], list[EvidenceItem], bool]:
    """The hits, one piece of evidence for each, and whether any has more lines than are told."""
    if query is None:
        spans = [session.view.segments[segment] for segment in listed]
        return [_any(session, span) for span in spans], [evidence(session, span, "look", None) for span in spans], False
    scores = session.searcher.word_scores(query)
    hits: list[Hit] = []
    cited: list[EvidenceItem] = []
    cut = False
    for segment in listed:
        found = scan.found_in(segment, passages_of(session.view))
        best = min(found, key=lambda passage: len(passage.text))
        span = session.view.segments[segment]
        lines = [passage for passage in found if passage.source in ("speech", "screen_text")]
        hits.append(_hit(session, query, span, float(scores[segment]), found, best, lines))
        cited.append(cite_passage(session, best, span))
        cut = cut or len(lines) > LINES
    return hits, cited, cut


def _any(session: Session, span: TimeSpan) -> Hit:
    """A segment that nothing was asked of."""
    return Hit(
        **times(span),
        segment_id=segment_id(span),
        score=0.0,
        snippet=brief(session.view, span),
        source="look",
        confidence=None,
    )


def _hit(
    session: Session,
    query: str,
    span: TimeSpan,
    score: float,
    found: Sequence[Passage],
    best: Passage,
    lines: Sequence[Passage],
) -> Hit:
    told = sorted(lines, key=lambda passage: (passage.span.start, passage.span.end))[:LINES]
    return Hit(
        **times(span),
        segment_id=segment_id(span),
        score=round(score, 4),
        snippet=shorten(best.text),
        source=best.source,
        confidence=max((p.confidence for p in found if p.confidence is not None), default=None),
        matching_lines=[
            matching_line(session, MatchingPassage(passage=passage, as_given=holds_words(passage.text, query)), span)
            for passage in told
        ],
    )


def _sources(session: Session, within: TimeSpan | None) -> list[Source]:
    """The kinds of content that there are in a stretch."""
    passages = passages_of(session.view)
    sources = passages.sources[passages.touching(within)] if within else passages.sources.all()
    found = {ORDER[int(number)] for number in np.unique(sources)}
    if (within is None and session.captions.passages) or (within is not None and session.captions.inside(within)):
        found.add("caption")
    return [source for source in ORDER if source in found]


def _hint(session: Session, scan: Scan, within: TimeSpan | None, more: int) -> str:
    if more:
        return f"{more} more segments match; next_cursor opens the next page"
    if len(scan.matching):
        return ""
    return (
        f"nothing has all of these words; looked in {', '.join(_sources(session, within)) or 'nothing: nothing is known'}. "
        "That what they mean is not there does not follow: try other words"
    )
