"""Random composites: tools put together from the operations by chance, as long and as dear as given ones.

They are sound documents of the language, and each says what it does; nobody thought about what it is for. Whatever a library
gains over them it does not gain by packing operations into calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tool_induction.compiler.compiling import CompiledTool, compile_document
from tool_induction.language import limits
from tool_induction.language.model import walk_steps
from world_api.core.faults import ToolFault

_ATTEMPTS = 60  #: of which the one nearest in length and price is taken
_MOST_OUTPUTS = 4
_MOST_HITS = 50

_SEARCHES = ("search_segments_by_text", "search_segments_by_semantics")
_LOOKS = ("describe_segment", "recognize_actions", "detect_objects")
_RESHAPES: Mapping[str, Mapping[str, Any]] = {
    "merge_intervals": {"gap": (0, 1, 2, 5)},
    "dedupe_overlaps": {"iou": (0.3, 0.5, 0.8)},
    "sort_by": {"key": ("start_time", "end_time"), "descending": (False, True)},
    "top_k": {"k": (3, 5, 10), "key": ("start_time", "end_time")},
}
_PICKS = ("pick_earliest", "pick_latest", "pick_longest", "first")
_MEASURES = {"count": "int", "total_duration": "number"}


def composites_like(tools: Mapping[str, CompiledTool], *, seed: int) -> dict[str, Any]:
    """A document of as many tools, each about as long and as dear as its counterpart; the same for the same seed.

    Raises:
        ToolFault: ``no_composite``.
    """
    return {"tools": [_like(item, place, seed) for place, item in enumerate(tools.values(), start=1)]}


def _like(model: CompiledTool, place: int, seed: int) -> dict[str, Any]:
    steps, calls = _length(model), max(1, model.price.most.calls)
    best: tuple[float, dict[str, Any]] | None = None
    for attempt in range(_ATTEMPTS):
        chance = Random(f"{seed} {place} {model.name} {attempt}")  # noqa: S311 - a draw, not a secret
        document = _Writer(chance, steps=steps, calls=calls).document(place)
        found = compile_document(document).tools.get(document["tool_name"])
        if found is None:
            continue
        distance = abs(math.log(max(1, found.price.most.calls) / calls)) + abs(_length(found) - steps) / steps
        if best is None or distance < best[0]:
            best = distance, document
        if distance == 0:
            break
    if best is None:
        raise ToolFault("no_composite", f"no tool like {model.name!r} came about", hint="try another seed")
    return best[1]


def _length(tool: CompiledTool) -> int:
    return sum(1 for _ in walk_steps(tool.tool.steps))


@dataclass(kw_only=True)
class _Draft:
    """What is written of one tool so far. ``lists`` hold stretches of the video, ``values`` are single outputs by type."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    uses_query: bool = False


class _Writer:
    """Writes one tool of so many steps, which may make so many calls."""

    def __init__(self, chance: Random, *, steps: int, calls: int) -> None:
        self._chance = chance
        self._steps = steps
        self._draft = _Draft()
        loops = 0 if calls <= 3 else chance.randint(1, max(1, min(3, steps - 1, calls // 3)))
        self._sources = max(1, min(steps - loops, 3, calls if loops == 0 else 1 + chance.randrange(2)))
        left = max(calls - self._sources, 0)
        self._loops = [left // loops + (place < left % loops) for place in range(loops)]
        self._most = min(_MOST_HITS, max([limits.TYPICAL_LIST_ITEMS, *self._loops]))

    def document(self, place: int) -> dict[str, Any]:
        """The whole tool."""
        for move in self._plan():
            getattr(self, f"_{move}")()
        draft = self._draft
        inputs: dict[str, Any] = {"video_id": "string"}
        if draft.uses_query:
            inputs["query"] = {"type": "string", "description": "What to look for, in words."}
        outputs: dict[str, Any] = {
            name: {"type": type_, "from": f"{{{{ {name} }}}}"}
            for name, type_ in list(draft.values.items())[-_MOST_OUTPUTS + 1 :]
        }
        outputs["stretches"] = {"type": "list<record>", "from": f"{{{{ {draft.lists[-1]} }}}}"}
        did = ", then ".join(dict.fromkeys(draft.said))
        return {
            "tool_name": f"run_steps_{place}",
            "description": f"Does in this order: {did}. Gives what comes out of it. Times are in seconds.",
            "inputs": inputs,
            "outputs": outputs,
            "steps": draft.steps,
        }

    def _plan(self) -> Iterator[str]:
        """A source first; the rest as it comes."""
        rest = ["source"] * (self._sources - 1) + ["look"] * len(self._loops)
        others = ["reshape", "reshape", "reshape", "pick", "measure"]
        rest += [self._chance.choice(others) for _ in range(self._steps - 1 - len(rest))]
        self._chance.shuffle(rest)
        yield "source"
        yield from rest

    def _bind(self, word: str, step: dict[str, Any]) -> str:
        name = f"{word}_{len(self._draft.steps) + 1}"
        self._draft.steps.append({**step, "save_as": name})
        return name

    def _call(self, api: str, params: Mapping[str, Any], **loop: Any) -> dict[str, Any]:
        return {"type": "call_world_api", "api": api, "params": {"video_id": "{{ video_id }}", **params}, **loop}

    def _source(self) -> None:
        api = self._chance.choice((*_SEARCHES, "list_scenes"))
        params: dict[str, Any] = {}
        if api in _SEARCHES:
            self._draft.uses_query = True
            params = {"query": "{{ query }}", "top_k": self._most}
        self._draft.lists.append(self._bind("found", self._call(api, params)))
        self._draft.said.append(api)

    def _look(self) -> None:
        """An operation for each of the stretches found."""
        api = self._chance.choice(_LOOKS)
        params: dict[str, Any] = {"start_time": "{{ item.start_time }}", "end_time": "{{ item.end_time }}"}
        if api == "detect_objects":
            params = {"timestamp": "{{ item.center_time }}", "category": "any"}
        over = self._recent()
        loop = {"loop_over": over, "max_items": max(1, self._loops.pop()), "on_error": "skip"}
        self._draft.lists.append(self._bind("seen", self._call(api, params, **loop)))
        self._draft.said.append(f"{api} for each of them")

    def _reshape(self) -> None:
        name = self._chance.choice(sorted(_RESHAPES))
        params = {key: self._chance.choice(values) for key, values in _RESHAPES[name].items()}
        self._draft.lists.append(self._bind("kept", self._aggregate(name, params)))
        self._draft.said.append(name)

    def _pick(self) -> None:
        name = self._chance.choice(_PICKS)
        self._draft.values[self._bind("one", self._aggregate(name, {}))] = "record?"
        self._draft.said.append(name)

    def _measure(self) -> None:
        name = self._chance.choice(sorted(_MEASURES))
        self._draft.values[self._bind("number", self._aggregate(name, {}))] = _MEASURES[name]
        self._draft.said.append(name)

    def _recent(self) -> str:
        """One of the last lists, so that steps build on each other."""
        return self._chance.choice(self._draft.lists[-2:])

    def _aggregate(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        step = {"type": "aggregate", "operation": name, "inputs": self._recent()}
        return {**step, "params": dict(params)} if params else step
