"""Who is who: from hints and moments to tracks, entities and registered names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from world_api.core.colours import NEUTRALS
from world_api.core.faults import OperationFault
from world_api.core.lexicon import before_turning, categories_in, colours_in, unseen_words, unused_words, words
from world_api.core.spans import TimeSpan, round_time
from world_api.operations.answering.wording import has_ended
from world_api.operations.declaring.results import Entity, LookAlike
from world_api.world.sessions.session import Registration, Session
from world_api.world.tracks import Side, Track

#: A registered thing without a track is the same one when its box overlaps at least this much at the same moment.
SAME_BOX = 0.5
#: A sighting answers for a moment that lies at most this far from it (seconds).
NEAR = 0.6


@dataclass(frozen=True, kw_only=True)
class HintMatch:
    """How well a track fits a hint: share of the hint's checkable words that hold, and words nobody can check."""

    share: float
    unchecked: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Nothing checkable speaks against it."""
        return self.share >= 1.0


def match_hint(track: Track, hint: str) -> HintMatch:
    """Compare a hint in words with what is known of a track: its category, its colours, its own hint's words.

    A colour that the track does not show, or another kind of thing, speaks against it. One neutral colour and nothing
    else ("in black") speaks of the whole outfit, so it must be the track's main colour. Words that name neither
    (``hat``, ``tall``) cannot be checked on a track and are reported. So is what stands behind a ``not``: it is not used.
    """
    hint, turned = before_turning(hint)
    kinds = categories_in(hint)
    checks = [track.category in kinds or (track.category == "moving_object" and bool(kinds))] if kinds else []
    known = set(words(track.hint))
    unseen = tuple(word for word in unseen_words(hint) if word not in known)
    unchecked = unseen + tuple(words(turned))
    named = colours_in(hint)
    outfit = len(named) == 1 and named <= NEUTRALS and not unseen
    checks += [colour in (track.colours[:1] if outfit else track.colours) for colour in sorted(named)]
    share = sum(checks) / len(checks) if checks else (0.0 if unchecked else 1.0)
    return HintMatch(share=share, unchecked=unchecked)


def not_used(tracks: Sequence[Track], hint: str) -> list[str]:
    """The words of a hint that were not used to tell these tracks from others; of none, that could not have been."""
    known = set(words(tracks[0].hint)) if tracks else set()
    for track in tracks[1:]:
        known &= set(words(track.hint))
    return [word for word in unused_words(hint) if not set(words(word)) <= known]


def tracks_at(session: Session, time: float, near: float = NEAR) -> list[Track]:
    """The tracks with a sighting near a moment, the nearest first."""
    found = []
    for track in session.view.tracks.around(time, near):
        gap = abs(float(track.times[track.nearest(time)]) - time)
        inside = track.appearance_at(time) is not None
        if inside or gap <= near:
            found.append((0.0 if inside else gap, track))
    return [track for _, track in sorted(found, key=lambda pair: (pair[0], pair[1].track_id))]


def best_match(tracks: Sequence[Track], hint: str) -> tuple[Track, HintMatch] | None:
    """The track that fits a hint best, or None where none fits."""
    matches = [(track, match_hint(track, hint)) for track in tracks]
    fitting = [(track, match) for track, match in matches if match.fits]
    if not fitting and len(tracks) == 1 and not _checkable(hint):
        return matches[0]
    return max(fitting, key=lambda pair: (len(pair[0].colours), pair[0].confidence), default=None)


def _checkable(hint: str) -> bool:
    hint, _ = before_turning(hint)
    return bool(categories_in(hint) or colours_in(hint))


def listed_entities(session: Session, limit: int) -> tuple[list[Entity], int]:
    """Build-time identities, then what was registered beyond them, each in order of first appearance.

    At most ``limit`` of them, and how many there are.
    """
    registered = {item.entity_id: item for item in session.registrations()}
    tracks = session.view.tracks
    listed = [_built(session, track, registered.get(track.entity_id)) for track in tracks[:limit]]
    beyond = [item for item in registered.values() if session.view.track_of_entity(item.entity_id) is None]
    beyond.sort(key=lambda item: (item.time, item.entity_id))
    listed += [_registered(item) for item in beyond[: limit - len(listed)]]
    return listed, len(tracks) + len(beyond)


def _built(session: Session, track: Track, own: Registration | None) -> Entity:
    return Entity(
        entity_id=track.entity_id,
        hint=track.hint,
        label=own.label if own else None,
        category=track.category,
        origin="session" if own and not own.committed else "build",
        first_time=round_time(track.span.start),
        last_time=round_time(track.span.end),
        appearances=len(track.appearances),
        size=track.size,
        enters_from=track.enters_from(track.appearances[0]),
        leaves_to=side_left(session, track, track.appearances[-1]),
        may_be=look_alikes(session, track.entity_id),
    )


def _registered(item: Registration) -> Entity:
    return Entity(
        entity_id=item.entity_id,
        hint=item.hint,
        label=item.label,
        category=item.category,
        origin="build" if item.committed else "session",
        first_time=item.time,
        last_time=item.time,
        appearances=1,
        size=None,
        enters_from=None,
        leaves_to=None,
    )


def side_left(session: Session, track: Track, appearance: TimeSpan) -> Side | None:
    """The side to which a track went out of an appearance, once that is over."""
    return track.leaves_to(appearance) if has_ended(session.view, appearance) else None


def look_alikes(session: Session, entity_id: str) -> list[LookAlike]:
    """The entities that a build-time identity may be the same as."""
    return [LookAlike(entity_id=item.entity_id, score=item.score) for item in session.view.may_be(entity_id)]


def find_entity(session: Session, entity_id: str) -> Track | Registration:
    """The track of a build-time identity, or a registration without one.

    Raises:
        OperationFault: ``unknown_entity``.
    """
    if (track := session.view.track_of_entity(entity_id)) is not None:
        return track
    for item in session.registrations():
        if item.entity_id == entity_id:
            return item
    raise OperationFault(
        "unknown_entity",
        f"there is no entity {entity_id[:80]!r} here",
        hint="list_entities gives the known ids; register_entity makes one from a hint and a moment",
    )


def registered_near(session: Session, box: Sequence[float], time: float) -> Registration | None:
    """A registration of the same thing: at the same moment, boxes that overlap."""
    from world_api.core.boxes import Box

    wanted = Box(x1=box[0], y1=box[1], x2=box[2], y2=box[3])
    for item in session.registrations():
        own = Box(x1=item.box[0], y1=item.box[1], x2=item.box[2], y2=item.box[3])
        if math.isclose(item.time, time, abs_tol=NEAR) and own.iou(wanted) >= SAME_BOX:
            return item
    return None
