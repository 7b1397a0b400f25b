"""How well a built world agrees with the truth of its film: scenes, people, texts, speech.

A sighting is assigned to the person whose true box, at the nearest drawn moment, has the largest overlap with it, an
IoU of at least ``SAME_PLACE``. An entity is assigned to the person with most of its sightings, if that is at least half
of them. So places decide which person an entity is, and times decide how well the person was seen: all intervals of an
entity count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.sandbox.script import CARD
from world_api.build.truth import TrueScreenText, TrueSpeech, TrueTrack, Truth, read_truth, truth_path
from world_api.core.execution import SystemClock
from world_api.core.faults import EvalFault
from world_api.core.identifiers import video_id_from_file_name
from world_api.core.spans import Box, TimeSpan, spans_iou
from world_api.core.vocabulary import fold
from world_api.world.timeline import ScreenText
from world_api.world.tracks import Track
from world_api.world.view import View


@dataclass(frozen=True, kw_only=True)
class MatchCounts:
    """Counts of right, found and true items, with precision, recall and F1 (0 to 1; 1 if there are no items)."""

    right: int
    found: int
    true: int

    @property
    def precision(self) -> float:
        """The share of found items that are right; 1 if none were found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of true items that were found; 1 if there are none."""
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 if there are no items."""
        total = self.found + self.true
        return 2 * self.right / total if total else 1.0

    def __add__(self, other: MatchCounts) -> MatchCounts:
        """Return the sums of both counts."""
        return MatchCounts(right=self.right + other.right, found=self.found + other.found, true=self.true + other.true)


def moments_agree(found: Iterable[float], true: Iterable[float], *, tolerance: float) -> MatchCounts:
    """Match moments one to one, the nearest pairs first, at most ``tolerance`` seconds apart; return the counts."""
    found, true = sorted(found), sorted(true)
    pairs = sorted((abs(one - other), i, j) for i, one in enumerate(found) for j, other in enumerate(true))
    matched: dict[int, int] = {}
    for apart, i, j in pairs:
        if apart <= tolerance and i not in matched and j not in matched.values():
            matched[i] = j
    return MatchCounts(right=len(matched), found=len(found), true=len(true))


def plain(text: str) -> str:
    """Return a text as it is compared: compatibility form, lower case, letters and digits only."""
    return "".join(sign for sign in fold(text) if sign.isalnum())


#: The least intersection over union of a sighting with the true box of its person.
SAME_PLACE = 0.3
#: In steps between drawn moments: the gap that ends a visit, and the largest distance of a moment from a sighting.
_VISIT_GAP, _SAME_TIME = 2.5, 0.75


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """When and where a person or thing is drawn: times (n,), seconds, ascending; boxes (n, 4), pixels.

    ``step`` is the number of seconds from one drawn moment to the next.
    """

    name: str
    label: str
    times: NDArray[np.float64]
    boxes: NDArray[np.float64]
    step: float

    @classmethod
    def of(cls, track: TrueTrack, step: float) -> Drawn:
        """Return a true track as arrays."""
        ordered = sorted(track.sightings, key=lambda sighting: sighting.time)
        return cls(
            name=track.track,
            label=track.label or track.track,
            times=np.array([sighting.time for sighting in ordered], dtype=np.float64),
            boxes=np.array([sighting.box for sighting in ordered], dtype=np.float64).reshape(-1, 4),
            step=step,
        )

    def visits(self) -> list[TimeSpan]:
        """Return the intervals in which it is drawn without a gap of more than 2.5 steps."""
        if not len(self.times):
            return []
        breaks = np.flatnonzero(np.diff(self.times) > _VISIT_GAP * self.step) + 1
        parts = np.split(self.times, breaks)
        return [TimeSpan(start=float(part[0]), end=float(part[-1]) + self.step) for part in parts]

    def box_at(self, time: float) -> Box | None:
        """Return the box at the moment nearest to a time; None if that is more than 0.75 steps away."""
        if not len(self.times):
            return None
        after = int(np.searchsorted(self.times, time))
        near = max(after - 1, 0) + int(np.argmin(np.abs(self.times[max(after - 1, 0) : after + 1] - time)))
        if abs(self.times[near] - time) > _SAME_TIME * self.step:
            return None
        x1, y1, x2, y2 = (float(value) for value in self.boxes[near])
        return Box(x1=x1, y1=y1, x2=x2, y2=y2)


