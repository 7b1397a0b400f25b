"""People, and the things they carry and wear.

Lengths of people are in heights of the person, upwards from the floor between the feet; those of things are in units of
60 pixels from the lower middle of the thing. Angles are radians, 0 for hanging straight down, positive in the direction
in which the person looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from eval.sandbox.canvas import COLOURS, HAIRS, SKINS, Colour, Point, Sheet, hexa, shade
from eval.sandbox.room_plans import HANGING
from eval.sandbox.script import Look, Prop
from world_api.core.ports import Image
from world_api.core.spans import Box
from world_api.core.yaml_text import packaged_yaml


def paint_hat(sheet: Sheet, hat: Prop, head: Point, facing: int) -> Box:
    """Paint a hat on a head around ``head`` (point of the sheet); ``facing`` as in ``Pose``; return its box in pixels of the frame."""
    colour, (x, y) = COLOURS[hat.colour], head
    x -= facing * 0.012
    crown = [((x + side * 0.05, y + up), 0.022) for side in (-1, 1) for up in (0.062, 0.125)]
    sheet.hull(crown, colour)
    sheet.rectangle(x - 0.07, y + 0.05, x + 0.07, y + 0.072, shade(colour, 0.5), flat=True)
    sheet.hull([((x - 0.095, y + 0.042), 0.014), ((x + 0.105, y + 0.042), 0.014)], shade(colour, 0.9))
    return _box_of(sheet, x - 0.11, y + 0.03, x + 0.12, y + 0.147)


def paint_scarf(sheet: Sheet, scarf: Prop, neck: Point, facing: int) -> Box:
    """Paint a scarf around ``neck`` (point of the sheet); ``facing`` as in ``Pose``; return its box in pixels of the frame."""
    colour, (x, y) = COLOURS[scarf.colour], neck
    end = (x + facing * 0.052, y - 0.2)
    sheet.hull([((x + facing * 0.04, y - 0.02), 0.024), (end, 0.028)], colour)
    sheet.rectangle(end[0] - 0.03, end[1] + 0.02, end[0] + 0.03, end[1] + 0.034, shade(colour, 0.5), flat=True)
    sheet.hull([((x - 0.052, y), 0.03), ((x + 0.06, y), 0.03)], shade(colour, 0.94))
    return _box_of(sheet, x - 0.085, y - 0.23, x + 0.09, y + 0.03)


def _box_of(sheet: Sheet, left: float, low: float, right: float, high: float) -> Box:
    x, y = sheet.feet
    return Box(x1=x + left * sheet.size, y1=y - high * sheet.size, x2=x + right * sheet.size, y2=y - low * sheet.size)


WHITE = hexa("#f0ece2")  #: the colour of shirts and paper
_UNIT = 60.0  #: pixels
#: The shapes of each kind of thing (``props.yaml``).
_PROPS: Mapping[str, Sequence[Mapping[str, Any]]] = packaged_yaml("eval.sandbox", "props.yaml")
#: Offset from the hand to the lower middle of the thing it holds: pixels forwards and down.
GRIP = (4.0, 12.0)
_GRIPS: dict[str, Point] = {"bag": (3.0, 44.0), "umbrella": (3.0, 30.0), "scarf": (3.0, 34.0), "key": (3.0, 26.0)}
#: Heights in pixels of things that hang from a hook by their top.
_HEIGHTS = {"bag": 47.0, "umbrella": 54.0, "scarf": 46.0, "key": 32.0, "hat": 25.0}


def grip_of(prop: Prop | None) -> Point:
    """Return the pixels (forwards, down) from a hand to the lower middle of the thing it holds (``prop``; None: a usual one)."""
    return _GRIPS.get(prop.category, GRIP) if prop else GRIP


def paint_prop(frame: Image, prop: Prop, place: Point, *, hangs: bool = False) -> Box | None:
    """Paint a thing with its lower middle at ``place``; return its visible box, None if too little is in the frame.

    If it ``hangs``, ``place`` is ``HANGING`` pixels below its hook.
    """
    if hangs:
        place = (place[0], place[1] - HANGING + _HEIGHTS.get(prop.category, HANGING))
    sheet = Sheet(place, _UNIT)
    for shape in _PROPS.get(prop.category, _PROPS["folder"]):
        _paint_shape(sheet, shape, COLOURS[prop.colour], COLOURS[prop.label] if prop.label else None)
    return sheet.stamp(frame)


def _paint_shape(sheet: Sheet, shape: Mapping[str, Any], own: Colour, label: Colour | None) -> None:
    """Paint a shape of ``props.yaml`` in the colours of a thing (``own``) and of its label."""
    if shape.get("only") not in (None, "plain" if label is None else "labelled"):
        return
    named, flat = shape["colour"], shape.get("flat", False)
    colour = shade(own, named) if isinstance(named, float) else {"own": own, "label": label, "white": WHITE}.get(named)
    colour = colour or hexa(named)
    if "hull" in shape:
        sheet.hull([((x, y), radius) for x, y, radius in shape["hull"]], colour, flat=flat)
    elif "rectangle" in shape:
        (x1, y1), (x2, y2) = shape["rectangle"]
        sheet.rectangle(x1, y1, x2, y2, colour, flat=flat)
    else:
        sheet.polygon(shape["polygon"], colour, flat=flat)


_THIGH, _SHIN, _ANKLE = 0.245, 0.225, 0.035
_UPPER_ARM, _FOREARM, _PALM = 0.165, 0.15, 0.022
_SEATED_THIGH = 1.45  #: radians
#: Angle of the legs and breadth of people; with closed legs a person would look like a post.
_ASTRIDE, _BROAD = 0.21, 1.1
_SHOULDER, _HEAD = 0.795, 0.91
_NEAR_SHOULDER = (-0.035, _SHOULDER - 0.02)


@dataclass(frozen=True, kw_only=True)
class ArmAngles:
    """The angles of an upper arm and its forearm, in radians."""

    upper: float
    fore: float


@dataclass(frozen=True, kw_only=True)
class Pose:
    """A person's pose: ``facing`` 1 right or -1 left, ``stride`` 0 (at rest) to 1, ``phase`` of the gait in radians.

    ``arm`` replaces the swing of the near arm; ``mouth`` is 0 (closed) to 1 (open); ``seated`` is 0 (upright) to 1.
    """

    facing: int
    stride: float = 0.0
    phase: float = 0.0
    arm: ArmAngles | None = None
    mouth: float = 0.0
    holds: Prop | None = None
    seated: float = 0.0
    hat: Prop | None = None
    scarf: Prop | None = None

    @property
    def sunk(self) -> float:
        """How much lower the shoulders are than those of an upright person, in heights of the person."""
        return _THIGH * (1 - math.cos(_SEATED_THIGH * self.seated))


def paint_person(
    frame: Image, look: Look, pose: Pose, feet: Point, size: float
) -> tuple[Box | None, list[tuple[Prop, Box | None]]]:
    """Paint a person; return the boxes (pixels) of the person and of things held or worn.

    The person is ``size`` times ``look.height`` pixels high. A box is None if too little is inside the frame.
    """
    _ground_shadow(frame, feet, size)
    sheet = Sheet(feet, size * look.height, broad=_BROAD)
    hip, ankles = _legs(pose)
    lift = hip - (0.035 + _THIGH + _SHIN)
    _paint_arm(sheet, look, replace(pose, arm=None, phase=pose.phase + math.pi), lift, far=True)
    _paint_leg(sheet, look, pose, ankles[1], hip, far=True)
    _paint_leg(sheet, look, pose, ankles[0], hip, far=False)
    _paint_body(sheet, look, pose, hip, lift)
    worn = _paint_head(sheet, look, pose, lift)
    end = _paint_arm(sheet, look, pose, lift, far=False)
    person = sheet.stamp(frame)
    things: list[tuple[Prop, Box | None]] = []
    if pose.holds is not None:
        grip = (feet[0] + end[0] * sheet.size * sheet.broad, feet[1] - end[1] * sheet.size)
        forward, down = grip_of(pose.holds)
        things.append((pose.holds, paint_prop(frame, pose.holds, (grip[0] + forward * pose.facing, grip[1] + down))))
    return person, [*things, *(_inside(worn, frame) if person is not None else ())]


def _inside(worn: list[tuple[Prop, Box]], frame: Image) -> list[tuple[Prop, Box]]:
    """Return the boxes whose middle is between the left and right edges of the frame, cut to the frame."""
    whole = Box(x1=0.0, y1=0.0, x2=float(frame.shape[1]), y2=float(frame.shape[0]))
    cut = ((prop, box.common(whole)) for prop, box in worn if 0 < box.center[0] < whole.x2)
    return [(prop, part) for prop, part in cut if part is not None]


def _ground_shadow(frame: Image, feet: Point, size: float) -> None:
    half, flat = int(size * 0.2), int(size * 0.07)
    x, y = round(feet[0]), round(feet[1])
    x1, y1, x2, y2 = max(x - half, 0), max(y - flat, 0), min(x + half, frame.shape[1]), min(y + flat, frame.shape[0])
    if x2 <= x1 or y2 <= y1:
        return
    rows, columns = np.mgrid[y1:y2, x1:x2].astype(np.float32)
    distance = np.sqrt(((columns - feet[0]) / half) ** 2 + ((rows - feet[1]) / flat) ** 2)
    dark = 1 - 0.42 * np.clip(1 - distance, 0, 1) ** 0.8
    frame[y1:y2, x1:x2] = (frame[y1:y2, x1:x2] * dark[:, :, None]).astype(np.uint8)


def arm_towards(
    thing: Point, feet: Point, height: float, facing: int, *, grip: Point = GRIP, sunk: float = 0.0
) -> ArmAngles:
    """Return the angles of an arm that holds a thing at a place, or points to it (two links, law of cosines).

    ``thing`` is the lower middle of the thing, ``grip`` the offset from the hand to it, ``feet`` and ``height`` those
    of the person; all in pixels. ``sunk`` as in ``Pose``.
    """
    forward = (facing * (thing[0] - feet[0]) - grip[0]) / (height * _BROAD) - _NEAR_SHOULDER[0]
    down = _NEAR_SHOULDER[1] - sunk - (feet[1] - thing[1] + grip[1]) / height
    near, far = _UPPER_ARM, _FOREARM + _PALM
    distance = min(max(math.hypot(forward, down), far - near + 1e-3), near + far - 1e-3)
    aim = math.atan2(forward, down)
    bend = math.acos((near**2 + distance**2 - far**2) / (2 * near * distance))
    fore = math.acos((far**2 + distance**2 - near**2) / (2 * far * distance))
    return ArmAngles(upper=aim - bend, fore=aim + fore)


_Leg: TypeAlias = tuple[float, float]  #: the angles of a thigh and its shin


def _legs(pose: Pose) -> tuple[float, tuple[_Leg, _Leg]]:
    """Return the hip's height above the floor, in heights of the person, and the angles of the near and far leg."""
    if pose.seated > 0:
        bent = _SEATED_THIGH * pose.seated
        return _THIGH * math.cos(bent) + _SHIN + _ANKLE, ((bent, 0.0), (bent, 0.0))
    legs = []
    for half in (0.0, math.pi):
        swing = pose.phase + half
        thigh = pose.stride * 0.44 * math.sin(swing) + (1 - pose.stride) * _ASTRIDE * (1 if half == 0 else -1)
        bend = pose.stride * (0.1 + 0.85 * max(0.0, math.cos(swing)) ** 1.4)
        legs.append((thigh, thigh - bend))
    height = max(_THIGH * math.cos(thigh) + _SHIN * math.cos(shin) for thigh, shin in legs)
    return height + _ANKLE, (legs[0], legs[1])


