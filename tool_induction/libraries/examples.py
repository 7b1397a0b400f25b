"""One example call of a tool: arguments as a person would give them, and the run they lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tool_induction.admission.arguments import Offer, arguments_for, found_words, length_of, made_up_ids
from tool_induction.admission.worlds import schema_worlds
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language.model import Input, Tool
from tool_induction.language.types import STRING, ListType
from tool_induction.runtime.calls import Caller, WorldState
from tool_induction.runtime.runner import run_tool
from tool_induction.toolset import FOR_MODELS
from world_api.core.faults import VideoWorldError
from world_api.operations import EVERY_OPERATION

if TYPE_CHECKING:
    from pathlib import Path

VIDEO = "video_id"
#: parts of input names, and what such an input is about; what nothing here names is about what happens
_ABOUT = {
    "category": ("category", "kind"),
    "looks": ("look", "person", "thing", "object", "query", "who", "entity", "subject"),
    "words": ("word", "quote", "text", "topic", "clue", "phrase", "term", "sign"),
}
_WORDS_OF_A_QUOTE = 5
#: words that most speech holds, so that a search for them finds some of it
_COMMON = "the and you is of to in it that 的 是 了"


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a video offers to ask about: looks, kinds of things, events and words; and how long it is, in seconds."""

    video_id: str
    duration: float
    looks: tuple[str, ...]
    categories: tuple[str, ...]
    events: tuple[str, ...]
    words: tuple[str, ...]

    def texts_for(self, name: str) -> tuple[str, ...]:
        """Texts that fit an input of that name."""
        by_topic = {"category": self.categories, "looks": self.looks, "words": self.words}
        for about, marks in _ABOUT.items():
            if any(mark in name.lower() for mark in marks):
                return by_topic[about] or self.events
        return self.events


#: what a signature card asks about, where there is no video
IMAGINED = Material(
    video_id="film",
    duration=120.0,
    looks=("person in red", "person in blue"),
    categories=("person",),
    events=("somebody enters the room", "the door is closed", "the phone rings"),
    words=("thank you", "see you tomorrow"),
)


@dataclass(frozen=True, kw_only=True)
class Example:
    """An example call and its result. ``made_up`` worlds hold no video: what they answer shows form, not truth."""

    world: str
    made_up: bool
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "world": self.world,
            "made_up": self.made_up,
            "arguments": dict(self.arguments),
            "result": dict(self.result),
        }


class ExampleRuns:
    """Runs one example of each tool: on a made-up world, or on that of a real video."""

    def __init__(
        self,
        *,
        call: Caller | None = None,
        world: WorldState | None = None,
        material: Material = IMAGINED,
        given: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._call = call
        self._world = world
        self._material = material
        self._given = given or {}

    @classmethod
    def on_video(
        cls,
        store: Path,
        video_id: str,
        *,
        given: Mapping[str, Mapping[str, Any]] | None = None,
        groups: Collection[str] = (),
    ) -> ExampleRuns:
        """Examples on a stored world, in a session that is not kept. ``groups``: optional operations that are on."""
        from world_api.api import open_session
        from world_api.operations import run

        session = open_session(store, video_id, name=None, groups=groups)
        call = partial(run, session)
        return cls(call=call, world=session, material=material_of(call, video_id), given=given)

    def of(self, tools: Mapping[str, CompiledTool], name: str) -> Example:
        """The example of one tool."""
        tool = tools[name].tool
        call, world, material = self._call, self._world, self._material
        if call is None:
            made_up = schema_worlds((*material.looks, *material.events, *material.words))["many"]
            call, world, material = made_up, made_up, replace(material, video_id=made_up.video_id)
            ids = made_up_ids(tool)
        else:
            ids = {key: list(value) for key, value in found_words(tool, call, material.video_id).items()}
        arguments = example_arguments(tool, material, ids=ids) | dict(self._given.get(name, {}))
        try:
            result = run_tool(tools, name, arguments, call=call, world=world, limits=FOR_MODELS)
        except VideoWorldError as fault:
            result = {**fault.record()}
        where = "many" if self._call is None else material.video_id
        return Example(world=where, made_up=self._call is None, arguments=arguments, result=result)


def example_arguments(tool: Tool, material: Material, *, ids: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """The required arguments of a tool, made from the names and types of its inputs."""
    offer = Offer(
        video_id=material.video_id, texts=material.events, duration=material.duration, named=ids or made_up_ids(tool)
    )
    arguments = arguments_for(tool, offer) or {VIDEO: material.video_id}
    used: dict[tuple[str, ...], int] = {}
    for item in tool.inputs:
        if item.name not in arguments or not _is_free_text(item):
            continue
        texts = material.texts_for(item.name) or ("person",)
        count = 2 if isinstance(item.type, ListType) else 1
        start = used.get(texts, 0)
        used[texts] = start + count
        chosen = [texts[(start + place) % len(texts)] for place in range(count)]
        arguments[item.name] = chosen if isinstance(item.type, ListType) else chosen[0]
    return arguments


def _is_free_text(item: Input) -> bool:
    type_ = item.type.item if isinstance(item.type, ListType) else item.type
    return type_ == STRING and not item.name.endswith(("_id", "_ids"))


def material_of(call: Caller, video_id: str) -> Material:
    """What a real video offers: the looks of what was followed, what is done, and words that are said or written."""
    duration = length_of(call, video_id)
    entities = _rows(call, "list_entities", "entities", video_id=video_id)
    people = [row for row in entities if row["category"] == "person"] or entities
    actions = _rows(call, "recognize_actions", "actions", video_id=video_id, start_time=0.0, end_time=duration)
    hits = _rows(call, "search_segments_by_text", "candidates", video_id=video_id, query=_COMMON, top_k=20)
    words = [row["snippet"] for row in hits if row["source"] in ("speech", "screen_text") and row["snippet"]]
    quotes = tuple(dict.fromkeys(" ".join(text.split()[:_WORDS_OF_A_QUOTE]) for text in words))
    done = tuple(dict.fromkeys(row["label"] for row in actions))
    return Material(
        video_id=video_id,
        duration=duration,
        looks=tuple(dict.fromkeys(row["hint"] for row in people)) or IMAGINED.looks,
        categories=tuple(dict.fromkeys(row["category"] for row in people)) or IMAGINED.categories,
        events=quotes or done or IMAGINED.events,
        words=quotes or IMAGINED.words,
    )


def _rows(call: Caller, operation: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
    if operation not in EVERY_OPERATION:
        return []
    try:
        rows: list[dict[str, Any]] = call(operation, arguments)[key]
    except VideoWorldError:
        return []
    return rows
