"""The frames of a film in order, with the pose of each person and the exact boxes of what was drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias

from eval.sandbox.canvas import Point
from eval.sandbox.figures import ArmAngles, Pose, arm_towards, grip_of, paint_person, paint_prop
from eval.sandbox.room_plans import RoomPlan, plan_of
from eval.sandbox.rooms import Backdrop, paint_card, paint_open, paint_room
from eval.sandbox.script import WIDTH, Actor, Card, Carry, Gesture, Line, Performance, Prop, Resting, Shot, Walk
from world_api.core.ports import Image
from world_api.core.spans import Box

_SIZE = 185.0  #: pixels of an average person whose feet are at _NEAR
_NEAR = 330.0
_GROWTH = 0.005  #: relative growth for each pixel nearer to the viewer
_GAIT = 0.85  #: length of two steps, in heights of the person
_SETTLE = 0.2  #: seconds in which a walk begins or comes to rest
_OUTSIDE = 110.0  #: pixels beyond the frame's edge at which a person is invisible

_HANGING = ArmAngles(upper=0.04, fore=0.14)
_HOLDING = ArmAngles(upper=-0.3, fore=1.15)
_AT_THE_MOUTH = ArmAngles(upper=0.55, fore=2.45)
_AT_THE_HEAD = ArmAngles(upper=1.25, fore=2.7)
_AT_THE_NECK = ArmAngles(upper=0.75, fore=2.3)
_HANDLES = frozenset({"opens", "closes"})  #: gestures with the hand itself at ``place``, for a while
_BRIEF = frozenset({"gives", "receives"})  #: gestures in which two people touch, as briefly as possible
_SNATCH = 34.0  #: pixels from the receiver's hand to ``place``: people whose hands touch look like one thing
_OPENING = 0.5  #: seconds in which a drawer opens


@dataclass(frozen=True, kw_only=True)
class Stance:
    """One person at one moment. ``size`` is the height in pixels of an average person at ``feet`` (pixels)."""

    actor: Actor
    feet: tuple[float, float]
    size: float
    pose: Pose


def _open_at(shot: Shot, time: float) -> dict[str, float]:
    """Return, by name, how far (0 to 1) furniture is open ``time`` seconds into the shot; closed furniture is left out."""
    found: dict[str, float] = {}
    for item in shot.openings:
        if item.start <= time < item.end:
            since = 1.0 if item.start <= 0 else (time - item.start) / _OPENING
            until = 1.0 if item.end >= shot.duration else (item.end - time) / _OPENING
            found[item.target] = min(1.0, since, until)
    return found


def step_times(performance: Performance) -> list[float]:
    """Return the times of a performer's footsteps, in seconds of the shot."""
    times = []
    for walk in performance.walks:
        step = _GAIT / 2 * size_at(walk.goal[1]) * performance.actor.look.height
        count = int(math.dist(walk.origin, walk.goal) / step)
        times += [walk.start + (walk.end - walk.start) * (number + 0.5) / max(count, 1) for number in range(count)]
    return times


def size_at(y: float) -> float:
    """Return the height in pixels of an average person whose feet are at ``y``."""
    return _SIZE * (1 + (y - _NEAR) * _GROWTH)


def _progress(walk: Walk, time: float) -> float:
    return min(1.0, max(0.0, (time - walk.start) / (walk.end - walk.start)))


