"""The optional group ``inspect``: questions to a vision model, transcripts, and exhaustive scans of segments.

The sixteen find probable matches; these operations establish what is there and what is not, and cost more. An
experiment switches them on by name, for all arms or none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from world_api.core.cost import Cost
from world_api.core.faults import BackendFault
from world_api.core.spans import TimeSpan, round_time, without_spans
from world_api.core.vocabulary import unrequired_words
from world_api.operations.evidence import (
    brief,
    cite_passage,
    cite_passages,
    evidence,
    interval,
    optional_interval,
    ranges,
    segment_hit,
    times,
)
from world_api.operations.query_matches import UNTAGGED, QueryJudge, passages_in
from world_api.operations.registry import operation
from world_api.operations.schema import (
    MAX_QUERY_CHARACTERS,
    EndTime,
    EvidenceItem,
    Hit,
    Inspection,
    OptionalTimeRange,
    ScannedSegments,
    StartTime,
    Transcript,
    TranscriptLine,
    VideoId,
    not_blank,
)
from world_api.search.indexes import holds_words
from world_api.search.passages import ORDER, Passages, passages_of
from world_api.search.searcher import MatchingPassage, Scan, Scanner
from world_api.session.session import Session
from world_api.world.timeline import Positions

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


def _silence(session: Session) -> str:
    view = session.view
    if not view.world.manifest.video.has_audio and not view.has_rows("speech"):
        return "the video has no sound"
    return "nothing is said here" if view.has_rows("speech") else "no speech of this video was transcribed so far"


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
) -> tuple[Hit, EvidenceItem]:
    """Return a segment's hit and its evidence.

    ``scores`` are those of all segments. Without ``query`` or ``scores`` the hit only describes the segment.
    """
    span = session.view.segments[segment]
    if query is None or scores is None:
        hit = segment_hit(session, span, None, snippet=brief(session.view, span))
        return hit, evidence(session, span, "look", None)
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
        lines=[MatchingPassage(passage=p, as_given=holds_words(p.text, query)) for p in lines],
    )
    return hit, cite_passage(session, best, span)


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
    hints = [f"the model cannot tell: {look.uncertain}"] if look.uncertain else []
    if gap > SPARSE:
        hints.append(f"the frames are {gap:.1f} s apart; ask about shorter spans to see what happens between them")
    return Inspection(
        **times(span),
        answer=look.text,
        confidence=look.confidence,
        evidence=[evidence(session, span, "look", look.confidence, time) for time in look.frame_times],
        hint="; ".join(hints),
    )


@operation(category="retrieval", price=Cost(calls=1, seconds=0.01), group=GROUP)
def read_transcript(session: Session, *, video_id: VideoId, start_time: StartTime, end_time: EndTime) -> Transcript:
    """Read all lines that are said or shown on the screen in a time span, word for word, in time order.

    Each says its source (speech or screen_text) and who speaks, where that is known.
    """
    span = interval(session, video_id, start_time, end_time)
    passages = passages_of(session.view)
    found = _lines(passages, span)
    lines = [passages[position] for position in found.tolist()]
    spoken = int((passages.sources[found] == _SPEECH).sum())
    return Transcript(
        lines=[
            TranscriptLine(
                **times(passage.span),
                text=passage.text,
                source="speech" if passage.source == "speech" else "screen_text",
                speaker=passage.speaker or passage.voice or None,
                confidence=passage.confidence,
            )
            for passage in lines
        ],
        spoken=spoken,
        shown=len(lines) - spoken,
        evidence=cite_passages(session, lines),
        hint="" if spoken else _silence(session),
    )


@operation(category="retrieval", price=Cost(calls=1, seconds=0.01), group=GROUP)
def scan_segments(
    session: Session,
    *,
    video_id: VideoId,
    query: Sought = None,
    time_range: OptionalTimeRange = None,
    min_confidence: LeastConfidence = None,
) -> ScannedSegments:
    """Go through every segment in time order and list those that hold all words of a query; nothing is left out.

    For counting, and for establishing that something is not there: the result says how many segments match, of how many.
    """
    within = optional_interval(session, video_id, time_range)
    scan = session.view.once(Scanner).scan(query, session.captions, within=within, least=min_confidence)
    matching = scan.matching.tolist()
    scores = None if query is None else session.searcher.lexical.scores(query)
    judge = QueryJudge(session, query or "")
    for segment in matching:
        judge.add(span := session.view.segments[segment], passages_in(session, span) if query else ())
    found = [
        _match(session, query, scan, segment, scores, lacks)
        for segment, lacks in zip(matching, judge.lacks, strict=True)
    ]
    unmatched = judge.unmatched
    hint = ""
    if not matching:
        hint = (
            f"nothing has all of these words; looked in {_sources(session, within) or 'nothing: nothing is known'}. "
            "That what they mean is not there does not follow: try other words"
        )
    if judge.is_untagged:
        hint = "; ".join(filter(None, [hint, UNTAGGED]))
    searched = TimeSpan(start=_edge(session, scan, scan.first), end=_edge(session, scan, scan.end))
    # A scan takes each word as one of the line, a search "says" and quotes as what they mean.
    is_judged = not matching and scan.end > scan.first and bool(judge.not_found(within))
    absent = without_spans(searched, session.view.holes) if is_judged else []
    return ScannedSegments(
        matches=[hit for hit, _ in found],
        matched_in_all=len(matching),
        segments_in_all=scan.end - scan.first,
        scanned_from=round_time(searched.start),
        scanned_until=round_time(searched.end),
        unused_words=[] if query is None else unrequired_words(query),
        matched=judge.matched,
        unmatched=unmatched,
        not_found=ranges(absent),
        not_judged=judge.not_judged(is_absent=bool(absent)) if query and not matching else [],
        evidence=[cited for _, cited in found],
        hint=hint,
    )
