"""Helpers of operations: checks of times, evidence and hits in results, looks of the vision model, descriptions in words.

Descriptions of positions and motions are computed from measured boxes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from world_api.core.faults import OperationFault
from world_api.core.identifiers import segment_id
from world_api.core.ports import Source
from world_api.core.spans import Box, TimeSpan, round_time
from world_api.operations.schema import (
    EvidenceItem,
    Hit,
    Interval,
    LinkedEntity,
    MatchingLine,
    TimedBox,
    TimeRange,
)
from world_api.search.passages import SOUND, Passage, passages_of
from world_api.search.pictures import pictures_of
from world_api.search.searcher import MatchingPassage, SegmentHit
from world_api.session.entity_views import LookSpot, without_links
from world_api.session.session import Registration, Session
from world_api.session.vision import MAX_SPOTS
from world_api.session.vision_cache import CachedLook
from world_api.world.timeline import SOUND_PREFIX
from world_api.world.tracks import Track, size_in_words
from world_api.world.view import View

# --- times and evidence ---------------------------------------------------------------------------------------------


def moment(session: Session, video_id: str, timestamp: float) -> float:
    """Check that a moment is visible and return it, in seconds. The end of the visible part itself is not visible.

    Raises OperationFault: ``wrong_video``, ``not_yet``, ``time_out_of_range``.
    """
    session.check_video(video_id)
    if timestamp >= session.view.duration:
        raise beyond(session, timestamp)
    return float(timestamp)


def interval(session: Session, video_id: str, start_time: float, end_time: float) -> TimeSpan:
    """Return an interval with its end clipped to the visible part, rounded to milliseconds.

    Raises OperationFault: ``wrong_video``, ``bad_time_range`` (no millisecond is left), ``not_yet``,
    ``time_out_of_range``.
    """
    session.check_video(video_id)
    if end_time <= start_time:
        raise OperationFault(
            "bad_time_range",
            f"end_time ({end_time:g}) must be after start_time ({start_time:g})",
            hint="spans are half-open, in seconds: start_time < end_time",
        )
    if start_time >= session.view.duration:
        raise beyond(session, start_time)
    start, end = round_time(start_time), round_time(min(end_time, session.view.duration))
    if end <= start:
        raise OperationFault(
            "bad_time_range",
            f"the span from {start_time:g} to {end_time:g} s holds less than a millisecond of what is visible",
            hint="give a longer span",
        )
    return TimeSpan(start=start, end=end)


def optional_interval(session: Session, video_id: str, time_range: TimeRange | None) -> TimeSpan | None:
    """Return the ``interval`` of a range; None if there is no range. The video's id is checked in both cases.

    Raises OperationFault: ``wrong_video``, and the other faults of ``interval``.
    """
    session.check_video(video_id)
    return None if time_range is None else interval(session, video_id, time_range.start_time, time_range.end_time)


def beyond(session: Session, time: float) -> OperationFault:
    """Return the fault for a time that is not visible: ``not_yet`` behind a causal cut, else ``time_out_of_range``.

    Behind a cut it does not reveal the video's length.
    """
    if not session.view.complete:
        return OperationFault(
            "not_yet",
            f"{time:g} s has not been seen yet: this session sees the video up to {session.view.duration:g} s",
            hint=f"ask about times before {session.view.duration:g} s",
        )
    return OperationFault(
        "time_out_of_range",
        f"{time:g} s is not in the video, which ends at {session.view.duration:g} s",
        hint=f"use times from 0 to just before {session.view.duration:g} s; spans are half-open, so their end may be it",
    )


#: Holes that a hint names at most; results list all.
MAX_HOLES = 6


class Times(TypedDict):
    """Start, end and centre of an interval in a result, in seconds."""

    start_time: float
    end_time: float
    center_time: float


def times(span: TimeSpan) -> Times:
    """Return ``start_time``, ``end_time`` and ``center_time`` of an interval, in seconds rounded to milliseconds."""
    return {
        "start_time": round_time(span.start),
        "end_time": round_time(span.end),
        "center_time": round_time(span.center),
    }


def ranges(spans: Iterable[TimeSpan]) -> list[TimeRange]:
    """Return intervals as results list them, without those shorter than a millisecond."""
    edges = ((round_time(span.start), round_time(span.end)) for span in spans)
    return [TimeRange(start_time=start, end_time=end) for start, end in edges if start < end]


def interval_of(item: Interval) -> TimeSpan:
    """Return the interval of an entry of a result."""
    return TimeSpan(start=item.start_time, end=item.end_time)


def evidence(
    session: Session, span: TimeSpan, source: Source, confidence: float | None, frame_time: float | None = None
) -> EvidenceItem:
    """Return a piece of evidence for the part of a span that is visible. Its frame is by default the one in the middle.

    A ``frame_time`` at or after the end becomes the time of the last frame before the end.
    """
    visible = span.clamp(session.view.span)
    shown = visible.center if frame_time is None else max(frame_time, visible.start)
    if shown >= visible.end:
        shown = max(visible.start, visible.end - session.view.world.manifest.video.frame_seconds)
    return EvidenceItem(
        video_id=session.video_id,
        start_time=round_time(visible.start),
        end_time=round_time(visible.end),
        source=source,
        confidence=confidence,
        frame_time=round_time(shown),
    )


def cite_passage(session: Session, passage: Passage, inside: TimeSpan | None = None) -> EvidenceItem:
    """Return evidence for a passage, or for the part of it in the interval ``inside``."""
    span = passage.span if inside is None else passage.span.clamp(inside)
    shown = passage.frame_time if span.contains(passage.frame_time) else None
    return evidence(session, span, passage.source, passage.confidence, shown)


def cite_passages(session: Session, passages: Iterable[Passage], inside: TimeSpan | None = None) -> list[EvidenceItem]:
    """Return evidence for passages, or for their parts in the interval ``inside``, without repetitions."""
    found: dict[tuple[float, float, str], EvidenceItem] = {}
    for passage in passages:
        item = cite_passage(session, passage, inside)
        found.setdefault((item.start_time, item.end_time, item.source), item)
    return list(found.values())


def segment_hit(
    session: Session,
    span: TimeSpan,
    passage: Passage | None,
    *,
    score: float = 0.0,
    snippet: str = "",
    confidence: float | None = None,
    lines: Sequence[MatchingPassage] = (),
    lacks: Sequence[str] = (),
) -> Hit:
    """Return the hit for a segment, as results list it.

    ``passage`` is the best match, which the hit quotes. If there is none, the hit contains ``snippet``, a description of
    the segment, and its source is ``look``.
    """
    return Hit(
        **times(span),
        segment_id=segment_id(span),
        score=score,
        snippet=passage.text if passage else snippet,
        source=passage.source if passage else "look",
        confidence=confidence,
        lacks=list(lacks),
        entities=linked_entities(session, passage.entities if passage else ()),
        matching_lines=[
            MatchingLine(
                **times(line.passage.span),
                text=line.passage.text,
                source=line.passage.source,
                speaker=line.passage.speaker or line.passage.voice or None,
                as_given=line.as_given,
                evidence=[cite_passage(session, line.passage, span)],
            )
            for line in lines
        ],
    )


def hits(session: Session, found: Sequence[SegmentHit]) -> list[Hit]:
    """Return search hits as results list them."""
    return [segment_hit(session, hit.span, hit.passage, score=hit.score, lines=hit.lines) for hit in found]


def cite_hits(session: Session, found: Sequence[SegmentHit]) -> list[EvidenceItem]:
    """Return one piece of evidence for each hit, in the same order and inside the hit's interval."""
    return [
        evidence(session, hit.span, "look", None)
        if hit.passage is None
        else cite_passage(session, hit.passage, hit.span)
        for hit in found
    ]


