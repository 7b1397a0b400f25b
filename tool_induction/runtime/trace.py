"""The trace of a run: a tree of tools, steps, items and calls in memory; ``tree_lines`` draws it for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

from tool_induction.language.diagnostics import format_path
from tool_induction.language.expressions import Expr, names
from tool_induction.language.model import Aggregate, Call, If, Require, Step, binds, values, walk_steps
from tool_induction.runtime.limits import Stopped
from world_api.core.faults import VideoWorldError

_MOST_ITEMS = 8  #: items of one loop that are shown though they gave no evidence and did not fail
_MOST_FED = 2  #: outputs that are named beside the call that gave their evidence
_MOST_CHARACTERS = 36  #: of one argument
_FINE = ("ok", "cached")


@dataclass(kw_only=True)
class TraceNode:
    """A node of the trace: a ``tool``, a ``step``, an ``item`` of a loop, or a ``call``.

    ``outcome``: ``ok``, ``cached``, a status, or the code of a fault. A call has a ``number``, from 1 in the order of
    the plan, the numbers of the calls whose results its arguments were ``made_from``, and the number of its rows
    (``size``). A tool has the sources of its ``outputs``; the requested tool has for each shown piece of ``evidence``
    the calls that gave it.
    """

    kind: str
    name: str
    path: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    outcome: str = "ok"
    size: int | None = None
    number: int | None = None
    made_from: tuple[int, ...] = ()
    outputs: Mapping[str, Source] = field(default_factory=dict)
    evidence: tuple[tuple[int, ...], ...] = ()
    children: list[TraceNode] = field(default_factory=list)
    result: Mapping[str, Any] = field(default_factory=dict, repr=False)  #: of a call; not part of the JSON record

    def calls(self) -> Iterator[TraceNode]:
        """Yield the calls in this tree, in order."""
        if self.kind == "call":
            yield self
        for child in self.children:
            yield from child.calls()

    def record(self) -> dict[str, Any]:
        """Return the node and those below it as a JSON record, without ``result``; empty parts are omitted."""
        record: dict[str, Any] = {"kind": self.kind, "name": self.name, "outcome": self.outcome}
        parts = {
            "call": self.number,
            "path": self.path or None,
            "arguments": dict(self.arguments) or None,
            "made_from": list(self.made_from) or None,
            "size": self.size,
            "outputs": {name: source.record() for name, source in self.outputs.items()} or None,
            "evidence": [list(calls) for calls in self.evidence] or None,
            "children": [child.record() for child in self.children] or None,
        }
        return record | {key: value for key, value in parts.items() if value is not None}


class Trace:
    """Records a run; pass one to ``run_tool`` and read ``root`` afterwards. Without ``keep`` nothing is recorded."""

    def __init__(self, *, keep: bool = True) -> None:
        self.root = TraceNode(kind="run", name="run")
        self._open = [self.root]
        self._nowhere = None if keep else nullcontext(self.root)

    def tool(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """Open a node for a tool inside the block, under the innermost open node."""
        return self._nowhere or self._inside(TraceNode(kind="tool", name=name, arguments=dict(arguments)))

    def step(self, step: Step) -> AbstractContextManager[TraceNode]:
        """Open a node for a step."""
        return self._nowhere or self._inside(TraceNode(kind="step", name=_label(step), path=format_path(step.path)))

    def item(self, place: int) -> AbstractContextManager[TraceNode]:
        """Open a node for an item of a loop; ``place`` counts from 0."""
        return self._nowhere or self._inside(TraceNode(kind="item", name=str(place)))

    def call(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """Open a node for a call of an operation."""
        return self._nowhere or self._inside(TraceNode(kind="call", name=name, arguments=arguments))

    @contextmanager
    def _inside(self, node: TraceNode) -> Iterator[TraceNode]:
        self._open[-1].children.append(node)
        self._open.append(node)
        try:
            yield node
        except Stopped as stop:
            node.outcome = stop.status
            raise
        except VideoWorldError as fault:
            node.outcome = fault.code
            raise
        finally:
            self._open.pop()


def _label(step: Step) -> str:
    match step:
        case If() | Require():
            return type(step).__name__.lower()
        case Call():
            return f"{step.target} as {step.save_as}"
        case Aggregate():
            return f"{step.operation} as {step.save_as}"
    return f"{type(step).__name__.lower().removesuffix('step')} as {step.save_as}"


def tree_lines(root: TraceNode, *, width: int = 120) -> list[str]:
    """Return the trace as lines of at most ``width`` characters: a tree, then the sources of the outputs.

    In a long loop, items that succeeded and gave no evidence are counted but not shown.
    """
    lines: list[str] = []
    for tool in root.children:
        lines.append(f"{tool.name}({_arguments(tool.arguments, {})}) {_end(tool)}")
        lines.extend(_ToolTree(tool, width).below(tool, ""))
        lines.extend(_sources(tool))
    return [_cut(line, width) for line in lines]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


class _ToolTree:
    """Draws the tree of one tool, with the outputs for which each call gave evidence."""

    def __init__(self, tool: TraceNode, width: int) -> None:
        self._width = width
        self._known = tool.arguments
        self._fed: dict[int, list[str]] = {}
        for name, source in tool.outputs.items():
            for call in dict.fromkeys(call for place in source.evidence for call in tool.evidence[place]):
                self._fed.setdefault(call, []).append(name)

    def below(self, node: TraceNode, indent: str) -> Iterator[str]:
        shown = self._shown(node.children)
        for place, child in enumerate(shown):
            head, rest = ("└─ ", "   ") if place == len(shown) - 1 else ("├─ ", "│  ")
            if isinstance(child, str):
                yield indent + head + child
                continue
            title, last = self._title(child, self._width - len(indent + head))
            yield indent + head + title
            yield from self.below(last, indent + rest)

    def _title(self, node: TraceNode, width: int) -> tuple[str, TraceNode]:
        """Return one line for a node and its chain of only children, and the last node of that chain.

        If the line is longer than ``width``, its beginning and the outcome are kept.
        """
        line = self._own(node)
        while node.kind in ("step", "item") and len(node.children) == 1 and node.children[0].kind in ("tool", "call"):
            node = node.children[0]
            line += " " + self._own(node)
        end = "" if node.kind == "step" and node.outcome == "ok" else _end(node)
        if fed := self._fed.get(node.number or 0):
            end += f"  => {', '.join(fed) if len(fed) <= _MOST_FED else f'{len(fed)} outputs'}"
        return f"{_cut(line, width - len(end) - 1)} {end}".rstrip(), node

    def _own(self, node: TraceNode) -> str:
        if node.kind == "item":
            return f"[{node.name}]"
        if node.kind == "step":
            return _step(node)
        number = f"#{node.number} " if node.kind == "call" else ""
        return f"{number}{node.name}({_arguments(node.arguments, self._known)})"

    def _shown(self, nodes: Sequence[TraceNode]) -> list[TraceNode | str]:
        """Return the nodes to draw; uneventful items of a long loop are replaced by a line with their number."""
        plain = [id(node) for node in nodes if node.kind == "item" and not self._says_something(node)]
        hidden = set(plain[_MOST_ITEMS:]) if len(plain) > _MOST_ITEMS + 1 else set()
        shown: list[TraceNode | str] = []
        for is_hidden, group in groupby(nodes, lambda node: id(node) in hidden):
            found = list(group)
            shown.extend([f"… {len(found)} items like these: {_counted(found)}"] if is_hidden else found)
        return shown

    def _says_something(self, node: TraceNode) -> bool:
        return (
            node.outcome not in _FINE
            or (node.number or 0) in self._fed
            or any(self._says_something(child) for child in node.children)
        )


def _step(node: TraceNode) -> str:
    """Return the title of a step: its place and what it binds."""
    place = node.path.rpartition("steps")[2] or node.path
    what, _, name = node.name.rpartition(" as ")
    items = sum(child.kind == "item" for child in node.children)
    is_said = not items and len(node.children) == 1 and node.children[0].name == what
    said = "" if is_said else what or name
    many = f" for each of {items} item{'s' * (items != 1)}" if items else ""
    return f"{place} {name} = {said}{many}".rstrip() if what else f"{place} {said}{many}"


def _counted(nodes: Sequence[TraceNode]) -> str:
    """Return the number of calls below some nodes, for each outcome, as text."""
    outcomes = Counter(call.outcome for node in nodes for call in node.calls())
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "no calls"


def _end(node: TraceNode) -> str:
    size = "" if node.size is None else f", {node.size} item{'s' * (node.size != 1)}"
    if node.kind != "tool":
        return f"-> {node.outcome}{size}"
    return f"-> {node.outcome} ({_counted([node])})"


def _arguments(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Return arguments as short text, without those that are in ``known``, the arguments of the tool, with equal values.

    A text of ``known`` that is passed under another name is shown as its name in ``known``.
    """
    texts = {value: key for key, value in known.items() if isinstance(value, str)}
    return ", ".join(
        f"{key}={texts[value] if isinstance(value, str) and value in texts else _short(value)}"
        for key, value in arguments.items()
        if key not in known or known[key] != value
    )


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return f"{value:.6g}"
    text = f'"{value}"'
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_short(item)}" for key, item in list(value.items())[:6]) + "}"
    elif isinstance(value, list):
        text = f"[{len(value)} items]" if len(value) > 3 else "[" + ", ".join(map(_short, value)) + "]"
    return _cut(text, _MOST_CHARACTERS)


