"""What a run did: a tree of tools, steps, items and calls, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class TraceNode:
    """One thing that was done. ``outcome``: ``ok``, ``cached``, a status, or the code of a fault."""

    kind: str
    name: str
    path: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    outcome: str = "ok"
    size: int | None = None
    children: list[TraceNode] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        record: dict[str, Any] = {"kind": self.kind, "name": self.name, "outcome": self.outcome}
        if self.path:
            record["path"] = self.path
        if self.arguments:
            record["arguments"] = dict(self.arguments)
        if self.size is not None:
            record["size"] = self.size
        if self.children:
            record["children"] = [child.record() for child in self.children]
        return record

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The tree as indented text."""
        shown = " ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        size = "" if self.size is None else f" ({self.size})"
        yield "  " * depth + f"{self.kind} {self.name} {shown}".rstrip() + f" -> {self.outcome}{size}"
        for child in self.children:
            yield from child.lines(depth + 1)


class Trace:
    """Records a run; hand one to ``run_tool`` and read ``root`` afterwards."""

    def __init__(self) -> None:
        self.root = TraceNode(kind="run", name="run")
        self._open = [self.root]

    @contextmanager
    def inside(
        self, kind: str, name: str, *, path: str = "", arguments: Mapping[str, Any] | None = None
    ) -> Iterator[TraceNode]:
        """A node under the one that is open; open while the block runs."""
        node = TraceNode(kind=kind, name=name, path=path, arguments=arguments or {})
        self._open[-1].children.append(node)
        self._open.append(node)
        try:
            yield node
        finally:
            self._open.pop()
