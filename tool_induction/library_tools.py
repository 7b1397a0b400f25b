"""A library as a toolset: the declarations for a model, and the calls of its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tool_induction.limits import AT_A_TIME
from world_api.core.faults import tool_result_or_error

if TYPE_CHECKING:
    from tool_induction.compiler.compilation import CompiledTool
    from tool_induction.judge.judges import Judge
    from tool_induction.library import ToolLibrary
    from tool_induction.runtime.calls import Caller, WorldState
    from tool_induction.runtime.limits import RunLimits
    from tool_induction.runtime.trace import Trace
    from world_api.session.session import Session


def limits_for_models() -> RunLimits:
    """Return the limits of a run for a model, which makes several calls at a time."""
    from tool_induction.runtime.limits import RunLimits

    return RunLimits(concurrency=AT_A_TIME)


@dataclass(frozen=True, kw_only=True)
class ToolDeclaration:
    """The declaration of a tool for a model: name, description, and JSON Schema of the arguments.

    The rest is for callers that make several calls at a time. ``writes``: a call changes the session, so it runs alone
    and in order. ``in_turn``: calls run one after the other, because results of one are cached for the next.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    writes: bool = False
    in_turn: bool = False


class LibraryTools:
    """The tools of a library on one session; results are cached as long as the object exists.

    ``call`` runs an atomic operation; several threads use it at a time, as many as ``limits`` allow.
    """

    def __init__(
        self,
        tools: Mapping[str, CompiledTool],
        *,
        call: Caller,
        world: WorldState | None = None,
        limits: RunLimits | None = None,
        traced: bool = False,
        judge: Judge | None = None,
    ) -> None:
        from tool_induction.runtime.calls import Memo

        self._tools = tools
        self._call = call
        self._world = world
        self._limits = limits_for_models() if limits is None else limits
        self._traced = traced
        self._judge = judge
        self._memo = Memo()

    @classmethod
    def on_session(
        cls, library: ToolLibrary, session: Session, *, traced: bool = False, judge: Judge | None = None
    ) -> LibraryTools:
        """Return the library's tools on a session; ``judge`` answers their judge steps.

        Raises:
            ToolFault: ``operations_off``: they call operations of a group that is off in the session.
        """
        from tool_induction.library import check_groups_on, operations_used
        from world_api.operations import run

        check_groups_on(library.name, operations_used(library.tools), session.groups)
        return cls(library.tools, call=partial(run, session), world=session, traced=traced, judge=judge)

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the declarations, in the library's order."""
        from tool_induction.compiler.declarations import description_of, inputs_schema, writes_of

        return [
            ToolDeclaration(
                name=name,
                description=description_of(item),
                parameters=inputs_schema(item.tool),
                writes=writes_of(name, self._tools),
                in_turn=True,
            )
            for name, item in self._tools.items()
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run a tool; return its result record, or ``{"error": ...}`` for a wrong call.

        It never raises: a bug of the runtime becomes the error ``internal_fault``. A traced toolset adds the trace
        under ``trace``, for the recorder of the episode.
        """
        from tool_induction.runtime.trace import Trace

        trace = Trace() if self._traced else None
        result = tool_result_or_error(lambda: self.run(name, arguments, trace=trace))
        if trace is None or "status" not in result:
            return result
        return {**result, "trace": trace.root.record()}

    def run(self, name: str, arguments: dict[str, Any], *, trace: Trace | None = None) -> dict[str, Any]:
        """Run a tool; return its result record, and record its steps in ``trace``.

        Raises:
            VideoWorldError: the call is wrong.
        """
        from tool_induction.runtime.runner import run_tool

        return run_tool(
            self._tools,
            name,
            arguments,
            call=self._call,
            world=self._world,
            memo=self._memo,
            limits=self._limits,
            trace=trace,
            judge=self._judge,
        )

    def with_operations(self, session: Session) -> Callable[[str, Mapping[str, Any]], dict[str, Any]]:
        """Return a function that runs a tool of the library or an operation of the session, for an MCP server."""
        from world_api.operations import run

        def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
            return self.run(name, dict(arguments)) if name in self._tools else run(session, name, dict(arguments))

        return call


def mcp_declarations(tools: Mapping[str, CompiledTool]) -> list[dict[str, Any]]:
    """Return the tools as MCP tools, with input and output schemas and annotations."""
    from tool_induction.compiler.declarations import mcp_declaration, writes_of

    return [mcp_declaration(item, writes=writes_of(name, tools)) for name, item in tools.items()]
