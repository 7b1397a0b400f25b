"""The plan of a run: every sample that is to be asked, and what it stands on."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.records.conditions import loop_hash
from eval.datasets.items import Item, VideoFile
from eval.datasets.records import item_record
from eval.runs.cells import Cell
from eval.runs.configuration.document import ConfigurationDocument
from eval.runs.configuration.reading import Configuration
from eval.runs.manifest import DatasetRecord, LibraryRecord, Manifest
from eval.runs.places import RunFolder
from eval.runs.planning.cells import cells_of, prompts_hash
from eval.runs.planning.checking import refuse_impossible
from eval.runs.planning.libraries import shelf_of
from eval.runs.planning.primary import refuse_unclear
from eval.runs.planning.questions import Picked, nothing_left, pick_all
from eval.runs.running.workshop import Workshop, store_of
from eval.runs.running.worlds import can_be_built, hash_of, profiles_of
from tool_induction.library import ToolLibrary
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.canonical import content_hash
from world_api.core.ports import Clock
from world_api.version import project_version


@dataclass(frozen=True, kw_only=True)
class WorldNeeded:
    """A world that a run needs; ``hash`` None: it has to be built."""

    video: VideoFile
    profile: str
    hash: str | None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A question in a cell."""

    cell: Cell
    item: Item

    @property
    def key(self) -> str:
        """What names it."""
        return self.cell.sample_key(self.item.id)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be asked. ``items`` are by dataset, ``missing`` the videos of which nothing can be asked."""

    configuration: Configuration
    cells: Sequence[Cell]
    picked: Sequence[Picked]
    items: Mapping[str, tuple[Item, ...]]
    missing: Mapping[str, tuple[str, ...]]
    libraries: Mapping[str, ToolLibrary]
    library_records: Mapping[str, LibraryRecord]
    worlds: Sequence[WorldNeeded]

    def samples(self) -> Iterator[Sample]:
        """All samples, video by video and world by world, so that what was opened is used while it is there."""
        videos = dict.fromkeys(item.video_id for items in self.items.values() for item in items)
        worlds = dict.fromkeys(cell.world for cell in self.cells)
        by_video: dict[tuple[str, str], list[Item]] = {}
        for name, items in self.items.items():
            for item in items:
                by_video.setdefault((name, item.video_id), []).append(item)
        for video in videos:
            for world in worlds:
                for cell in self.cells:
                    if cell.world == world:
                        for item in by_video.get((cell.dataset, video), ()):
                            yield Sample(cell=cell, item=item)

    @property
    def count(self) -> int:
        """How many samples there are."""
        return sum(len(self.items[cell.dataset]) for cell in self.cells)

    def manifest(self, worlds: Mapping[str, Mapping[str, str]]) -> Manifest:
        """What the run is, with the hashes of its worlds by video and profile."""
        document = self.configuration.document
        primary = document.primary.model_dump() if document.primary is not None else None
        return Manifest(
            versions={"video-world-api": project_version(), "python": platform.python_version()},
            git=_commit(Path(__file__)),
            name=document.name or Path(self.configuration.name).stem,
            model=document.model,
            rule_based=document.model == RULE_BASED,
            seeds=tuple(document.seeds),
            budgets={name: part.model_dump(exclude_none=True) for name, part in document.budgets.items()},
            primary=primary,
            datasets={
                one.name: DatasetRecord(
                    hash=one.dataset.hash,
                    picked=content_hash([item_record(item) for item in self.items[one.name]]),
                    split=one.part.split,
                    limit=one.part.limit,
                    domains=tuple(one.part.domains) if one.part.domains is not None else None,
                    protocol=dict(one.dataset.protocol),
                    items=len(self.items[one.name]),
                    missing=self.missing[one.name],
                    missing_hash=content_hash(list(self.missing[one.name])),
                    missing_questions=len(one.items) - len(self.items[one.name]),
                    left_out=one.left_out,
                )
                for one in self.picked
            },
            libraries=self.library_records,
            cells=tuple(self.cells),
            worlds=worlds,
            prompts=prompts_hash(),
            loop=loop_hash(),
            overrides=self.configuration.overrides,
            settings=_settings(document),
        )


def _settings(document: ConfigurationDocument) -> dict[str, Any]:
    """What else decides what an episode does, and how it is scored."""
    parts = {name: getattr(document, name) for name in ("request", "tool_judge", "perception", "judge")}
    told = {name: part.model_dump(exclude_none=True) for name, part in parts.items() if part is not None}
    return {"language": document.language, **{name: part for name, part in told.items() if part}}


def make_plan(
    configuration: Configuration,
    folder: RunFolder,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    copies: bool = False,
) -> tuple[Plan, Workshop]:
    """The plan of a configuration, and the workshop that it was checked with. Control arms are made in the run's folder.

    ``copies``: the libraries are those that the run keeps.

    Raises:
        EvalFault: ``bad_configuration``, ``nothing_to_ask``, ``images_needed``; what datasets name.
        ToolFault: ``split_leak``; what libraries name.
        EpisodeFault: ``no_price``; what a system refuses.
        BackendFault: the model or the prices.
    """
    picked = pick_all(configuration)
    shelf = shelf_of(configuration, folder.libraries, date=clock.now()[:10], copies=copies)
    workshop = Workshop(configuration, folder, libraries=shelf.libraries, clock=clock, environment=environment)
    cells = cells_of(configuration, picked, shelf.libraries, workshop)
    refuse_unclear(configuration, picked, cells)
    used = {cell.arm.library for cell in cells}
    profiles = list(dict.fromkeys(profile for cell in cells for profile in profiles_of(cell.world)))
    store = store_of(configuration)
    worlds, missing = _worlds(store, profiles, picked)
    items = {one.name: tuple(item for item in one.items if item.video_id not in missing[one.name]) for one in picked}
    for one in picked:
        if not items[one.name]:
            raise nothing_left(one.name)
    refuse_impossible(configuration, cells, picked, shelf.libraries, workshop)
    plan = Plan(
        configuration=configuration,
        cells=cells,
        picked=picked,
        items=items,
        missing=missing,
        libraries=shelf.libraries,
        library_records={name: record for name, record in shelf.records.items() if name in used},
        worlds=worlds,
    )
    return plan, workshop


def _worlds(
    store: Path, profiles: Sequence[str], picked: Sequence[Picked]
) -> tuple[list[WorldNeeded], dict[str, tuple[str, ...]]]:
    """The worlds that are needed, and the videos of each dataset of which one is neither there nor can be built."""
    needed: dict[tuple[str, str], WorldNeeded] = {}
    missing: dict[str, tuple[str, ...]] = {}
    for one in picked:
        absent = []
        for video_id in one.videos:
            video = one.dataset.videos.get(video_id, VideoFile(video_id=video_id))
            found = [
                WorldNeeded(video=video, profile=profile, hash=hash_of(store, profile, video)) for profile in profiles
            ]
            if all(world.hash is not None or can_be_built(world.profile, video) for world in found):
                needed |= {(video_id, world.profile): world for world in found}
            else:
                absent.append(video_id)
        missing[one.name] = tuple(sorted(absent))
    return list(needed.values()), missing


def _commit(file: Path) -> str | None:
    """The commit of the code that runs, where it is a checkout; with a mark where it was changed since."""
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return None  # installed, maybe into a folder of somebody's checkout
    return _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        ran = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() or None if ran.returncode == 0 else None
