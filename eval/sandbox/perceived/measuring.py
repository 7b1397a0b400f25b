"""One world against the truth of its film."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.sandbox.perceived.people import Drawn, owners, step_of
from eval.sandbox.perceived.scores import Agreement, moments_agree, plain, stretches_iou
from eval.sandbox.script import CARD
from world_api.build.truth import TrueScreenText, TrueSpeech, Truth
from world_api.core.spans import TimeSpan
from world_api.world.screen_texts import ScreenText
from world_api.world.tracks import Track
from world_api.world.view import View

#: Seconds by which a cut may be off.
CUT_TOLERANCE = 0.2
#: How well a spoken line's stretch must agree (intersection over union).
SPEECH_IOU = 0.5
_BETWEEN = " … "


@dataclass(frozen=True, kw_only=True)
class PersonPerceived:
    """One person: ``presence`` is the IoU of when they were drawn and when entities that are theirs were seen.

    ``visits`` counts the drawn visits, ``visit_iou`` is the mean over them of the best single entity's IoU with the visit,
    ``returns`` the later visits whose entity the world links, first of all, to an earlier one of the same person.
    """

    name: str
    label: str
    seconds: float
    presence: float
    visits: int
    visit_iou: float
    entities: int
    returns: Agreement


@dataclass(frozen=True, kw_only=True)
class Perceived:
    """One world against its truth. ``strangers`` are entities called persons that are nobody; ``unread`` texts not found.

    ``texts_in_rooms`` are signs, clocks and notices; ``texts`` those and what cards say.
    """

    video: str
    duration: float
    scene_cuts: Agreement
    shot_cuts: Agreement
    people: tuple[PersonPerceived, ...]
    strangers: int
    texts: Agreement
    texts_in_rooms: Agreement
    unread: tuple[str, ...]
    speech: Agreement
    things: Agreement

    @property
    def presence(self) -> float:
        """The mean over people."""
        return _mean([person.presence for person in self.people])

    @property
    def visit_iou(self) -> float:
        """The mean over all visits of all people, each by its best single entity."""
        visits = sum(person.visits for person in self.people)
        return sum(person.visit_iou * person.visits for person in self.people) / visits if visits else 0.0

    @property
    def returns(self) -> Agreement:
        """Of all people."""
        return sum((person.returns for person in self.people), Agreement(right=0, found=0, true=0))

    @property
    def weakest(self) -> PersonPerceived | None:
        """The person seen worst."""
        return min(self.people, key=lambda person: (person.presence, person.name), default=None)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            **asdict(self),
            "scene_cuts_f1": round(self.scene_cuts.f1, 3),
            "shot_cuts_f1": round(self.shot_cuts.f1, 3),
            "presence_iou": round(self.presence, 3),
            "weakest_presence_iou": round(self.weakest.presence, 3) if self.weakest else None,
            "visit_iou": round(self.visit_iou, 3),
            "text_recall": round(self.texts.recall, 3),
            "text_in_rooms_recall": round(self.texts_in_rooms.recall, 3),
            "text_precision": round(self.texts.precision, 3),
            "returns_recall": round(self.returns.recall, 3),
            "speech_recall": round(self.speech.recall, 3),
        }


def measure(view: View, truth: Truth) -> Perceived:
    """Measure one world (all of it, no cut) against the truth of its film."""
    step = step_of(truth.tracks)
    people = [Drawn.of(track, step) for track in truth.tracks if track.category == "person"]
    things = [Drawn.of(track, step) for track in truth.tracks if track.category != "person"]
    tracks = list(view.tracks)
    named = [track for track in tracks if track.category == "person"]
    whose = owners(named, people)
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


def _cuts(found: Sequence[float], true: Sequence[float]) -> Agreement:
    """Boundaries inside the film; its beginning is none."""
    return moments_agree(
        [time for time in found if time > 0], [time for time in true if time > 0], tolerance=CUT_TOLERANCE
    )


def _person(drawn: Drawn, tracks: Sequence[Track], whose: Mapping[str, str | None], view: View) -> PersonPerceived:
    visits = drawn.visits()
    own = [track for track in tracks if whose[track.track_id] == drawn.name]
    best = [max(((stretches_iou([visit], track.appearances), track) for track in own), key=_first, default=None)
            for visit in visits]  # fmt: skip
    seen = [span for track in own for span in track.appearances]
    mains = [pair[1] for pair in best if pair is not None and pair[0] > 0]
    return PersonPerceived(
        name=drawn.name,
        label=drawn.label,
        seconds=round(sum(visit.duration for visit in visits), 3),
        presence=stretches_iou(seen, visits),
        visits=len(visits),
        visit_iou=_mean([pair[0] if pair is not None else 0.0 for pair in best]),
        entities=len(own),
        returns=_returns(mains, whose, view),
    )


def _first(pair: tuple[float, Track]) -> float:
    return pair[0]


def _returns(mains: Sequence[Track], whose: Mapping[str, str | None], view: View) -> Agreement:
    """Of the entities of later visits, how many look most like an earlier one of the same person."""
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
    return Agreement(right=right, found=found, true=true)


def _texts(found: Sequence[ScreenText], true: Sequence[TrueScreenText]) -> tuple[Agreement, tuple[str, ...]]:
    """Each stretch of a true text counts when the same text was read at a moment of it; spaces and signs do not matter."""
    read = [(text.span, plain(part)) for text in found for part in text.text.split(_BETWEEN)]
    right, unread = 0, []
    for text in true:
        span = TimeSpan(start=text.start, end=text.end)
        if any(other == plain(text.text) and _meets(span, shown) for shown, other in read):
            right += 1
        else:
            unread.append(text.text)
    wrong = sum(
        not any(plain(text.text) == other and _meets(TimeSpan(start=text.start, end=text.end), shown) for text in true)
        for shown, other in read
    )
    return Agreement(right=right, found=right + wrong, true=len(true)), tuple(unread)


def _meets(span: TimeSpan, shown: TimeSpan) -> bool:
    return span.overlaps(shown) or span.contains(shown.start)


def _speech(view: View, true: Sequence[TrueSpeech]) -> Agreement:
    """A line is right when a stored one has its words and lies in the same stretch."""
    found = list(view.speech)
    right = sum(
        any(
            plain(line.text) == plain(other.text)
            and other.span.iou(TimeSpan(start=line.start, end=line.end)) >= SPEECH_IOU
            for other in found
        )
        for line in true
    )
    return Agreement(right=right, found=len(found), true=len(true))


def _things(things: Sequence[Drawn], tracks: Sequence[Track]) -> Agreement:
    """Of the visits of things, how many have an entity of their own; most things are seen as part of who carries them."""
    whose = owners([track for track in tracks if track.category != "person"], things)
    own = {name: [t for t in tracks if whose.get(t.track_id) == name] for name in set(whose.values()) if name}
    right = true = 0
    for thing in things:
        for visit in thing.visits():
            true += 1
            right += any(stretches_iou([visit], track.appearances) > 0 for track in own.get(thing.name, ()))
    return Agreement(right=right, found=sum(len(tracks) for tracks in own.values()), true=true)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
