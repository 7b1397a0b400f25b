"""Pass 6b: constants that are, or hold, entities of the examples a tool was induced from.

Such a tool answers the questions it was shown and no others. Texts are compared without regard to case, accents, width and
other Unicode forms; a word in a script with spaces is found only as a whole word (or its plural), one in Chinese or Japanese
anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tool_induction.language.diagnostics import Findings, Path
from tool_induction.language.model import Tool, values, walk_steps
from tool_induction.language.syntax import Const, Expr, located, walk
from tool_induction.language.types import EnumType

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u00b7\u30fb]+")
#: scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han
_RANGES = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{_RANGES}]")
_SPACED = rf"[^\W_{_RANGES}]"


def lint_entities(tool: Tool, entities: Sequence[str], findings: Findings) -> None:
    """Note each constant that is, or holds, one of the entities."""
    patterns = [(entity, fold(entity), pattern) for entity in entities if (pattern := _pattern(entity)) is not None]
    if not patterns:
        return
    for path, text in _texts(tool):
        folded = fold(text)
        for entity, plain, pattern in patterns:
            if plain in folded and pattern.search(folded):
                findings.add(
                    "L_CONSTANT_ENTITY",
                    path,
                    f"{entity!r} comes from the examples; with it written in, the tool answers only such questions",
                    found=text,
                    expected="an input",
                    suggestion="take it as an input of the tool",
                )


def fold(text: str) -> str:
    """A text as it is compared: no case, no accents, one width, one space between words."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    bare = "".join(character for character in decomposed if unicodedata.category(character) not in ("Mn", "Cf"))
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", bare)).strip()


@lru_cache(maxsize=4096)
def _pattern(entity: str) -> re.Pattern[str] | None:
    """Where an entity stands in a folded text; None for one that says nothing (a single Latin letter, a mark)."""
    folded = fold(entity)
    if len(re.findall(_SPACED, folded)) < 2 and not _UNSPACED.search(folded):
        return None
    before = "" if _UNSPACED.match(folded[0]) else rf"(?<!{_SPACED})"
    after = "" if _UNSPACED.match(folded[-1]) else rf"(?:['\u2019]?s)?(?!{_SPACED})"
    return re.compile(before + re.escape(folded) + after)


def _texts(tool: Tool) -> Iterator[tuple[Path, str]]:
    """Every text that the writer of a tool put into it (as it was read, before anything was written out), with its place."""
    yield (*tool.path, "tool_name"), tool.name
    yield (*tool.path, "description"), tool.description
    for item in tool.inputs:
        yield (*item.path, "description"), item.description
        if item.default is not None and isinstance(item.default.value, str):
            yield (*item.path, "default"), item.default.value
        if isinstance(item.type, EnumType):
            yield from (((*item.path, "enum", place), word) for place, word in enumerate(item.type.values))
    for output in tool.outputs:
        yield (*output.path, "description"), output.description
        if output.source is not None:
            yield from _constants(output.source, (*output.path, "from"))
    for step in walk_steps(tool.steps):
        for key, value in values(step):
            yield from _constants(value, (*step.path, *key.split(".", 1)))


def _constants(value: Expr, path: Path) -> Iterator[tuple[Path, str]]:
    for where, leaf in located(value, path):
        for node in walk(leaf):
            if isinstance(node, Const) and isinstance(node.value, str):
                yield where, node.value
