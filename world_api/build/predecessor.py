"""Taking the place of a world that is there: whether it may be replaced, what goes over, what is put aside or taken away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from world_api.build.source import find_source, remembered_source
from world_api.build.stage import Stage
from world_api.core.faults import StoreFault
from world_api.core.files import check_plain, not_writable
from world_api.core.identifiers import printable
from world_api.session.overlay import SESSIONS
from world_api.world.manifest import IMAGES, MANIFEST, ROWS, FileEntry, Loss, Manifest, read_manifest

#: Tables that sessions write; no build can make their rows again.
_BY_SESSIONS = ("memories", "registrations")


@dataclass(frozen=True, kw_only=True)
class Predecessor:
    """The world that is there. ``manifest`` is None where there is none, or none that can be read."""

    folder: Path
    video: Path  #: the file whose world is to take its place
    manifest: Manifest | None
    source_hash: str | None  #: of the video it was made from; None where nobody can tell
    is_same_growing: bool = False  #: whether it holds the beginning of the very video that takes its place
    begins_anew: bool = False  #: whether it says to hold the beginning of that file, which is another one by now

    @property
    def is_there(self) -> bool:
        """Whether there is a world at all, readable or not."""
        return self.manifest is not None or (self.folder / MANIFEST).exists()

    def refuse_other(self, *, profile: str, source_hash: str) -> None:
        """Refuse to replace what is not the same world.

        Of a file that was being written and begins anew, only what sessions committed keeps the old world.

        Raises:
            StoreFault: ``world_exists``, for a world made from another file or with another profile.
        """
        existing = self.manifest
        if existing is None:
            return
        is_given_up = self.begins_anew and not any(entry.table in _BY_SESSIONS for entry in existing.files)
        if (is_given_up or self._is_of(source_hash)) and existing.profile == profile:
            return
        is_same = self._is_of(source_hash)
        other = f"made with the profile {existing.profile!r}" if is_same else self._origin(existing)
        raise StoreFault(
            "world_exists",
            f"there is already a world {existing.video_id!r}, {other}",
            hint="replace it with --force, or build under another --id",
        )

    def committed(self, stages: Sequence[Stage], source_hash: str) -> list[FileEntry]:
        """What sessions committed to the old world of the same video: it goes over into the new one."""
        existing = self.manifest
        if existing is None or not self._is_of(source_hash):
            return []
        built = {table for stage in stages for table in stage.spec.tables}
        built |= {table for stage in existing.stages for table in stage.tables}
        return [entry for entry in existing.files if entry.table not in built]

    def set_sessions_aside(self, source_hash: str) -> list[Loss]:
        """Move the logs of sessions on another video out of the way, so that nobody takes them for this one's.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        sessions = self.folder / SESSIONS
        if not self.is_there or self._is_of(source_hash) or not any(sessions.glob("*.jsonl")):
            return []
        owner = self.source_hash[:12] if self.source_hash is not None else "unknown"
        place = _free(self.folder / f"{SESSIONS}-of-{owner}")
        try:
            sessions.rename(place)
        except OSError as error:
            raise not_writable(place, error) from error
        whose = "another video" if self.source_hash is not None else "a world that cannot be read"
        return [
            Loss(
                code="sessions_set_aside",
                message=f"the sessions of {whose} that was here are kept in {place.name} and no longer shown",
            )
        ]

    def sweep(self, manifest: Manifest) -> None:
        """Take away rows and images that only the old world named. What sessions committed goes only if it is known."""
        wanted = {entry.path for entry in manifest.files} | {entry.path for entry in manifest.images}
        named = {entry.path for entry in self.manifest.files} if self.manifest is not None else set()
        for part in (ROWS, IMAGES):
            for path in sorted((self.folder / part).rglob("*")):
                name = path.relative_to(self.folder).as_posix()
                by_sessions = part == ROWS and path.parent.name in _BY_SESSIONS
                if path.is_file() and name not in wanted and (name in named or not by_sessions):
                    path.unlink(missing_ok=True)

    def _origin(self, existing: Manifest) -> str:
        """What it was made from, where that is not the file as it is now."""
        name = existing.source.file_name
        if name != printable(self.video.name):
            return f"made from another file ({name})"
        if remembered_source(self.folder) == self.video.resolve():
            return f"made from {name} before that file changed"
        return f"made from another file of the same name ({name}), or from this one before it changed"

    def _is_of(self, source_hash: str) -> bool:
        return self.is_same_growing or self.source_hash == source_hash


def find_predecessor(folder: Path, video: Path, *, force: bool, is_followed: bool = False) -> Predecessor:
    """The world that is there. One that cannot be read is left alone unless it may be replaced.

    ``is_followed`` where the caller wrote it itself while it followed the video.

    Raises:
        StoreFault: ``world_damaged``, ``other_schema_version``, unless ``force`` is given; ``world_damaged`` in any case where
            the folder holds links or pipes, which nothing is written through.
    """
    with suppress(OSError):  # there is none yet, or it says so below
        check_plain(folder)
    try:
        manifest = read_manifest(folder)
    except StoreFault as fault:
        if fault.code != "no_such_world" and not force:
            raise
        return Predecessor(folder=folder, video=video, manifest=None, source_hash=_source_hash(folder))
    is_same = not manifest.complete and (is_followed or find_source(folder, manifest) == video.resolve())
    begins_anew = not manifest.complete and not is_same and remembered_source(folder) == video.resolve()
    return Predecessor(
        folder=folder, video=video, manifest=manifest, source_hash=manifest.source.sha256,
        is_same_growing=is_same, begins_anew=begins_anew,
    )  # fmt: skip


def _source_hash(folder: Path) -> str | None:
    """The source's hash out of a manifest that this version does not read."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())["source"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_hash = isinstance(found, str) and len(found) == 64 and all(sign in "0123456789abcdef" for sign in found)
    return found if is_hash else None


def _free(place: Path) -> Path:
    """The path itself, or the first with a number behind it that is not taken."""
    number, free = 1, place
    while free.exists():
        number += 1
        free = place.with_name(f"{place.name}-{number}")
    return free
