"""How long building the worlds of a run may take: under assumptions that are told, as no world says how long it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eval.runs.planning.plan import WorldNeeded
from eval.runs.running.worlds import PERCEIVED, TRUE
from world_api.core.faults import MediaFault
from world_api.media.decoder import MediaWorker

#: Seconds that a minute of video is assumed to take, of 640 x 360 on an ordinary machine that does nothing else.
_A_MINUTE: Mapping[str, float] = {TRUE: 2.0, PERCEIVED: 8.0}
_EACH = 1.0  #: and each world beside that
_MOST_LOOKED_AT = 20  #: videos whose length is looked up; the others are taken to be as long as these are on average


@dataclass(frozen=True, kw_only=True)
class Building:
    """The worlds that are to be built, by profile, and the seconds they may take; ``basis`` says what that rests on."""

    worlds: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    basis: str = ""


def building_of(worlds: Sequence[WorldNeeded]) -> Building:
    """What building the missing ones may take. One is built after the other."""
    missing = [world for world in worlds if world.hash is None]
    films = {world.video.video_id: world.video.path for world in missing if world.video.path is not None}
    minutes = _mean_minutes(list(films.values()))
    seconds = _EACH * len(missing)
    rates: dict[str, float] = {}
    for world in missing:
        if world.video.text is None and world.video.path is not None:
            rates[world.profile] = _A_MINUTE.get(world.profile, _A_MINUTE[PERCEIVED])
            seconds += rates[world.profile] * (minutes or 0.0)
    told = [f"{rate:g} s a minute of {profile} world" for profile, rate in rates.items()]
    if rates:
        told.append(
            f"films of {minutes:.1f} minutes" if minutes is not None else "no film could be read, so without them"
        )
    return Building(
        worlds=Counter(world.profile for world in missing),
        seconds=seconds,
        basis="assumed: " + ", ".join([*told, f"{_EACH:g} s a world"]) if missing else "",
    )


def _mean_minutes(films: Sequence[Path]) -> float | None:
    """The mean length of some of the films, as their files say; None where none does."""
    step = max(1, -(-len(films) // _MOST_LOOKED_AT))
    worker, found = MediaWorker(), list[float]()
    try:
        for film in films[::step]:
            try:
                length = worker.probe(film).declared_duration
            except MediaFault:
                continue  # building it will name it
            found += [length / 60] if length is not None else []
    finally:
        worker.close()
    return sum(found) / len(found) if found else None
