"""A world behind a causal cut: the only way the operations read stored rows.

Everything is derived from the rows that the ``Cut`` shows, so nothing after it is revealed. What is slow to derive
(tracks, texts on screen, segments) is derived once in the ``WholeView``, which all sessions on a world share; a view
reuses the part that its cut does not change.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from world_api.core.execution import OnceEach
from world_api.core.faults import OperationFault
from world_api.core.outfits import JUDGED_PARTS
from world_api.core.spans import TimeSpan, holes_in, parts_within
from world_api.core.vocabulary import Vocabulary, judged_at_build
from world_api.world.store import World
from world_api.world.tables import Cut
from world_api.world.timeline import (
    SCREEN_TEXT_SCHEMA,
    SOUND_SCHEMA,
    CameraMovement,
    Items,
    Positions,
    Said,
    SceneInterval,
    ScreenText,
    Spoken,
    TimedWord,
    Times,
    camera_movements,
    followed_by,
    independent_starts,
    join_readings,
    join_sounds,
    screen_text_table,
    screen_texts_in,
    segment,
    shared_prefix,
    sounds_in,
    spans,
    tile,
)
from world_api.world.tracks import (
    JOINED,
    TRACKS,
    Joined,
    JoinedTracks,
    Likeness,
    Likenesses,
    Track,
    Tracks,
    join_tracks,
)

Item = TypeVar("Item")
Kept = TypeVar("Kept")

#: How the ids of build-time identities begin.
ENTITY = "ent_"
#: A line has a voice if turns of it cover at least this share of the line, and all others together at most the second.
_COVERED, _COVERED_BY_OTHERS = 0.5, 0.25
#: Two lines of one source that overlap by more than so many seconds may be said at once, so that no voice is theirs.
_AT_ONCE = 0.3
#: So many seconds after a moment all turns that begin before it are known: a block of speech, and the pause that ends it.
_KNOWN_AFTER = 33.0
#: The most spans to listen to.
_SAMPLES = 3
_SEGMENTS = pa.schema([("start", pa.float64()), ("end", pa.float64())])


class View:
    """The visible part of a world. ``as_of`` in seconds, or None for all of it.

    Raises OperationFault: ``bad_as_of``.
    """

    def __init__(self, world: World, as_of: float | None) -> None:
        if as_of is not None and not (math.isfinite(as_of) and as_of >= 0):
            raise OperationFault("bad_as_of", f"{as_of} is not a time", hint="give seconds from 0 on")
        self.world = world
        self.as_of = as_of
        # If all of the video has been seen, everything derived from it is known.
        self.complete = as_of is None or as_of >= world.manifest.video.duration
        self.cut = Cut(None if self.complete else as_of)
        whole = world.manifest.video.duration
        self.duration = whole if as_of is None else min(whole, as_of)
        self._once: OnceEach[object, object] = OnceEach()

    def once(self, kind: Callable[[View], Kept]) -> Kept:
        """Return the object that ``kind`` creates from this view: created at the first call, shared by later ones."""
        return cast(Kept, self._once.get(kind, lambda: kind(self)))

    @cached_property
    def whole(self) -> WholeView:
        """The view of the whole world, without a cut."""
        return self.world.once(WholeView)

    @property
    def video_id(self) -> str:
        """The video's id."""
        return self.world.manifest.video_id

    @property
    def span(self) -> TimeSpan:
        """The visible interval."""
        return TimeSpan(start=0.0, end=self.duration)

    @cached_property
    def holes(self) -> list[TimeSpan]:
        """The parts of the visible interval that were not decoded, in time order."""
        losses = self.world.manifest.losses
        return parts_within(holes_in((one.code, one.start_time, one.end_time) for one in losses), self.span)

    def is_in_hole(self, time: float) -> bool:
        """Whether a moment is in a part of the video that was not decoded."""
        return any(hole.contains(time) for hole in self.holes)

    def frame_at(self, time: float) -> TimeSpan:
        """Return a span of one frame's duration that begins at a visible time, cut at the end of the visible part."""
        return TimeSpan(start=time, end=max(time, min(time + self.world.manifest.video.frame_seconds, self.duration)))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The categories that can be judged: those of the profile or of its detector, and those of visible tracks."""
        manifest = self.world.manifest
        recorded = self.tracks.categories | manifest.detected_categories
        parts = frozenset(part for stage in manifest.stages for part in JUDGED_PARTS.get(stage.name, ()))
        return Vocabulary(judged_at_build(manifest.profile, recorded, follows=manifest.is_tracked), parts=parts)

    def may_be_missed(self, kinds: frozenset[str] | None) -> bool:
        """Whether things of these categories may be there unseen, since how often they are missed is unknown.

        Of any category (None) there may always be some. Only a world with a complete truth misses nothing.
        """
        manifest = self.world.manifest
        return manifest.profile != "oracle" and (kinds is None or not kinds <= manifest.missed.keys())

    def why_missed(self, kinds: frozenset[str] | None) -> str:
        """Return why things of these categories (None: any) may be there unseen, if it was not measured how often one is missed."""
        if self.world.manifest.video.frames == 0:
            return "there are no pictures"
        if not self.world.manifest.is_tracked:
            return "nothing was tracked"
        by_motion = not self.world.manifest.detected_categories and (
            kinds is None or kinds & self.vocabulary.categories
        )
        return "what never moves is not tracked" if by_motion else "how often one is missed was not measured"

    def unseen(self, kinds: frozenset[str] | None) -> list[str]:
        """Return words for the things of these categories that may have been missed, one a category.

        They are small ones, or if it was not measured how often one is missed, any. Empty in a world with a complete truth.
        """
        manifest = self.world.manifest
        if manifest.profile == "oracle":
            return []
        return [
            f"{kind} below {math.ceil(100 * manifest.missed[kind].height)} % of the picture's height"
            if kind in manifest.missed
            else f"{kind} that was not detected ({self.why_missed(frozenset({kind}))})"
            for kind in sorted(kinds or ())
        ]

    def rows(self, name: str) -> pa.Table:
        """Return the visible rows of a table, in key order."""
        return self.cut.visible_rows(self.world.rows(name))

    def has_rows(self, name: str) -> bool:
        """Whether any row of a table is visible."""
        return bool(self.cut.visible(self.world.rows(name)).any())

    @property
    def reads_screen(self) -> bool:
        """Whether texts on the screen were looked for, even if none was found."""
        stages = self.world.manifest.stages
        return self.has_rows("screen_texts") or any("screen_texts" in stage.tables for stage in stages)

    @property
    def writes_down_speech(self) -> bool:
        """Whether what is said was written down: some line is there, it was recognised, or the video has no sound."""
        manifest = self.world.manifest
        is_recognised = any(stage.name == "recognised_speech" for stage in manifest.stages)
        return self.has_rows("speech") or is_recognised or not manifest.video.has_audio

    def first_hidden(self, table: str) -> float:
        """Return the time of the earliest row that the cut hides in a table with a column ``time``; infinite if it hides none."""
        rows = self.world.rows(table)
        return float(rows.column("time").to_numpy()[~self.cut.visible(rows)].min(initial=math.inf))

    @cached_property
    def shots(self) -> Items[TimeSpan]:
        """The spans of the shots in order; they tile the visible interval."""
        return tile(self.rows("cuts").column("time").to_numpy(), self.span)

    def shot_at(self, time: float) -> TimeSpan:
        """Return the shot that contains a visible time (the last shot for the very end)."""
        return self.shots[max(0, int(np.searchsorted(self.shots.starts, time, side="right")) - 1)]

    @cached_property
    def scenes(self) -> Items[SceneInterval]:
        """The scenes; they tile the visible interval."""
        tiles = tile(self.rows("scene_cuts").column("time").to_numpy(), self.span)
        return Items(tiles.starts, tiles.ends, lambda i: SceneInterval(ordinal=i, span=tiles[i]))

    @cached_property
    def scene_strengths(self) -> Times:
        """How much each scene differs in look from what came before it, 0 to 1, shape (n,); 1 for the first scene."""
        rows = self.rows("scene_cuts")
        # If two rows have the same time, the later row counts.
        places = np.searchsorted(rows.column("time").to_numpy(), self.scenes.starts[1:], side="right") - 1
        return np.append(1.0, rows.column("strength").to_numpy()[places])

    def scene_at(self, time: float) -> SceneInterval:
        """Return the scene that contains a visible time (the last scene for the very end)."""
        return self.scenes[max(0, int(np.searchsorted(self.scenes.starts, time, side="right")) - 1)]

    @cached_property
    def lines(self) -> Items[TimeSpan]:
        """The intervals of the spoken lines."""
        return spans(self.speech.starts, self.speech.ends)

    @cached_property
    def segments(self) -> Items[TimeSpan]:
        """The segments that searches rank."""
        whole = self.whole.segments
        if self.complete:
            return whole
        # Segments are cut shot by shot, so those of shots before the first change are reused.
        same_shots, _ = shared_prefix(self.shots, self.whole.shots)
        _, changed = shared_prefix(self.lines, self.whole.lines)
        first = min(int(np.searchsorted(self.shots.ends, changed, side="right")), same_shots, len(self.shots) - 1)
        start = float(self.shots.starts[first])
        same = int(np.searchsorted(whole.ends, start, side="right"))
        found = segment(self.shots[first:], self.lines.during(TimeSpan(start=start, end=max(start, self.duration))))
        return spans(
            np.append(whole.starts[:same], [span.start for span in found]),
            np.append(whole.ends[:same], [span.end for span in found]),
        )

    @cached_property
    def speech(self) -> Items[Spoken]:
        """The spoken lines that begin in the visible interval, in time order."""
        return self._intervals(
            "speech",
            lambda line, span: Spoken(
                span=span,
                text=line["text"],
                speaker=line["speaker"],
                confidence=round(line["confidence"], 2),
                language=line["language"],
                source=line["source"],
                words=self._words_of(line["start"]) if line["source"] == "recognised" else (),
                voice=self._voice_of(line, span),
            ),
        )

    @cached_property
    def voices(self) -> Voices:
        """The voices that are known in the visible part."""
        tables = (self.rows(name) for name in ("voice_turns", "voice_names", "voice_links"))
        return Voices(*tables, until=self.duration)

    @cached_property
    def judges_speakers(self) -> bool:
        """Whether it was judged who speaks, even if no voice is known."""
        return any("voice_turns" in stage.tables for stage in self.world.manifest.stages)

    def _voice_of(self, line: dict[str, Any], span: TimeSpan) -> str:
        """Return the voice of a line that names no speaker; empty if it is not known."""
        if (
            line["speaker"]
            or not self.voices.voices
            or (line["start"], line["end"], line["text"]) in self._said_at_once
        ):
            return ""
        return self.voices.of_line(span)

    @cached_property
    def _said_at_once(self) -> frozenset[tuple[float, float, str]]:
        return said_at_once(self.rows("speech"))

    def _words_of(self, line_start: float) -> tuple[TimedWord, ...]:
        """Return the visible recognised words of the line that starts at ``line_start``."""
        order, starts = self.whole.words
        first, end = np.searchsorted(starts, line_start), np.searchsorted(starts, line_start, side="right")
        words = self.cut.visible_rows(self.world.rows("words").take(pa.array(order[first:end])))
        return tuple(
            TimedWord(
                span=TimeSpan(start=row["start"], end=max(row["start"], row["end"])),
                text=row["word"],
                confidence=round(row["confidence"], 2),
            )
            for row in words.to_pylist()
        )

    @cached_property
    def screen_texts(self) -> Items[ScreenText]:
        """The texts on screen, one item per interval.

        Their ``rows`` are positions in the texts of the whole view; -1 for a text that was joined again for this cut.
        """
        whole = self.whole.screen_texts
        if self.complete:
            return whole
        # Before the first hidden row, texts that no later reading could continue are those of the whole view.
        changed = min(self.duration, self.first_hidden("screen_texts"), self.first_hidden("cuts"))
        restarts = self.whole.text_restarts
        found = int(np.searchsorted(whole.starts[restarts], changed))
        kept = int(restarts[found - 1]) if found else 0
        since = float(whole.starts[kept]) if found else -math.inf
        rows = self.world.rows("screen_texts")
        later = np.flatnonzero(self.cut.visible(rows) & (rows.column("time").to_numpy() >= since))
        shots = self.shots.during(TimeSpan(start=max(0.0, since), end=self.duration)) or [self.shots[-1]]
        return followed_by(whole, kept, join_readings(rows.take(pa.array(later)), shots, self.span, self.holes))

    @cached_property
    def captions(self) -> Items[Said]:
        """The visible stored captions, in time order."""
        return self._said("captions", "text")

    @cached_property
    def actions(self) -> Items[Said]:
        """The visible stored actions, in time order."""
        return self._said("actions", "label")

    @cached_property
    def sounds(self) -> Items[Said]:
        """What is heard, by class: one item per interval, in time order. Their text is the class after ``SOUND_PREFIX``."""
        if self.complete:
            return self.whole.sounds
        return sounds_in(join_sounds(self.rows("sounds"), self.duration), are_stored=False)

    @cached_property
    def tracks(self) -> Tracks:
        """The visible tracks, in order of first sighting."""
        sightings, links = self.world.rows("sightings"), self.rows("track_links")
        return Tracks(self.whole.joined, sightings, links, self.cut, until=self.duration)

    def may_be(self, entity_id: str) -> tuple[Likeness, ...]:
        """Return the entities that an entity looks like, the most alike first; empty if the entity has no track."""
        track = self.track_of_entity(entity_id)
        return () if track is None else self.world.once(Likenesses).of(track, self.tracks, self.cut)

    @cached_property
    def camera_movements(self) -> Items[CameraMovement]:
        """The visible movements of the camera, in time order."""
        return camera_movements(self.rows("camera"), self.shots)

    def tracks_in(self, span: TimeSpan) -> list[Track]:
        """Return the tracks with an appearance in a half-open interval, also if the interval is between two sightings."""
        return [track for track in self.tracks.around(span) if track.appears_in(span)]

    def tracks_at(self, time: float) -> list[Track]:
        """Return the tracks with an appearance at a moment, sorted by name."""
        near = self.tracks.around(TimeSpan(start=time, end=time))
        found = (track for track in near if track.appearance_at(time) is not None)
        return sorted(found, key=lambda track: track.track_id)

    def track_of_entity(self, entity_id: str) -> Track | None:
        """Return the track of an entity id; None if the id is not that of a visible track."""
        return self.tracks.find(entity_id.removeprefix(ENTITY)) if entity_id.startswith(ENTITY) else None

    def _said(self, table: str, column: str) -> Items[Said]:
        return self._intervals(
            table,
            lambda said, span: Said(
                span=span, text=said[column], subject=said.get("subject", ""), confidence=round(said["confidence"], 2)
            ),
        )

    def _intervals(self, table: str, make: Callable[[dict[str, Any], TimeSpan], Item]) -> Items[Item]:
        """Return the visible rows of a table of intervals, clipped to the visible part, as items made by ``make``."""
        rows = self.world.rows(table)
        starts = rows.column("start").to_numpy()
        ends = np.maximum(starts, rows.column("end").to_numpy())
        places: Positions = np.flatnonzero((starts < self.duration) & (ends > 0.0) & self.cut.visible(rows))
        starts, ends = np.maximum(starts[places], 0.0), np.minimum(ends[places], self.duration)

        def item(i: int) -> Item:
            row = rows.slice(int(places[i]), 1).to_pylist()[0]
            return make(row, TimeSpan(start=float(starts[i]), end=float(ends[i])))

        return Items(starts, ends, item, rows=places)


class WholeView(View):
    """The view of a world without a cut. It stores beside the world what is slow to derive."""

    def __init__(self, world: World) -> None:
        super().__init__(world, None)

    def read_all(self) -> None:
        """Load the stored tables of tracks, screen texts, sounds and segments; compute those that are missing."""
        _ = (self.joined, self.readings, self.heard, self.segments)

    @cached_property
    def words(self) -> tuple[Positions, Times]:
        """The rows of the table ``words``, sorted by the start of the spoken line that each belongs to.

        Two arrays of shape (words,): the positions of the rows, and for each the start of its line in seconds.
        """
        starts = self.world.rows("words").column("line_start").to_numpy()
        order = np.argsort(starts, kind="stable")
        return order, starts[order]

    @cached_property
    def joined(self) -> JoinedTracks:
        """The tracks of the whole world, as arrays."""
        video, sightings = self.world.manifest.video, self.world.rows("sightings")

        def make() -> list[pa.Table]:
            made = join_tracks(sightings, self.world.rows("track_links"), width=video.width, height=video.height)
            return [made.tracks, made.sightings]

        schemas = {"tracks": TRACKS, "tracks.sightings": JOINED}
        tracks, joined = self.world.derived.tables(schemas, make, rows={"tracks.sightings": sightings.num_rows})
        return JoinedTracks(
            Joined(tracks=tracks, sightings=joined),
            sightings,
            picture=(video.width, video.height),
            frame=video.frame_seconds,
            until=video.duration,
            person_looks=self.world.rows("person_looks"),
            are_detected=bool(self.world.manifest.detected_categories),
        )

    @cached_property
    def readings(self) -> pa.Table:
        """The intervals in which texts are on screen, as a table."""
        return self.world.derived.table(
            "screen_texts",
            lambda: screen_text_table(
                join_readings(self.world.rows("screen_texts"), self.shots, self.span, self.holes)
            ),
            schema=SCREEN_TEXT_SCHEMA,
        )

    @cached_property
    def heard(self) -> pa.Table:
        """The intervals in which a class of sounds is heard, as a table."""
        return self.world.derived.table(
            "sounds", lambda: join_sounds(self.world.rows("sounds"), self.duration), schema=SOUND_SCHEMA
        )

    @cached_property
    def sounds(self) -> Items[Said]:
        """What is heard, by class."""
        return sounds_in(self.heard, are_stored=True)

    @cached_property
    def screen_texts(self) -> Items[ScreenText]:
        """The texts on screen, one item per interval."""
        return screen_texts_in(self.readings)

    @cached_property
    def text_restarts(self) -> Positions:
        """Positions of the texts that cannot be joined with any earlier one."""
        return independent_starts(self.readings)

    @cached_property
    def segments(self) -> Items[TimeSpan]:
        """The segments that searches rank."""

        def make() -> pa.Table:
            found = segment(self.shots, list(self.lines))
            return pa.table({"start": np.array([s.start for s in found]), "end": np.array([s.end for s in found])})

        table = self.world.derived.table("segments", make, schema=_SEGMENTS)
        return spans(table.column("start").to_numpy(), table.column("end").to_numpy())


def open_view(world: World, as_of: float | None) -> View:
    """Return a view of a world as of a time (seconds), or of the whole world for None; all callers share the latter.

    Raises OperationFault: ``bad_as_of``.
    """
    return world.once(WholeView) if as_of is None else View(world, as_of)


class DistinctTracks:
    """The tracks of a view that surely are different things; of each category as many as can be shown.

    ``may_repeat``: the names of all others, each of which may show the same thing as another track of its category. There
    are none where no detector drew the boxes: there ``may_be`` names who may be the same.
    """

    def __init__(self, view: View) -> None:
        of_category: defaultdict[str, list[Track]] = defaultdict(list)
        for track in view.tracks if view.world.manifest.detected_categories else ():
            of_category[track.category].append(track)
        apart = {name for tracks in of_category.values() for name in _most_at_once(tracks)}
        self.may_repeat = frozenset(one.track_id for own in of_category.values() for one in own) - apart


def _most_at_once(tracks: Sequence[Track]) -> list[str]:
    """Return the names of the tracks that are seen at the first moment at which most of them are."""
    starts = [(span.start, 1, track.track_id) for track in tracks for span in track.appearances]
    ends = [(span.end, 0, track.track_id) for track in tracks for span in track.appearances]
    seen: list[str] = []
    most: list[str] = []
    for _, is_start, name in sorted([*starts, *ends]):
        seen = [*seen, name] if is_start else [other for other in seen if other != name]
        most = seen if len(seen) > len(most) else most
    return most


# --- who speaks -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Voice:
    """A voice: the turns in which it was surely heard, in time order, and the voices that may be the same person's."""

    entity_id: str
    turns: tuple[TimeSpan, ...]
    may_be: tuple[Likeness, ...]

    @property
    def span(self) -> TimeSpan:
        """From its first turn to the end of its last one."""
        return TimeSpan(start=self.turns[0].start, end=max(turn.end for turn in self.turns))

    @property
    def seconds(self) -> float:
        """For how long it is heard."""
        return sum(turn.duration for turn in self.turns)

    @property
    def hint(self) -> str:
        """The voice in words."""
        return f"a voice, heard for {self.seconds:.0f} s"

    @property
    def samples(self) -> tuple[TimeSpan, ...]:
        """The longest turns, to listen to, in time order."""
        return tuple(sorted(sorted(self.turns, key=lambda turn: (-turn.duration, turn.start))[:_SAMPLES]))


