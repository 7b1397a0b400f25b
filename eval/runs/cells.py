"""What an experiment crosses: arms, datasets, worlds, budgets and seeds; one combination of all is a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from world_api.core.canonical import content_hash


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A system as it is set up, under a name of its own. ``library`` is the name of a tool library in the configuration."""

    name: str
    system: str
    library: str | None = None
    library_hash: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of arm, dataset, world, budget and seed.

    ``dataset`` and ``model`` stand by name, ``budget`` by its name in the configuration. ``world`` is how worlds are made:
    ``oracle``, ``classical``, or ``oracle:OPERATION`` for classical worlds with that operation answered from the truth.
    ``configuration`` is the hash of all that decides what an episode of this cell does, the question and the world left out.
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
        """A name for people and folders, and a hash so that nothing else has it: names may hold the dots that part them."""
        library = (self.arm.library,) if self.arm.library is not None else ()
        parts = (self.arm.name, *library, self.dataset, self.world.replace(":", "-"), self.budget, f"s{self.seed}")
        return ".".join(parts) + "-" + content_hash(self._place())[:8]

    def sample_key(self, item_id: str) -> str:
        """The key of one question in this cell; a finished one is never asked again.

        The names of the arm and its library are part of it: two that are set up alike are two draws, or nothing could be
        compared with itself.
        """
        return content_hash([*self._place(), item_id])[:24]

    def _place(self) -> list[Any]:
        """All that tells this cell from any other."""
        arm = self.arm
        return [arm.name, arm.library, self.configuration, self.dataset, self.world, self.budget, self.seed]

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "id": self.id}
