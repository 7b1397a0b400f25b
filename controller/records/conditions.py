"""The conditions an episode was recorded under: the parts of its system, its prompts, and the version of the loop.

They are stored in the journal with the episode. A replay is built from them, and reports what has changed since.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from controller.episode import Library
from controller.systems.base import SystemContext
from world_api.chat.messages import PromptFiles, PromptHashes
from world_api.core.canonical import Record
from world_api.core.faults import EpisodeFault
from world_api.installation import project_version

#: Parts of the controller that do not influence an episode.
_APART = frozenset({"records", "display.py", "commands.py"})
#: Modules outside the controller that influence an episode's bytes: writing and counting requests, reading replies.
_BESIDE = (
    "tool_induction.judge.port",
    "tool_induction.library_tools",
    "world_api.chat.recording",
    "world_api.chat.messages",
    "world_api.core.cost",
    "world_api.core.canonical",
    "world_api.core.faults",
    "world_api.core.identifiers",
    "world_api.core.spans",
    "world_api.schemas.formats",
)


@functools.cache
def loop_hash() -> str:
    """Return the SHA-256 of the code that determines an episode's bytes."""
    digest = hashlib.sha256()
    beside = ((name, _module(name)) for name in _BESIDE)
    for name, code in [*sorted(_code(resources.files("controller"), "")), *beside]:
        digest.update(f"{name}\0".encode() + code + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Conditions(Record):
    """The conditions an episode was recorded under.

    ``system`` is the name of the system; ``language`` to ``takes_images`` are the inputs it was built from; ``groups``
    are the optional operations of the session, ``prompts`` the hashes of the prompt files, ``loop`` a hash of the code
    that ran. ``broken_off``: the episode was interrupted before its end.
    """

    system: str
    language: str = "en"
    options: dict[str, Any] = field(default_factory=dict)
    library: Library | None = None
    domain: dict[str, Any] | None = None
    judge: str | None = None
    takes_images: bool | None = None
    groups: list[str] = field(default_factory=list)
    prompts: PromptHashes = field(default_factory=dict)
    version: str = field(default_factory=project_version)
    loop: str = field(default_factory=loop_hash)
    broken_off: bool = False

    @classmethod
    def of(cls, system: str, context: SystemContext, *, groups: frozenset[str] = frozenset()) -> Conditions:
        """Return the conditions at the start of an episode."""
        domain = context.domain
        return cls(
            system=system,
            language=context.language,
            options=dict(context.options),
            library=Library.of(context.library),
            domain=asdict(domain) if domain is not None else None,
            judge=context.judge.name if context.judge is not None else None,
            takes_images=context.takes_images,
            groups=sorted(groups),
        )

    def changed_prompts(self) -> list[str]:
        """Return the prompt files that have changed since the recording, as ``package/folder/name``."""
        return [
            f"{place}/{name}"
            for place, recorded in sorted(self.prompts.items())
            for now in [_prompts_now(place)]
            for name in sorted(recorded.keys() | now.keys())
            if recorded.get(name) != now.get(name)
        ]

    def is_other_loop(self) -> bool:
        """Whether the code of the loop and the systems has changed since the recording."""
        return self.loop != loop_hash()


def conditions_from_record(record: Any) -> Conditions:
    """Read conditions from their JSON form. Raises EpisodeFault: ``recording_damaged``."""
    try:
        return _adapter().validate_python(record)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise EpisodeFault(
            "recording_damaged", f"the conditions of an episode are not whole: {where}", hint="restore it from a copy"
        ) from None


@functools.cache
def _adapter() -> TypeAdapter[Conditions]:
    return TypeAdapter(Conditions)  # making one takes longer than reading an episode


def _module(name: str) -> bytes:
    """Return the source of a module as bytes."""
    package, _, module = name.rpartition(".")
    return resources.files(package).joinpath(f"{module}.py").read_bytes()


def _code(folder: Traversable, under: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path prefixed by ``under``, source) of each module in a folder tree that can influence an episode."""
    for item in folder.iterdir():
        if item.is_dir() and item.name not in _APART:
            yield from _code(item, f"{under}{item.name}/")
        elif item.name.endswith(".py") and item.name not in _APART:
            yield f"{under}{item.name}", item.read_bytes()


def _prompts_now(place: str) -> dict[str, str]:
    """Return the current hashes by name of the prompt files in ``place`` (package/folder); empty if it does not exist."""
    package, _, folder = place.partition("/")
    try:
        return dict(PromptFiles(package, folder).hashes)
    except (ModuleNotFoundError, FileNotFoundError, NotADirectoryError):
        return {}