def _limb(origin: Point, angle: float, length: float, facing: int) -> Point:
    return origin[0] + facing * math.sin(angle) * length, origin[1] - math.cos(angle) * length


def _paint_leg(sheet: Sheet, look: Look, pose: Pose, leg: _Leg, hip: float, *, far: bool) -> None:
    cloth = shade(COLOURS[look.trousers], 0.78 if far else 1.0)
    shoe = shade(hexa("#3b2f2a"), 0.85 if far else 1.1)
    apart = pose.facing * (0.022 if pose.stride == 0 else 0.008)
    start = (-apart if far else apart, hip)
    thigh, shin = leg
    knee = _limb(start, thigh, _THIGH, pose.facing)
    ankle = _limb(knee, shin, _SHIN, pose.facing)
    lift = shin * 0.5
    toe = (ankle[0] + pose.facing * 0.062 * math.cos(lift), ankle[1] - 0.015 + 0.062 * math.sin(max(lift, -0.6)))
    sheet.hull([((ankle[0] - pose.facing * 0.012, ankle[1] - 0.012), 0.024), (toe, 0.017)], shoe)
    sheet.hull([(start, 0.054), (knee, 0.041)], cloth)
    sheet.hull([(knee, 0.041), (ankle, 0.028)], cloth)


def _paint_body(sheet: Sheet, look: Look, pose: Pose, hip: float, lift: float) -> None:
    coat, side = COLOURS[look.coat], pose.facing
    sway = 0.012 * pose.stride * math.sin(pose.phase)
    hem = hip - 0.07 * (1 - 0.75 * pose.seated)
    shoulder, front = _SHOULDER + lift, side * 0.03
    for half, y, radius, low_half, low, low_radius, shift in (
        (0.078, shoulder - 0.015, 0.03, 0.066, hip + 0.05, 0.03, 0.0),
        (0.062, hip + 0.06, 0.032, 0.078, hem, 0.022, sway),
    ):
        upper = [((x, y), radius) for x in (-half, half)]
        sheet.hull([*upper, *(((x + shift, low), low_radius) for x in (-low_half, low_half))], coat)
    seam = [(front, shoulder), (front + 0.004, hem - 0.02), (front - 0.004, hem - 0.02)]
    sheet.polygon(seam, shade(coat, 0.6), flat=True)
    for button in (0.70, 0.63, 0.56):
        sheet.hull([((front + side * 0.016, button + lift), 0.0075)], shade(coat, 0.5), flat=True)
    sheet.rectangle(-0.092, hip + 0.088, 0.092, hip + 0.068, shade(coat, 0.66), flat=True)
    collar = [(front - 0.05, shoulder + 0.016), (front + 0.05, shoulder + 0.016), (front, shoulder - 0.07)]
    sheet.polygon(collar, WHITE, flat=True)


