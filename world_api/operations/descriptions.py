"""Descriptions in words: where things are in the picture, how they move, and captions of intervals.

Positions and motions are computed from measured boxes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from world_api.core.spans import Box, TimeSpan
from world_api.operations.evidence import shorten
from world_api.search.passages import Passage, passages_of
from world_api.world.tracks import Track, size_in_words
from world_api.world.view import View

#: Share of the picture's width or height below which a movement counts as none.
STILL_SHARE = 0.06
#: Seconds at the start and at the end of an appearance that count as entering and leaving.
EDGE_SECONDS = 1.5
#: Lines of speech, and texts on screen, that a description quotes at most; moving things that it describes.
MAX_QUOTES = 8
MAX_SEEN = 6


@dataclass(frozen=True, kw_only=True)
class TrackMotion:
    """A motion of a track in an interval. ``label`` is in words, such as ``moves to the left``."""

    label: str
    span: TimeSpan
    track: Track


def size_class(box: Box, view: View) -> str:
    """Return ``large``, ``medium`` or ``small``, by the share of the picture that the box covers."""
    video = view.world.manifest.video
    return size_in_words(box.area, video.width, video.height)


def position(box: Box, view: View) -> str:
    """Return the place of a box in the picture, by its centre: ``left``, ``middle``, ``right``, ``top left``, ..."""
    video = view.world.manifest.video
    x, y = box.center
    across = ("left", "middle", "right")[max(0, min(2, int(3 * x / video.width)))]
    down = ("top", "", "bottom")[max(0, min(2, int(3 * y / video.height)))]
    return f"{down} {across}".strip()


def motions(view: View, track: Track, span: TimeSpan) -> list[TrackMotion]:
    """Return the motions of a track in an interval: for each appearance entering, then moving or staying, then leaving.

    Entering and leaving are included if the appearance starts or ends in the interval; their spans may exceed it.
    """
    found: list[TrackMotion] = []
    for appearance in track.appearances:
        part = appearance.clip(span) or (appearance if span.contains(appearance.start) else None)
        if part is None:
            continue
        entering = TimeSpan(start=appearance.start, end=min(appearance.end, appearance.start + EDGE_SECONDS))
        leaving = TimeSpan(start=max(appearance.start, appearance.end - EDGE_SECONDS), end=appearance.end)
        if span.contains(appearance.start):
            side = track.enters_from(appearance)
            label = f"enters from the {side}" if side else "comes into view"
            found.append(TrackMotion(label=label, span=entering, track=track))
        found.append(TrackMotion(label=_moving(view, track, part), span=part, track=track))
        if has_ended(view, appearance) and span.contains(appearance.end):
            side = track.leaves_to(appearance)
            label = f"leaves to the {side}" if side else "goes out of view"
            found.append(TrackMotion(label=label, span=leaving, track=track))
    return found


def has_ended(view: View, appearance: TimeSpan) -> bool:
    """Whether an appearance has ended: more than ``EDGE_SECONDS`` of visible video follow it."""
    return appearance.end < view.duration - EDGE_SECONDS


@dataclass(frozen=True, kw_only=True)
class Description:
    """A description of an interval, its passages, and what it leaves out, such as ``5 more lines of speech``."""

    text: str
    passages: list[Passage]
    left_out: tuple[str, ...]


def caption(view: View, span: TimeSpan, seen_as: str | None = None) -> Description:
    """Describe an interval in one text. Speech and screen text are quoted; the text states how many quotes are omitted.

    ``seen_as`` is the caption of a vision model. If it is given, the descriptions of tracks, which contain less, are
    not used.
    """
    passages = passages_of(view).inside(span)
    unseen = ""
    if seen_as is not None:
        passages = [p for p in passages if p.source != "tracker"]
        sentences = [seen_as, *(shorten(p.text) for p in passages if p.source == "caption")]
    else:
        sentences = [shorten(p.text) for p in passages if p.source == "caption"]
        seen, unseen = _seen(view, span)
        sentences.extend(seen)
    left_out = [unseen] if unseen else []
    moves = [move for move in view.camera_movements.during(span) if move.span.overlap(span) > 0]
    if kinds := dict.fromkeys(move.label.removeprefix("the camera ") for move in moves):
        sentences.append("The camera " + ", then ".join(kinds))
    if texts := list(dict.fromkeys(p.text for p in passages if p.source == "screen_text")):
        more = more_than(len(texts), MAX_QUOTES, "text")
        sentences.append(
            "On screen: " + " / ".join([*(f'"{shorten(text, 80)}"' for text in texts[:MAX_QUOTES]), *more])
        )
        left_out += [f"{part} on screen" for part in more]
    if lines := [p.text for p in passages if p.source == "speech"]:
        more = more_than(len(lines), MAX_QUOTES, "line")
        quoted = " ".join(f'"{shorten(line)}"' for line in lines[:MAX_QUOTES])
        sentences.append(" ".join(["Said: " + quoted, *(f"(and {part})" for part in more)]))
        left_out += [f"{part} of speech" for part in more]
    if not sentences:
        sentences.append(_quiet(view, span))
    text = ". ".join(sentence.rstrip(".") for sentence in sentences) + "."
    return Description(text=text, passages=passages, left_out=tuple(left_out))


def more_than(count: int, most: int, what: str, of_what: str = "") -> list[str]:
    """Return ``["5 more lines"]`` if ``count`` exceeds ``most`` by 5, and an empty list if it does not exceed it.

    ``what`` is the noun in the singular; ``of_what`` is added at the end.
    """
    left = count - most
    return [f"{left} more {what}{'s' * (left != 1)}{of_what}"] if left > 0 else []


def brief(view: View, span: TimeSpan, said: Sequence[str] = ()) -> str:
    """Describe an interval in one line of about 120 characters at most: what is seen, then screen texts, then speech.

    ``said``: captions of a vision model. The first one, if any, is used instead of stored captions and tracks.
    """
    passages = passages_of(view)
    near = passages.touching(span)
    parts = []
    if said:
        parts.append(shorten(said[0], 70))
    elif seen := passages.first_texts(near, span, "caption", 1) or passages.first_texts(near, span, "tracker", 3):
        parts.append(", ".join(seen))
    if written := passages.first_texts(near, span, "screen_text", 3):
        parts.append("text: " + " / ".join(written))
    if spoken := passages.first_texts(near, span, "speech", 1):
        parts.append(f'speech: "{spoken[0]}"')
    return shorten("; ".join(parts), 120) if parts else _quiet(view, span)


def path_in_words(view: View, track: Track, appearance: TimeSpan, *, boxes: int = 8) -> str:
    """Return the path of an appearance in words: places, motions, and up to ``boxes`` boxes (pixels) with times."""
    seen = track.during(appearance)
    positions = np.unique(
        np.linspace(seen.start, seen.stop - 1, num=min(boxes, seen.stop - seen.start)).round().astype(int)
    )
    places = [position(track.box(int(i)), view) for i in positions]
    route = [place for i, place in enumerate(places) if i == 0 or place != places[i - 1]]
    acts = ", ".join(motion.label for motion in motions(view, track, appearance))
    samples = "; ".join(f"{track.times[i]:.1f}s {[round(float(v)) for v in track.boxes[i]]}" for i in positions)
    return f"{' -> '.join(route)} ({acts}); boxes {samples}"


def _seen(view: View, span: TimeSpan) -> tuple[list[str], str]:
    """Return sentences about the tracks of an interval, and how many are left out: ``2 more moving things`` or ""."""
    tracks = view.tracks_in(span)
    described = []
    for track in tracks[:MAX_SEEN]:
        acts = [motion.label for motion in motions(view, track, span)]
        where = position(track.box(track.nearest(span.center)), view)
        alike = " or ".join(f"{item.entity_id} ({item.score:.2f})" for item in view.may_be(track.entity_id))
        facts = [
            ", ".join(dict.fromkeys(acts)) or "seen",
            f"{track.size}, {where} of the picture",
            *([f"may be the same as {alike}"] if alike else []),
        ]
        described.append(f"A {track.hint} ({'; '.join(facts)})")
    [more] = more_than(len(tracks), MAX_SEEN, "moving thing") or [""]
    return [*described, *([f"And {more}"] if more else [])], more


def _quiet(view: View, span: TimeSpan) -> str:
    shots = len(view.shots.during(span))
    return f"Nothing that moves apart from the picture was followed, nothing was read or heard ({shots} shot{'s' * (shots != 1)})"


def _moving(view: View, track: Track, span: TimeSpan) -> str:
    video = view.world.manifest.video
    seen = track.during(span)
    boxes = track.boxes[seen].astype(np.float64)
    centers = (boxes[:, :2] + boxes[:, 2:]) / 2
    if len(centers) < 2:
        return "is seen"
    across = float(centers[-1, 0] - centers[0, 0]) / video.width
    extent = (centers.max(axis=0) - centers.min(axis=0)) / np.array([video.width, video.height])
    if float(extent.max()) < STILL_SHARE:
        return "stays in place"
    if abs(across) >= STILL_SHARE:
        return "moves to the right" if across > 0 else "moves to the left"
    return "moves about"