def step_of(tracks: Sequence[TrueTrack]) -> float:
    """Return the seconds between drawn moments: the median gap between sightings of a track; 1 without any."""
    gaps = [np.diff(sorted(sighting.time for sighting in track.sightings)) for track in tracks]
    every = np.concatenate(gaps) if gaps else np.zeros(0)
    return float(np.median(every)) if len(every) else 1.0


def owner_of(track: Track, drawn: Sequence[Drawn]) -> str | None:
    """Return the name of the drawn person or thing whose boxes fit at least half of a track's sightings, or None."""
    votes: Counter[str] = Counter()
    for place, time in enumerate(track.times):
        box = track.box(place)
        here = [(box.iou(other), one.name) for one in drawn if (other := one.box_at(float(time))) is not None]
        best = max(here, default=(0.0, ""))
        if best[0] >= SAME_PLACE:
            votes[best[1]] += 1
    name, count = max(votes.items(), key=lambda item: (item[1], item[0]), default=("", -1))
    return name if 2 * count >= len(track.times) else None


#: The largest error of a cut in seconds.
CUT_TOLERANCE = 0.2
#: The least intersection over union of the times of a spoken line.
SPEECH_IOU = 0.5
_BETWEEN = " … "


@dataclass(frozen=True, kw_only=True)
class PersonPerceived:
    """Figures of one person: ``presence`` is the IoU of their visits with the times of the entities assigned to them.

    ``seconds`` is the total time of the drawn visits, ``visits`` their number, ``entities`` the number of assigned
    entities. ``visit_iou`` is the mean, over the visits, of the best IoU of a single entity with the visit.

    ``returns`` counts later visits whose best entity is not that of the first found visit: ``true`` all of them,
    ``found`` those whose entity the world links to an earlier one, ``right`` those where the first such link leads to
    this person.
    """

    name: str
    label: str
    seconds: float
    presence: float
    visits: int
    visit_iou: float
    entities: int
    returns: MatchCounts


@dataclass(frozen=True, kw_only=True)
class Perceived:
    """Figures of one world. ``strangers`` is the number of person entities not assigned to a person.

    ``texts_in_rooms`` are signs, clocks and notices; ``texts`` are those and the texts of cards; ``unread`` are missed
    texts.
    """

    video: str
    duration: float
    scene_cuts: MatchCounts
    shot_cuts: MatchCounts
    people: tuple[PersonPerceived, ...]
    strangers: int
    texts: MatchCounts
    texts_in_rooms: MatchCounts
    unread: tuple[str, ...]
    speech: MatchCounts
    things: MatchCounts

    @property
    def presence(self) -> float:
        """The mean presence over people; 0 without any."""
        return _mean([person.presence for person in self.people])

    @property
    def visit_iou(self) -> float:
        """The mean, over all visits of all people, of the best IoU of a single entity."""
        return _mean([person.visit_iou for person in self.people for _ in range(person.visits)])

    @property
    def returns(self) -> MatchCounts:
        """The sums of the ``returns`` counts of all people."""
        return sum((person.returns for person in self.people), MatchCounts(right=0, found=0, true=0))

    @property
    def weakest(self) -> PersonPerceived | None:
        """The person with the lowest presence; None without people."""
        return min(self.people, key=lambda person: (person.presence, person.name), default=None)

    def record(self) -> dict[str, Any]:
        """Return the JSON form, with the figures rounded to three digits."""
        figures = {key: figure(self) for key, _, figure in _FIGURES}
        return {
            **asdict(self),
            **{key: value if value is None else round(value, 3) for key, value in figures.items()},
            "returns_recall": round(self.returns.recall, 3),
        }


#: The figures of a film: their names in JSON and in the table, and how they are computed.
_FIGURES: tuple[tuple[str, str, Callable[[Perceived], float | None]], ...] = (
    ("scene_cuts_f1", "scenes", lambda film: film.scene_cuts.f1),
    ("shot_cuts_f1", "shots", lambda film: film.shot_cuts.f1),
    ("presence_iou", "presence", lambda film: film.presence),
    ("visit_iou", "by visit", lambda film: film.visit_iou),
    ("weakest_presence_iou", "weakest", lambda film: film.weakest.presence if film.weakest is not None else None),
    ("text_recall", "text", lambda film: film.texts.recall),
    ("text_in_rooms_recall", "in rooms", lambda film: film.texts_in_rooms.recall),
    ("text_precision", "precise", lambda film: film.texts.precision),
    ("speech_recall", "speech", lambda film: film.speech.recall),
)


