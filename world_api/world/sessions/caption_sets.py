"""Which captions are searched: those a captioning run made of whole stretches, listed in one file beside the looks.

::

    STORE/.on-demand/<world>/<producer>/captions/set.json

A look that was made because somebody asked is an answer that is kept, and never enters the list by itself. So what is searched
changes only when a captioning run comes to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from world_api.core.canonical import content_hash
from world_api.core.faults import StoreFault
from world_api.world.disk.files import write_atomically
from world_api.world.sessions.sights import KeptSight


class ListedCaption(BaseModel):
    """A caption of a set: the look it was, its stretch in seconds, and the hash of all that is kept of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request: str
    start: FiniteFloat
    end: FiniteFloat
    digest: str

    @classmethod
    def of(cls, kept: KeptSight) -> ListedCaption:
        """A look as it is listed."""
        return cls(request=kept.request, start=kept.start, end=kept.end, digest=kept.digest)


class CaptionSet(BaseModel):
    """The captions that are searched, in the order of their stretches. ``hash`` covers what they say; empty where there are none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    hash: str = ""
    captions: tuple[ListedCaption, ...] = ()

    @classmethod
    def of(cls, looks: Sequence[KeptSight]) -> CaptionSet:
        """The set of some captions."""
        captions = sorted(
            (ListedCaption.of(kept) for kept in looks), key=lambda item: (item.start, item.end, item.request)
        )
        return cls(hash=_hash(captions), captions=tuple(captions))


class CaptionSetFile:
    """Where the set of one producer at one world is. ``folder`` None keeps it in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / "captions" / "set.json"
        self._memory = CaptionSet()

    def read(self) -> CaptionSet:
        """The set as it is now; an empty one where there is none that can be read."""
        if self._path is None or self._memory.captions:
            return self._memory
        try:
            found = CaptionSet.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return CaptionSet()
        return found if found.hash == _hash(found.captions) else CaptionSet()

    def write(self, captions: CaptionSet) -> None:
        """Have these searched by sessions that are opened from now on."""
        if self._path is not None:
            # A store that cannot be written to can still be asked.
            with suppress(StoreFault):
                write_atomically(self._path, captions.model_dump_json().encode())
                return
        self._memory = captions


def _hash(captions: Sequence[ListedCaption]) -> str:
    return content_hash([item.model_dump(mode="json") for item in captions])[:32] if captions else ""
