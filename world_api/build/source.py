"""The video file of a build: it must stay what it was while rows are made of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from world_api.build.media.opening import check_file
from world_api.build.media.stamp import Stamp
from world_api.core.faults import MediaFault
from world_api.world.disk.hashing import hash_file


def stamp_of(video: Path) -> Stamp:
    """The state of a file.

    Raises:
        MediaFault: as a file that cannot be read is named.
    """
    check_file(video)
    with named(video):
        return Stamp.at(video)


def hash_source(video: Path) -> str:
    """SHA-256 of a file.

    Raises:
        MediaFault: ``source_missing``.
    """
    with named(video):
        return hash_file(video)


def check_unchanged(video: Path, stamp: Stamp) -> None:
    """Refuse a file that is not what it was.

    Raises:
        MediaFault: ``source_changed``, ``source_missing``.
    """
    with named(video):
        is_same = Stamp.at(video) == stamp
    if not is_same:
        raise MediaFault(
            "source_changed",
            f"{video.name} was written to or replaced while its world was built",
            hint="build it again once it stays as it is, or follow it with --follow while it is written",
        )


@contextmanager
def named(video: Path) -> Iterator[None]:
    """What the file system says of a video is a named fault."""
    try:
        yield
    except OSError as error:
        raise MediaFault(
            "source_missing",
            f"{video.name} can no longer be read: {error.strerror or error}",
            hint="put the file back and build again",
        ) from error
