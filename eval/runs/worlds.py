"""The worlds of a run: build those that are missing, open sessions on them.

Each profile has a store of its own, since a video has one id in all of them: ``STORE/oracle/ID``, ``STORE/classical/ID``.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from eval.datasets.items import Item, VideoFile
from eval.datasets.subtitles import subtitles_to_build_with
from eval.datasets.text_worlds import text_world_is_there, write_text_world
from eval.ladder.oracle import operations_on
from world_api.core.faults import EvalFault, StoreFault
from world_api.core.identifiers import is_name

if TYPE_CHECKING:
    from world_api.build import Progress
    from world_api.core.ports import Clock
    from world_api.session.session import Session
    from world_api.session.vision import VisionConfig


TRUE, PERCEIVED = "oracle", "classical"
PROFILES = (TRUE, PERCEIVED)
#: Before the name of an operation that is answered from the truth, in an otherwise classical world.
LADDER = "oracle:"
#: Where subtitles that a dataset keeps in a form of its own are written for a build, inside the store.
_SUBTITLES = ".subtitles"


def profiles_of(world: str) -> tuple[str, ...]:
    """The profiles that worlds have to be built with.

    Raises:
        EvalFault: ``unknown_world``, ``unknown_rung``.
    """
    if world in PROFILES:
        return (world,)
    if world.startswith(LADDER):
        operations_on(world.removeprefix(LADDER))
        return PROFILES
    raise EvalFault(
        "unknown_world",
        f"there is no way {world[:60]!r} of making worlds",
        hint="one of: oracle, classical, oracle:OPERATION",
    )


def store_for(store: Path, profile: str) -> Path:
    """Where the worlds of a profile lie."""
    return store / profile


def open_for(
    store: Path, world: str, item: Item, *, groups: Collection[str] = (), seeing: VisionConfig | None = None
) -> Session:
    """A session on the world of a question's video, as of the question's moment; what it writes is kept in memory.

    Raises:
        StoreFault: as opening a world names it.
        OperationFault: ``bad_as_of``, ``unknown_group``.
    """
    from eval.ladder.oracle import open_ladder
    from world_api.api import open_session

    if world.startswith(LADDER):
        return open_ladder(
            store_for(store, PERCEIVED), item.video_id, world.removeprefix(LADDER),
            oracle=store_for(store, TRUE), as_of=item.question.as_of, groups=groups, seeing=seeing,
        )  # fmt: skip
    return open_session(
        store_for(store, world), item.video_id, as_of=item.question.as_of, name=None, groups=groups, seeing=seeing
    )


def hash_of(store: Path, profile: str, video: VideoFile) -> str | None:
    """The hash of a video's world that is there and complete; None where it is not.

    Raises:
        EvalFault: ``world_in_the_way``: the store has a world under that id which was made of something else.
        StoreFault: ``other_schema_version``, ``world_damaged``.
    """
    from world_api.world.store import open_world

    there = store_for(store, profile)
    if video.text is not None and not text_world_is_there(there, video.video_id, video.text):
        return None
    try:
        manifest = open_world(there, video.video_id).manifest
    except StoreFault as fault:
        if fault.code == "no_such_world":
            return None
        raise
    size = video.path.stat().st_size if video.path is not None and video.path.is_file() else None
    # A file of another size is another file; one of the same size is taken for the same, as reading it takes long.
    if video.text is None and size is not None and manifest.complete and size != manifest.source.bytes:
        raise EvalFault(
            "world_in_the_way",
            f"the {profile} world of {video.video_id} was made from another file",
            hint="give another `store`, or build it again: videoworld build FILE --force",
        )
    return manifest.world_hash if manifest.complete else None


def can_be_built(profile: str, video: VideoFile | None) -> bool:
    """Whether a world of the video could be made."""
    from world_api.build.truth import truth_path

    if video is None or not video.is_there or not is_name(video.video_id):
        return False
    if video.text is not None:
        return True
    return profile != "oracle" or video.path is None or truth_path(video.path).is_file()


def build(store: Path, profile: str, video: VideoFile, *, progress: Progress, clock: Clock) -> str:
    """Build a world; its hash.

    Raises:
        MediaFault, StoreFault, BackendFault: as building names them.
        EvalFault: subtitles of the dataset that cannot be read.
    """
    from world_api.api import build_world
    from world_api.options import BuildOptions, Listening

    if video.text is not None:
        write_text_world(store_for(store, profile), video.video_id, video.text)
    elif video.path is None:
        raise StoreFault(
            "no_such_video", f"the video {video.video_id} is not there", hint="give the dataset's `videos`"
        )
    else:
        subtitles = subtitles_to_build_with(video, store / _SUBTITLES)
        listening = Listening() if subtitles is None else Listening(subtitles=str(subtitles))
        build_world(
            video.path, store_for(store, profile), progress=progress, clock=clock, video_id=video.video_id,
            options=BuildOptions(profile=profile, listening=listening, waits=True),
        )  # fmt: skip
    found = hash_of(store, profile, video)
    if found is None:
        raise StoreFault("no_such_world", f"the world of {video.video_id} was not finished", hint="build it again")
    return found
