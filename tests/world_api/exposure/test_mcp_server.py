"""The MCP server, spoken to by a real client in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mcp import Client, types

from world_api.core.faults import OperationFault
from world_api.exposure.faces import mcp_tools
from world_api.exposure.mcp_server import mcp_server
from world_api.operations import OPERATIONS, operations_of

T = TypeVar("T")
METADATA = {
    "evidence": [],
    "truncated": False,
    "hint": "",
    "duration": 12.5,
    "frame_rate": 15.0,
    "resolution": {"width": 640, "height": 360},
    "title": "小城",
    "has_audio": True,
    "has_speech_text": False,
    "profile": "classical",
}


def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if name not in OPERATIONS:
        raise OperationFault("unknown_operation", f"there is no operation {name!r}", hint="list the tools")
    OPERATIONS[name].validate(arguments)
    return METADATA


def with_client(use: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Client(mcp_server(call)) as client:
            return await use(client)

    return asyncio.run(run())


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


def test_the_server_lists_the_sixteen_with_their_schemas_and_annotations() -> None:
    listed = with_client(lambda client: client.list_tools())
    assert [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools] == mcp_tools()


def test_the_operations_of_a_group_are_listed_behind_them_where_it_is_on() -> None:
    async def use() -> list[str]:
        async with Client(mcp_server(call, groups={"inspect"})) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(use()) == [*OPERATIONS, *operations_of("inspect")]


def test_a_result_comes_back_structured_and_as_text() -> None:
    result = with_client(lambda client: client.call_tool("get_video_metadata", {"video_id": "a"}))
    assert not result.is_error
    assert result.structured_content == METADATA
    assert json.loads(text_of(result)) == METADATA


def test_a_fault_comes_back_as_a_tool_error_that_a_model_can_act_on() -> None:
    result = with_client(lambda client: client.call_tool("get_segment", {"video_id": "a", "start_time": "soon"}))
    assert result.is_error
    error = json.loads(text_of(result))["error"]
    assert error["code"] == "bad_arguments"
    assert "end_time" in error["message"]


def test_an_unknown_tool_is_a_fault_and_the_server_lives_on() -> None:
    async def use(client: Client) -> tuple[types.CallToolResult, types.CallToolResult]:
        unknown = await client.call_tool("drop_table", {})
        return unknown, await client.call_tool("get_video_metadata", {"video_id": "a"})

    unknown, known = with_client(use)
    assert json.loads(text_of(unknown))["error"]["code"] == "unknown_operation"
    assert not known.is_error
