"""Who is who: from hints and moments to tracks, entities and registered names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from world_api.core.colours import NEUTRALS
from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan, round_time
from world_api.core.vocabulary import Reading
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
    """How well a track fits a description, word for word (canonical words).

    ``missing`` was measured and is otherwise; ``unjudged`` was not measured on this track. ``excluded``: a negated word holds, or
    it is another kind of thing.
    """

    held: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    excluded: bool = False

    @property
    def fits(self) -> bool:
        """Nothing that was measured speaks against it, and something speaks for it."""
        return not self.excluded and not self.lacks

    @property
    def fits_partly(self) -> bool:
        """Something speaks for it, or its looks were not measured."""
        return not self.excluded and (bool(self.held) or not self.missing)

    @property
    def lacks(self) -> list[str]:
        """The words that it was not measured to fit."""
        return [*self.missing, *self.unjudged]

    @property
    def share(self) -> float:
        """The share of the judged words that hold, 0 to 1; 1 of none."""
        return len(self.held) / (len(self.held) + len(self.lacks)) if self.lacks else 1.0


def match_description(track: Track, asked: Reading) -> HintMatch:
    """Compare a description with what is known of a track: its category and its colours.

    A neutral colour and no other beside it ("in black", "in grey or black") speaks of the whole outfit, so it must be the
    track's main colour; negated, it must be none of its colours. What moves and was not recognised may be of any kind, and a
    track without colours of any colour.
    """
    unknown_kind = track.category == "moving_object"
    unjudged: list[str] = []
    other_kind = False
    if asked.kinds and track.category not in asked.kinds:
        other_kind = not unknown_kind
        unjudged += sorted(asked.kinds) if unknown_kind else []
    wanted = asked.wanted
    shown = frozenset(track.colours) - (NEUTRALS.difference(track.colours[:1]) if len(wanted) == 1 else frozenset())
    if not track.colours:
        unjudged += colours_in_words(asked)
    return HintMatch(
        held=tuple(_one_of(colours) for colours in wanted if colours & shown),
        missing=tuple(_one_of(colours) for colours in wanted if track.colours and not colours & shown),
        unjudged=tuple(unjudged),
        excluded=other_kind
        or track.category in asked.negated_kinds
        or not asked.negated_colours.isdisjoint(track.colours),
    )


def colours_in_words(asked: Reading) -> list[str]:
    """The colours that a description asks for or excludes: ``red``, ``grey or black``, ``not white``."""
    return [*map(_one_of, asked.wanted), *(f"not {colour}" for colour in sorted(asked.negated_colours))]


def _one_of(colours: frozenset[str]) -> str:
    return " or ".join(sorted(colours))


def tracks_at(session: Session, time: float, near: float = NEAR) -> list[Track]:
    """The tracks with a sighting near a moment, the nearest first."""
    found = []
    for track in session.view.tracks.around(time, near):
        gap = abs(float(track.times[track.nearest(time)]) - time)
        inside = track.appearance_at(time) is not None
        if inside or gap <= near:
            found.append((0.0 if inside else gap, track))
    return [track for _, track in sorted(found, key=lambda pair: (pair[0], pair[1].track_id))]


def best_match(tracks: Sequence[Track], asked: Reading) -> tuple[Track, HintMatch] | None:
    """The track that fits a description best; where none fits all of it, the one that fits most. None where none fits.

    Where no word can be judged, one track alone is taken, and of several none.
    """
    if not asked.is_judged and len(tracks) != 1:
        return None
    matches = [(track, match_description(track, asked)) for track in tracks]
    fitting = [(track, match) for track, match in matches if match.fits]
    partly = [(track, match) for track, match in matches if match.fits_partly]
    return max(
        fitting or partly, key=lambda pair: (pair[1].share, len(pair[0].colours), pair[0].confidence), default=None
    )


def listed_entities(session: Session, limit: int) -> tuple[list[Entity], int]:
    """Build-time identities, then what was registered beyond them, each in order of first appearance.

    At most ``limit`` of them, and how many there are.
    """
    registered = {item.entity_id: item for item in session.registrations()}
    tracks = session.view.tracks
    listed = [_built(session, track, registered.get(track.entity_id)) for track in tracks[:limit]]
    beyond = [item for item in registered.values() if session.view.track_of_entity(item.entity_id) is None]
    beyond.sort(key=lambda item: (item.time, item.entity_id))
    listed += [_registered(item, session.view.frame_at(item.time)) for item in beyond[: limit - len(listed)]]
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


def _registered(item: Registration, seen: TimeSpan) -> Entity:
    return Entity(
        entity_id=item.entity_id,
        hint=item.hint,
        label=item.label,
        category=item.category,
        origin="build" if item.committed else "session",
        first_time=round_time(seen.start),
        last_time=round_time(seen.end),
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
