"""The vision cache, one file per look, and the list of captions that sessions search and of looks at entities that they use.

::

    STORE/.on-demand/<world>/<producer>/<request>.json
    STORE/.on-demand/<world>/<producer>/captions/set.json

Equal requests are sent once: threads wait for each other, and processes too if the folder is writable. A file that
cannot be read, does not match its name or was changed counts as absent, and is written again.

Sessions search the captions that a captioning run made of whole segments, and use its looks at entities. The answer to a
single question is cached but not listed, so what is listed changes only at the end of a captioning run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, ValidationError, model_validator

from world_api.core.attributes import LASTING
from world_api.core.canonical import content_hash
from world_api.core.cost import Spent
from world_api.core.faults import StoreFault
from world_api.core.files import exclusive, write_atomically
from world_api.core.ports import LookTask
from world_api.core.spans import TimeSpan, merge_spans, without_spans

MAX_TEXT = 20_000  #: characters of a text of one look; ten times more than requests allow
_MAX_LABEL = 1_000
_MAX_ITEMS = 1_000
_MAX_BYTES = 1_000_000  #: of a file; a larger one counts as absent


class CachedAction(BaseModel, extra="forbid", frozen=True):
    """An action that a model named."""

    label: str = Field(max_length=_MAX_LABEL)
    confidence: float | None = Field(ge=0, le=1)


class CachedCost(BaseModel, extra="forbid", frozen=True):
    """What a look cost when it was made."""

    model: str
    prompt: int = Field(ge=0)
    completion: int = Field(ge=0)
    cached: int = Field(ge=0)
    images: int = Field(ge=0)
    estimated: bool

    @classmethod
    def of(cls, spent: Spent) -> CachedCost:
        """Return the part of a charge that is cached: model, tokens, images."""
        return cls(**{name: getattr(spent, name) for name in cls.model_fields})

    def again(self, request: str) -> Spent:
        """Return the charge for a cached look: the tokens of the original request, marked as not sent."""
        return Spent(purpose="perception", request=request, physical=False, **self.model_dump())


#: Seconds before and after a picture for which what it shows as worn or carried is taken to be so.
HELD_SECONDS = 1.0


class CachedLook(BaseModel, extra="forbid", frozen=True, populate_by_name=True):
    """One look as it is stored. ``start`` and ``end`` in seconds; no frame time is after ``end``.

    ``digest`` is the hash of all other fields.
    """

    schema_version: Literal[3] = 3
    digest: str = ""
    request: str
    producer: str
    task: LookTask
    start: FiniteFloat = Field(ge=0)
    end: FiniteFloat
    #: What the look depends on besides the world and the producer; stored under an older name.
    parameters: dict[str, Any] = Field(validation_alias="asked", serialization_alias="asked")
    frame_times: tuple[FiniteFloat, ...] = Field(min_length=1, max_length=_MAX_ITEMS)
    text: str = Field(max_length=MAX_TEXT)
    confidence: float | None = Field(ge=0, le=1)
    uncertain: str = Field(max_length=MAX_TEXT)
    actions: tuple[CachedAction, ...] = Field(max_length=_MAX_ITEMS)
    affirmed: tuple[str, ...] = Field(max_length=_MAX_ITEMS)
    denied: tuple[str, ...] = Field(max_length=_MAX_ITEMS)
    cost: CachedCost

    @model_validator(mode="after")
    def _runs_forwards(self) -> CachedLook:
        if self.end < self.start:
            raise ValueError("the interval of a cached answer runs backwards")
        return self

    def verdict(self, word: str | None) -> bool | None:
        """Return whether the model affirmed a word (True) or denied it (False); None if it could not tell, or was not asked."""
        return True if word in self.affirmed else False if word in self.denied else None

    def verdict_in(self, word: str | None, seen: Sequence[TimeSpan]) -> bool | None:
        """Return the verdict on a word for intervals in which the entity is seen; None where it is not known.

        Attributes in ``LASTING`` hold always. Others are known around the moments of the pictures alone: one that was affirmed
        holds if one of these is in the intervals, one that was denied does not if they are all of the intervals.
        """
        verdict = self.verdict(word)
        if verdict is None or word in LASTING:
            return verdict
        looked = self.moments
        if verdict:
            return True if any(span.overlaps(moment) for span in seen for moment in looked) else None
        return False if seen and not any(without_spans(span, looked) for span in seen) else None

    @property
    def moments(self) -> list[TimeSpan]:
        """The intervals around the pictures, apart from each other, for which they show what is worn or carried."""
        around = (TimeSpan(start=max(0.0, time - HELD_SECONDS), end=time + HELD_SECONDS) for time in self.frame_times)
        return merge_spans(around)

    def sealed(self) -> CachedLook:
        """Return a copy in which ``digest`` is the hash of all other fields.

        Raises ValueError: a text contains half a surrogate pair, which cannot be encoded.
        """
        return self.model_copy(update={"digest": self._content()})

    @property
    def is_whole(self) -> bool:
        """Whether ``digest`` matches the content."""
        return self.digest == self._content()

    def _content(self) -> str:
        return content_hash(self.model_dump(mode="json", exclude={"digest"}, by_alias=True))


class ListedLook(BaseModel, extra="forbid", frozen=True):
    """A caption of a set, or a look at an entity: the hash of its request, its interval in seconds, and the hash of its content."""

    request: str
    start: FiniteFloat
    end: FiniteFloat
    digest: str


class LookSet(BaseModel, extra="forbid", frozen=True, populate_by_name=True):
    """The captions that are searched, and looks at entities, sorted by interval. ``hash`` covers all; empty without any."""

    schema_version: Literal[1] = 1
    hash: str = ""
    #: Stored under the name of the first kind of looks.
    looks: tuple[ListedLook, ...] = Field(default=(), validation_alias="captions", serialization_alias="captions")

    @classmethod
    def of(cls, looks: Sequence[CachedLook]) -> LookSet:
        """Return the set of these looks."""
        listed = [ListedLook.model_validate(look, from_attributes=True) for look in looks]
        listed.sort(key=lambda item: (item.start, item.end, item.request))
        return cls(hash=_hash(listed), looks=tuple(listed))


#: Where the folder of a cache lists the looks that sessions use.
_LISTED = "captions/set.json"


class VisionCache:
    """The cached looks of one producer at one world, and the list of those that sessions use.

    They are in memory if the folder is read-only. ``name`` computes a look's ``request``, a hash that names its file, from
    its content; a file with another name is not used.
    """

    def __init__(self, folder: Path, name: Callable[[CachedLook], str]) -> None:
        self._folder = folder
        self._name = name
        self._memory: dict[str, CachedLook] = {}
        self._listed = LookSet()

    def get(self, request: str) -> CachedLook | None:
        """Return the cached look of a request; None if there is none that can be read."""
        return self._memory.get(request) or self._read(self._folder / f"{request}.json")

    def once(self, request: str, make: Callable[[], CachedLook]) -> tuple[CachedLook, bool]:
        """Return a look, cached or made now, and whether this call made it. Equal requests wait for each other.

        Raises VideoWorldError: the faults of ``make``; the next request tries again.
        """
        if (kept := self.get(request)) is not None:
            return kept, False
        with exclusive(self._folder, request):
            if (kept := self.get(request)) is not None:
                return kept, False
            made = make()
            if not self._write(f"{request}.json", made):
                self._memory[request] = made
            return made, True

    def all(self) -> list[CachedLook]:
        """Return all cached looks that can be read, sorted by ``request``."""
        found = dict(self._memory)
        with suppress(OSError):
            for path in self._folder.glob("*.json"):
                if path.stem not in found and (kept := self._read(path)) is not None:
                    found[path.stem] = kept
        return [found[request] for request in sorted(found)]

    def _read(self, path: Path) -> CachedLook | None:
        try:
            if path.stat().st_size > _MAX_BYTES:
                return None
            kept = CachedLook.model_validate_json(path.read_bytes())
            is_sound = kept.is_whole and kept.request == path.stem == self._name(kept)
        except (OSError, ValueError):  # ValueError: not such a record, or a text that cannot be hashed
            return None
        return kept if is_sound else None

    def listed(self) -> LookSet:
        """Return the looks that new sessions use; an empty set if there is no list that can be read."""
        if self._listed.looks:
            return self._listed
        try:
            found = LookSet.model_validate_json((self._folder / _LISTED).read_bytes())
        except (OSError, ValidationError):
            return LookSet()
        return found if found.hash == _hash(found.looks) else LookSet()

    def store_listed(self, looks: LookSet) -> None:
        """Store the set of looks that new sessions use."""
        if not self._write(_LISTED, looks):
            self._listed = looks

    def _write(self, name: str, record: BaseModel) -> bool:
        """Store a record in the folder; False if it cannot be written. A read-only store can still be queried."""
        try:
            write_atomically(self._folder / name, record.model_dump_json(by_alias=True).encode())
        except StoreFault:
            return False
        return True


def _hash(looks: Sequence[ListedLook]) -> str:
    return content_hash([item.model_dump(mode="json") for item in looks])[:32] if looks else ""