def nothing_found(found: Sequence[object]) -> str:
    """Return the hint for a search without results; an empty text if something was found."""
    return "" if found else "nothing matched; use fewer or other words, or list_scenes for an overview"


def holes_in_words(view: View, span: TimeSpan | None = None) -> str:
    """Return which holes an interval (None: all) overlaps, as a text; empty if all of it was decoded."""
    holes = [hole for hole in view.holes if hole.overlaps(span or view.span)]
    shown = [f"{hole.start:.1f}-{hole.end:.1f} s" for hole in holes[:MAX_HOLES]]
    if (left := len(holes) - MAX_HOLES) > 0:
        shown.append(f"{left} more part{'s' * (left != 1)}")
    return f"{', '.join(shown)} were not decoded: what they show is not known" if shown else ""


def shorten(text: str, limit: int) -> str:
    """Return a text on one line, cut to ``limit`` characters, the last of which is then an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def seen_in(session: Session, span: TimeSpan) -> CachedLook | None:
    """Return the vision model's caption of an interval; None if the session has no vision model.

    Raises MediaFault: ``source_missing``, ``undecodable``; BackendFault: the faults of the model.
    """
    seeing = session.backends.seeing
    return None if seeing is None else seeing.caption(span, until=session.view.duration)


def said_of(session: Session, example: TimeSpan) -> list[str]:
    """Return captions of an example interval, for a search for captions of similar meaning.

    If it has none, the vision model captions it. Empty if the session cannot compare captions, or if no other part of
    the video has any.

    Raises MediaFault: ``source_missing``, ``undecodable``; BackendFault: the faults of the model.
    """
    if session.backends.meanings is None or not session.captions.passages:
        return []
    own = [passage.text for passage in session.captions.inside(example)]
    if len(own) == len(session.captions.passages):
        return []
    if own:
        return own
    seen = seen_in(session, example)
    return [] if seen is None else [without_links(seen.text)]


def look_evidence(session: Session, look: CachedLook, span: TimeSpan) -> EvidenceItem:
    """Return evidence for a look at an interval, with the time of the middle one of its frames."""
    shown = look.frame_times[len(look.frame_times) // 2]
    return evidence(session, span, "caption", look.confidence, shown)


def entity_evidence(session: Session, look: CachedLook) -> EvidenceItem:
    """Return evidence for a look at one thing, from its first picture to its last."""
    span = TimeSpan(start=look.frame_times[0], end=session.view.frame_at(look.frame_times[-1]).end)
    return look_evidence(session, look, span)


def linked_entities(session: Session, ids: Iterable[str]) -> list[LinkedEntity]:
    """Return the visible entities among those that a caption names."""
    tracks = (session.view.track_of_entity(entity_id) for entity_id in ids)
    return [LinkedEntity(entity_id=track.entity_id, hint=track.hint) for track in tracks if track is not None]


def look_note(look: CachedLook) -> str:
    """Return a note for a result's hint: the model, the frames it saw, and what it was not certain of."""
    first, last = look.frame_times[0], look.frame_times[-1]
    count = len(look.frame_times)
    where = f"1 frame at {first:g} s" if count == 1 else f"{count} frames from {first:g} to {last:g} s"
    note = f"seen by {look.producer} in {where}, nothing between them was looked at"
    return f"{note}; not certain: {look.uncertain}" if look.uncertain else note


