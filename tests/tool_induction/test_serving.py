"""A library over the Model Context Protocol, spoken to by a real client in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from mcp import Client, types

from tool_induction import LibraryTools, load_library
from tool_induction.library_tools import mcp_declarations
from world_api.operations import OPERATIONS
from world_api.schemas import mcp_server

T = TypeVar("T")
MADE = {"video_id": "made"}


@pytest.fixture
def talk(open_made: Any) -> Any:
    """Speaks to a server that offers hand_A beside the operations on the made minute."""
    library, session = load_library("hand_A"), open_made()
    served = LibraryTools.on_session(library, session).with_operations(session)

    def with_client(use: Callable[[Client], Awaitable[T]]) -> T:
        async def run() -> T:
            async with Client(mcp_server(served, more_tools=mcp_declarations(library.tools))) as client:
                return await use(client)

        return asyncio.run(run())

    return with_client


def text_of(result: types.CallToolResult) -> Any:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return json.loads(block.text)["data_from_video"]


def data_of(result: types.CallToolResult) -> Any:
    assert result.structured_content is not None
    return result.structured_content["data_from_video"]


def test_tools_and_operations_are_listed_tools_first(talk: Any) -> None:
    listed = talk(lambda client: client.list_tools())
    assert [tool.name for tool in listed.tools] == [*load_library("hand_A").tools, *OPERATIONS, "read_more"]


def test_every_tool_gives_a_result_that_fits_its_output_schema(talk: Any) -> None:
    """The client itself refuses a result that does not fit."""

    async def use(client: Client) -> list[types.CallToolResult]:
        await client.list_tools()
        calls = {
            "locate_first_appearance": {"person_query": "person in black"},
            "locate_next_appearance": {"query": "person in black", "after_time": 30.0},
            "list_things_in_view": {"time": 25.0},
            "locate_words": {"words": "blue folder"},
            "locate_event": {"event": "blue folder"},
            "count_distinct_things": {"category": "person"},
            "find_occurrences": {"what": "blue folder"},
        }
        names = load_library("hand_A").tools
        return [await client.call_tool(name, MADE | calls.get(name, {"query": "person in black"})) for name in names]

    results = talk(use)
    assert not any(result.is_error for result in results)
    told = dict(zip(load_library("hand_A").tools, map(data_of, results), strict=True))
    assert all(data["evidence"] for data in told.values())
    # Two people are in black, and the folder is only spoken of, so it is not known to be what happens.
    others = {name: data["status"] for name, data in told.items() if data["status"] != "ok"}
    assert others == {
        "count_appearances": "ambiguous",
        "find_occurrences": "partial",
        "list_things_in_view": "partial",  # things at rest are not seen by profile classical
        "locate_event": "partial",
    }


def test_an_operation_still_answers(talk: Any) -> None:
    assert data_of(talk(lambda client: client.call_tool("get_video_metadata", MADE)))["duration"] == 60.0


def test_a_served_tool_runs_as_a_controller_would_run_it(open_made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session, library, arguments = open_made(), load_library("hand_A"), MADE | {"words": "blue folder"}
    ran: list[str] = []
    run = LibraryTools.run
    monkeypatch.setattr(
        LibraryTools, "run", lambda self, name, *a, **more: ran.append(name) or run(self, name, *a, **more)
    )
    served = LibraryTools.on_session(library, session).with_operations(session)("locate_words", arguments)
    assert served == LibraryTools.on_session(library, session).call_tool("locate_words", arguments)
    assert ran == ["locate_words", "locate_words"]


def test_wrong_arguments_are_a_tool_error_that_a_model_can_act_on(talk: Any) -> None:
    result = talk(lambda client: client.call_tool("locate_words", MADE))
    assert result.is_error
    assert text_of(result)["error"]["code"] == "bad_arguments"


def test_a_tool_that_a_fault_stopped_is_a_tool_error_with_its_record(talk: Any) -> None:
    result = talk(lambda client: client.call_tool("locate_words", {"video_id": "other", "words": "a"}))
    assert result.is_error
    assert text_of(result)["status"] == "error"


def test_a_library_that_is_not_there_is_refused_before_anything_is_served(cli: Any) -> None:
    outcome = cli("serve", "made", "--tools", "nowhere", "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "no_such_library")


def test_what_was_said_in_the_video_is_marked_whichever_tool_tells_it(talk: Any) -> None:
    async def use(client: Client) -> list[types.CallToolResult]:
        return [
            await client.call_tool("locate_words", MADE | {"words": "blue folder"}),
            await client.call_tool("search_segments_by_text", MADE | {"query": "blue folder", "top_k": 2}),
        ]

    for result in talk(use):
        assert "blue folder" in json.dumps(data_of(result))
        assert list(result.structured_content) == ["data_from_video"]
        assert text_of(result) == data_of(result)


def test_calls_to_a_server_of_one_world_need_not_name_it(open_made: Any) -> None:
    library, session = load_library("hand_A"), open_made()
    served = LibraryTools.on_session(library, session).with_operations(session)
    server = mcp_server(served, more_tools=mcp_declarations(library.tools), video_id="made")

    async def use() -> tuple[types.ListToolsResult, list[types.CallToolResult]]:
        async with Client(server) as client:
            calls = [
                await client.call_tool("get_video_metadata", {}),
                await client.call_tool("locate_words", {"words": "blue folder"}),
                await client.call_tool("get_video_metadata", MADE),
                await client.call_tool("get_video_metadata", {"video_id": "other"}),
            ]
            return await client.list_tools(), calls

    listed, results = asyncio.run(use())
    named = [tool.name for tool in listed.tools if "video_id" in json.dumps(tool.input_schema)]
    assert named == []
    assert [result.is_error for result in results] == [False, False, False, True]
    assert data_of(results[0])["duration"] == 60.0
    assert text_of(results[3])["error"]["code"] == "wrong_video"
