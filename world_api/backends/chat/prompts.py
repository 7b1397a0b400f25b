"""Prompts: Jinja files of a package, rendered in a sandbox, named by their hash.

A template gets plain values and is never itself built from them. Text from the video goes into no template.
"""

from __future__ import annotations

import functools
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

_SUFFIX = ".jinja"


class PromptFiles:
    """The prompt files of one folder of a package."""

    def __init__(self, package: str, folder: str = "prompts") -> None:
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

    def render(self, name: str, **values: Any) -> str:
        """A prompt with its values filled in; a value that the template wants and does not get is an error."""
        return self._environment.get_template(name).render(**values).strip()


@functools.lru_cache(maxsize=8)
def _environment(sources: tuple[tuple[str, str], ...]) -> SandboxedEnvironment:
    from jinja2 import DictLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    # Nothing is escaped: these are prompts, not web pages.
    return SandboxedEnvironment(
        loader=DictLoader(dict(sources)), undefined=StrictUndefined, autoescape=False, trim_blocks=True
    )
