"""What an experiment crosses: arms, datasets, worlds, budgets and seeds. One combination of all is a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from eval.datasets.items import Item
from world_api.core.canonical import content_hash


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A system with its settings, under a name of its own. ``library`` is the name of a tool library in the configuration."""

    name: str
    system: str
    library: str | None = None
    library_hash: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of arm, dataset, world, budget and seed.

    ``dataset`` and ``model`` are names, ``budget`` is its name in the configuration. ``world`` is how worlds are made:
    ``oracle``, ``classical``, or ``oracle:OPERATION`` for classical worlds with that operation answered from the truth.
    ``configuration`` is the hash of all that decides what an episode of this cell does, except the question and the world.
    """

    arm: Arm
    dataset: str
    world: str
    budget: str
    seed: int
    model: str
    configuration: str

    @property
    def id(self) -> str:
        """A readable name for folders, made unique by a hash: the names may contain the dots that separate them."""
        library = (self.arm.library,) if self.arm.library is not None else ()
        parts = (self.arm.name, *library, self.dataset, self.world.replace(":", "-"), self.budget, f"s{self.seed}")
        return ".".join(parts) + "-" + content_hash(self._identity())[:8]

    @property
    def label(self) -> str:
        """The arm, with its library if it has one: ``hier/hand_A``."""
        return self.arm.name if self.arm.library is None else f"{self.arm.name}/{self.arm.library}"

    def sample_key(self, item_id: str) -> str:
        """The key of one question in this cell; a finished sample is never run again.

        The names of the arm and its library are part of it: two arms that are set up alike are two draws, or nothing could be
        compared with itself.
        """
        return content_hash([*self._identity(), item_id])[:24]

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "id": self.id}

    def _identity(self) -> list[Any]:
        """All that distinguishes this cell from any other."""
        arm = self.arm
        return [arm.name, arm.library, self.configuration, self.dataset, self.world, self.budget, self.seed]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A question in a cell."""

    cell: Cell
    item: Item

    @property
    def key(self) -> str:
        """The key of this sample, as ``samples.jsonl`` has it."""
        return self.cell.sample_key(self.item.id)
