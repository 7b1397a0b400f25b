"""``inspect_segment`` with a model on an endpoint that decodes what it is sent: alone, in tools, and served."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.support.command_line import Cli
from tests.support.numbered_film import number_in
from tests.support.vision_server import VisionServer, frame_times_of, pictures_of, words_of
from tool_induction import load_library
from tool_induction.library_tools import LibraryTools, mcp_declarations
from world_api.api import open_session
from world_api.operations import OPERATIONS, operations_of
from world_api.schemas import mcp_server

CHOSEN = ("--with", "inspect", "--profile", "endpoint", "--vision-model", "eye")
LOOK = ("call", "inspect_segment", "start_time=20", "end_time=26", "--video", "film")
LOOKING = {
    "tool_name": "look_everywhere",
    "description": "Has a model look at the first segments of a video with a question. Use when nothing else tells.",
    "inputs": {"video_id": "string", "question": "string"},
    "outputs": {"answers": {"type": "list", "from": "{{ seen }}"}},
    "steps": [
        {
            "type": "call_world_api",
            "api": "scan_segments",
            "params": {"video_id": "{{video_id}}"},
            "save_as": "found",
        },
        {
            "type": "call_world_api",
            "api": "inspect_segment",
            "loop_over": "found",
            "max_items": 4,
            "params": {
                "video_id": "{{video_id}}",
                "start_time": "{{ item.start_time }}",
                "end_time": "{{ item.end_time }}",
                "question": "{{ question }}",
            },
            "save_as": "seen",
        },
    ],
}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "looking.json"
    file.write_text(json.dumps(LOOKING), encoding="utf-8")
    return file


def test_the_frames_of_the_stretch_are_sent_with_the_question(
    cli: Cli, film_store: Path, vision_server: VisionServer
) -> None:
    outcome = cli(*LOOK, "question=which colour?", *CHOSEN, "--yes", "--json", store=film_store)
    assert outcome.status == 0, outcome.err
    [body] = vision_server.requests
    times = [20.5, 21.5, 22.5, 23.5, 24.5, 25.5]
    assert frame_times_of(body) == times
    assert [number_in(picture) for picture in pictures_of(body)] == [round(time * 10) for time in times]
    assert "which colour?" in words_of(body)[0]
    assert outcome.json["answer"] == "pictures that are " + ", ".join(["blue"] * 6)
    assert "who painted it" in outcome.json["hint"]
    assert [item["frame_time"] for item in outcome.json["evidence"]] == times
    assert "1 request with 6 frames" in outcome.err


def test_nothing_is_sent_without_the_profile_or_without_the_group(
    cli: Cli, film_store: Path, vision_server: VisionServer
) -> None:
    for chosen, code in (
        (("--with", "inspect"), "no_vision_model"),
        (CHOSEN[2:], "operation_off"),
        (("--with", "inspect", "--vision-model", "eye"), "perception_not_chosen"),
    ):
        outcome = cli(*LOOK, "question=what?", *chosen, "--json", store=film_store)
        assert (outcome.status, outcome.json["error"]["code"]) == (1, code)
    assert vision_server.requests == []


def test_a_tool_has_several_stretches_looked_at_and_tells_what_was_sent(
    cli: Cli, film_store: Path, vision_server: VisionServer, tools: Path
) -> None:
    run = ("tools", "run", str(tools), "look_everywhere", "question=what?", "--video", "film", *CHOSEN, "--json")
    refused = cli(*run, store=film_store)
    assert (refused.json["error"]["code"], vision_server.requests) == ("consent_needed", [])
    assert "looking, for this run of the tool: at most 60 requests to eye at 127.0.0.1:" in refused.err
    run = (*run, "--yes")
    first = cli(*run, store=film_store)
    assert first.status == 0, first.err
    assert len(first.json["outputs"]["answers"]) == len(vision_server.requests) == 4
    assert (first.json["cost"]["model_calls"], first.json["cost"]["tokens"]) == (4, 10_400)
    assert "4 requests" in first.err
    again = cli(*run, store=film_store)
    assert again.json == first.json
    assert len(vision_server.requests) == 4
    assert "nothing was sent" in again.err
    limited = cli(*run, "--looks", "2", store=film_store)
    assert limited.json["error"]["code"] == "looks_spent"


def test_what_looking_costs_is_agreed_to_before_anything_is_served(
    cli: Cli, film_store: Path, vision_server: VisionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []
    monkeypatch.setattr("world_api.schemas.mcp.mcp_server", lambda call, **more: more["groups"])
    monkeypatch.setattr("world_api.schemas.mcp.serve_stdio", served.append)
    refused = cli("serve", "film", *CHOSEN, "--json", store=film_store)
    assert refused.json["error"]["code"] == "consent_needed"
    assert served == []
    assert cli("serve", "film", *CHOSEN, "--yes", store=film_store).status == 0
    assert served == [frozenset({"inspect"})]
    assert vision_server.requests == []


def test_a_server_offers_the_group_and_looks(film_store: Path, vision_server: VisionServer, tools: Path) -> None:
    from world_api import SystemClock
    from world_api.api import vision_config
    from world_api.options import VisionChoices

    environment = {"OPENAI_BASE_URL": vision_server.url, "OPENAI_API_KEY": "not-a-real-key"}
    eyes = vision_config(
        VisionChoices(profile="endpoint", model=None, vision_model="eye"), clock=SystemClock(), environment=environment
    )
    session = open_session(film_store, "film", name=None, seeing=eyes, groups={"inspect"})
    library = load_library(tools, groups={"inspect"})
    served = LibraryTools.on_session(library, session).with_operations(session)

    async def use() -> Any:
        server = mcp_server(served, more_tools=mcp_declarations(library.tools), groups=session.groups)
        async with Client(server) as client:
            listed = await client.list_tools()
            looked = await client.call_tool(
                "inspect_segment", {"video_id": "film", "start_time": 1.0, "end_time": 2.0, "question": "what?"}
            )
            return [tool.name for tool in listed.tools], looked

    names, looked = asyncio.run(use())
    assert names == ["look_everywhere", *OPERATIONS, *operations_of("inspect"), "read_more"]
    assert not looked.is_error
    assert looked.structured_content["data_from_video"]["answer"] == "pictures that are red"
