"""A review as one page that needs nothing beside it: no scripts, no fonts, no pictures from elsewhere."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from tool_induction.libraries.faces import call_text
from tool_induction.libraries.review_text import example_line, origin_lines, price_text
from tool_induction.libraries.reviewing import LibraryReview
from world_api.core.files import open_regular

_TEMPLATE = "review.html.jinja"
_MARK = b'<meta name="generator" content="videoworld tools review">'
_HEAD_BYTES = 1000  #: in which the template has the mark


def review_html(review: LibraryReview) -> str:
    """The page. Everything a library says is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["json"] = _json
    template = environment.from_string((files(__package__) / _TEMPLATE).read_text(encoding="utf-8"))
    return template.render(
        review=review,
        origin=origin_lines(review.origin),
        price_text=price_text,
        example_line=example_line,
        call_text=call_text,
    )


def is_review(page: Path) -> bool:
    """Whether a file is a page that was made here."""
    try:
        with open_regular(page) as file:
            return _MARK in file.read(_HEAD_BYTES)
    except OSError:
        return False


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
