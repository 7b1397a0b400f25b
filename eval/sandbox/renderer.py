"""The frames of a film in order, with the exact boxes of what was drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eval.sandbox.figures import paint_person, paint_prop
from eval.sandbox.furniture import paint_open
from eval.sandbox.room_plans import Arrangement, Place, arrange, plan_of
from eval.sandbox.rooms import Backdrop, paint_card, paint_room
from eval.sandbox.script import Actor, Card, Film, Prop, Resting, Shot
from eval.sandbox.staging import Stance, open_at, people_at, resting_at
from world_api.core.ports import Image
from world_api.core.spans import Box


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """Somebody or something in one frame. Boxes are whole, also where another figure stands in front."""

    subject: Actor | Prop
    box: Box


@dataclass(frozen=True, kw_only=True)
class DrawnFrame:
    """One frame; ``time`` in seconds from the film's start."""

    time: float
    image: Image
    sightings: tuple[Sighting, ...]


def backdrop_of(part: Shot | Card) -> Backdrop:
    """The empty room of a shot, or the card."""
    return paint_card(part) if isinstance(part, Card) else paint_room(part.room)


def frames(film: Film) -> Iterator[DrawnFrame]:
    """Every frame of the film, in order: ``duration * frame_rate`` of them."""
    for start, part in film.placed():
        yield from frames_of_part(part, backdrop_of(part), start=start, frame_rate=film.frame_rate)


def frames_of_part(part: Shot | Card, backdrop: Backdrop, *, start: float, frame_rate: int) -> Iterator[DrawnFrame]:
    """The frames of a part that begins ``start`` seconds into the film. Pictures may be one and the same: do not change them."""
    painter = _Painter(part, backdrop)
    for number in range(round(start * frame_rate), round((start + part.duration) * frame_rate)):
        time = number / frame_rate
        yield painter.frame(time, time - start)


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """One thing or person to be painted; layers that are equal look the same on the same ground."""

    open: tuple[str, float] | None = None
    resting: Resting | None = None
    stance: Stance | None = None


@dataclass(frozen=True, kw_only=True)
class _Painted:
    layer: _Layer
    image: Image
    seen: tuple[tuple[Actor | Prop, Box | None], ...]


class _Painter:
    """Paints a part frame by frame, and only what has changed, with whatever lies in front of it."""

    def __init__(self, part: Shot | Card, backdrop: Backdrop) -> None:
        self._part = part
        self._backdrop = backdrop.image
        self._last: list[_Painted] = []
        self._made: Arrangement | None = None
        self._hooks: frozenset[Place] = frozenset()
        if isinstance(part, Shot) and part.room.variant:
            self._made = arrange(part.room.kind, part.room.variant)
            spots = plan_of(part.room.kind, part.room.variant).spots
            self._hooks = frozenset(spot.place for spot in spots if spot.hangs)

    def frame(self, time: float, since_cut: float) -> DrawnFrame:
        """The frame of a moment."""
        layers = list(_layers(self._part, since_cut)) if isinstance(self._part, Shot) else []
        kept: list[_Painted] = []
        for painted, layer in zip(self._last, layers, strict=False):
            if painted.layer != layer:
                break
            kept.append(painted)
        image = kept[-1].image if kept else self._backdrop
        for layer in layers[len(kept) :]:
            image = image.copy()
            kept.append(_Painted(layer=layer, image=image, seen=tuple(self._paint(image, layer))))
        self._last = kept
        sightings = tuple(
            Sighting(subject=subject, box=box) for item in kept for subject, box in item.seen if box is not None
        )
        return DrawnFrame(time=time, image=image, sightings=sightings)

    def _paint(self, image: Image, layer: _Layer) -> Iterator[tuple[Actor | Prop, Box | None]]:
        if layer.open is not None and self._made is not None:
            paint_open(image, self._made, *layer.open)
        if layer.resting is not None:
            prop, place = layer.resting.prop, layer.resting.place
            yield prop, paint_prop(image, prop, place, hangs=place in self._hooks)
        if layer.stance is not None:
            stance = layer.stance
            painted = paint_person(image, stance.actor.look, stance.pose, stance.feet, stance.size)
            yield stance.actor, painted.person
            if stance.pose.holds is not None:
                yield stance.pose.holds, painted.held
            yield from painted.worn


def _layers(shot: Shot, time: float) -> Iterator[_Layer]:
    """What is painted, the farthest first."""
    if shot.room.variant:
        for target, amount in open_at(shot, time).items():
            yield _Layer(open=(target, amount))
    for resting in resting_at(shot, time):
        yield _Layer(resting=resting)
    for stance in people_at(shot, time):
        yield _Layer(stance=stance)
