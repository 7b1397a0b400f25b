"""What ``EPISODE`` means on the command line: a folder of records, or one episode in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controller.records.files import EPISODES, RECORDINGS
from controller.records.journal import Journal
from world_api.core.faults import EpisodeFault

_SUFFIX = ".jsonl"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A journal, and the name of one of its episodes; None means all of them."""

    journal: Journal
    name: str | None


def place_of(episode: Path, name: str | None = None) -> Place:
    """``DIR`` is the folder that ``--record`` made, ``DIR/NAME`` an episode in it, and so is ``DIR`` with a ``name``.

    ``DIR/recordings/NAME.jsonl``, which a shell completes, is that episode too.

    Raises:
        EpisodeFault: ``recording_missing``.
    """
    if _is_journal(episode):
        return Place(journal=Journal(episode), name=name)
    if name is not None:
        return place_of(episode / name)
    folder, name = episode.parent, episode.name
    if folder.name == RECORDINGS and name.endswith(_SUFFIX):
        folder, name = folder.parent, name.removesuffix(_SUFFIX)
    if _is_journal(folder):
        return Place(journal=Journal(folder), name=name)
    raise EpisodeFault(
        "recording_missing",
        f"no episodes are recorded in {str(episode)[:200]}",
        hint="give the folder that --record made, or FOLDER/NAME for one of its episodes",
    )


def _is_journal(folder: Path) -> bool:
    try:
        return (folder / EPISODES).is_file() or (folder / RECORDINGS).is_dir()
    except OSError:  # a name no file system takes
        return False
