"""The page of a report: one file of HTML with packed data.

Data lies in the page in blocks, the Base64 of gzip of JSON, in which no markup can begin. The page unpacks a block when it needs it,
so that thousands of episodes cost a reader who looks at ten of them no more than ten. Equal values give equal bytes. The page trusts
nothing: every text is escaped by the template, scripts and styles are named by their hashes in the page's own policy, and nothing may
be fetched from anywhere.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from eval.report.sections import Lead, Section
from eval.tables.table import Table
from world_api.core.canonical import json_line

_LEVEL = 6
_CHUNK = 200_000  #: characters of JSON in one block of a pool; one value may be more


def packed(value: Any) -> str:
    """A value as a block.

    Raises:
        ValueError: it is not JSON.
    """
    return base64.b64encode(gzip.compress(json_line(value).encode(), _LEVEL, mtime=0)).decode("ascii")


class Pool:
    """Values that many episodes share: each is kept once, in blocks of neighbours.

    ``most`` bounds the size of all blocks in bytes; past it nothing new is taken, and ``refused`` counts what was not.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[bytes, int] = {}
        self._open: list[str] = []
        self._size = 0
        self._written = 0
        self._blocks: list[str] = []
        self.starts: list[int] = []  #: the number of the first value of each block
        self.refused = 0

    def add(self, value: Any) -> int | None:
        """The number of a value; None where there is no more room.

        Raises:
            ValueError: it is not JSON.
        """
        text = json_line(value)
        key = hashlib.sha256(text.encode()).digest()
        known = self._places.get(key)
        if known is not None:
            return known
        if self._written >= self._most:
            self.refused += 1
            return None
        if not self._open:
            self.starts.append(len(self._places))
        self._places[key] = len(self._places)
        self._open.append(text)
        self._size += len(text)
        if self._size >= _CHUNK:
            self._close()
        return self._places[key]

    def blocks(self) -> Iterator[str]:
        """All blocks; nothing is added any more."""
        self._close()
        yield from self._blocks

    def _close(self) -> None:
        if self._open:
            joined = f"[{','.join(self._open)}]"
            block = base64.b64encode(gzip.compress(joined.encode(), _LEVEL, mtime=0)).decode("ascii")
            self._blocks.append(block)
            self._written += len(block)
            self._open, self._size = [], 0


_SCRIPTS = ("data.js", "browsing.js", "episodes.js", "start.js")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A name with its values; ``is_code`` marks hashes and ids."""

    name: str
    values: Sequence[str]
    is_code: bool = False


@dataclass(frozen=True, kw_only=True)
class FactGroup:
    """Facts that belong together."""

    title: str
    facts: Sequence[Fact]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The part of the page that needs no script; the rest is in its blocks."""

    title: str
    lead: Lead | None
    about: Sequence[FactGroup]
    notes: Sequence[str]
    sections: Sequence[Section]
    without_rows: Sequence[Table]
    watermark: str | None
    version: str


def html_of(page: Page, blocks: Mapping[str, str]) -> str:
    """The text of the file; ``blocks`` by the ids under which the script finds them."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style, script = _asset("report.css"), "".join(map(_asset, _SCRIPTS))
    return environment.from_string(_asset("report.html.jinja")).render(
        page=page,
        blocks=blocks.items(),
        policy=policy(style=style, script=script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
    )


def policy(*, style: str, script: str) -> str:
    """What the page allows itself: its own style and script, pictures that it holds, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_source_hash(script)}'",
            f"style-src '{_source_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@functools.cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