def _stance(shot: Shot, performance: Performance, time: float) -> Stance:
    feet = _feet(performance, time)
    size = size_at(feet[1])
    walk = next((walk for walk in performance.walks if walk.start <= time < walk.end), None)
    line = next((line for line in shot.lines if line.speaker == performance.actor and _now(line, time)), None)
    gesture = next((gesture for gesture in performance.gestures if _now(gesture, time)), None)
    carry = next((carry for carry in performance.carries if _now(carry, time)), None)
    worn = {wear.prop.category: wear.prop for wear in performance.wears if _now(wear, time)}
    seated, seat_facing = _seated(performance, time)
    height = size * performance.actor.look.height
    walked = sum(math.dist(walk.origin, walk.goal) * _progress(walk, time) for walk in performance.walks)
    rest = _HANGING if carry is None else _HOLDING
    pose = Pose(
        facing=seat_facing or _facing(performance, walk or gesture or line, time),
        stride=_stride(walk, time),
        phase=walked / (_GAIT * height) * 2 * math.pi,
        mouth=abs(math.sin(time * 11.0)) * abs(math.sin(time * 3.1 + 0.6)) if line else 0.0,
        holds=carry.prop if carry else None,
        seated=seated,
        hat=worn.get("hat"),
        scarf=worn.get("scarf"),
    )
    if gesture is not None:
        arm: ArmAngles | None = _gesturing(gesture, carry, pose, rest, feet, height, time)
    else:
        arm = _arm(walk, line, rest, time)
    return Stance(actor=performance.actor, feet=feet, size=size, pose=replace(pose, arm=arm))


def _now(item: Gesture | Line | Carry, time: float) -> bool:
    return item.start <= time < item.end


def _seated(performance: Performance, time: float) -> tuple[float, int]:
    """Return how far the actor is seated, 0 to 1, and the direction (1 right, -1 left, 0 if upright)."""
    changes = sorted(
        (gesture for gesture in performance.gestures if gesture.kind in {"sits down", "stands up"}),
        key=lambda gesture: gesture.start,
    )
    begun = [gesture for gesture in changes if gesture.start <= time]
    if not begun:
        return (1.0, changes[0].facing) if changes and changes[0].kind == "stands up" else (0.0, 0)
    last = begun[-1]
    part = min(1.0, (time - last.start) / (last.end - last.start))
    amount = part * part * (3 - 2 * part)
    amount = amount if last.kind == "sits down" else 1 - amount
    return amount, last.facing if amount > 0 else 0


def _feet(performance: Performance, time: float) -> tuple[float, float]:
    begun = [walk for walk in performance.walks if walk.start <= time]
    walk = begun[-1] if begun else performance.walks[0]
    part = _progress(walk, time)
    x = walk.origin[0] + (walk.goal[0] - walk.origin[0]) * part
    y = walk.origin[1] + (walk.goal[1] - walk.origin[1]) * part
    return x, y


def _stride(walk: Walk | None, time: float) -> float:
    if walk is None:
        return 0.0
    return min(1.0, (time - walk.start) / _SETTLE, (walk.end - time) / _SETTLE)


def _facing(performance: Performance, doing: Walk | Gesture | Line | None, time: float) -> int:
    """Return the direction of a person: that of the present action, or else of the last one."""
    if doing is not None:
        return doing.facing
    every: list[Walk | Gesture] = [*performance.walks, *performance.gestures]
    done = [item for item in every if item.end <= time]
    return max(done, key=lambda item: item.end).facing if done else 1


def _arm(walk: Walk | None, line: Line | None, rest: ArmAngles, time: float) -> ArmAngles | None:
    """Return the angles of the near arm, or None if it swings with the walk; ``rest`` is its position at rest."""
    if rest is not _HANGING:
        return rest
    if line is not None:
        beat = math.sin(time * 6.0) * math.sin(math.pi * (time - line.start) / (line.end - line.start))
        return ArmAngles(upper=0.18 + 0.1 * beat, fore=0.85 + 0.4 * beat)
    return None if walk is not None else rest


def _gesturing(
    gesture: Gesture, carry: Carry | None, pose: Pose, rest: ArmAngles, feet: Point, height: float, time: float
) -> ArmAngles:
    """Return the near arm's angles at ``time``, on its way from ``rest`` to the place of the gesture and back."""
    part = (time - gesture.start) / (gesture.end - gesture.start)
    amount = math.sin(math.pi * part)
    if gesture.place is None:
        worn_at = _AT_THE_NECK if gesture.prop is not None and gesture.prop.category == "scarf" else _AT_THE_HEAD
        up = ArmAngles(upper=-2.35, fore=-2.75 + 0.3 * math.sin(time * 12.0))
        there = {"waves": up, "drinks": _AT_THE_MOUTH, "puts on": worn_at, "takes off": worn_at}.get(gesture.kind, rest)
        return _between(rest, there, min(1.0, 2.2 * amount))
    grip = (0.0, 0.0) if gesture.kind in _HANDLES else grip_of(carry.prop if carry else gesture.prop)
    place = gesture.place
    if gesture.kind == "receives":
        place = place[0] - gesture.facing * _SNATCH, place[1]
    there = arm_towards(place, feet, height, gesture.facing, grip=grip, sunk=pose.sunk)
    if gesture.kind in _HANDLES:
        amount = min(1.0, 1.3 * amount)
    elif gesture.kind in _BRIEF:
        amount *= amount
    return _between(rest, there, amount)