class Voices:
    """The voices of a view, by id, in the order in which they were first known.

    Args:
        turns, names, links: The visible rows of ``voice_turns``, ``voice_names`` and ``voice_links``.
        until: The end of the visible part, in seconds.
    """

    def __init__(self, turns: pa.Table, names: pa.Table, links: pa.Table, *, until: float) -> None:
        voice_of = dict(zip(names.column("turn").to_pylist(), names.column("voice").to_pylist(), strict=True))
        self._starts, ends = turns.column("start").to_numpy(), np.minimum(turns.column("end").to_numpy(), until)
        self._ends = np.maximum.accumulate(ends) if len(ends) else ends
        self._until = until
        spans = [
            TimeSpan(start=start, end=max(start, end))
            for start, end in zip(self._starts.tolist(), ends.tolist(), strict=True)
        ]
        self._turns = [(span, voice_of.get(span.start, "")) for span in spans]
        of_voice: defaultdict[str, list[TimeSpan]] = defaultdict(list)
        for span, voice in self._turns:
            if voice:
                of_voice[voice].append(span)
        likely: defaultdict[str, list[Likeness]] = defaultdict(list)
        for row in links.to_pylist():
            for one, other in ((row["earlier"], row["later"]), (row["later"], row["earlier"])):
                if one in of_voice and other in of_voice:
                    likely[one].append(Likeness(entity_id=other, score=round(max(0.0, min(1.0, row["score"])), 2)))
        self.voices = {
            name: Voice(
                entity_id=name,
                turns=tuple(own),
                may_be=tuple(sorted(likely[name], key=lambda one: (-one.score, one.entity_id))),
            )
            for name, own in sorted(of_voice.items(), key=lambda pair: (len(pair[0]), pair[0]))
        }

    def within(self, span: TimeSpan) -> list[tuple[TimeSpan, str]]:
        """Return the turns that overlap a span, each with its voice (empty if that is not known), in time order."""
        first, end = np.searchsorted(self._ends, span.start, side="right"), np.searchsorted(self._starts, span.end)
        return [turn for turn in self._turns[int(first) : int(end)] if turn[0].overlaps(span)]

    def _is_known_at(self, time: float) -> bool:
        """Whether no turn that begins before a time can become known later: turns become known in the order of their starts."""
        if not len(self._starts) or time + _KNOWN_AFTER <= self._until:
            return True
        return bool(self._starts[-1] >= time or self._ends[-1] >= time - _AT_ONCE)

    def of_line(self, span: TimeSpan) -> str:
        """Return the voice that says a line; empty if none or several are heard, or it is not known."""
        heard: defaultdict[str, float] = defaultdict(float)
        for turn, voice in self.within(span):
            heard[voice] += span.overlap(turn)
        voice = max((name for name in heard if name), key=lambda name: (heard[name], name), default="")
        if not self._is_known_at(span.end):
            return ""
        if not voice or heard[voice] < _COVERED * span.duration:
            return ""
        return voice if sum(heard.values()) - heard[voice] <= _COVERED_BY_OTHERS * span.duration else ""


def said_at_once(rows: pa.Table) -> frozenset[tuple[float, float, str]]:
    """Return start, end and text of the lines that overlap another one of their source. ``rows``: of ``speech``."""
    found: set[tuple[float, float, str]] = set()
    last: dict[str, tuple[float, float, str]] = {}
    columns = (rows.column(name).to_pylist() for name in ("source", "start", "end", "text"))
    for source, *line in sorted(zip(*columns, strict=True)):
        own = (line[0], line[1], line[2])
        before = last.get(source)
        if before is not None and min(before[1], own[1]) - own[0] > _AT_ONCE:
            found |= {before, own}
        if before is None or own[1] > before[1]:
            last[source] = own
    return frozenset(found)
