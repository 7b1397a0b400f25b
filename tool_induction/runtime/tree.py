"""A trace as a tree for the terminal: tools, steps, loop items and calls, and what each output came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from tool_induction.runtime.trace import TraceNode

_MOST_ITEMS = 8  #: items of one loop that are shown though they fed no output and did not fail
_MOST_FED = 2  #: outputs that are named beside the call they came from
_MOST_CHARACTERS = 36  #: of one argument
_FINE = ("ok", "cached")


def tree_lines(root: TraceNode, *, width: int = 120) -> list[str]:
    """The lines of a run, each at most ``width`` characters long.

    Of a long loop, items that went well and fed no output are counted and not shown.
    """
    lines: list[str] = []
    for tool in root.children:
        page = _Page(tool, width)
        lines.append(f"{tool.name}({_arguments(tool.arguments, {})}) {_end(tool)}")
        lines.extend(page.below(tool, ""))
        lines.extend(_told(tool))
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


class _Page:
    """What is known while one tool's tree is drawn: its arguments, and which outputs each call fed."""

    def __init__(self, tool: TraceNode, width: int) -> None:
        self._width = width
        self._known = tool.arguments
        self._fed: dict[int, list[str]] = {}
        for name, source in tool.outputs.items():
            for call in source.calls:
                self._fed.setdefault(call, []).append(name)

    def below(self, node: TraceNode, indent: str) -> Iterator[str]:
        shown = self._shown(node.children)
        for place, child in enumerate(shown):
            is_last = place == len(shown) - 1
            head, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            if isinstance(child, str):
                yield indent + head + child
                continue
            title, last = self._title(child, self._width - len(indent + head))
            yield indent + head + title
            yield from self.below(last, indent + rest)

    def _title(self, node: TraceNode, room: int) -> tuple[str, TraceNode]:
        """One line for a node and for its one child, and its one child; and the node whose children come below.

        Where there is little room, what came of it stays.
        """
        line = self._own(node)
        while node.kind in ("step", "item") and len(node.children) == 1 and node.children[0].kind in ("tool", "call"):
            node = node.children[0]
            line += " " + self._own(node)
        end = self._end(node)
        room -= len(end) + 1
        line = line if len(line) <= room else line[: room - 1] + "…"
        return f"{line} {end}".rstrip(), node

    def _own(self, node: TraceNode) -> str:
        match node.kind:
            case "item":
                return f"[{node.name}]"
            case "step":
                return _step(node)
            case "call":
                return f"#{node.number} {node.name}({_arguments(node.arguments, self._known)})"
        return f"{node.name}({_arguments(node.arguments, self._known)})"

    def _end(self, node: TraceNode) -> str:
        if node.kind == "step" and node.outcome == "ok":
            return ""
        fed = self._fed.get(node.number or 0, [])
        shown = ", ".join(fed) if len(fed) <= _MOST_FED else f"{len(fed)} outputs"
        return _end(node) + (f"  => {shown}" if fed else "")

    def _shown(self, nodes: Sequence[TraceNode]) -> list[TraceNode | str]:
        """All but items of a long loop that nothing is to be said of; of those, how many."""
        plain = [node for node in nodes if node.kind == "item" and not self._says_something(node)]
        hidden = {id(node) for node in plain[_MOST_ITEMS:]} if len(plain) > _MOST_ITEMS + 1 else set()
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
    """A step by its place and by what it binds; what its one call says is left to that."""
    place = node.path.rpartition("steps")[2] or node.path
    what, _, name = node.name.rpartition(" as ")
    items = sum(child.kind == "item" for child in node.children)
    is_said = not items and len(node.children) == 1 and node.children[0].name == what
    said = "" if is_said else what or name
    many = f" for each of {items} item{'s' * (items != 1)}" if items else ""
    return f"{place} {name} = {said}{many}".rstrip() if what else f"{place} {said}{many}"


def _counted(nodes: Sequence[TraceNode]) -> str:
    """What became of the calls below some nodes."""
    outcomes = Counter(call.outcome for node in nodes for call in node.calls())
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "no calls"


def _end(node: TraceNode) -> str:
    size = "" if node.size is None else f", {node.size} item{'s' * (node.size != 1)}"
    if node.kind != "tool":
        return f"-> {node.outcome}{size}"
    return f"-> {node.outcome} ({_counted([node])})"


def _arguments(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Arguments in short; what a tool was given is left out under its own name, and named under another."""
    texts = {value: key for key, value in known.items() if isinstance(value, str)}
    return ", ".join(
        f"{key}={texts[value] if isinstance(value, str) and value in texts else _short(value)}"
        for key, value in arguments.items()
        if key not in known or known[key] != value
    )


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower() if value is not None else "null"
    if isinstance(value, int | float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_short(item)}" for key, item in list(value.items())[:6]) + "}"
    elif isinstance(value, list):
        text = f"[{len(value)} items]" if len(value) > 3 else "[" + ", ".join(map(_short, value)) + "]"
    else:
        text = f'"{value}"'
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _told(tool: TraceNode) -> Iterator[str]:
    """Where the outputs came from."""
    if not tool.outputs:
        return
    yield "outputs"
    longest = max(map(len, tool.outputs))
    for name, source in tool.outputs.items():
        parts = [f"from {_numbers(source.calls)}" if source.calls else "from no call"]
        if source.decided_by:
            parts.append(f"decided by {_numbers(source.decided_by)}")
        if source.evidence:
            parts.append("evidence " + ", ".join(map(str, source.evidence)))
        yield f"  {name.ljust(longest)}  {'; '.join(parts)}"
    for place, calls in enumerate(tool.evidence):
        yield f"  evidence {place} given by {_numbers(calls)}"


def _numbers(calls: Sequence[int]) -> str:
    """``#1, #3-#5``."""
    stretches: list[list[int]] = []
    for call in calls:
        if stretches and call == stretches[-1][-1] + 1:
            stretches[-1].append(call)
        else:
            stretches.append([call])
    return ", ".join(f"#{run[0]}" if len(run) == 1 else f"#{run[0]}-#{run[-1]}" for run in stretches)
