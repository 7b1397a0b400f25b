"""Profiles: which backends stand behind the ports, and the two things everybody does - build a world, open a session.

This is the one place where adapters are chosen; the rooms below know only the ports. What takes long to import is imported where
it is used: a build has processes get ready meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from world_api.build.stage_process import BuildProcesses
from world_api.core.faults import MediaFault, StoreFault, VideoWorldError
from world_api.core.identifiers import check_session_name, is_name, video_id_from_file_name
from world_api.core.ports import Clock, TextEmbedder
from world_api.options import BuildOptions

if TYPE_CHECKING:
    from world_api.build.builder import BuildReport
    from world_api.build.scheduler import Progress
    from world_api.build.stage import Recipe
    from world_api.search.captions import Meanings
    from world_api.session.session import Session
    from world_api.session.vision import FrameLooker, Vision, VisionConfig
    from world_api.world.store import World


def build_world(
    video: Path | str,
    store: Path | str,
    *,
    progress: Progress,
    clock: Clock,
    video_id: str | None = None,
    options: BuildOptions | None = None,
) -> BuildReport:
    """Build a world and keep what its readers need beside it.

    ``video`` is a file, or the address of a stream to follow.

    Raises:
        MediaFault, StoreFault, BackendFault: as ``world_api.build`` names them.
    """
    from world_api import recipes
    from world_api.build.stage_process import BuildProcesses

    chosen = options or BuildOptions()
    recipe = recipes.recipe_for(chosen.profile, chosen.listening, without=chosen.without)
    with closing(BuildProcesses(chosen.limits, recipe.apart)) as processes:
        if chosen.following is None:
            processes.start()  # first of all, while this process imports what it needs
        return _build_world(video, Path(store), progress, clock, video_id, chosen, recipe, processes)


def _build_world(
    video: Path | str,
    store: Path,
    progress: Progress,
    clock: Clock,
    video_id: str | None,
    chosen: BuildOptions,
    recipe: Recipe,
    processes: BuildProcesses,
) -> BuildReport:
    from world_api.build import builder, following
    from world_api.build.source import recording_of
    from world_api.search.documents import prepare

    address = str(video) if following.is_address(str(video)) else None
    path = Path(video).expanduser() if address is None else Path(PurePosixPath(address).name)
    name = video_id if video_id is not None else video_id_from_file_name(path.stem)
    if address is not None:
        path = Path(chosen.record) if chosen.record is not None else recording_of(store, name)
    job = builder.Job(
        video=path,
        store=store,
        name=name,
        recipe=recipe,
        force=chosen.force,
        progress=progress,
        clock=clock,
        limits=chosen.limits,
        waits=chosen.waits,
        processes=processes,
    )
    if address is not None and chosen.following is None:
        raise MediaFault("no_file", f"{address} is no file", hint="a stream is followed: add --follow --allow-network")
    if chosen.following is None:
        report = builder.build_world(job)
    elif address is None:
        report = following.follow_world(job, chosen.following)
    else:
        report = following.follow_stream(job, address, chosen.following)
    try:
        prepare(store, report.video_id, text_embedder())
    except StoreFault as fault:
        # The world is whole without it; its readers make in memory what is not there.
        progress.say(f"nothing is kept beside the world, so opening it takes longer: {fault.message}")
    return report


def reindex(store: Path | str) -> int:
    """Make the catalogue, and what is kept beside each world, again from the rows; how many segments there are.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``, ``catalogue_damaged``.
    """
    from world_api.search import catalogue
    from world_api.search.documents import prepare_all

    store = Path(store)
    prepare_all(store, text_embedder(), rebuild=True)
    return catalogue.rebuild(store)


def open_session(
    store: Path | str,
    video_id: str,
    *,
    as_of: float | None = None,
    name: str | None = "default",
    groups: Collection[str] = (),
    seeing: VisionConfig | None = None,
) -> Session:
    """Open a session on a stored world. ``name`` None keeps what it writes in memory only.

    ``groups`` are the optional groups of operations that are on beside the sixteen. With ``seeing`` a model looks at
    frames when an operation asks for what rows do not say; without it none ever does.

    Raises:
        StoreFault: ``bad_video_id``, ``no_such_world``, ``other_schema_version``, ``world_damaged``, ``bad_session_name``.
        OperationFault: ``bad_as_of``, ``unknown_group``.
    """
    from world_api.operations import check_groups
    from world_api.session.overlay import Overlay, open_overlay
    from world_api.session.session import Backends, Session
    from world_api.world.store import open_world
    from world_api.world.view import open_view

    store = Path(store)
    world = open_world(store, video_id)
    overlay = Overlay(None) if name is None else open_overlay(store, video_id, check_session_name(name))
    backends = Backends(
        text_embedder=text_embedder(),
        looker=_looker(store, world),
        seeing=None if seeing is None else _seeing(store, world, seeing),
        meanings=None if seeing is None else _meanings(store, seeing),
    )
    return Session(
        view=open_view(world, as_of),
        overlay=overlay,
        backends=backends,
        name=name or "unnamed",
        groups=check_groups(groups),
    )


def ensure_world(video: Path | str, store: Path | str, *, progress: Progress, clock: Clock) -> str:
    """The id of the world that an id or a video file names; a file's world is built first where it is not there.

    A world of that very file is taken as it is, whatever it was built with. A name with a suffix that is neither is ``no_such_file``.

    Raises:
        MediaFault, StoreFault, BackendFault: as building and opening name them.
    """
    from world_api.world.store import open_world

    path, store, video = Path(video), Path(store), str(video)
    if is_name(video) and not path.is_file():
        try:
            return open_world(store, video).manifest.video_id
        except StoreFault as fault:
            if fault.code != "no_such_world" or not path.suffix:
                raise
            said = f"there is no file {video!r} here, and no world of that name"
            raise MediaFault("no_such_file", said, hint="check the path of the video") from None
    if (there := world_of_file(path, store)) is not None:
        return there.manifest.video_id
    return build_world(path, store, progress=progress, clock=clock, options=BuildOptions(waits=True)).video_id


def world_of_file(video: Path, store: Path) -> World | None:
    """The complete world of a file, where it has the file's name; None where the store has none."""
    from world_api.core.files import hash_file
    from world_api.world.store import open_world

    try:
        world = open_world(store, video_id_from_file_name(video.expanduser().stem))
        is_same = (
            world.manifest.complete
            and video.expanduser().is_file()
            and world.manifest.source.sha256 == hash_file(video.expanduser())
        )
    except (VideoWorldError, OSError):
        return None  # building says what is wrong
    return world if is_same else None


