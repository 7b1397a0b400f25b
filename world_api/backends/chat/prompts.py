"""Prompts: Jinja files of a package, rendered in a sandbox, named by their hash.

A template gets plain values and is never itself built from them. Text from the video goes into no template.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

_SUFFIX = ".jinja"


#: Folders of prompts, ``package/folder``, with the SHA-256 of each of their files.
PromptHashes = dict[str, dict[str, str]]
_noted: ContextVar[PromptHashes | None] = ContextVar("noted_prompts", default=None)


@contextmanager
def noting_prompts() -> Iterator[PromptHashes]:
    """Notes the folders whose prompts are rendered inside the block, in this thread or in copies of its context."""
    noted: PromptHashes = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


class PromptFiles:
    """The prompt files of one folder of a package."""

    def __init__(self, package: str, folder: str = "prompts") -> None:
        self.place = f"{package}/{folder}"
        files = resources.files(package).joinpath(folder)
        self._sources = {
            file.name.removesuffix(_SUFFIX): file.read_text(encoding="utf-8")
            for file in files.iterdir()
            if file.name.endswith(_SUFFIX)
        }
        self._environment = _environment(tuple(sorted(self._sources.items())))

    @property
    def hash(self) -> str:
        """SHA-256 over the names and texts of all files."""
        digest = hashlib.sha256()
        for name, text in sorted(self._sources.items()):
            digest.update(f"{name}\0{text}\0".encode())
        return digest.hexdigest()

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file's text, by its name without the suffix."""
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(self._sources.items())}

    def render(self, name: str, **values: Any) -> str:
        """A prompt with its values filled in; a value that the template wants and does not get is an error."""
        noted = _noted.get()
        if noted is not None and self.place not in noted:
            noted[self.place] = dict(self.hashes)
        return self._environment.get_template(name).render(**values).strip()


@functools.lru_cache(maxsize=8)
def _environment(sources: tuple[tuple[str, str], ...]) -> SandboxedEnvironment:
    from jinja2 import DictLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    # Nothing is escaped: these are prompts, not web pages.
    return SandboxedEnvironment(
        loader=DictLoader(dict(sources)), undefined=StrictUndefined, autoescape=False, trim_blocks=True
    )
