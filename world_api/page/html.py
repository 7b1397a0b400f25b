"""What pages of HTML have in common: one file that loads nothing, whose data cannot become markup.

A page holds its data in blocks: Base64 of gzipped JSON, in which no markup can begin. Its content security policy names its
scripts and styles by their hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from world_api.core.canonical import json_line

_LEVEL = 6  #: of gzip


def packed(value: Any) -> str:
    """Return a value as a block: Base64 of gzipped JSON; equal values give equal text. Raises ValueError: it is not JSON."""
    return packed_text(json_line(value))


def packed_text(text: str) -> str:
    """Return the text of a JSON value as a block."""
    return base64.b64encode(gzip.compress(text.encode(), _LEVEL, mtime=0)).decode("ascii")


def asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``assets`` of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


def policy(*, style: str, script: str, media: str = "") -> str:
    """Return the content security policy: only the page's own style, script and embedded pictures are allowed.

    ``media``: sources from which videos may be played besides, as in ``media-src``.
    """
    played = f"media-src {media}; " if media else ""
    return (
        f"default-src 'none'; script-src '{_source_hash(script)}'; style-src '{_source_hash(style)}'; img-src data:; {played}"
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def fill(template: str, *, style: str, **values: Any) -> str:
    """Return HTML from a Jinja template, which escapes every text of ``values``; ``style`` is a trusted file of a package."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(style=Markup(style), **values)  # noqa: S704 - a file of a package


def render(template: str, *, style: str, script: str, blocks: Mapping[str, str], media: str = "", **values: Any) -> str:
    """Return a page from a Jinja template, which escapes every text of ``values``.

    ``blocks`` maps HTML ids to packed data; ``style`` and ``script`` are trusted files of a package.
    """
    from markupsafe import Markup

    return fill(
        template,
        style=style,
        blocks=blocks.items(),
        policy=policy(style=style, script=script, media=media),
        script=Markup(script),  # noqa: S704 - a file of a package
        **values,
    )