def measure(view: View, truth: Truth) -> Perceived:
    """Measure one world, without a causal cut, against the truth of its film."""
    step = step_of(truth.tracks)
    people = [Drawn.of(track, step) for track in truth.tracks if track.category == "person"]
    things = [Drawn.of(track, step) for track in truth.tracks if track.category != "person"]
    tracks = list(view.tracks)
    named = [track for track in tracks if track.category == "person"]
    whose = {track.track_id: owner_of(track, people) for track in named}
    texts, unread = _texts(view.screen_texts, truth.screen_text)
    cards = {scene.start for scene in truth.scenes if scene.caption.startswith(CARD)}
    in_rooms, _ = _texts(view.screen_texts, [text for text in truth.screen_text if text.start not in cards])
    return Perceived(
        video=view.video_id,
        duration=view.duration,
        scene_cuts=_cuts([scene.span.start for scene in view.scenes], [scene.start for scene in truth.scenes]),
        shot_cuts=_cuts([shot.start for shot in view.shots], truth.cuts),
        people=tuple(_person(one, named, whose, view) for one in people),
        strangers=sum(owner is None for owner in whose.values()),
        texts=texts,
        texts_in_rooms=in_rooms,
        unread=unread,
        speech=_speech(view, truth.speech),
        things=_things(things, tracks),
    )


def _cuts(found: Sequence[float], true: Sequence[float]) -> MatchCounts:
    """Match the boundaries (seconds) inside the film, at most 0.2 s apart; time 0 is left out."""
    inside, true_inside = ([time for time in times if time > 0] for times in (found, true))
    return moments_agree(inside, true_inside, tolerance=CUT_TOLERANCE)


def _person(drawn: Drawn, tracks: Sequence[Track], whose: Mapping[str, str | None], view: View) -> PersonPerceived:
    visits = drawn.visits()
    own = [track for track in tracks if whose[track.track_id] == drawn.name]
    best = [max(((spans_iou([visit], track.appearances), -place) for place, track in enumerate(own)), default=(0.0, 0))
            for visit in visits]  # fmt: skip
    return PersonPerceived(
        name=drawn.name,
        label=drawn.label,
        seconds=round(sum(visit.duration for visit in visits), 3),
        presence=spans_iou([span for track in own for span in track.appearances], visits),
        visits=len(visits),
        visit_iou=_mean([iou for iou, _ in best]),
        entities=len(own),
        returns=_returns([own[-place] for iou, place in best if iou > 0], whose, view),
    )


def _returns(mains: Sequence[Track], whose: Mapping[str, str | None], view: View) -> MatchCounts:
    """Count ``PersonPerceived.returns``; ``mains``: the best track of each found visit, ``whose``: person by track's id."""
    right = found = true = 0
    for number, track in enumerate(mains):
        if number == 0 or track.track_id == mains[0].track_id:
            continue
        true += 1
        earlier = [
            other
            for likeness in view.may_be(track.entity_id)
            if (other := view.track_of_entity(likeness.entity_id)) is not None and other.span.start < track.span.start
        ]
        if earlier:
            found += 1
            right += whose.get(earlier[0].track_id) == whose[track.track_id]
    return MatchCounts(right=right, found=found, true=true)


def _texts(found: Sequence[ScreenText], true: Sequence[TrueScreenText]) -> tuple[MatchCounts, tuple[str, ...]]:
    """Return counts of texts, and the true texts that were not read.

    A true text is ``right`` if the same letters and digits were read in its interval; ``found``: these and wrong readings.
    """
    read = [(text.span, plain(part)) for text in found for part in text.text.split(_BETWEEN)]
    written = [(TimeSpan(start=text.start, end=text.end), plain(text.text)) for text in true]

    def agree(shown: tuple[TimeSpan, str], true_text: tuple[TimeSpan, str]) -> bool:
        span = true_text[0]
        return shown[1] == true_text[1] and (span.overlaps(shown[0]) or span.contains(shown[0].start))

    is_read = [any(agree(one, text) for one in read) for text in written]
    wrong = sum(not any(agree(one, text) for text in written) for one in read)
    unread = tuple(text.text for text, was_read in zip(true, is_read, strict=True) if not was_read)
    return MatchCounts(right=sum(is_read), found=sum(is_read) + wrong, true=len(true)), unread


