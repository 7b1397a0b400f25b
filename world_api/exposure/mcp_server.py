"""The sixteen operations, and tools made of them, as a Model Context Protocol server.

The low-level server takes our schemas as they are; the SDK's decorated one would derive others from signatures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from world_api.core.faults import VideoWorldError
from world_api.exposure.faces import mcp_tools
from world_api.operations import operations_for
from world_api.version import project_version

#: Calls one operation or tool by name with JSON arguments, on a session that the caller opened.
Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]

_INSTRUCTIONS = "Answer questions about a long video by calling these operations. Times are seconds, [start, end)."


def mcp_server(
    call: Call,
    *,
    more_tools: Sequence[Mapping[str, Any]] = (),
    groups: Collection[str] = (),
    name: str = "video-world-api",
) -> Server[Any]:
    """A server that offers the operations with output schemas and annotations, and runs them through ``call``.

    ``more_tools``, in the form of MCP tools, come first: they do more at once. ``groups`` are the optional groups of
    operations that are offered beside the sixteen.

    Calls run one at a time in a worker thread, in the order in which they arrive: a session has one writer.
    A named fault becomes a tool error whose text is the fault's JSON record; a result that says it ended with one
    (``status: error``) is a tool error too, and keeps its record.
    """
    tools = [types.Tool.model_validate(tool) for tool in (*more_tools, *mcp_tools(operations_for(groups)))]
    one_at_a_time = anyio.CapacityLimiter(1)

    async def list_tools(_context: object, _request: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: object, request: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = request.arguments or {}
        return await anyio.to_thread.run_sync(_answer, call, request.name, arguments, limiter=one_at_a_time)

    return Server(
        name,
        version=project_version(),
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(call: Call, *, more_tools: Sequence[Mapping[str, Any]] = (), groups: Collection[str] = ()) -> None:
    """Serve the operations, and more tools, on standard input and output until the client closes them."""
    anyio.run(_serve_stdio, mcp_server(call, more_tools=more_tools, groups=groups))


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _answer(call: Call, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    try:
        result = call(name, arguments)
    except VideoWorldError as fault:
        return types.CallToolResult(content=[_text(fault.record())], is_error=True)
    failed = result.get("status") == "error"
    return types.CallToolResult(content=[_text(result)], structured_content=result, is_error=failed)


def _text(value: object) -> types.TextContent:
    return types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))
