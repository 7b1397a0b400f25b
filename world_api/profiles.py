"""Profiles: which backends stand behind the ports, and the two things everybody does - build a world, open a session.

This is the one place where adapters are chosen; the rooms below know only the ports.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.core.identifiers import check_session_name, is_name
from world_api.core.ports import Clock, TextEmbedder
from world_api.world.disk.stored import World, open_world
from world_api.world.search import catalogue
from world_api.world.sessions.commits import open_overlay
from world_api.world.sessions.on_demand import FrameLooker
from world_api.world.sessions.overlay import Overlay
from world_api.world.sessions.session import Backends, Session
from world_api.world.view import open_view

if TYPE_CHECKING:
    from world_api.build.builder import BuildReport, Progress

#: Where answers that were computed on demand are kept, inside the store and outside every world.
ON_DEMAND = ".on-demand"


def build_world(
    video: Path,
    store: Path,
    *,
    progress: Progress,
    clock: Clock,
    video_id: str | None = None,
    profile: str = "classical",
    force: bool = False,
) -> BuildReport:
    """Build a world and enter it into the store's catalogue.

    Raises:
        MediaFault, StoreFault, BackendFault: as ``world_api.build`` names them.
    """
    from world_api import recipes
    from world_api.build import builder

    report = builder.build_world(
        video,
        store,
        video_id=video_id,
        recipe=recipes.recipe_for(profile),
        force=force,
        progress=progress,
        clock=clock,
    )
    catalogue.enter(store, report.video_id)
    return report


def open_session(store: Path, video_id: str, *, as_of: float | None = None, name: str | None = "default") -> Session:
    """Open a session on a stored world. ``name`` None keeps what it writes in memory only.

    Raises:
        StoreFault: ``bad_video_id``, ``no_such_world``, ``other_schema_version``, ``world_damaged``, ``bad_session_name``.
        OperationFault: ``bad_as_of``.
    """
    world = open_world(store, video_id)
    overlay = Overlay(None) if name is None else open_overlay(store, video_id, check_session_name(name))
    backends = Backends(text_embedder=text_embedder(), looker=_looker(store, world))
    return Session(view=open_view(world, as_of), overlay=overlay, backends=backends, name=name or "unnamed")


def ensure_world(video: str, store: Path, *, progress: Progress, clock: Clock) -> str:
    """The id of the world that an id or a video file names; a file's world is built first where it is not there.

    Raises:
        MediaFault, StoreFault, BackendFault: as building and opening name them.
    """
    path = Path(video)
    if is_name(video) and not path.is_file():
        return open_world(store, video).manifest.video_id
    return build_world(path, store, progress=progress, clock=clock).video_id


def text_embedder() -> TextEmbedder:
    """The text embedder of the profiles that download nothing."""
    from world_api.backends.classical.text_embedder import HashedTextEmbedder

    return HashedTextEmbedder()


def _looker(store: Path, world: World) -> FrameLooker | None:
    """On-demand detection, where this machine still has the source video."""
    source = source_path(world)
    if source is None:
        return None
    from world_api.backends.classical.detector import ClassicalDetector
    from world_api.build.media.seek import VideoFrames

    return FrameLooker(
        frames=VideoFrames(source),
        detector=ClassicalDetector(),
        world_hash=world.manifest.world_hash,
        cache=store / ON_DEMAND,
    )


def source_path(world: World) -> Path | None:
    """Where this machine keeps the world's video, or None where it does not (any more)."""
    try:
        path = Path(json.loads((world.folder / "local.json").read_bytes())["source_path"])
        size = path.stat().st_size
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return path if size == world.manifest.source.bytes else None
