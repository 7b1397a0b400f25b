"""What the operations of the group ``inspect`` return."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from world_api.operations.declaring.arguments import Time
from world_api.operations.declaring.results import Confidence, Hit, NotFound, Result, Stretch

#: What one page holds at most: lines of a transcript, and segments of a scan.
MAX_LINES, MAX_MATCHES = 120, 20


class Inspection(Result):
    """What a model answers that looked at some frames; ``evidence`` says which, ``hint`` what it could not see."""

    answer: str
    confidence: Confidence
    start_time: Time
    end_time: Time
    center_time: Time


class TranscriptLine(Stretch):
    """A line that is said, or a text that stands on the screen."""

    model_config = ConfigDict(extra="forbid")

    text: str
    source: Literal["speech", "screen_text"]
    speaker: Annotated[str | None, Field(description="Who speaks; null where that is not known.")]
    confidence: Confidence


class Transcript(Result):
    """Lines in time order."""

    lines: Annotated[list[TranscriptLine], Field(max_length=MAX_LINES)]
    spoken: Annotated[int, Field(description="How many lines are said in the whole stretch.", ge=0)]
    shown: Annotated[int, Field(description="How many texts stand on the screen in the whole stretch.", ge=0)]
    told_until: Annotated[Time, Field(description="Up to when (seconds) all lines are told.")]
    next_start_time: Annotated[Time | None, Field(description="Where to read on, in seconds; null at the end.")]


class ScannedSegments(Result):
    """One page of a scan. ``matches`` are in time order."""

    matches: Annotated[list[Hit], Field(max_length=MAX_MATCHES)]
    matched_in_all: Annotated[int, Field(description="How many segments match in the whole range.", ge=0)]
    segments_in_all: Annotated[int, Field(description="How many segments the whole range has.", ge=0)]
    matched: Annotated[int, Field(description="How many of them match, up to the end of this page.", ge=0)]
    looked_at: Annotated[int, Field(description="How many segments were looked at, up to the end of this page.", ge=0)]
    scanned_from: Annotated[Time, Field(description="Where the first segment of this page begins, in seconds.")]
    scanned_until: Annotated[Time, Field(description="Up to when (seconds) this page has got.")]
    next_cursor: Annotated[
        str | None, Field(description="Opens the next page; null where every segment was looked at.")
    ]
    unused_words: Annotated[
        list[str], Field(description='Words of the query that made no difference, and what stands behind a "not".')
    ]
    not_found: Annotated[NotFound, Field(default_factory=list)]
