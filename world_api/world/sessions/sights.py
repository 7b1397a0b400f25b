"""What was seen, kept outside the world: one file a look, under the world's hash and who looked.

::

    STORE/.on-demand/<world hash>/<producer>/<request>.json

Equal requests are asked once: threads wait for each other, processes too where the folder can be written to. A file that
cannot be read counts as absent, and is written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from world_api.core.ambient.spending import Spent
from world_api.core.faults import StoreFault
from world_api.core.ports import LookTask
from world_api.world.disk.alone import alone
from world_api.world.disk.files import write_atomically


class KeptAction(BaseModel):
    """An action that a model named."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str
    confidence: float | None = Field(ge=0, le=1)


class KeptCost(BaseModel):
    """What a look cost when it was made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    prompt: int = Field(ge=0)
    completion: int = Field(ge=0)
    cached: int = Field(ge=0)
    images: int = Field(ge=0)
    estimated: bool

    @classmethod
    def of(cls, spent: Spent) -> KeptCost:
        """What is kept of a charge."""
        return cls(
            model=spent.model,
            prompt=spent.prompt,
            completion=spent.completion,
            cached=spent.cached,
            images=spent.images,
            estimated=spent.estimated,
        )

    def again(self, request: str) -> Spent:
        """The charge for being told once more: nothing was asked, these are the tokens of the first time."""
        return Spent(purpose="perception", request=request, physical=False, **self.model_dump())


class KeptSight(BaseModel):
    """One look as it is stored. ``start`` and ``end`` in seconds; ``frame_times`` lie before ``end``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    request: str
    producer: str
    task: LookTask
    start: FiniteFloat = Field(ge=0)
    end: FiniteFloat
    asked: dict[str, Any]
    frame_times: tuple[FiniteFloat, ...] = Field(min_length=1)
    text: str
    confidence: float | None = Field(ge=0, le=1)
    uncertain: str
    actions: tuple[KeptAction, ...]
    cost: KeptCost

    @model_validator(mode="after")
    def _runs_forwards(self) -> KeptSight:
        if self.end < self.start:
            raise ValueError("a look at a stretch that runs backwards")
        return self


class SightFolder:
    """The kept looks of one producer at one world. ``folder`` None keeps them in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, KeptSight] = {}

    def get(self, request: str) -> KeptSight | None:
        """A kept look; None where there is none that can be read."""
        if (kept := self._memory.get(request)) is not None:
            return kept
        return None if self._folder is None else self._read(self._folder / f"{request}.json")

    def once(self, request: str, make: Callable[[], KeptSight]) -> tuple[KeptSight, bool]:
        """A look, made where it is not there yet, and whether it was made by this call; equal requests wait for each other.

        Raises:
            VideoWorldError: what ``make`` names; the next one to ask tries again.
        """
        if (kept := self.get(request)) is not None:
            return kept, False
        with alone(self._folder, request, owner=self):
            if (kept := self.get(request)) is not None:
                return kept, False
            made = make()
            self._keep(made)
            return made, True

    def all(self) -> list[KeptSight]:
        """All looks that can be read, in order of their names."""
        found = dict(self._memory)
        if self._folder is not None:
            with suppress(OSError):
                for path in self._folder.glob("*.json"):
                    if path.stem not in found and (kept := self._read(path)) is not None:
                        found[path.stem] = kept
        return [found[request] for request in sorted(found)]

    def _read(self, path: Path) -> KeptSight | None:
        try:
            kept = KeptSight.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None
        return kept if kept.request == path.stem else None

    def _keep(self, made: KeptSight) -> None:
        if self._folder is not None:
            # A store that cannot be written to can still be asked.
            with suppress(StoreFault):
                write_atomically(self._folder / f"{made.request}.json", made.model_dump_json().encode())
                return
        self._memory[made.request] = made
