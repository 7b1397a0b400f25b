"""The graph of tools that call tools: no cycle, not too deep; callees are compiled before their callers."""

from __future__ import annotations

from collections.abc import Mapping

from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings, Path
from tool_induction.language.model import Call, Tool, walk_steps


def calls_of(tool: Tool) -> dict[str, Path]:
    """The tools a tool calls, each with the place of its first call."""
    found: dict[str, Path] = {}
    for step in walk_steps(tool.steps):
        if isinstance(step, Call) and step.kind == "tool":
            found.setdefault(step.target, (*step.path, "tool"))
    return found


def compile_order(tools: Mapping[str, Tool], findings: Mapping[str, Findings]) -> list[str]:
    """Names, callees first. Tools on a cycle, or too deep, are noted and come all the same."""
    edges = {name: [target for target in calls_of(tool) if target in tools] for name, tool in tools.items()}
    order: list[str] = []
    depths: dict[str, int] = {}
    for name in tools:
        _visit(name, edges, order, [], tools, findings)
    for name in order:
        depths[name] = 1 + max((depths.get(target, 0) for target in edges[name]), default=0)
        if depths[name] > limits.MAX_TOOL_DEPTH:
            deepest = max(edges[name], key=lambda target: depths.get(target, 0))
            findings[name].add(
                "E_DEPTH",
                calls_of(tools[name])[deepest],
                f"tools call tools {depths[name]} deep, more than {limits.MAX_TOOL_DEPTH}",
                found=deepest,
                suggestion="call the operations directly",
            )
    return order


def _visit(
    name: str,
    edges: Mapping[str, list[str]],
    order: list[str],
    above: list[str],
    tools: Mapping[str, Tool],
    findings: Mapping[str, Findings],
) -> None:
    if name in order:
        return
    for target in edges[name]:
        if target in above or target == name:
            circle = [*above[above.index(target) :], name] if target in above else [name]
            for place, member in enumerate(circle):  # each of them may be the one to change
                following = circle[(place + 1) % len(circle)]
                findings[member].add(
                    "E_CYCLE",
                    calls_of(tools[member])[following],
                    "tools call each other in a circle: " + " -> ".join([*circle[place:], *circle[:place], member]),
                    found=following,
                    suggestion="a tool may not call itself, directly or through others",
                )
        else:
            _visit(target, edges, order, [*above, name], tools, findings)
    order.append(name)