def _speech(view: View, true: Sequence[TrueSpeech]) -> MatchCounts:
    """Count spoken lines: true; stored (found); true with a stored one of the same words and similar times (right)."""
    found = [(plain(line.text), line.span) for line in view.speech]
    lines = [(plain(line.text), TimeSpan(start=line.start, end=line.end)) for line in true]
    right = sum(any(words == other and span.iou(when) >= SPEECH_IOU for other, when in found) for words, span in lines)
    return MatchCounts(right=right, found=len(found), true=len(true))


def _things(things: Sequence[Drawn], tracks: Sequence[Track]) -> MatchCounts:
    """Count visits of things: all (true), with an entity of the thing (right); ``found`` counts entities of things."""
    whose = [(owner_of(track, things), track) for track in tracks if track.category != "person"]
    right = true = 0
    for thing in things:
        for visit in thing.visits():
            true += 1
            right += any(spans_iou([visit], track.appearances) > 0 for owner, track in whose if owner == thing.name)
    return MatchCounts(right=right, found=sum(owner is not None for owner, _ in whose), true=true)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


_TRUTH = ".truth.json"
#: Goals for a film's world: scene cuts (F1), people (mean presence IoU), screen text (recall). There is no goal yet for
#: whole visits and returns: the classical profile does not link people between visits.
SCENES_GOAL, PRESENCE_GOAL, TEXT_GOAL = 0.95, 0.7, 0.9


def check_films(folder: Path, store: Path, *, tell: Callable[[str], None]) -> list[Perceived]:
    """Build the world of each film of a folder, unless it exists, and measure it, in order of the names.

    Films without a truth file beside them are ignored. ``tell`` is called with a message for each film. Raises
    EvalFault: ``no_films``; BackendFault, MediaFault, StoreFault: from reading truth and building worlds.
    """
    named = [path.with_name(path.name.removesuffix(_TRUTH) + ".mp4") for path in sorted(folder.glob(f"*{_TRUTH}"))]
    videos = [video for video in named if video.is_file()]
    if not videos:
        hint = "videoworld sandbox make makes films with truth"
        raise EvalFault("no_films", f"no film with its truth is in {folder}", hint=hint)
    from world_api.api import build_world, open_session
    from world_api.terminal import progress_bars

    films = []
    for video in videos:
        truth, name = read_truth(truth_path(video)), video_id_from_file_name(video.stem)
        tell(f"{video.name}: building its world unless there is one ...")
        with progress_bars() as bars:
            build_world(video, store, progress=bars, clock=SystemClock(), video_id=name)
        films.append(measure(open_session(store, name, name=None).view, truth))
    return films


def table_of(films: Sequence[Perceived]) -> str:
    """Return a table of the figures of each film and their means, with the weakest person and the unread texts."""
    head = ["film", *(heading for _, heading, _ in _FIGURES), "returns"]
    rows = [head, *(_row(film.video, [film]) for film in films)]
    if len(films) > 1:
        rows.append(_row("mean", films))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for film in films:
        weakest = film.weakest
        if weakest is not None:
            lines.append(
                f"{film.video}: seen worst is {weakest.label}: {weakest.presence:.2f} of {weakest.visits} visits"
                f" ({weakest.entities} entities), {film.strangers} entities belong to no person"
            )
        if film.unread:
            lines.append(f"{film.video}: not read: {'; '.join(sorted(set(film.unread)))}")
    lines.append(
        f"goals: scenes {SCENES_GOAL}, presence {PRESENCE_GOAL}, text {TEXT_GOAL}; by visit, precise, returns: no goal"
    )
    return "\n".join(lines)


def _row(name: str, films: Sequence[Perceived]) -> list[str]:
    """Return the cells of a row: its name, the means over films, and right returns "/" true ones."""
    cells = [name]
    for _, _, figure in _FIGURES:
        found = [value for film in films if (value := figure(film)) is not None]
        cells.append(f"{_mean(found):.2f}" if found or len(films) > 1 else "-")
    return [*cells, f"{sum(film.returns.right for film in films)}/{sum(film.returns.true for film in films)}"]
