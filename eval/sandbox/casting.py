"""Who plays in the film that ships, what they wear, and what the clocks show: all decided by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import get_args

from eval.sandbox.script import Actor, HairStyle, Look, Prop

_NAMES = ("Mia", "Tom", "Ana", "Leo", "Eva", "Ben", "Zoe", "Max", "Ida", "Sam")
_COATS = (("red", "pink"), ("yellow", "orange"), ("green",), ("blue", "purple"))  #: one of a group, to tell them apart
_FOLDERS = ("blue", "orange", "green", "red")


@dataclass(frozen=True, kw_only=True)
class Cast:
    """What the seed decides."""

    owner: Actor
    finder: Actor
    reader: Actor
    folder: Prop
    cup: Prop
    office: str
    clocks: tuple[str, str, str]  #: what the clocks show in the morning, then later, then later still
    meeting: str


def cast(seed: int) -> Cast:
    """Choose the cast; the same seed always chooses the same."""
    chance = random.Random(seed)
    folder = chance.choice(_FOLDERS)
    groups = [[coat for coat in group if coat != folder] for group in _COATS]
    coats = [chance.choice(group) for group in chance.sample([group for group in groups if group], 3)]
    names = chance.sample(_NAMES, 3)
    hairs = chance.sample(("black", "brown", "blond", "grey", "ginger"), 3)
    styles = chance.sample(get_args(HairStyle), 3)
    skins = chance.sample(("light", "tan", "dark"), 3)
    trousers = chance.sample(("black", "blue", "grey", "brown"), 3)
    actors = [
        Actor(
            name=names[number],
            look=Look(
                coat=coats[number],
                trousers=trousers[number],
                hair=hairs[number],
                hair_style=styles[number],
                skin=skins[number],
                height=chance.choice((0.96, 1.0, 1.04)),
            ),
            pitch=chance.choice((125.0, 155.0, 205.0, 235.0)),
        )
        for number in range(3)
    ]
    hour, minute = chance.randint(8, 10), chance.randint(0, 3) * 5
    return Cast(
        owner=actors[0],
        finder=actors[1],
        reader=actors[2],
        folder=Prop(name=f"{folder} folder", category="folder", colour=folder),
        cup=Prop(name="white cup", category="cup", colour="white"),
        office=str(chance.randint(10, 39)),
        clocks=(f"{hour:02d}:{minute:02d}", f"{hour:02d}:{minute + 15:02d}", f"{hour:02d}:{minute + 35:02d}"),
        meeting=f"{hour + 1:02d}:30",
    )
