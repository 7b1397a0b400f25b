"""Content of messages: prompts from files, and data as JSON whose strings cannot contain a control token.

Prompts are Jinja files of a package, rendered in a sandbox and identified by their hash. Templates are fixed files that
get plain values; text from the video is never rendered by a template.

JSON keeps the text of a video inside its field. Servers of open models, however, put messages into chat templates whose
control tokens (``<|im_end|>``, ``[/INST]``, ``</s>``, ``[|user|]``, ``]~b]``) are text too, and some servers parse them
anywhere in a message. Each known one contains ``<`` or a square bracket. In strings these characters are written as
JSON escapes: a model can still read them, and no server finds a control token. The brackets of the JSON itself remain.
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

DATA = "data_from_video"  #: the field for everything from a video that a model is shown

_ESCAPES = {"<": "\\u003c", "[": "\\u005b", "]": "\\u005d"}
_BACKSLASH, _QUOTE = "\0", "\1"  #: temporary replacements of escaped characters; JSON holds no control characters
_SUFFIX = ".jinja"
#: Folders of prompts, ``package/folder``, with the SHA-256 of each of their files.
PromptHashes = dict[str, dict[str, str]]
_noted: ContextVar[PromptHashes | None] = ContextVar("noted_prompts", default=None)


@contextmanager
def noting_prompts() -> Iterator[PromptHashes]:
    """Yield a dict that collects the folders whose prompts are rendered inside the block, with their files' hashes.

    Prompts that other threads render are included only if these run in a copy of this context.
    """
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
        """Return a prompt with the values filled in. Raises jinja2.UndefinedError if a value is missing."""
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
    """Return a value as one line of JSON without control tokens of chat templates; keys keep their order.

    Raises ValueError: as ``json_line``.
    """
    line = json_line(value)
    parts = line.replace("\\\\", _BACKSLASH).replace('\\"', _QUOTE).split('"')  # each second one is a string
    if len(parts) == 1:
        return line
    texts = '"'.join(parts[1::2])
    for sign, escape in _ESCAPES.items():
        texts = texts.replace(sign, escape)
    parts[1::2] = texts.split('"')
    return '"'.join(parts).replace(_QUOTE, '\\"').replace(_BACKSLASH, "\\\\")
