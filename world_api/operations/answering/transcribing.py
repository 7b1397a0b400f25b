"""All that is said and all that stands on the screen in a stretch, line by line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world_api.core.spans import TimeSpan, round_time
from world_api.operations.answering.citing import MAX_EVIDENCE, evidence, shorten, times
from world_api.operations.declaring.inspected import Transcript, TranscriptLine
from world_api.world.arrays.items import Positions, Times
from world_api.world.facts import Spoken
from world_api.world.screen_texts import ScreenText
from world_api.world.sessions.session import Session
from world_api.world.view import View

#: A page tells at most this many lines, and about this many characters; of one line at most so many.
MAX_LINES, MAX_CHARACTERS, LONGEST_LINE = 120, 12_000, 2_000


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """The lines of a stretch: when each begins (rising), whether it is said, and its place among what is said or shown."""

    starts: Times
    said: NDArray[np.bool_]
    places: Positions


def transcript(session: Session, span: TimeSpan) -> Transcript:
    """The lines of a stretch in time order, as many as one reads at once."""
    lines = _lines(session.view, span)
    told = _told(session.view, lines)
    goes_on = _goes_on(lines, len(told), span)
    if goes_on is not None:
        told = [line for line in told if line.start_time < goes_on] or told
    left = len(lines.starts) - len(told)
    cut = any(line.text.endswith("…") and len(line.text) >= LONGEST_LINE for line in told)
    return Transcript(
        lines=told,
        spoken=int(lines.said.sum()),
        shown=int((~lines.said).sum()),
        told_until=round_time(span.end) if goes_on is None else goes_on,
        next_start_time=goes_on,
        evidence=[
            evidence(session, TimeSpan(start=line.start_time, end=line.end_time), line.source, line.confidence)
            for line in told[:MAX_EVIDENCE]
        ],
        truncated=left > 0 or cut,
        hint=_hint(session, lines, left, goes_on),
    )


def _lines(view: View, span: TimeSpan) -> _Lines:
    said, shown = (items.touching(span) for items in (view.speech, view.screen_texts))
    starts = np.concatenate([view.speech.starts[said], view.screen_texts.starts[shown]])
    is_said = np.arange(len(starts)) < len(said)
    places = np.concatenate([said, shown])
    order = np.lexsort((places, ~is_said, starts))
    return _Lines(starts=starts[order], said=is_said[order], places=places[order])


def _told(view: View, lines: _Lines) -> list[TranscriptLine]:
    told: list[TranscriptLine] = []
    characters = 0
    for is_said, place in zip(lines.said[:MAX_LINES].tolist(), lines.places[:MAX_LINES].tolist(), strict=True):
        line = _spoken(view.speech[place]) if is_said else _shown(view.screen_texts[place])
        characters += len(line.text)
        if told and characters > MAX_CHARACTERS:
            break
        told.append(line)
    return told


def _spoken(line: Spoken) -> TranscriptLine:
    return TranscriptLine(
        **times(line.span),
        text=shorten(line.text, LONGEST_LINE),
        source="speech",
        speaker=line.speaker or None,
        confidence=line.confidence,
    )


def _shown(text: ScreenText) -> TranscriptLine:
    return TranscriptLine(
        **times(text.span),
        text=shorten(text.text, LONGEST_LINE),
        source="screen_text",
        speaker=None,
        confidence=text.confidence,
    )


def _goes_on(lines: _Lines, told: int, span: TimeSpan) -> float | None:
    """Where the next page begins, later than this one; None where nothing is left.

    So many lines at one moment that no page holds them are left out beyond the first ones.
    """
    for start in lines.starts[told:].tolist():
        at = math.floor(start * 1000) / 1000
        if at > span.start:
            return at
    return None


def _hint(session: Session, lines: _Lines, left: int, goes_on: float | None) -> str:
    if goes_on is not None:
        return f"{left} more lines; read on with start_time {goes_on:g}"
    if left:
        return f"{left} more lines at that very moment are left out"
    if lines.said.any():
        return ""
    view = session.view
    if not view.world.manifest.video.has_audio and not view.has_rows("speech"):
        return "the video has no sound"
    return "nothing is said here" if view.has_rows("speech") else "no speech of this video was transcribed so far"
