"""Random composites: tools put together from the operations by chance, as long and as dear as given ones.

They are sound documents of the language, and each says what it does; nobody thought about what it is for. Whatever a library
gains over them it does not gain by packing operations into calls, nor by spending more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from tool_induction import limits
from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.language.model import walk_steps
from tool_induction.libraries.arms.budgets import Budget, share_out
from tool_induction.libraries.arms.outlays import Kind, Outlay, planned
from world_api.core.faults import ToolFault
from world_api.operations import Operation, operations_for

_ATTEMPTS = 24  #: of which the one nearest in length and price is taken
_MOST_OUTPUTS = 4
_FEW_HITS = 5  #: of a search that is made for each of some stretches

_SPAN = {"start_time": "{{ item.start_time }}", "end_time": "{{ item.end_time }}"}
_QUESTIONS = ("What is to be seen?", "What changes?", "Who or what is there?")
_JUDGED = ("Does anything happen here?", "Is anybody named here?", "Is this about a thing?")
#: What is put into the parameters of an operation that is done for each of some stretches.
_FOR_EACH: Mapping[str, Callable[[Random], dict[str, Any]]] = {
    "get_segment": lambda chance: dict(_SPAN),
    "list_scenes": lambda chance: {"time_range": dict(_SPAN)},
    "search_segments_by_semantics": lambda chance: {
        "query": "{{ query }}", "top_k": _FEW_HITS, "time_range": dict(_SPAN),
    },
    "search_similar_to_example": lambda chance: {"example_segment": dict(_SPAN), "top_k": _FEW_HITS},
    "describe_segment": lambda chance: dict(_SPAN),
    "recognize_actions": lambda chance: dict(_SPAN),
    "detect_objects": lambda chance: {"timestamp": "{{ item.center_time }}", "category": "any"},
    "inspect_segment": lambda chance: {**_SPAN, "question": chance.choice(_QUESTIONS)},
    "read_transcript": lambda chance: dict(_SPAN),
    "scan_segments": lambda chance: {"query": "{{ query }}", "time_range": dict(_SPAN)},
}  # fmt: skip
_RESHAPES: Mapping[str, Mapping[str, Any]] = {
    "merge_intervals": {"gap": (0, 1, 2, 5)},
    "dedupe_overlaps": {"iou": (0.3, 0.5, 0.8)},
    "sort_by": {"key": ("start_time", "end_time"), "descending": (False, True)},
    "top_k": {"k": (3, 5, 10), "key": ("start_time", "end_time")},
}
_PICKS = ("pick_earliest", "pick_latest", "pick_longest", "first")
_MEASURES = {"count": "int", "total_duration": "number"}


@dataclass(frozen=True, kw_only=True)
class Composite:
    """A composite, and what it was made like. ``length`` counts steps, inner ones too: its own, and its counterpart's."""

    document: Mapping[str, Any]
    like: str
    length: tuple[int, int]
    takes: Outlay
    aim: Outlay
    judges: bool

    def record(self) -> dict[str, Any]:
        """What the manifest keeps: both prices at most, and the ratio of each part."""
        ratios = {part: round(ratio, 3) for part, ratio in self.takes.ratios(self.aim).items()}
        return {
            "tool": self.document["tool_name"], "like": self.like, "steps": self.length[0], "steps_of_like": self.length[1],
            "takes": self.takes.record(), "takes_of_like": self.aim.record(), "ratios": ratios, "judges": self.judges,
        }  # fmt: skip


def composites_like(
    tools: Mapping[str, CompiledTool], *, seed: int, allow_judge: bool = False, groups: Collection[str] = ()
) -> list[Composite]:
    """As many tools, each about as long and as dear as its counterpart; the same for the same seed.

    Operations of optional ``groups`` are drawn where they are as dear as those that the counterpart calls. Where a counterpart
    has a model judge items, so does the composite.

    Raises:
        ToolFault: ``no_composite``.
    """
    operations = operations_for(groups)
    kinds = sorted({Kind.of(operations[name]) for name in _FOR_EACH if name in operations})

    def like(model: CompiledTool, place: int) -> Composite:
        does, aim, steps = planned(model.tool.steps, tools), Outlay.of(model, tools), _length(model)
        best: tuple[float, Composite] | None = None
        for attempt in range(_ATTEMPTS):
            chance = Random(f"{seed} {place} {model.name} {attempt}")  # noqa: S311 - a draw, not a secret
            budget = share_out(
                does, aim, steps=min(steps, limits.MAX_STEPS), operations=operations, kinds=kinds, chance=chance
            )
            document = _Writer(chance, budget, operations).document(place)
            found = compile_document(document, allow_judge=allow_judge, groups=groups).tools.get(document["tool_name"])
            if found is None:
                continue
            made = Composite(
                document=document, like=model.name, length=(_length(found), steps), takes=Outlay.of(found, {}),
                aim=aim, judges=does.judged > 0,
            )  # fmt: skip
            distance = made.takes.distance(aim) + abs(math.log(made.length[0] / steps))
            if best is None or distance < best[0]:
                best = distance, made
            if distance == 0:
                break
        if best is None:
            raise ToolFault("no_composite", f"no tool like {model.name!r} came about", hint="try another seed")
        return best[1]

    return [like(item, place) for place, item in enumerate(tools.values(), start=1)]


