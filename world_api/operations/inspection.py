"""The optional group ``inspect``: questions to a vision model, transcripts, and exhaustive scans of segments.

The sixteen find probable matches; these operations establish what is there and what is not, and cost more. An
experiment switches them on by name, for all arms or none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from world_api.core.canonical import content_hash
from world_api.core.cost import Cost
from world_api.core.faults import BackendFault, OperationFault
from world_api.core.spans import TimeSpan, round_time, without_spans
from world_api.core.vocabulary import unrequired_words
from world_api.operations.evidence import (
    MAX_RANGES,
    brief,
    cite_passage,
    cite_passages,
    evidence,
    interval,
    optional_interval,
    ranges,
    segment_hit,
    shorten,
    times,
)
from world_api.operations.matches import QueryJudge, passages_in
from world_api.operations.registry import operation
from world_api.operations.schema import (
    MAX_LINES,
    MAX_MATCHES,
    MAX_QUERY_CHARACTERS,
    EndTime,
    EvidenceItem,
    Hit,
    Inspection,
    OptionalTimeRange,
    ScannedSegments,
    StartTime,
    TranscriptLine,
    TranscriptPage,
    VideoId,
    not_blank,
)
from world_api.search.indexes import holds_words
from world_api.search.passages import ORDER, Passages, passages_of
from world_api.search.searcher import MatchingPassage, Scan, Scanner
from world_api.session.session import Session
from world_api.world.timeline import Positions

#: Characters of a page, and of one line.
MAX_CHARACTERS, LONGEST_LINE = 12_000, 2_000
_SPEECH, _SCREEN = ORDER.index("speech"), ORDER.index("screen_text")


def _lines(passages: Passages, span: TimeSpan) -> Positions:
    """Return the positions of the spoken lines and screen texts of an interval, by start; at one start speech first."""
    near = passages.touching(span)
    said, shown = (near[passages.sources[near] == source] for source in (_SPEECH, _SCREEN))
    found = np.concatenate([said, _once(passages, shown)])
    return found[np.lexsort((found, passages.sources[found], passages.starts[found]))]


def _once(passages: Passages, shown: Positions) -> Positions:
    """Remove screen texts that repeat a text which is still on screen."""
    if len(shown) == 0:
        return shown
    shown = shown[np.lexsort((passages.starts[shown], passages.texts[shown]))]
    _, group = np.unique(passages.texts[shown], return_inverse=True)
    ends = passages.ends[shown] + group * (float(passages.ends[shown].max()) + 1.0)
    latest_end = np.concatenate([[-math.inf], np.maximum.accumulate(ends)[:-1]])
    return shown[ends > latest_end]


def _page(passages: Passages, lines: Positions, span: TimeSpan) -> tuple[int, float | None]:
    """Return how many of ``lines`` are on the page, and the start of the next page in seconds; None if there is no next page.

    Lines with the same start are on the same page. If a page cannot hold all lines of one start, the last of them are
    left out.
    """
    sizes = [len(passages.quoted(position)) for position in lines[:MAX_LINES].tolist()]
    count = max(1, int(np.searchsorted(np.cumsum(sizes), MAX_CHARACTERS, side="right"))) if sizes else 0
    for start in map(float, passages.starts[lines[count:]].tolist()):
        at = math.floor(start * 1000) / 1000.0
        before = int(np.searchsorted(passages.starts[lines], at))
        if at > span.start and before > 0:
            return min(count, before), at
    return count, None


def _silence(session: Session) -> str:
    view = session.view
    if not view.world.manifest.video.has_audio and not view.has_rows("speech"):
        return "the video has no sound"
    return "nothing is said here" if view.has_rows("speech") else "no speech of this video was transcribed so far"


#: Matching lines of each match at most.
LINES = 3
_LINES_CUT = f"of a segment the first {LINES} matching lines are listed"
_CURSOR = re.compile(r"s([0-9a-f]{1,12})\.([0-9a-f]{16})", re.ASCII)


def _edge(session: Session, scan: Scan, segment: int) -> float:
    """Return the start of a segment in seconds; after the last scanned segment, the end of that segment."""
    segments = session.view.segments
    if segment < scan.end:
        return round_time(float(segments.starts[segment]))
    return round_time(float(segments.ends[segment - 1])) if segment else 0.0


def _match(
    session: Session,
    query: str | None,
    scan: Scan,
    segment: int,
    scores: NDArray[np.float64] | None,
    lacks: Sequence[str],
) -> tuple[Hit, EvidenceItem, bool]:
    """Return a segment's hit, its evidence, and whether it omits matching lines.

    ``scores`` are those of all segments. Without ``query`` or ``scores`` the hit only describes the segment.
    """
    span = session.view.segments[segment]
    if query is None or scores is None:
        hit = segment_hit(session, span, None, snippet=brief(session.view, span))
        return hit, evidence(session, span, "look", None), False
    found = scan.found_in(segment, passages_of(session.view))
    best = min(found, key=lambda passage: len(passage.text))
    lines = [passage for passage in found if passage.source in ("speech", "screen_text")]
    lines.sort(key=lambda passage: (passage.span.start, passage.span.end))
    hit = segment_hit(
        session,
        span,
        best,
        lacks=lacks,
        score=round(float(scores[segment]), 4),
        confidence=max((p.confidence for p in found if p.confidence is not None), default=None),
        lines=[MatchingPassage(passage=p, as_given=holds_words(p.text, query)) for p in lines[:LINES]],
    )
    return hit, cite_passage(session, best, span), len(lines) > LINES


def _sources(session: Session, within: TimeSpan | None) -> str:
    """Return the sources of the passages in an interval (None: in the whole view) as text: ``speech, caption``."""
    passages = passages_of(session.view)
    sources = passages.sources[passages.touching(within)] if within else passages.sources
    found = {ORDER[int(number)] for number in np.unique(sources)}
    if (within is None and session.captions.passages) or (within is not None and session.captions.inside(within)):
        found.add("caption")
    return ", ".join(source for source in ORDER if source in found)


GROUP = "inspect"
#: Expected cost of a look: six frames 512 pixels wide, the instruction, and an answer of the greatest length.
LOOK = Cost(calls=1, model_calls=1, tokens=2600, seconds=2.0)
#: Frames further apart than this (seconds) may miss what happens between them.
SPARSE = 3.0

Question = Annotated[
    str,
    AfterValidator(not_blank),
    Field(
        min_length=1,
        max_length=MAX_QUERY_CHARACTERS,
        description="What to find out from these frames, in words (English or Chinese).",
    ),
]
Sought = Annotated[
    Annotated[str, AfterValidator(not_blank), Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)] | None,
    Field(
        description="Words all of which one line, text, caption or thing must have (English or Chinese); null for every segment.",
    ),
]
LeastConfidence = Annotated[
    float | None,
    Field(
        ge=0,
        le=1,
        description="Leave out what its source is less sure of, 0 to 1; what has no confidence passes. Null for all.",
    ),
]
BeginsInside = Annotated[
    bool,
    Field(
        description="Leave out lines that began before start_time. True when reading on at next_start_time: the page "
        "before listed them.",
    ),
]
Cursor = Annotated[
    str | None,
    Field(
        max_length=200,
        description="next_cursor of the page before, with the same other arguments; null for the first page.",
    ),
]


@operation(category="perception", price=LOOK, group=GROUP)
def inspect_segment(
    session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime, question: Question
) -> Inspection:
    """Have a vision-language model look at the frames of a short time span with a question.

    A few frames are looked at, so short spans are seen best. It hears nothing.
    """
    span = interval(session, video_id, start_time, end_time)
    seeing = session.backends.seeing
    if seeing is None:
        raise BackendFault(
            "no_vision_model",
            "no model that looks at frames was chosen for this session",
            hint="describe_segment and detect_objects say what was measured; the program that opens the session chooses a model "
            "(--profile endpoint --model MODEL, which sends frames to that endpoint)",
        )
    look = seeing.answer(span, question, until=session.view.duration)
    gap = span.duration / len(look.frame_times)
    hints = [f"the model cannot tell: {shorten(look.uncertain)}"] if look.uncertain else []
    if gap > SPARSE:
        hints.append(f"the frames are {gap:.1f} s apart; ask about shorter spans to see what happens between them")
    return Inspection(
        **times(span),
        answer=look.text,
        confidence=look.confidence,
        evidence=[evidence(session, span, "look", look.confidence, time) for time in look.frame_times],
        truncated=gap > SPARSE,
        hint="; ".join(hints),
    )


@operation(category="retrieval", price=Cost(calls=1, seconds=0.01), group=GROUP)
def read_transcript(
    session: Session,
    *,
    video_id: VideoId,
    start_time: StartTime,
    end_time: EndTime,
    begins_inside: BeginsInside = False,
) -> TranscriptPage:
    """Read all lines that are said or shown on the screen in a time span, word for word, in time order.

    Each says its source (speech or screen_text) and who speaks, where that is known. Long transcripts go on at next_start_time;
    a line of more than 2000 characters is cut, and hint names it.
    """
    span = interval(session, video_id, start_time, end_time)
    passages = passages_of(session.view)
    lines = _lines(passages, span)
    if begins_inside:
        lines = lines[passages.starts[lines] >= span.start]
    count, goes_on = _page(passages, lines, span)
    page = [passages[position] for position in lines[:count].tolist()]
    left, spoken = len(lines) - count, int((passages.sources[lines] == _SPEECH).sum())
    # Lines that are on no page: more of them have the same start than a page holds.
    skipped = left if goes_on is None else int(np.searchsorted(passages.starts[lines], goes_on)) - count
    hints = []
    if goes_on is not None:
        hints.append(f"{left - skipped} more lines; read on with start_time {goes_on:g} and begins_inside true")
    if skipped > 0:
        hints.append(f"{skipped} more lines that begin at once are left out")
    if cut := [passage for passage in page if len(passage.text) > LONGEST_LINE]:
        others = f" (and {len(cut) - 1} more)" if len(cut) > 1 else ""
        first, length = round_time(cut[0].span.start), len(cut[0].text)
        hints.append(f"the line at {first:g} s{others} is cut at {LONGEST_LINE} characters; it has {length}")
    return TranscriptPage(
        lines=[
            TranscriptLine(
                **times(passage.span),
                text=shorten(passage.text, LONGEST_LINE),
                source="speech" if passage.source == "speech" else "screen_text",
                speaker=passage.speaker or None,
                confidence=passage.confidence,
            )
            for passage in page
        ],
        spoken=spoken,
        shown=len(lines) - spoken,
        told_until=round_time(span.end) if goes_on is None else goes_on,
        next_start_time=goes_on,
        evidence=cite_passages(session, page),
        truncated=left > 0 or bool(cut),
        hint="; ".join(hints) or ("" if spoken else _silence(session)),
    )


@operation(category="retrieval", price=Cost(calls=1, seconds=0.01), group=GROUP)
def scan_segments(
    session: Session,
    *,
    video_id: VideoId,
    query: Sought = None,
    time_range: OptionalTimeRange = None,
    min_confidence: LeastConfidence = None,
    cursor: Cursor = None,
) -> ScannedSegments:
    """Go through every segment in time order and list those that hold all words of a query; nothing is left out.

    For counting, and for establishing that something is not there. A page says how many segments match in all, and how
    far it has got; next_cursor opens the next page.
    """
    within = optional_interval(session, video_id, time_range)
    scan = session.view.once(Scanner).scan(query, session.captions, within=within, least=min_confidence)

    def seal(place: int) -> str:
        """Return a hash that binds the position in a cursor to this scan of this world."""
        bounds = None if within is None else [within.start, within.end]
        return content_hash([session.memo_key, query, bounds, min_confidence, place])[:16]

    begin = scan.first
    if cursor is not None:
        read = _CURSOR.fullmatch(cursor)
        begin = int(read[1], 16) if read else -1
        if read is None or seal(begin) != read[2] or not scan.first <= begin < scan.end:
            raise OperationFault(
                "bad_cursor",
                "the cursor is none of this scan",
                hint="give next_cursor as it was given, with the same query, time_range and min_confidence on the same video; "
                "or leave it out to begin again",
            )
    before = int(np.searchsorted(scan.matching, begin))
    listed = scan.matching[before : before + MAX_MATCHES].tolist()
    more = len(scan.matching) - before - len(listed)
    end = int(scan.matching[before + MAX_MATCHES]) if more else scan.end
    scores = None if query is None else session.searcher.lexical.scores(query)
    judge = QueryJudge(session, query or "")
    for segment in listed:
        judge.add(span := session.view.segments[segment], passages_in(session, span) if query else ())
    found = [
        _match(session, query, scan, segment, scores, lacks) for segment, lacks in zip(listed, judge.lacks, strict=True)
    ]
    unmatched = judge.unmatched
    cut = any(is_cut for _, _, is_cut in found)
    nothing = len(scan.matching) == 0
    searched = TimeSpan(start=_edge(session, scan, scan.first), end=_edge(session, scan, scan.end))
    hints = [f"{more} more segments match; next_cursor opens the next page"] if more else []
    if nothing:
        hints.append(
            f"nothing has all of these words; looked in {_sources(session, within) or 'nothing: nothing is known'}. "
            "That what they mean is not there does not follow: try other words"
        )
    # A scan takes each word as one of the line, a search "says" and quotes as what they mean.
    is_judged = nothing and scan.end > scan.first and bool(judge.not_found(within))
    absent = without_spans(searched, session.view.holes) if is_judged else []
    return ScannedSegments(
        matches=[hit for hit, _, _ in found],
        matched_in_all=len(scan.matching),
        segments_in_all=scan.end - scan.first,
        matched=before + len(listed),
        looked_at=end - scan.first,
        scanned_from=_edge(session, scan, begin),
        scanned_until=_edge(session, scan, end),
        next_cursor=f"s{end:x}.{seal(end)}" if more else None,
        unused_words=[] if query is None else unrequired_words(query),
        unmatched=unmatched,
        not_found=ranges(absent),
        not_judged=(unmatched or judge.matched or [query[:60]]) if query and nothing and not absent else [],
        evidence=[cited for _, cited, _ in found],
        truncated=more > 0 or cut or len(absent) > MAX_RANGES,
        hint="; ".join([*hints, *([_LINES_CUT] if cut else [])]),
    )
