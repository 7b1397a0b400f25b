"""Finding videos by name in a folder, whatever its layout: any depth, any usual ending, upper or lower case."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path, PurePosixPath

#: Endings of files that may be videos, those that are preferred first.
ENDINGS = (".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".ogv", ".3gp")
MAX_FILES = 500_000
_MAX_DEPTH = 6


class VideoFolder:
    """The videos of a folder by their names. The folder is walked once, when a plain look has not found a video."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, *names: str) -> Path | None:
        """The file of the first of the names that is there; each is a path in the folder, a file's name, or its stem."""
        for name in names:
            found = self._plain(name) or self._anywhere(name)
            if found is not None:
                return found
        return None

    def _plain(self, name: str) -> Path | None:
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or name.startswith("/") or "\0" in name:
            return None
        tries = [self.folder.joinpath(*parts)]
        tries += [self.folder.joinpath(*parts[:-1], parts[-1] + ending) for ending in ENDINGS]
        return next((path for path in tries if path.suffix.lower() in ENDINGS and _is_file(path)), None)

    def _anywhere(self, name: str) -> Path | None:
        last = PurePosixPath(name)
        stem = last.stem if last.suffix.lower() in ENDINGS else last.name
        # A path of several parts prefers the file that shares most of them, from the end; then case counts, then the ending.
        wanted = [part.casefold() for part in last.parts[:-1]]

        def likeness(path: Path) -> tuple[int, bool, int]:
            return _shared(path, wanted), path.stem == stem, -ENDINGS.index(path.suffix.lower())

        return max(self._by_stem.get(stem.casefold(), ()), key=likeness, default=None)

    @cached_property
    def _by_stem(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        count = 0
        for root, folders, files in os.walk(self.folder):
            at = Path(root)
            folders[:] = sorted(item for item in folders if not item.startswith("."))
            if len(at.relative_to(self.folder).parts) >= _MAX_DEPTH:
                folders.clear()
            for file in sorted(files):
                count += 1
                if PurePosixPath(file).suffix.lower() in ENDINGS:
                    found.setdefault(PurePosixPath(file).stem.casefold(), []).append(at / file)
            if count > MAX_FILES:
                break
        return found


def _shared(path: Path, wanted: list[str]) -> int:
    own = [part.casefold() for part in path.parts[:-1]]
    count = 0
    while count < min(len(own), len(wanted)) and own[-1 - count] == wanted[-1 - count]:
        count += 1
    return count


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name no file system takes
        return False