def _paint_head(sheet: Sheet, look: Look, pose: Pose, lift: float) -> list[tuple[Prop, Box]]:
    """Paint the head, raised by ``lift`` (heights of the person), with worn hat and scarf; return their boxes (frame's pixels)."""
    skin, hair, side = SKINS[look.skin], HAIRS[look.hair], pose.facing
    x, y = side * 0.014, _HEAD + lift
    if look.hair_style == "long":
        back = [((x - side * 0.02, y + 0.02), 0.078), ((x - side * 0.055, y - 0.1), 0.034), ((x, y - 0.1), 0.03)]
        sheet.hull(back, hair)
    if look.hair_style == "bun":
        sheet.hull([((x - side * 0.078, y + 0.045), 0.036)], hair)
    sheet.hull([((0.0, _SHOULDER + lift + 0.01), 0.03), ((x, y - 0.05), 0.03)], shade(skin, 0.88))
    sheet.hull([((x, y + 0.012), 0.066), ((x + side * 0.008, y - 0.026), 0.05)], skin)
    sheet.hull([((x + side * 0.066, y - 0.008), 0.011)], skin, flat=True)
    fringe = ((-0.03, 0.034, 0.05), (0.018, 0.058, 0.03), (-0.052, -0.005, 0.02))
    sheet.hull([((x + side * forward, y + up), radius) for forward, up, radius in fringe], hair)
    for place in (0.012, 0.048):
        sheet.hull([((x + side * place, y + 0.002), 0.0085)], hexa("#2b2622"), flat=True)
        brow = (x + side * place, y + 0.023)
        sheet.hull([((brow[0] - 0.011, brow[1]), 0.0035), ((brow[0] + 0.011, brow[1]), 0.0035)], hair, flat=True)
    mouth = (x + side * 0.034, y - 0.037)
    gap = 0.003 + 0.009 * pose.mouth
    sheet.hull([((mouth[0] - 0.014, mouth[1]), gap), ((mouth[0] + 0.012, mouth[1]), gap)], hexa("#8c3f38"), flat=True)
    worn = []
    if pose.scarf is not None:
        worn.append((pose.scarf, paint_scarf(sheet, pose.scarf, (0.0, _SHOULDER + lift + 0.012), side)))
    if pose.hat is not None:
        worn.append((pose.hat, paint_hat(sheet, pose.hat, (x, y), side)))
    return worn


def _paint_arm(sheet: Sheet, look: Look, pose: Pose, lift: float, *, far: bool) -> Point:
    """Paint the far or near arm, raised by ``lift`` (heights of the person); return its hand's position on the sheet."""
    swing = -pose.stride * 0.5 * math.sin(pose.phase)
    arm = pose.arm or ArmAngles(upper=swing, fore=swing + 0.15 + 0.3 * pose.stride)
    cloth = shade(COLOURS[look.coat], 0.72 if far else 0.92)
    shoulder = (pose.facing * (0.03 if far else _NEAR_SHOULDER[0]), _NEAR_SHOULDER[1] + lift)
    elbow = _limb(shoulder, arm.upper, _UPPER_ARM, pose.facing)
    wrist = _limb(elbow, arm.fore, _FOREARM, pose.facing)
    end = _limb(wrist, arm.fore, _PALM, pose.facing)
    sheet.hull([(end, 0.023)], shade(SKINS[look.skin], 0.85 if far else 1.0))
    sheet.hull([(shoulder, 0.04), (elbow, 0.032)], cloth)
    sheet.hull([(elbow, 0.032), (wrist, 0.026)], cloth)
    return end