def document_of(composites: list[Composite]) -> dict[str, Any]:
    """The document that holds them."""
    return {"tools": [item.document for item in composites]}


def _length(tool: CompiledTool) -> int:
    return sum(1 for _ in walk_steps(tool.tool.steps))


@dataclass(kw_only=True)
class _Draft:
    """What is written of one tool so far.

    ``lists`` hold what was found; ``stretches`` those of them whose items have times, and how many at most; ``values`` are
    single outputs by type.
    """

    steps: list[dict[str, Any]] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    stretches: dict[str, int] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    uses_query: bool = False


class _Writer:
    """Writes one tool that keeps to a budget."""

    def __init__(self, chance: Random, budget: Budget, operations: Mapping[str, Operation]) -> None:
        self._chance = chance
        self._budget = budget
        self._operations = operations
        self._draft = _Draft()
        counts = [count for _, count in budget.loops] + budget.judges
        self._most = max([limits.TYPICAL_LIST_ITEMS, *counts])

    def document(self, place: int) -> dict[str, Any]:
        """The whole tool."""
        self._source()
        for move in self._plan():
            move()
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

    def _plan(self) -> Iterator[Callable[[], None]]:
        """All steps after the source, as they come."""
        moves: list[Callable[[], None]] = [partial(self._look, kind, count) for kind, count in self._budget.loops]
        moves += [partial(self._judge, count) for count in self._budget.judges]
        others = [self._reshape, self._reshape, self._reshape, self._pick, self._measure]
        moves += [self._chance.choice(others) for _ in range(self._budget.others)]
        self._chance.shuffle(moves)
        yield from moves

    def _bind(self, word: str, step: dict[str, Any]) -> str:
        name = f"{word}_{len(self._draft.steps) + 1}"
        self._draft.steps.append({**step, "save_as": name})
        return name

    def _call(self, api: str, params: Mapping[str, Any], **loop: Any) -> dict[str, Any]:
        self._draft.uses_query |= "query" in params
        return {"type": "call_world_api", "api": api, "params": {"video_id": "{{ video_id }}", **params}, **loop}

    def _source(self) -> None:
        """What gives the first stretches, enough of them for every loop."""
        api = self._budget.source
        params: dict[str, Any] = {} if api == "list_scenes" else {"query": "{{ query }}"}
        if api.startswith("search"):
            params["top_k"] = self._most
        found = self._bind("found", self._call(api, params))
        self._draft.lists.append(found)
        self._draft.stretches[found] = self._most
        self._draft.said.append(api)

    def _look(self, kind: Kind, count: int) -> None:
        """An operation for each of some stretches."""
        api = self._chance.choice(
            [name for name in _FOR_EACH if name in self._operations and Kind.of(self._operations[name]) == kind]
        )
        wide = [name for name, most in self._draft.stretches.items() if most >= count]
        loop = {"loop_over": self._chance.choice(wide[-2:]), "max_items": count, "on_error": "skip"}
        seen = self._bind("seen", self._call(api, _FOR_EACH[api](self._chance), **loop))
        self._draft.lists.append(seen)
        if api != "detect_objects":
            self._draft.stretches[seen] = count
        self._draft.said.append(f"{api} for each of them")

    def _judge(self, count: int) -> None:
        """A model's yes or no about each of some stretches."""
        wide = [name for name, most in self._draft.stretches.items() if most >= count]
        step = {
            "type": "judge", "inputs": self._chance.choice(wide[-2:]), "question": self._chance.choice(_JUDGED),
            "answers": ["yes", "no"], "max_items": count,
        }  # fmt: skip
        self._draft.lists.append(self._bind("judged", step))
        self._draft.said.append("a model's yes or no about each of them")

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
