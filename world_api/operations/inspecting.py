"""The optional group ``inspect``: looking with a question, reading all that was said, going through every segment.

The sixteen find what is likely; these establish what is there and what is not, and cost more. An experiment switches them
on by name, for all arms or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from world_api.core.cost import Cost
from world_api.core.faults import BackendFault
from world_api.operations.answering.asking import optional_stretch, stretch
from world_api.operations.answering.citing import evidence, shorten, times
from world_api.operations.answering.scanning import scanned
from world_api.operations.answering.transcribing import transcript
from world_api.operations.declaring.arguments import (
    MAX_QUERY_CHARACTERS,
    EndTime,
    OptionalTimeRange,
    StartTime,
    VideoId,
    not_blank,
)
from world_api.operations.declaring.inspected import Inspection, ScannedSegments, Transcript
from world_api.operations.declaring.registry import operation
from world_api.world.sessions.session import Session

GROUP = "inspect"
#: What a look is expected to cost: six frames 512 pixels wide, the instruction, and an answer of the greatest length.
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
        "before told them.",
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
    """Have a vision-language model look at the frames of a short stretch with a question.

    A few frames are looked at, so short stretches are seen best. It hears nothing.
    """
    span = stretch(session, video_id, start_time, end_time)
    seeing = session.backends.seeing
    if seeing is None:
        raise BackendFault(
            "no_vision_model",
            "no model that looks at frames was chosen for this session",
            hint="describe_segment and detect_objects tell what was measured; whoever opens the session chooses a model "
            "(--profile endpoint --model MODEL, which sends frames to that endpoint)",
        )
    sight = seeing.answer(span, question, until=session.view.duration)
    gap = span.duration / len(sight.frame_times)
    return Inspection(
        **times(span),
        answer=sight.text,
        confidence=sight.confidence,
        evidence=[evidence(session, span, "look", sight.confidence, time) for time in sight.frame_times],
        truncated=gap > SPARSE,
        hint="; ".join(_open_ends(gap, sight.uncertain)),
    )


def _open_ends(gap: float, uncertain: str) -> Iterator[str]:
    """What the answer leaves open."""
    if uncertain:
        yield f"the model cannot tell: {shorten(uncertain)}"
    if gap > SPARSE:
        yield f"the frames are {gap:.1f} s apart; ask about shorter stretches to see what happens between them"


@operation(category="retrieval", price=Cost(calls=1, seconds=0.01), group=GROUP)
def read_transcript(
    session: Session,
    *,
    video_id: VideoId,
    start_time: StartTime,
    end_time: EndTime,
    begins_inside: BeginsInside = False,
) -> Transcript:
    """Read all lines that are said or stand on the screen in a stretch, word for word, in time order.

    Each says its source (speech or screen_text) and who speaks, where that is known. Long transcripts go on at next_start_time;
    a line of more than 2000 characters is cut, and hint names it.
    """
    return transcript(session, stretch(session, video_id, start_time, end_time), begins_inside=begins_inside)


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

    For counting, and for establishing that something is not there. A page tells how many segments match in all, and how
    far it has got; next_cursor opens the next page.
    """
    within = optional_stretch(session, video_id, time_range)
    return scanned(session, query, within, min_confidence, cursor)
