"""The worlds of a run, where this machine has them: for the pictures of a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eval.report.frames.pictures import Worlds
from eval.runs.reading import Run
from eval.runs.running.opened import configuration_of
from eval.runs.running.workshop import store_of
from eval.runs.running.worlds import store_for
from world_api.core.faults import VideoWorldError

if TYPE_CHECKING:
    from world_api.world.store import World


def worlds_of(run: Run, store: Path | None) -> Worlds:
    """Finds the world of a video in a store, or in that of the run's configuration; the one that has its video comes first.

    A world that is not the one of the run (it was built again, of another file) is not taken.
    """
    place = store if store is not None else _own_store(run)

    def find(video_id: str) -> World | None:
        from world_api.api import source_path

        known = run.manifest.worlds.get(video_id, {})
        found = [] if place is None else [_world(place, profile, video_id, known[profile]) for profile in sorted(known)]
        there = [world for world in found if world is not None]
        return min(there, key=lambda world: source_path(world) is None, default=None)

    return find


def _world(store: Path, profile: str, video_id: str, known: str) -> World | None:
    from world_api.world.store import open_world

    for place in (store_for(store, profile), store):
        try:
            world = open_world(place, video_id)
        except VideoWorldError:
            continue
        if world.manifest.world_hash == known:
            return world
    return None


def _own_store(run: Run) -> Path | None:
    """The store that the run was made with; None where nobody can tell any more, as in a bundle from elsewhere."""
    try:
        return store_of(configuration_of(run.folder))
    except VideoWorldError:
        return None