def text_embedder() -> TextEmbedder:
    """The text embedder of the profiles that download nothing."""
    from world_api.backends.classical import HashedTextEmbedder

    return HashedTextEmbedder()


def _looker(store: Path, world: World) -> FrameLooker | None:
    """On-demand detection, where this machine still has the source video."""
    source = source_path(world)
    if source is None:
        return None
    from world_api.backends.classical import ClassicalDetector
    from world_api.media.decoder import VideoFrames
    from world_api.session.vision import FOLDER, FrameLooker, world_key

    return FrameLooker(
        frames=VideoFrames(source),
        detector=ClassicalDetector(),
        world_key=world_key(world.manifest),
        cache=store / FOLDER,
    )


def _seeing(store: Path, world: World, eyes: VisionConfig) -> Vision:
    """A model that looks, at the source video where this machine still has it; what was kept is told without."""
    from world_api.media.decoder import VideoFrames
    from world_api.session.vision import FOLDER, Vision, world_key

    source = source_path(world)
    frames = None if source is None else VideoFrames(source)
    return Vision(eyes, frames=frames, world_key=world_key(world.manifest), cache=store / FOLDER)


def _meanings(store: Path, eyes: VisionConfig) -> Meanings | None:
    from world_api.search.captions import Meanings
    from world_api.session.vision import FOLDER

    return None if eyes.embedder is None else Meanings(eyes.embedder, store / FOLDER / "meanings")


def source_path(world: World) -> Path | None:
    """Where this machine keeps the world's video, or None where it does not (any more)."""
    from world_api.build.source import find_source

    return find_source(world.folder, world.manifest)
