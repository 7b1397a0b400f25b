"""What a run did: a tree of tools, steps, items and calls, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tool_induction.language.diagnostics import format_path
from tool_induction.language.model import Aggregate, Call, If, JudgeStep, Require, Step
from tool_induction.runtime.origins.origin import Source
from tool_induction.runtime.steps.scopes import Stopped
from world_api.core.faults import VideoWorldError


@dataclass(kw_only=True)
class TraceNode:
    """One thing that was done: a ``tool``, a ``step``, an ``item`` of a loop, a ``call``.

    ``outcome``: ``ok``, ``cached``, a status, or the code of a fault. Of a call: its ``number``, from 1 on in the order of
    the plan, and the numbers of the calls whose results its arguments were ``made_from``. Of a tool: where its
    ``outputs`` came from. Of the tool that was asked for: for each piece of ``evidence`` that is shown, the calls that gave it.
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
    result: Mapping[str, Any] = field(default_factory=dict, repr=False)  #: of a call; not part of the wire form

    def calls(self) -> Iterator[TraceNode]:
        """The calls in this tree, in order."""
        if self.kind == "call":
            yield self
        for child in self.children:
            yield from child.calls()

    def record(self) -> dict[str, Any]:
        """The wire form."""
        record: dict[str, Any] = {"kind": self.kind, "name": self.name, "outcome": self.outcome}
        if self.number is not None:
            record["call"] = self.number
        if self.path:
            record["path"] = self.path
        if self.arguments:
            record["arguments"] = dict(self.arguments)
        if self.made_from:
            record["made_from"] = list(self.made_from)
        if self.size is not None:
            record["size"] = self.size
        if self.outputs:
            record["outputs"] = {name: source.record() for name, source in self.outputs.items()}
        if self.evidence:
            record["evidence"] = [list(calls) for calls in self.evidence]
        if self.children:
            record["children"] = [child.record() for child in self.children]
        return record


class Tracer(Protocol):
    """Is told what is being done; gives the node that is open while it is."""

    def tool(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """A tool runs."""
        ...

    def step(self, step: Step, item: int | None = None) -> AbstractContextManager[TraceNode]:
        """A step is done, or one item of a loop (counted from 0)."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """An operation is called."""
        ...


class Trace:
    """Records a run; hand one to ``run_tool`` and read ``root`` afterwards.

    ``in_vain``: calls that were made ahead and then not asked for. How many hangs on chance, so no record holds it.
    """

    def __init__(self) -> None:
        self.in_vain = 0
        self.root = TraceNode(kind="run", name="run")
        self._open = [self.root]

    def tool(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """A tool, under what is open."""
        return self._inside(TraceNode(kind="tool", name=name, arguments=dict(arguments)))

    def step(self, step: Step, item: int | None = None) -> AbstractContextManager[TraceNode]:
        """A step, or an item of a loop."""
        if item is not None:
            return self._inside(TraceNode(kind="item", name=str(item)))
        return self._inside(TraceNode(kind="step", name=_label(step), path=format_path(step.path)))

    def call(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """A call of an operation."""
        return self._inside(TraceNode(kind="call", name=name, arguments=arguments))

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


class Untraced:
    """Keeps nothing; what is written on its one node is lost."""

    def __init__(self) -> None:
        self._nowhere = _Nowhere()

    def tool(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """Nothing."""
        return self._nowhere

    def step(self, step: Step, item: int | None = None) -> AbstractContextManager[TraceNode]:
        """Nothing."""
        return self._nowhere

    def call(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[TraceNode]:
        """Nothing."""
        return self._nowhere


class _Nowhere(AbstractContextManager[TraceNode]):
    """A node that is open all the time."""

    def __init__(self) -> None:
        self._node = TraceNode(kind="", name="")

    def __enter__(self) -> TraceNode:
        return self._node

    def __exit__(self, *_: object) -> None:
        return


def _label(step: Step) -> str:
    match step:
        case Call():
            return f"{step.target} as {step.save_as}"
        case Aggregate():
            return f"{step.operation} as {step.save_as}"
        case If() | Require():
            return type(step).__name__.lower()
        case JudgeStep():
            return f"judge as {step.save_as}"
    return f"{type(step).__name__.lower()} as {step.save_as}"
