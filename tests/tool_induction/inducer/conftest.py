"""What the tests of inducing share: small tools, replies that hold them, and inductions run on a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted import ScriptedChatModel
from tool_induction.domains import Domain, load_domain
from tool_induction.inducer import Induction, Requester, Settings, induce as run_rounds
from world_api import SystemClock
from world_api.chat import completion

Tool = dict[str, Any]


def searching(name: str = "find_moments", *, most: int = 10, **changes: Any) -> Tool:
    """A tool that is admitted: what a search finds, with descriptions, in time order."""
    return {
        "tool_name": name,
        "description": "The moments at which something is seen, described. Use for when. Not for how often.",
        "inputs": {"video_id": "string", "looks": "string"},
        "outputs": {
            "first_time": {"type": "Time", "from": "{{ rows[0].start_time }}"},
            "rows": {"type": "list<record>", "from": "{{ rows }}"},
        },
        "steps": [
            {
                "type": "call_world_api",
                "api": "search_segments_by_text",
                "params": {"video_id": "{{video_id}}", "query": "{{looks}}", "top_k": most},
                "save_as": "hits",
            },
            {
                "type": "aggregate",
                "operation": "sort_by",
                "inputs": "hits",
                "params": {"key": "start_time"},
                "save_as": "ordered",
            },
            {
                "type": "call_world_api",
                "api": "describe_segment",
                "loop_over": "ordered",
                "params": {
                    "video_id": "{{video_id}}",
                    "start_time": "{{item.start_time}}",
                    "end_time": "{{item.end_time}}",
                },
                "save_as": "rows",
            },
            {
                "type": "require",
                "condition": "{{ rows | length > 0 }}",
                "status": "empty",
                "reason": "nothing was found",
            },
        ],
    } | changes


def counting(name: str = "count_things") -> Tool:
    """Another tool that is admitted: how many stretches a search finds, joined where they overlap."""
    tool = searching(name)
    tool["description"] = "How often something is seen. Use for how often. Not for when."
    tool["outputs"] = {
        "count": {"type": "int", "from": "{{ count }}"},
        "stretches": {"type": "list<record>", "from": "{{ joined }}"},
    }
    tool["steps"] = [
        tool["steps"][0],
        {
            "type": "aggregate",
            "operation": "merge_intervals",
            "inputs": "hits",
            "params": {"gap": 1},
            "save_as": "joined",
        },
        {"type": "aggregate", "operation": "count", "inputs": "joined", "save_as": "count"},
    ]
    return tool


def faulty(name: str = "find_moments") -> Tool:
    """The searching tool with an operation that is not there; what is meant can be guessed."""
    tool = searching(name)
    tool["steps"][0] = tool["steps"][0] | {"api": "search_segment_by_text"}
    return tool


def blind(name: str = "find_moments") -> Tool:
    """A tool that compiles and is refused when it is tried: it says the same whatever the world holds."""
    tool = searching(name)
    tool["outputs"] = {"count": {"type": "int", "from": "{{ count }}"}}
    tool["steps"] = [tool["steps"][0], {"type": "set", "value": 3, "save_as": "count"}]
    return tool


def said(content: Any, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A reply: a text, or tools in the form that is asked for."""
    text = content if isinstance(content, str) or content is None else f"```json\n{json.dumps(content)}\n```"
    reply = completion(model="m", content=text, usage=(100, 50))
    reply["choices"][0]["finish_reason"] = finish
    reply["choices"][0]["message"] |= message
    return reply


class Run:
    """An induction that was run on a script."""

    def __init__(self, domain: Domain, replies: list[Any], settings: Settings, **plan: Any) -> None:
        self.model = ScriptedChatModel(replies, name="m")
        self.requester = Requester(self.model, settings, clock=SystemClock())
        self.result: Induction = run_rounds(domain, settings, requester=self.requester, **{"count": 2, **plan})

    @property
    def statuses(self) -> dict[str, str]:
        return {slot.name: slot.current.status for slot in self.result.draft.slots}

    @property
    def problems(self) -> list[tuple[int, str, str]]:
        """What was noted: the round, the problem, the tool."""
        return [(item.number, note.problem, note.tool) for item in self.result.rounds for note in item.notes]

    def asked(self, place: int) -> str:
        """What the user's message of a request says."""
        return str(self.model.requests[place]["messages"][-1]["content"])


@pytest.fixture(scope="session")
def domain() -> Domain:
    return load_domain("A_locate_count")


@pytest.fixture
def run(domain: Domain) -> Callable[..., Run]:
    """Runs an induction whose model says what is given."""

    def make(*replies: Any, settings: Settings | None = None, **plan: Any) -> Run:
        scripted = [item if isinstance(item, Exception) or _is_reply(item) else said(item) for item in replies]
        return Run(domain, scripted, settings or Settings(), **plan)

    return make


def _is_reply(item: Any) -> bool:
    return isinstance(item, dict) and "tool_name" not in item


@pytest.fixture
def tools() -> Any:
    """Makers of small tools, and of replies."""

    class Makers:
        pass

    for maker in (searching, counting, faulty, blind, said):
        setattr(Makers, maker.__name__, staticmethod(maker))
    return Makers


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "libraries" / "draw1"


@pytest.fixture
def induce(cli: Any, chat_server: Any, monkeypatch: pytest.MonkeyPatch, out: Path) -> Callable[..., Any]:
    """Runs the command against a server on the loopback that plays the given answers."""
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-or-other")

    def run(
        *arguments: str, replies: Any = (), model: str | None = "m", worlds: tuple[str, ...] = ("--schema-worlds-only",)
    ) -> Any:
        if replies:
            chat_server.play(*replies)
        named = ("--model", model) if model else ()
        return cli("induce", "A_locate_count", "--count", "2", "--out", str(out), *named, *worlds, *arguments)

    return run
