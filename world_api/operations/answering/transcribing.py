"""All that is said and all that stands on the screen in a stretch, line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from world_api.core.spans import TimeSpan, round_time
from world_api.operations.answering.citing import cite_passages, shorten, times
from world_api.operations.declaring.inspected import MAX_LINES, Transcript, TranscriptLine
from world_api.world.arrays.items import Positions
from world_api.world.gathered import ORDER
from world_api.world.search.passages import Passage, Passages, passages_of
from world_api.world.sessions.session import Session

#: A page tells about this many characters, of one line at most so many.
MAX_CHARACTERS, LONGEST_LINE = 12_000, 2_000
_SPEECH, _SCREEN = ORDER.index("speech"), ORDER.index("screen_text")


def transcript(session: Session, span: TimeSpan, *, begins_inside: bool = False) -> Transcript:
    """The lines of a stretch in time order, as many as one reads at once.

    With ``begins_inside`` only those that begin in it: what the page before told is not told again.
    """
    passages = passages_of(session.view)
    lines = _lines(passages, span)
    if begins_inside:
        lines = lines[passages.starts[lines] >= span.start]
    told, goes_on = _page(passages, lines, span)
    page = [passages[position] for position in lines[:told].tolist()]
    left, spoken = len(lines) - told, int((passages.sources[lines] == _SPEECH).sum())
    cut = [passage for passage in page if len(passage.text) > LONGEST_LINE]
    before = len(lines) if goes_on is None else int(np.searchsorted(passages.starts[lines], goes_on))
    return Transcript(
        lines=[_line(passage) for passage in page],
        spoken=spoken,
        shown=len(lines) - spoken,
        told_until=round_time(span.end) if goes_on is None else goes_on,
        next_start_time=goes_on,
        evidence=cite_passages(session, page),
        truncated=left > 0 or bool(cut),
        hint="; ".join([*_left(left, before - told, goes_on), *_cut(cut)]) or ("" if spoken else _silence(session)),
    )


def _lines(passages: Passages, span: TimeSpan) -> Positions:
    """What is said and shown in a stretch, by its start; what begins at once is told as it is said before it is shown."""
    near = passages.touching(span)
    said, shown = (near[passages.sources[near] == source] for source in (_SPEECH, _SCREEN))
    found = np.concatenate([said, _once(passages, shown)])
    ordered: Positions = found[np.lexsort((found, passages.sources[found], passages.starts[found]))]
    return ordered


def _once(passages: Passages, shown: Positions) -> Positions:
    """Of texts on the screen those that are not the same text, read twice while it stands there."""
    if len(shown) == 0:
        return shown
    shown = shown[np.lexsort((passages.starts[shown], passages.texts[shown]))]
    _, group = np.unique(passages.texts[shown], return_inverse=True)
    ends = passages.ends[shown] + group * (float(passages.ends[shown].max()) + 1.0)
    reach = np.concatenate([[-math.inf], np.maximum.accumulate(ends)[:-1]])
    kept: Positions = shown[ends > reach]
    return kept


def _as_many_as_fit(passages: Passages, lines: Positions) -> int:
    sizes = [len(passages.quoted(position)) for position in lines[:MAX_LINES].tolist()]
    return max(1, int(np.searchsorted(np.cumsum(sizes), MAX_CHARACTERS, side="right"))) if sizes else 0


def _line(passage: Passage) -> TranscriptLine:
    return TranscriptLine(
        **times(passage.span),
        text=shorten(passage.text, LONGEST_LINE),
        source="speech" if passage.source == "speech" else "screen_text",
        speaker=passage.speaker or None,
        confidence=passage.confidence,
    )


def _page(passages: Passages, lines: Positions, span: TimeSpan) -> tuple[int, float | None]:
    """How many lines are told, and where the next page begins, later than this one; None where nothing is left.

    What begins together is told together, by the next page, unless it fills this one: so many lines at one moment that no page
    holds them are left out beyond the first ones. All other lines that begin before the next page are told by this one.
    """
    told = _as_many_as_fit(passages, lines)
    for start in map(float, passages.starts[lines[told:]].tolist()):
        at = math.floor(start * 1000) / 1000.0
        before = int(np.searchsorted(passages.starts[lines], at))
        if at > span.start and before > 0:
            return min(told, before), at
    return told, None


def _left(left: int, skipped: int, goes_on: float | None) -> Iterator[str]:
    """What is not told here: ``left`` lines, of which ``skipped`` begin before the next page."""
    if goes_on is not None:
        yield f"{left - skipped} more lines; read on with start_time {goes_on:g} and begins_inside true"
    if skipped > 0:
        yield f"{skipped} more lines that begin at once are left out"


def _cut(passages: Sequence[Passage]) -> Iterator[str]:
    """Which lines are not told word for word to their end."""
    if passages:
        first = passages[0]
        others = f" (and {len(passages) - 1} more)" if len(passages) > 1 else ""
        yield (
            f"the line at {round_time(first.span.start):g} s{others} is cut at {LONGEST_LINE} characters; "
            f"it has {len(first.text)}"
        )


def _silence(session: Session) -> str:
    view = session.view
    if not view.world.manifest.video.has_audio and not view.has_rows("speech"):
        return "the video has no sound"
    return "nothing is said here" if view.has_rows("speech") else "no speech of this video was transcribed so far"
