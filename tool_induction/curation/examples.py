"""Example calls of a library's tools, and the library in the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tool_induction.admission.arguments import Offer, arguments_for, found_words, length_of, made_up_ids
from tool_induction.admission.schema_world import schema_worlds
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.compiler.declarations import openai_declaration, signature_card
from tool_induction.language.model import Tool
from tool_induction.library_tools import limits_for_models, mcp_declarations
from tool_induction.runtime.calls import Caller, WorldState
from tool_induction.runtime.runner import run_tool
from world_api.core.faults import ToolFault, VideoWorldError

Format = Literal["openai", "openai-strict", "mcp", "cards"]
#: Kinds of text, each with the parts of input names that it is used for; other inputs get an event.
_MARKS = {
    "categories": ("category", "kind"),
    "looks": ("look", "person", "thing", "object", "query", "who", "entity", "subject"),
    "words": ("word", "quote", "text", "topic", "clue", "phrase", "term", "sign"),
}
_WORDS_OF_A_QUOTE = 5
#: Words that most speech contains, so that a search for them finds some of it.
_COMMON = "the and you is of to in it that 的 是 了"


@dataclass(frozen=True, kw_only=True)
class Material:
    """Texts for example arguments, from a video: looks of entities, categories, events, words; its ``duration`` (s)."""

    video_id: str
    duration: float
    looks: tuple[str, ...]
    categories: tuple[str, ...]
    events: tuple[str, ...]
    words: tuple[str, ...]

    def texts_for(self, name: str) -> tuple[str, ...]:
        """Return texts of the kind that fits an input of this name; else, or if the video has none, events; never empty."""
        kind = next((kind for kind, marks in _MARKS.items() if any(mark in name.lower() for mark in marks)), "events")
        texts: tuple[str, ...] = getattr(self, kind)
        return texts or self.events or ("person",)


#: Material of signature cards, which have no video.
IMAGINED = Material(
    video_id="film",
    duration=120.0,
    looks=("person in red", "person in blue"),
    categories=("person",),
    events=("somebody enters the room", "the door is closed", "the phone rings"),
    words=("thank you", "see you tomorrow"),
)


@dataclass(frozen=True, kw_only=True)
class ExampleRuns:
    """Runs one example of each tool, on a made-up world or on the world of a video.

    ``session``: the function that calls operations of a world, and the world's state; without it a made-up world is
    used, whose answers have the right form but no meaning. ``material`` has texts for arguments; ``given`` has
    arguments by tool name, which replace generated ones.
    """

    session: tuple[Caller, WorldState] | None = None
    material: Material = IMAGINED
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def on_video(
        cls,
        store: Path,
        video_id: str,
        *,
        given: Mapping[str, Mapping[str, Any]] | None = None,
        groups: Collection[str] = (),
    ) -> ExampleRuns:
        """Return example runs on a stored world, in an unsaved session with optional ``groups`` of operations."""
        from world_api.api import open_session
        from world_api.operations import run

        session = open_session(store, video_id, name=None, groups=groups)
        call = partial(run, session)
        return cls(session=(call, session), material=material_of(call, video_id), given=given or {})

    def of(self, tools: Mapping[str, CompiledTool], name: str) -> dict[str, Any]:
        """Return the record of a tool's example: ``world`` (name or video id), ``made_up``, ``arguments``, ``result`` (or fault)."""
        tool, material = tools[name].tool, self.material
        world = schema_worlds((*material.looks, *material.events, *material.words))["many"]
        call, state = self.session or (world, world)
        ids = found_words(tool, call, material.video_id) if self.session else made_up_ids(tool)
        arguments = example_arguments(tool, material, ids=ids) | dict(self.given.get(name, {}))
        try:
            result = run_tool(tools, name, arguments, call=call, world=state, limits=limits_for_models())
        except VideoWorldError as fault:
            result = dict(fault.record())
        shown = material.video_id if self.session else world.name
        return {"world": shown, "made_up": self.session is None, "arguments": arguments, "result": dict(result)}


def example_arguments(
    tool: Tool, material: Material, *, ids: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Any]:
    """Return the required arguments of a tool, chosen by the names and types of its inputs.

    ``ids``: ids by input name, made up by default. If an input needs an id that is not there, only ``video_id`` is
    returned.
    """
    named = dict(made_up_ids(tool) if ids is None else ids)
    strings = (one.name for one in tool.inputs if "string" in one.type_name and not one.name.endswith(("_id", "_ids")))
    named |= {name: material.texts_for(name) for name in strings}
    offer = Offer(video_id=material.video_id, texts=material.events, duration=material.duration, named=named)
    return arguments_for(tool, offer) or {"video_id": material.video_id}


def material_of(call: Caller, video_id: str) -> Material:
    """Return texts found in a video: the looks of its entities, its actions, and words said or written in it.

    Kinds that the video does not have are filled from ``IMAGINED``.
    """

    def rows(operation: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
        try:
            return list(call(operation, {"video_id": video_id, **arguments})[key])
        except VideoWorldError:
            return []

    duration = length_of(call, video_id)
    entities = rows("list_entities", "entities")
    people = [row for row in entities if row["category"] == "person"] or entities
    actions = rows("recognize_actions", "actions", start_time=0.0, end_time=duration)
    hits = rows("search_segments_by_text", "candidates", query=_COMMON, top_k=20)
    words = [row["snippet"] for row in hits if row["source"] in ("speech", "screen_text") and row["snippet"]]
    quotes = tuple(dict.fromkeys(" ".join(text.split()[:_WORDS_OF_A_QUOTE]) for text in words))
    return Material(
        video_id=video_id,
        duration=duration,
        looks=tuple(dict.fromkeys(row["hint"] for row in people)) or IMAGINED.looks,
        categories=tuple(dict.fromkeys(row["category"] for row in people)) or IMAGINED.categories,
        events=quotes or tuple(dict.fromkeys(row["label"] for row in actions)) or IMAGINED.events,
        words=quotes or IMAGINED.words,
    )


def formatted_tools(tools: Mapping[str, CompiledTool], wanted: Format) -> list[dict[str, Any]] | list[str]:
    """Return all tools in one format, in library order: declarations, or for ``cards`` readable texts with an example.

    In ``openai-strict`` a tool whose inputs strict mode cannot express is declared without it.
    """
    if wanted == "mcp":
        return mcp_declarations(tools)
    if wanted == "cards":
        calls = {name: call_text(name, example_arguments(item.tool, IMAGINED)) for name, item in tools.items()}
        return [f"{signature_card(item)}\n  example: {calls[name]}" for name, item in tools.items()]
    return [_openai_tool(item, strict=wanted == "openai-strict") for item in tools.values()]


def _openai_tool(item: CompiledTool, *, strict: bool) -> dict[str, Any]:
    try:
        return openai_declaration(item, strict=strict)
    except ToolFault as fault:
        if fault.code != "not_strict":
            raise
        return openai_declaration(item, strict=False)


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as readable text: ``name(key=value, ...)`` with values as JSON."""
    given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    return f"{name}({given})"