def _between(first: ArmAngles, second: ArmAngles, part: float) -> ArmAngles:
    return ArmAngles(
        upper=first.upper + (second.upper - first.upper) * part, fore=first.fore + (second.fore - first.fore) * part
    )


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A person or a thing in one frame. ``box`` includes parts that another figure covers."""

    subject: Actor | Prop
    box: Box


@dataclass(frozen=True, kw_only=True)
class DrawnFrame:
    """One frame; ``time`` is in seconds from the film's start."""

    time: float
    image: Image
    sightings: tuple[Sighting, ...]


def backdrop_of(part: Shot | Card) -> Backdrop:
    """Return the picture of a shot's room, without people and movable things, or the picture of the card."""
    return paint_card(part) if isinstance(part, Card) else paint_room(part.room)


def frames_of_part(part: Shot | Card, backdrop: Backdrop, *, start: float, frame_rate: int) -> Iterator[DrawnFrame]:
    """Yield the frames of a part that begins ``start`` seconds into the film.

    Images may be shared between frames and must not be changed.
    """
    # The layers before the first one that differs from the last frame are reused.
    last: list[tuple[_Layer, Image, list[tuple[Actor | Prop, Box | None]]]] = []
    for number in range(round(start * frame_rate), round((start + part.duration) * frame_rate)):
        time = number / frame_rate
        layers = _layers(part, time - start) if isinstance(part, Shot) else []
        same = takewhile(lambda pair: pair[0][0] == pair[1], zip(last, layers, strict=False))
        last = [painted for painted, _ in same]
        image = last[-1][1] if last else backdrop.image
        for layer in layers[len(last) :]:
            image = image.copy()
            last.append((layer, image, list(_paint(image, layer))))
        seen = [Sighting(subject=who, box=box) for _, _, found in last for who, box in found if box is not None]
        yield DrawnFrame(time=time, image=image, sightings=tuple(seen))


#: A person, or with its room's plan a thing, or furniture by name and how far it is open (0 to 1). Equal layers look
#: the same on the same background.
_Layer: TypeAlias = tuple[RoomPlan, str, float] | tuple[RoomPlan, Resting] | Stance


def _paint(image: Image, layer: _Layer) -> Iterator[tuple[Actor | Prop, Box | None]]:
    if isinstance(layer, Stance):
        person, things = paint_person(image, layer.actor.look, layer.pose, layer.feet, layer.size)
        yield layer.actor, person
        yield from things
    elif len(layer) == 3:
        paint_open(image, *layer)
    else:
        plan, item = layer
        hangs = any(spot.kind == "hook" and spot.place == item.place for spot in plan.spots)
        yield item.prop, paint_prop(image, item.prop, item.place, hangs=hangs)


def _layers(shot: Shot, time: float) -> list[_Layer]:
    """Return what is painted ``time`` seconds into the shot: open furniture, things, then people from far to near."""
    plan = plan_of(shot.room.kind, shot.room.variant)
    stances = [_stance(shot, performance, time) for performance in shot.performances]
    on_stage = [stance for stance in stances if -_OUTSIDE < stance.feet[0] < WIDTH + _OUTSIDE]
    return [
        *((plan, target, amount) for target, amount in _open_at(shot, time).items()),
        *((plan, item) for item in shot.resting if _now(item, time)),
        *sorted(on_stage, key=lambda stance: stance.feet[1]),
    ]