def _sources(tool: TraceNode) -> Iterator[str]:
    """Yield lines with the calls that the outputs and the evidence came from."""
    if not tool.outputs:
        return
    yield "outputs"
    longest = max(map(len, tool.outputs))
    for name, source in tool.outputs.items():
        parts = [f"from {_numbers(source.calls)}" if source.calls else "from no call"]
        if source.evidence:
            parts.append("evidence " + ", ".join(map(str, source.evidence)))
        yield f"  {name.ljust(longest)}  {'; '.join(parts)}"
    for place, calls in enumerate(tool.evidence):
        yield f"  evidence {place} given by {_numbers(calls)}"


def _numbers(calls: Sequence[int]) -> str:
    """Return call numbers as text with ranges: ``#1, #3-#5``."""
    runs = [[call for _, call in run] for _, run in groupby(enumerate(calls), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"#{run[0]}" if len(run) == 1 else f"#{run[0]}-#{run[-1]}" for run in runs)


Calls: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an output came from: numbers of calls, and positions in the evidence shown with the result."""

    calls: tuple[int, ...] = ()
    evidence: tuple[int, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the source as a JSON record; empty parts are omitted."""
        parts = {"calls": self.calls, "evidence": self.evidence}
        return {name: list(numbers) for name, numbers in parts.items() if numbers}


class Origins:
    """The calls that the value of each name of a scope was computed from; a missing name came from no call.

    A step's result depends on every call made during the step and on the calls behind every name it reads, conditions
    included; the result of one operation depends on that call alone. A call that is neither among the calls of an
    output nor behind the arguments of one of them does not affect the output. Not tracked: whether a requirement was
    met, a call failed, or a budget was exhausted.
    """

    def __init__(self, calls: Mapping[str, Calls]) -> None:
        self._calls = dict(calls)

    def inside(self, name: str, calls: Calls) -> Origins:
        """Return the origins of an inner scope with one more name."""
        return Origins({**self._calls, name: calls})

    def of(self, *exprs: Expr) -> Calls:
        """Return the numbers of the calls that the values of all names read by the expressions came from."""
        return self._behind(name for expr in exprs for name in names(expr))

    def read_by(self, step: Step) -> Calls:
        """Return the numbers of the calls that the names read by a step came from; inner steps count except in an ``if``."""
        steps = (step,) if isinstance(step, If) else walk_steps((step,))
        return self._behind(name for one in steps for _, value in values(one) for name in names(value))

    def bind(self, step: Step, made: Calls) -> None:
        """Record the origins of the names that a step has bound; ``made`` are the calls made during it."""
        if isinstance(step, If):  # its steps have recorded their names; which of them ran depends on the condition
            decided = self.read_by(step)
            for name in binds(step):
                self._calls[name] = self._calls.get(name, frozenset()) | decided
            return
        is_answer = isinstance(step, Call) and step.kind == "api" and step.loop is None
        for name in binds(step):
            self._calls[name] = made if is_answer else made | self.read_by(step)

    def _behind(self, found: Iterable[str]) -> Calls:
        return frozenset[int]().union(*(self._calls.get(name, frozenset()) for name in found))
