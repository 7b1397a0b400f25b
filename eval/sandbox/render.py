"""A film's frames, one after the other, with the exact boxes of whatever was drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eval.sandbox.drawing.figures import paint_person
from eval.sandbox.drawing.leaves import paint_open
from eval.sandbox.drawing.rooms import paint_card, paint_room
from eval.sandbox.drawing.things import paint_prop
from eval.sandbox.drawing.written import Backdrop
from eval.sandbox.script import Actor, Card, Film, Prop, Shot
from eval.sandbox.sets import plan_of
from eval.sandbox.sets.arranging import arrange
from eval.sandbox.sets.plan import Place
from eval.sandbox.staging import open_at, people_at, resting_at
from world_api.core.boxes import Box
from world_api.core.ports import Image


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
    number = 0
    for start, part in film.placed():
        backdrop = backdrop_of(part)
        last = round((start + part.duration) * film.frame_rate)
        while number < last:
            time = number / film.frame_rate
            yield _draw(part, backdrop, time, time - start)
            number += 1


def _draw(part: Shot | Card, backdrop: Backdrop, time: float, since_cut: float) -> DrawnFrame:
    image = backdrop.image.copy()
    if isinstance(part, Card):
        return DrawnFrame(time=time, image=image, sightings=())
    seen: list[tuple[Actor | Prop, Box | None]] = []
    hooks: frozenset[Place] = frozenset()
    if part.room.variant:
        made = arrange(part.room.kind, part.room.variant)
        hooks = frozenset(spot.place for spot in plan_of(part.room.kind, part.room.variant).spots if spot.hangs)
        for target, amount in open_at(part, since_cut).items():
            paint_open(image, made, target, amount)
    for item in resting_at(part, since_cut):
        seen.append((item.prop, paint_prop(image, item.prop, item.place, hangs=item.place in hooks)))
    for stance in people_at(part, since_cut):
        painted = paint_person(image, stance.actor.look, stance.pose, stance.feet, stance.size)
        seen.append((stance.actor, painted.person))
        if stance.pose.holds is not None:
            seen.append((stance.pose.holds, painted.held))
        seen += painted.worn
    sightings = tuple(Sighting(subject=subject, box=box) for subject, box in seen if box is not None)
    return DrawnFrame(time=time, image=image, sightings=sightings)
