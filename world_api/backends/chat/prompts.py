"""What goes into the messages of a request: prompts from files, and data as JSON in which no text can pass for a mark.

Prompts are Jinja files of a package, rendered in a sandbox and named by their hash. A template gets plain values and is never
itself built from them; text from the video goes into no template.

JSON keeps what a video says inside its field. Servers of open models put messages into templates, though, whose marks
(``<|im_end|>``, ``[/INST]``, ``</s>``, ``[|user|]``, ``]~b]``) are text themselves, and some read them wherever they stand.
Each known one holds ``<`` or a square bracket. In texts these are spelt as JSON escapes do, so that a model still reads
them and no server takes them for a mark; the brackets of the JSON itself stay.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import resources
from typing import TYPE_CHECKING, Any

from world_api.core.canonical import json_line

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

DATA = "data_from_video"  #: the field in which whatever comes from a video reaches a model

_SPELT = {"<": "\\u003c", "[": "\\u005b", "]": "\\u005d"}
_BACKSLASH, _QUOTE = "\0", "\1"  #: stand for what is escaped; JSON holds no control characters
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


def data_line(value: Any) -> str:
    """JSON on one line without marks of a template, keys in their own order; the value that reads back is the same.

    Raises:
        ValueError: as ``json_line``.
    """
    line = json_line(value)
    parts = line.replace("\\\\", _BACKSLASH).replace('\\"', _QUOTE).split('"')  # each second one is a text
    if len(parts) == 1:
        return line
    texts = '"'.join(parts[1::2])
    for sign, spelt in _SPELT.items():
        texts = texts.replace(sign, spelt)
    parts[1::2] = texts.split('"')
    return '"'.join(parts).replace(_QUOTE, '\\"').replace(_BACKSLASH, "\\\\")
