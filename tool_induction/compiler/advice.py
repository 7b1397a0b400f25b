"""Passes 5 and 6 over a checked tool: its price, and advice, which stops no tool.

The price is computed from those of the operations and tools that a tool calls and the bounds of its loops. A tool may be
correct and still not worth offering to a model: one that contains entities of the examples it was induced from answers only
the questions about these. Texts are compared without regard to case, accents, width and other Unicode forms; a word in a
script with spaces is found only as a whole word (or its plural), one in Chinese or Japanese anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from tool_induction import limits
from tool_induction.judge.judges import JUDGEMENT
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Findings, Path
from tool_induction.language.model import (
    Block,
    Call,
    If,
    JudgeStep,
    Output,
    Require,
    Set,
    Step,
    Tool,
    document_of,
    values,
    walk_steps,
)
from world_api.core.canonical import canonical_json
from world_api.core.cost import Cost
from world_api.operations import EVERY_OPERATION

_NOTHING = Cost()
_FEWER_CALLS = "give the loops smaller max_items, or the searches a smaller top_k"
_FEWER_TOKENS = "give its judge steps and the loops in which models look smaller max_items, and judge outside of loops"


@dataclass(frozen=True, kw_only=True)
class ToolPrice:
    """Three costs of one run: ``least``, ``expected`` (with lists of typical length) and ``most``.

    Calls, model calls, tokens and seconds are separate bounds. ``least`` is for a run that no fault and no limit ends
    early; ``may_stop``: a ``require`` may end the run before its last step.
    """

    least: Cost = _NOTHING
    expected: Cost = _NOTHING
    most: Cost = _NOTHING
    may_stop: bool = False

    def then(self, other: ToolPrice) -> ToolPrice:
        """Return the price of this part followed by another, which does not run if this one stopped."""
        return ToolPrice(
            least=self.least if self.may_stop else self.least + other.least,
            expected=self.expected + other.expected,
            most=self.most + other.most,
            may_stop=self.may_stop or other.may_stop,
        )

    def record(self) -> dict[str, dict[str, float]]:
        """Return the JSON form, with the keys ``min``, ``expected`` and ``max``."""
        return {"min": self.least.record(), "expected": self.expected.record(), "max": self.most.record()}


def price_of(tool: Tool, prices: Mapping[str, ToolPrice], findings: Findings) -> ToolPrice:
    """Return the price of a checked tool; note one that exceeds a limit. ``prices``: those of the tools it calls."""
    price = _block(tool.steps, prices)
    for amount, most, what, suggestion in (
        (price.most.calls, limits.MAX_PLANNED_CALLS, "calls", _FEWER_CALLS),
        (price.most.tokens, limits.MAX_PLANNED_TOKENS, "tokens of models", _FEWER_TOKENS),
    ):
        if amount > most:
            message = f"the tool may need {amount} {what}, more than {most}"
            findings.add("E_BUDGET", (*tool.path, "steps"), message, found=str(amount), suggestion=suggestion)
    return price


def _block(steps: tuple[Step, ...], prices: Mapping[str, ToolPrice]) -> ToolPrice:
    total = ToolPrice()
    for step in steps:
        total = total.then(_step(step, prices))
    return total


def _step(step: Step, prices: Mapping[str, ToolPrice]) -> ToolPrice:
    match step:
        case Require():
            return ToolPrice(may_stop=True)
        case Call(kind="api"):
            operation = EVERY_OPERATION.get(step.target)
            once = _NOTHING if operation is None else operation.price
            return _repeated(ToolPrice(least=once, expected=once, most=once), step)
        case Call():
            return _repeated(prices.get(step.target, ToolPrice()), step)
        case JudgeStep():
            least, expected, most = map(JUDGEMENT.times, (step.least, step.typical, step.bound))
            return ToolPrice(least=least, expected=expected, most=most)
        case Block():
            return _repeated(_block(step.body, prices), step)
        case If():
            then, otherwise = (_block(block, prices) for block in (step.then, step.otherwise))
            return ToolPrice(
                least=_by_part(min, then.least, otherwise.least),
                expected=_by_part(max, then.expected, otherwise.expected),
                most=_by_part(max, then.most, otherwise.most),
                may_stop=then.may_stop or otherwise.may_stop,
            )
    return ToolPrice()


def _repeated(price: ToolPrice, step: Call | Block) -> ToolPrice:
    """Return the price of a step with its loop. A stop inside it ends the tool only if ``on_error`` is ``fail``."""
    may_stop = price.may_stop and step.on_error == "fail"
    if step.loop is None:
        return replace(price, may_stop=may_stop)
    return ToolPrice(
        least=price.least.times(min(step.loop.least, 1) if may_stop else step.loop.least),
        expected=price.expected.times(step.loop.typical),
        most=price.most.times(step.loop.bound),
        may_stop=may_stop,
    )


def _by_part(choose: Callable[..., Any], one: Cost, other: Cost) -> Cost:
    """Return a cost with the smaller (or larger) of each part of two costs; ``choose`` is ``min`` or ``max``."""
    others = asdict(other)
    return Cost(**{part: choose(amount, others[part]) for part, amount in asdict(one).items()})


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
