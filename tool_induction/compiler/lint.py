"""Pass 6: advice, which stops no tool. A tool may be correct and still not worth offering to a model.

A tool that contains entities of the examples it was induced from answers only the questions about these. Texts are
compared without regard to case, accents, width and other Unicode forms; a word in a script with spaces is found only as
a whole word (or its plural), one in Chinese or Japanese anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Findings, Path
from tool_induction.language.model import Call, Output, Require, Set, Tool, document_of, values, walk_steps
from world_api.core.canonical import canonical_json

MAX_INPUTS = 6
MIN_DESCRIPTION_WORDS = 6


def lint(tool: Tool, findings: Findings) -> None:
    """Add advice on a tool: only one call, too many inputs, ids as inputs, no times or evidence, a short description."""
    lint_wrapper(tool, findings)
    if len(tool.inputs) > MAX_INPUTS:
        message = f"{len(tool.inputs)} inputs are more than a caller fills in well"
        suggestion = "write into the steps what a question does not say"
        findings.add("L_TOO_MANY_INPUTS", (*tool.path, "inputs"), message, suggestion=suggestion)
    unknowable = _unknowable(tool)
    for item in (item for item in tool.inputs if item.name in unknowable):
        message = f"a caller that has only the question does not know a {unknowable[item.name]}"
        suggestion = "take a description instead and look the id up"
        findings.add("L_UNKNOWABLE_ID", item.path, message, suggestion=suggestion)
    if not any(map(_carries_evidence, tool.outputs)):
        message = "no output is a time or evidence, so the answer cannot be looked at again"
        suggestion = "add an output bound to a time of what was found, or to evidence from collect_evidence"
        findings.add("L_NO_EVIDENCE", (*tool.path, "outputs"), message, suggestion=suggestion)
    if len(tool.description.split()) < MIN_DESCRIPTION_WORDS and len(tool.description) < 20:
        message = "the description does not say what the tool is for, and when not to use it"
        findings.add("L_DESCRIPTION", (*tool.path, "description"), message)


def _carries_evidence(output: Output) -> bool:
    if "evidence" in output.name or "time" in output.name:
        return True
    type_ = ty.plain(output.type)
    item = ty.plain(type_.item) if isinstance(type_, ty.ListType) else type_
    if item == ty.TIME:
        return True
    return isinstance(item, ty.RecordType) and bool({"start_time", "evidence", "timestamp"} & set(item.keys))


def _unknowable(tool: Tool) -> dict[str, str]:
    """Return the inputs that are ids by their name, and all names that are passed as ids, each with the name of the id.

    A caller that only has the question cannot know such inputs.
    """
    found = {item.name: item.name for item in tool.inputs if _is_id(item.name)}
    for step in walk_steps(tool.steps):
        for name, value in step.params if isinstance(step, Call) and step.kind == "api" else ():
            if _is_id(name) and isinstance(value, ex.Name):
                found.setdefault(value.name, name)
    return found


def _is_id(name: str) -> bool:
    return name.endswith(("_id", "_ids")) and name != "video_id"


_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u00b7\u30fb]+")
#: scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han
_RANGES = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{_RANGES}]")
_SPACED = rf"[^\W_{_RANGES}]"


def lint_entities(tool: Tool, entities: Sequence[str], findings: Findings) -> None:
    """Note each constant of a tool that is, or contains, one of the entities."""
    for path, _, entity in entities_in(tool, entities):
        findings.add(
            "L_CONSTANT_ENTITY",
            path,
            f"{entity!r} comes from the examples; with it written in, the tool answers only such questions",
            suggestion="take it as an input of the tool",
        )


def entities_in(tool: Tool, entities: Sequence[str]) -> Iterator[tuple[Path, str, str]]:
    """Yield the path of each text of a tool that contains one of the entities, with the text and the entity."""
    patterns = [(entity, fold(entity), pattern) for entity in entities if (pattern := _pattern(entity)) is not None]
    for path, text in _texts(tool) if patterns else ():
        folded = fold(text)
        for entity, bare, pattern in patterns:
            if bare in folded and pattern.search(folded):
                yield path, text, entity


def fold(text: str) -> str:
    """Return a text in the form for comparisons: without case and accents, in one width, one space between words."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    bare = "".join(character for character in decomposed if unicodedata.category(character) not in ("Mn", "Cf"))
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", bare)).strip()


@lru_cache(maxsize=4096)
def _pattern(entity: str) -> re.Pattern[str] | None:
    """Return a pattern that finds an entity as a whole word in a text made by ``fold``, also with an ending 's.

    None if the entity has fewer than two letters or digits and no character of a script without spaces (Chinese, Thai
    ...): it would match by chance.
    """
    folded = fold(entity)
    if len(re.findall(_SPACED, folded)) < 2 and not _UNSPACED.search(folded):
        return None
    before = "" if _UNSPACED.match(folded[0]) else rf"(?<!{_SPACED})"
    after = "" if _UNSPACED.match(folded[-1]) else rf"(?:['\u2019]?s)?(?!{_SPACED})"
    return re.compile(before + re.escape(folded) + after)


def _texts(tool: Tool) -> Iterator[tuple[Path, str]]:
    """Yield every text that the author of a tool wrote, with its path."""
    yield (*tool.path, "tool_name"), tool.name
    yield (*tool.path, "description"), tool.description
    for item in tool.inputs:
        yield (*item.path, "description"), item.description
        if item.default is not None and isinstance(item.default.value, str):
            yield (*item.path, "default"), item.default.value
        if isinstance(item.type, ty.EnumType):
            yield from (((*item.path, "enum", place), word) for place, word in enumerate(item.type.values))
    for output in tool.outputs:
        yield (*output.path, "description"), output.description
        if output.source is not None:
            yield from _constants(output.source, (*output.path, "from"))
    for step in walk_steps(tool.steps):
        for key, value in values(step):
            yield from _constants(value, (*step.path, *key.split(".", 1)))


def _constants(value: ex.Expr, path: Path) -> Iterator[tuple[Path, str]]:
    for where, leaf in ex.located(value, path):
        for node in ex.walk(leaf):
            if isinstance(node, ex.Const) and isinstance(node.value, str):
                yield where, node.value


def lint_wrapper(tool: Tool, findings: Findings) -> None:
    """Note a tool that only makes one call and returns its result."""
    calls = [step for step in walk_steps(tool.steps) if isinstance(step, Call)]
    others = [step for step in tool.steps if not isinstance(step, Call | Require | Set)]
    if len(calls) != 1 or calls[0].loop is not None or others:
        return
    message = f"the tool only wraps {calls[0].target}; the caller can call that itself"
    findings.add("L_WRAPPER", (*tool.path, "steps"), message)


def lint_library(tools: Mapping[str, Tool], findings: Mapping[str, Findings]) -> None:
    """Add the finding ``L_DUPLICATE`` to each tool whose steps equal those of an earlier tool of the library."""
    first: dict[str, str] = {}
    for name, tool in tools.items():
        other = first.setdefault(canonical_json([document_of(step) for step in tool.steps]), name)
        if other != name:
            findings[name].add(
                "L_DUPLICATE",
                (*tool.path, "steps"),
                f"these are the steps of {other!r}",
                suggestion="keep one of the two",
            )
