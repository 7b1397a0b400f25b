"""A recipe: the stages a world is built with, in an order in which each finds the rows it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from world_api.build.media.apart.worker import MediaWorker
from world_api.build.stage import Stage
from world_api.core.faults import BackendFault


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """``stages(video)`` makes fresh stages for one video file; a row stage may add rows to the table of another.

    ``reading(video, worker)``, where there is one, makes the same and has a process that runs already look into the file.

    ``load`` imports what they need, for when something else can go on meanwhile. ``apart`` names the stages that may work
    in a process of their own, and the function (``module:function``) that makes each there.
    """

    profile: str
    stages: Callable[[Path], Sequence[Stage]]
    load: Callable[[], None] = lambda: None
    apart: Mapping[str, str] = field(default_factory=dict)
    reading: Callable[[Path, MediaWorker], Sequence[Stage]] | None = None

    def stages_by(self, video: Path, worker: MediaWorker) -> list[Stage]:
        """Fresh stages for one video file, with the help of a process that runs already."""
        return list(self.stages(video) if self.reading is None else self.reading(video, worker))


def keys_of(stages: Sequence[Stage], source_hash: str) -> dict[str, str]:
    """The key of every stage's files: what the rows depend on, those of the stages before it included."""
    keys: dict[str, str] = {}
    for stage in stages:
        keys[stage.spec.name] = stage.spec.key(source_hash=source_hash, upstream=keys)
    return keys


def leave_out(stages: Sequence[Stage], names: Collection[str]) -> list[Stage]:
    """The stages that are not named.

    Raises:
        BackendFault: ``no_such_stage``, for a name that is none of them; ``stage_needed``, where one that stays reads
            the rows of one that goes.
    """
    known = [stage.spec.name for stage in stages]
    for name in names:
        if name not in known:
            raise BackendFault(
                "no_such_stage", f"there is no stage {name!r}", hint=f"the stages are {', '.join(known)}"
            )
    gone, reading = set(names), []
    for stage in stages:  # each reads the rows of those before it
        if stage.spec.name not in gone and (needed := gone.intersection(stage.spec.needs)):
            gone.add(stage.spec.name)
            reading.append((stage.spec.name, min(needed)))
    if reading:
        name, needed_name = reading[0]
        raise BackendFault(
            "stage_needed",
            f"the stage {name!r} works on the rows of {needed_name!r}",
            hint="leave out, too: " + ", ".join(repr(other) for other, _ in reading),
        )
    return [stage for stage in stages if stage.spec.name not in names]