def spots_of(entity: Track | Registration, at: float, span: TimeSpan) -> list[LookSpot]:
    """Return up to ``MAX_SPOTS`` times and boxes at which a vision model looks at an entity, in time order.

    Of the sightings in ``span`` these are the one nearest to ``at`` and others, spread out; empty if there is none.
    Those of which the picture's edge leaves little are avoided. A registration without a track has one.
    """
    if isinstance(entity, Registration):
        return [LookSpot(time=entity.time, box=entity.place)]
    part = entity.during(span)
    inside = np.arange(part.start, part.stop)
    near = inside[~entity.slivers[part]] if not entity.slivers[part].all() else inside
    if len(near) == 0:
        return []
    away = np.abs(entity.times - at)
    nearest = int(near[away[near].argmin()])
    spread = near[np.linspace(0, len(near) - 1, num=min(MAX_SPOTS, len(near))).round().astype(int)]
    others = sorted({*spread.tolist()} - {nearest}, key=lambda position: (-away[position], -position))
    chosen = sorted([nearest, *others[: MAX_SPOTS - 1]])
    return [LookSpot(time=float(entity.times[position]), box=entity.box(position)) for position in chosen]


# --- descriptions ---------------------------------------------------------------------------------------------------

#: Share of the picture's width or height below which a movement counts as none.
STILL_SHARE = 0.06
#: Seconds at the start and at the end of an appearance that count as entering and leaving.
EDGE_SECONDS = 1.5
_SAMPLED = 8  #: boxes of an appearance


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

    Entering and leaving are included if the appearance starts or ends in the interval, but not beside a hole, nor
    leaving near the end of the visible part; their spans may exceed the interval.
    """
    found: list[TrackMotion] = []
    for appearance in track.appearances:
        part = appearance.clip(span) or (appearance if span.contains(appearance.start) else None)
        if part is None:
            continue
        entering = TimeSpan(start=appearance.start, end=min(appearance.end, appearance.start + EDGE_SECONDS))
        leaving = TimeSpan(start=max(appearance.start, appearance.end - EDGE_SECONDS), end=appearance.end)
        # What is there after a hole may have been there before.
        begun = TimeSpan(start=max(0.0, appearance.start - EDGE_SECONDS), end=appearance.start)
        if span.contains(appearance.start) and not any(hole.overlaps(begun) for hole in view.holes):
            side = track.enters_from(appearance)
            # What is there from the first moments on and at no edge may have been there before.
            if side or appearance.start >= EDGE_SECONDS:
                label = f"enters from the {side}" if side else "comes into view"
                found.append(TrackMotion(label=label, span=entering, track=track))
        found.append(TrackMotion(label=_moving(view, track, part), span=part, track=track))
        if has_ended(view, appearance) and span.contains(appearance.end):
            side = track.leaves_to(appearance)
            label = f"leaves to the {side}" if side else "goes out of view"
            found.append(TrackMotion(label=label, span=leaving, track=track))
    return found


def has_ended(view: View, appearance: TimeSpan) -> bool:
    """Whether an appearance has ended: more than ``EDGE_SECONDS`` of visible video follow it, all of it decoded."""
    after = TimeSpan(start=appearance.end, end=appearance.end + EDGE_SECONDS)
    is_over = appearance.end < view.duration - EDGE_SECONDS
    return is_over and not any(hole.overlaps(after) for hole in view.holes)


@dataclass(frozen=True, kw_only=True)
class Description:
    """A description of an interval, and its passages."""

    text: str
    passages: list[Passage]


def caption(view: View, span: TimeSpan, seen_as: str | None = None) -> Description:
    """Describe an interval in one text. Speech and screen text are quoted, each after its times (``40.7-41.2``, seconds).

    ``seen_as`` is the caption of a vision model. If it is given, the descriptions of tracks, which contain less, are
    not used.
    """
    passages = passages_of(view).inside(span)
    captions = [f"{_when([p.span], span)} {p.text}" for p in passages if p.source == "caption"]
    if seen_as is not None:
        passages = [p for p in passages if p.source != "tracker"]
        sentences = [seen_as, *captions]
    else:
        sentences = [*captions, *_seen(view, span)]
    moves = [move for move in view.camera_movements.during(span) if move.span.overlap(span) > 0]
    if kinds := dict.fromkeys(move.label.removeprefix("the camera ") for move in moves):
        sentences.append("The camera " + ", then ".join(kinds))
    if (shown := pictures_of(view).passage(span)) is not None:
        sentences.append(f"It {shown.text} (guessed from key frames, not calibrated)")
    texts: dict[str, list[TimeSpan]] = {}
    for passage in passages:
        if passage.source == "screen_text":
            texts.setdefault(passage.text, []).append(passage.span)
    if texts:
        sentences.append("On screen: " + " / ".join(f'{_when(spans, span)} "{text}"' for text, spans in texts.items()))
    if lines := [f'{_when([p.span], span)} "{p.text}"' for p in passages if p.source == "speech"]:
        sentences.append("Said: " + " ".join(lines))
    if sounds := _heard(passages, span):
        sentences.append(f"Heard: {sounds}")
    if hole := holes_in_words(view, span):
        sentences.append(hole)
    if not sentences:
        sentences.append(_quiet(view, span))
    text = ". ".join(sentence.rstrip(".") for sentence in sentences) + "."
    return Description(text=text, passages=passages)


def _heard(passages: Sequence[Passage], span: TimeSpan) -> str:
    """Return the classes of sounds of an interval with their times, in the order in which they begin; empty for none."""
    found: dict[str, list[TimeSpan]] = {}
    for passage in passages:
        if passage.source == SOUND:
            found.setdefault(passage.text.removeprefix(SOUND_PREFIX), []).append(passage.span)
    return "; ".join(f"{_when(spans, span)} {label}" for label, spans in found.items())


def _when(spans: Iterable[TimeSpan], inside: TimeSpan) -> str:
    """Return the parts of spans inside an interval as text, to a tenth of a second: ``40.7-41.2, 50-51``."""
    parts = [span.clamp(inside) for span in spans]
    return ", ".join(f"{round(part.start, 1):g}-{round(part.end, 1):g}" for part in parts)


def brief(view: View, span: TimeSpan, said: Sequence[str] = (), *, most: int = 120) -> str:
    """Describe an interval in one line of about ``most`` characters at most: what is seen, then screen texts, then speech.

    ``said``: captions of a vision model. The first one, if any, is used instead of stored captions and tracks.
    """
    passages = passages_of(view)
    near = passages.touching(span)
    parts = []
    if said:
        parts.append(shorten(said[0], 70))
    elif seen := passages.first_texts(near, span, "caption", 1) or passages.first_texts(near, span, "tracker", 3):
        parts.append(", ".join(seen))
    if (shown := pictures_of(view).passage(span)) is not None:
        parts.append(shown.text)
    if written := passages.first_texts(near, span, "screen_text", 3):
        parts.append("text: " + " / ".join(written))
    if spoken := passages.first_texts(near, span, "speech", 1):
        parts.append(f'speech: "{spoken[0]}"')
    if sounds := passages.first_texts(near, span, SOUND, 3):
        parts.append(", ".join(sounds))
    return shorten("; ".join(parts), most) if parts else holes_in_words(view, span) or _quiet(view, span)


def path_in_words(view: View, track: Track, appearance: TimeSpan) -> tuple[str, list[TimedBox]]:
    """Return the path of an appearance in words (places and motions), and up to 8 of its boxes (pixels) with times."""
    seen = track.during(appearance)
    number = min(_SAMPLED, seen.stop - seen.start)
    positions = np.unique(np.linspace(seen.start, seen.stop - 1, num=number).round().astype(int)).tolist()
    places = [position(track.box(place), view) for place in positions]
    route = [place for i, place in enumerate(places) if i == 0 or place != places[i - 1]]
    acts = ", ".join(motion.label for motion in motions(view, track, appearance))
    boxes = [TimedBox(time=round_time(float(track.times[at])), bbox=track.box(at).rounded()) for at in positions]
    return f"{' -> '.join(route)} ({acts})", boxes


def _seen(view: View, span: TimeSpan) -> list[str]:
    """Return sentences about the tracks of an interval."""
    described = []
    for track in view.tracks_in(span):
        acts = [motion.label for motion in motions(view, track, span)]
        where = position(track.box(track.nearest(span.center)), view)
        alike = " or ".join(f"{item.entity_id} ({item.score:.2f})" for item in view.may_be(track.entity_id))
        seen = [part for appearance in track.appearances if (part := appearance.clip(span)) is not None]
        facts = [
            *([_when(seen, span)] if seen else []),
            ", ".join(dict.fromkeys(acts)) or "seen",
            f"{track.size}, {where} of the picture",
            *([f"may be the same as {alike}"] if alike else []),
        ]
        described.append(f"A {track.hint} ({'; '.join(facts)})")
    return described


def _quiet(view: View, span: TimeSpan) -> str:
    shots = len(view.shots.during(span))
    is_read, is_heard = view.reads_screen, view.writes_down_speech
    rest = {
        (True, True): "nothing was read or heard",
        (True, False): "nothing was read; what is said was not written down",
        (False, True): "nothing was heard; texts on the screen were not read",
        (False, False): "texts on the screen were not read, and what is said was not written down",
    }[is_read, is_heard]
    followed = _QUIET if view.world.manifest.is_tracked else _UNTRACKED
    return f"{followed}, {rest} ({shots} shot{'s' * (shots != 1)})"


_QUIET, _UNTRACKED = "Nothing that moves apart from the picture was followed", "Things were not followed"


def is_quiet(caption: str) -> bool:
    """Whether a brief caption says only that nothing was followed, read or heard."""
    return caption.startswith((_QUIET, _UNTRACKED))


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
