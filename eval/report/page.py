"""Data in a page: JSON, packed, in an alphabet that no markup can begin in.

A block is the Base64 of gzip of JSON. The page unpacks it where it is asked for, so that thousands of episodes cost a reader
who looks at ten of them no more than ten. Equal values, equal bytes: no time, no name, no salt is in a block.


From what is known of a run to one file of HTML.

The page trusts nothing: every text is escaped by the template, data lies in blocks that hold no markup, scripts and styles are
named by their hashes in the page's own policy, and nothing may be fetched from anywhere.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup

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
    """A name with its values; ``is_code`` sets hashes and ids apart."""

    name: str
    values: Sequence[str]
    is_code: bool = False


@dataclass(frozen=True, kw_only=True)
class FactGroup:
    """Facts that belong together, and a sentence before them."""

    title: str
    facts: Sequence[Fact]
    lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Drawings with what is said below them; ``narrow`` ones stand instead where a screen is narrow, if there are any."""

    drawings: Sequence[Markup]
    caption: str
    narrow: Sequence[Markup] = ()


@dataclass(frozen=True, kw_only=True)
class PageColumn:
    """The head of a column; ``place`` are its classes: ``figure`` stands to the right, ``aside`` is not printed."""

    title: str
    about: str
    place: str


@dataclass(frozen=True, kw_only=True)
class PageCell:
    """A cell in words; ``set`` numbers the samples behind it, None where there are none; ``why`` says why it is blank."""

    text: str
    interval: str
    why: str
    words: str
    place: str
    set: int | None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table with its figures."""

    anchor: str
    title: str
    note: str
    figure: Figure | None
    columns: Sequence[PageColumn]
    rows: Sequence[Sequence[PageCell]]
    footer: str
    remarks: str  #: why cells are blank, and what their signs mean
    watermark: str | None


@dataclass(frozen=True, kw_only=True)
class LeadLine:
    """A figure in a sentence: what stands before it, and after it."""

    words: str
    cell: PageCell
    after: str


@dataclass(frozen=True, kw_only=True)
class Lead:
    """What the page begins with; ``anchor`` is the section that says more of it, None where there is none."""

    lines: Sequence[LeadLine]
    note: str
    figure: Figure | None
    anchor: str | None
    watermark: str | None


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that stands on the page as it is; the rest lies in its blocks."""

    title: str
    lead: Lead | None
    about: Sequence[FactGroup]
    notes: Sequence[str]
    sections: Sequence[Section]
    without_rows: Sequence[Table]
    watermark: str | None
    version: str


@dataclass(frozen=True, kw_only=True)
class Block:
    """Packed data under the id by which the script finds it."""

    id: str
    text: str


def html_of(page: Page, blocks: Iterable[Block]) -> str:
    """The file's text."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style, script = _asset("report.css"), "".join(map(_asset, _SCRIPTS))
    return environment.from_string(_asset("report.html.jinja")).render(
        page=page,
        blocks=blocks,
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
