"""Random composites: tools drawn from the operations, as long and as expensive as given ones.

They are valid documents of the language without a purpose. What a library gains over them it does not gain by packing
operations into calls, nor by spending more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from random import Random
from typing import Any

from tool_induction import limits
from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.language.model import Block, Call, If, JudgeStep, Step, walk_steps
from world_api.core.faults import ToolFault
from world_api.operations import EVERY_OPERATION, Operation, operations_for

_ATTEMPTS = 24  #: The one nearest in length and price is kept.
_MAX_OUTPUTS = 4
_FEW_HITS = 5  #: hits of a search that is made for each interval
_LITTLE_SECONDS = 0.01  #: added to both sides before seconds are compared
_SECONDS_TOLERANCE = 0.1  #: A kind of call replaces another if the tool's seconds change by at most this share.
_SPLIT_CHANCE = 0.15  #: chance that a spare step splits a loop in two

#: Operations that begin a tool: they return intervals and need none.
_SOURCES = ("list_scenes", "search_segments_by_text", "search_segments_by_semantics", "scan_segments")
_SPAN = {"start_time": "{{ item.start_time }}", "end_time": "{{ item.end_time }}"}
_QUESTIONS = ("What is to be seen?", "What changes?", "Who or what is there?")
_JUDGED = ("Does anything happen here?", "Is anybody named here?", "Is this about a thing?")
#: Operations that are called for each of some intervals, with their parameters.
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


@dataclass(frozen=True, kw_only=True, order=True)
class CallKind:
    """The price of one call. Operations of one kind cost the same."""

    tokens: int
    looks: int
    seconds: float
    model_calls: int

    @classmethod
    def of(cls, operation: Operation) -> CallKind:
        """Return the kind of an operation."""
        price = operation.price
        return cls(tokens=price.tokens, looks=operation.looks, seconds=price.seconds, model_calls=price.model_calls)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The calls of each kind and the judged items of a tool, at most."""

    calls: Counter[CallKind]
    judged: int = 0

    @property
    def looks(self) -> int:
        """Requests to a vision model."""
        return sum(kind.looks * count for kind, count in self.calls.items())

    def weight(self) -> tuple[int, float, int]:
        """The key that orders the branches of an ``if`` by price."""
        tokens = sum(kind.tokens * count for kind, count in self.calls.items()) + self.judged
        return tokens, sum(kind.seconds * count for kind, count in self.calls.items()), sum(self.calls.values())


def workload(
    steps: tuple[Step, ...], tools: Mapping[str, CompiledTool], weight: Callable[[Workload], Any] = Workload.weight
) -> Workload:
    """Return what some steps do at most; of two branches, the one of greater ``weight``."""
    calls: Counter[CallKind] = Counter()
    judged = 0
    for step in steps:
        turns = step.loop.bound if isinstance(step, Call | Block) and step.loop is not None else 1
        match step:
            case Call(kind="api"):
                operation = EVERY_OPERATION.get(step.target)
                once = Workload(calls=Counter() if operation is None else Counter([CallKind.of(operation)]))
            case Call():
                once = workload(tools[step.target].tool.steps, tools, weight)
            case Block():
                once = workload(step.body, tools, weight)
            case JudgeStep():
                once = Workload(calls=Counter(), judged=step.bound)
            case If():
                once = max((workload(block, tools, weight) for block in (step.then, step.otherwise)), key=weight)
            case _:
                continue
        calls.update({kind: count * turns for kind, count in once.calls.items()})
        judged += once.judged * turns
    return Workload(calls=calls, judged=judged)


@dataclass(frozen=True, kw_only=True)
class Expense:
    """The price of a run at most: calls, model calls, their tokens, seconds, and ``looks``, requests to a vision model."""

    calls: int
    model_calls: int
    tokens: int
    seconds: float
    looks: int

    @classmethod
    def of(cls, tool: CompiledTool, tools: Mapping[str, CompiledTool]) -> Expense:
        """Return that of a tool, which may call others of ``tools``."""
        most = tool.price.most
        return cls(
            calls=most.calls,
            model_calls=most.model_calls,
            tokens=most.tokens,
            seconds=round(most.seconds, 6),
            looks=workload(tool.tool.steps, tools, lambda work: work.looks).looks,
        )

    def ratios(self, other: Expense) -> dict[str, float]:
        """Return the ratio of each part to another's; 1 is added to both sides, to seconds 0.01."""
        found: dict[str, float] = {}
        for part in fields(self):
            little = _LITTLE_SECONDS if part.name == "seconds" else 1
            found[part.name] = (getattr(self, part.name) + little) / (getattr(other, part.name) + little)
        return found

    def distance(self, other: Expense) -> float:
        """Return the sum of the absolute log ratios; 0 for equal prices."""
        return sum(abs(math.log(ratio)) for ratio in self.ratios(other).values())

    def record(self) -> dict[str, float]:
        """Return the wire form."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


@dataclass(frozen=True, kw_only=True)
class Composite:
    """A composite and its counterpart ``like``. ``length``: steps, inner ones included, of both; ``aim``: the counterpart's price."""

    document: Mapping[str, Any]
    like: str
    length: tuple[int, int]
    takes: Expense
    aim: Expense
    judges: bool

    def record(self) -> dict[str, Any]:
        """Return what the manifest keeps: both prices at most, and the ratio of each part."""
        ratios = {part: round(ratio, 3) for part, ratio in self.takes.ratios(self.aim).items()}
        return {
            "tool": self.document["tool_name"], "like": self.like, "steps": self.length[0], "steps_of_like": self.length[1],
            "takes": self.takes.record(), "takes_of_like": self.aim.record(), "ratios": ratios, "judges": self.judges,
        }  # fmt: skip


def composites_like(
    tools: Mapping[str, CompiledTool], *, seed: int, allow_judge: bool = False, groups: Collection[str] = ()
) -> list[Composite]:
    """Return one composite for each tool, about as long and as expensive; the same for the same seed.

    Operations of optional ``groups`` are drawn if they cost what the counterpart's calls cost. If a counterpart judges items,
    its composite does too.

    Raises:
        ToolFault: ``no_composite``.
    """
    operations = operations_for(groups)
    kinds = sorted({CallKind.of(operations[name]) for name in _FOR_EACH if name in operations})

    def like(model: CompiledTool, place: int) -> Composite:
        work, aim, steps = workload(model.tool.steps, tools), Expense.of(model, tools), _length(model)
        best: tuple[float, Composite] | None = None
        for attempt in range(_ATTEMPTS):
            chance = Random(f"{seed} {place} {model.name} {attempt}")  # noqa: S311 - a draw, not a secret
            budget = _budget(
                work, aim, steps=min(steps, limits.MAX_STEPS), operations=operations, kinds=kinds, chance=chance
            )
            document = _Writer(chance, budget, operations).document(place)
            found = compile_document(document, allow_judge=allow_judge, groups=groups).tools.get(document["tool_name"])
            if found is None:
                continue
            made = Composite(
                document=document, like=model.name, length=(_length(found), steps), takes=Expense.of(found, {}),
                aim=aim, judges=work.judged > 0,
            )  # fmt: skip
            distance = made.takes.distance(aim) + abs(math.log(made.length[0] / steps))
            if best is None or distance < best[0]:
                best = distance, made
            if distance == 0:
                break
        if best is None:
            raise ToolFault("no_composite", f"no tool like {model.name!r} could be drawn", hint="try another seed")
        return best[1]

    return [like(item, place) for place, item in enumerate(tools.values(), start=1)]


def _length(tool: CompiledTool) -> int:
    return sum(1 for _ in walk_steps(tool.tool.steps))


@dataclass(frozen=True, kw_only=True)
class _Budget:
    """The steps of a composite: one source, loops with their number of calls, judge steps with items, others without calls."""

    source: str
    loops: list[tuple[CallKind, int]]
    judges: list[int]
    others: int


def _budget(
    work: Workload,
    aim: Expense,
    *,
    steps: int,
    operations: Mapping[str, Operation],
    kinds: list[CallKind],
    chance: Random,
) -> _Budget:
    """Distribute a workload over ``steps`` steps, or more if fewer cannot cost as much.

    ``kinds`` are those of the operations that can be called for each interval.
    """
    calls: Counter[CallKind] = Counter()
    for kind, count in work.calls.items():
        calls[_nearest(kind, kinds)] += count
    _add_cheap_calls(calls, aim, kinds)
    source = _take_source(calls, operations, chance)
    judges = _parts(work.judged, limits.MAX_JUDGED_ITEMS)
    loops = [(kind, part) for kind, count in sorted(calls.items()) for part in _parts(count, limits.MAX_LOOP_ITEMS)]
    while 1 + len(loops) + len(judges) > steps and _join(loops, aim):
        pass
    spare = max(0, steps - 1 - len(loops) - len(judges))
    for _ in range(spare):
        wide = [place for place, (_, count) in enumerate(loops) if count > 1]
        if wide and chance.random() < _SPLIT_CHANCE:
            kind, count = loops.pop(chance.choice(wide))
            part = chance.randint(1, count - 1)
            loops += [(kind, part), (kind, count - part)]
            spare -= 1
    return _Budget(source=source, loops=loops, judges=judges, others=spare)


def _add_cheap_calls(calls: Counter[CallKind], aim: Expense, kinds: list[CallKind]) -> None:
    """Add looks and calls that the cheaper branches of the counterpart have more of."""
    for with_looks in (True, False):
        cheap = [kind for kind in kinds if not kind.tokens and bool(kind.looks) == with_looks]
        lacking = aim.looks - Workload(calls=calls).looks if with_looks else aim.calls - sum(calls.values())
        if cheap and lacking > 0:
            calls[min(cheap, key=lambda kind: kind.seconds)] += lacking


def _take_source(calls: Counter[CallKind], operations: Mapping[str, Operation], chance: Random) -> str:
    """Choose the first step and take its call out of the others."""
    names = [name for name in _SOURCES if name in operations]
    same = [name for name in names if calls[CallKind.of(operations[name])] > 0]
    name = chance.choice(same or names)
    kind = CallKind.of(operations[name])
    if not same:
        free = [other for other, count in calls.items() if count and not other.tokens and not other.looks]
        kind = _nearest(kind, free) if free else kind
    calls[kind] -= 1
    return name


def _join(loops: list[tuple[CallKind, int]], aim: Expense) -> bool:
    """Join the two loops that are most alike, if the price stays within the tolerance."""
    pairs = [
        (abs(kind.seconds - other.seconds) * count, place, into)
        for place, (kind, count) in enumerate(loops)
        for into, (other, there) in enumerate(loops)
        if place != into
        and (kind.tokens, kind.looks) == (other.tokens, other.looks)
        and count + there <= limits.MAX_LOOP_ITEMS
    ]
    change, place, into = min(pairs, default=(math.inf, 0, 0))
    if change > _SECONDS_TOLERANCE * aim.seconds:
        return False
    loops[into] = (loops[into][0], loops[into][1] + loops[place][1])
    del loops[place]
    return True


def _parts(count: int, most: int) -> list[int]:
    """Split a number into parts of at most ``most``."""
    return [min(most, count - at) for at in range(0, count, most)]


def _nearest(kind: CallKind, kinds: list[CallKind]) -> CallKind:
    def distance(other: CallKind) -> tuple[float, int, float]:
        seconds = abs(math.log(kind.seconds / other.seconds))
        return abs(kind.tokens - other.tokens), abs(kind.looks - other.looks), seconds

    return min(kinds, key=distance)


@dataclass(kw_only=True)
class _Draft:
    """A tool being written. ``intervals``: lists whose items have times, with their largest size; ``values``: outputs by type."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    intervals: dict[str, int] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    described: list[str] = field(default_factory=list)
    uses_query: bool = False


class _Writer:
    """Writes one tool that keeps to a budget."""

    def __init__(self, chance: Random, budget: _Budget, operations: Mapping[str, Operation]) -> None:
        self._chance = chance
        self._budget = budget
        self._operations = operations
        self._draft = _Draft()
        counts = [count for _, count in budget.loops] + budget.judges
        self._most = max([limits.TYPICAL_LIST_ITEMS, *counts])

    def document(self, place: int) -> dict[str, Any]:
        """Return the whole tool."""
        chance, draft = self._chance, self._draft
        self._source()
        moves: list[Callable[[], None]] = [partial(self._look, kind, count) for kind, count in self._budget.loops]
        moves += [partial(self._judge, count) for count in self._budget.judges]
        others = [self._reshape, self._reshape, self._reshape, self._pick, self._measure]
        moves += [chance.choice(others) for _ in range(self._budget.others)]
        chance.shuffle(moves)
        for move in moves:
            move()
        inputs: dict[str, Any] = {"video_id": "string"}
        if draft.uses_query:
            inputs["query"] = {"type": "string", "description": "What to look for, in words."}
        outputs: dict[str, Any] = {
            name: {"type": type_, "from": f"{{{{ {name} }}}}"}
            for name, type_ in list(draft.values.items())[-_MAX_OUTPUTS + 1 :]
        }
        outputs["stretches"] = {"type": "list<record>", "from": f"{{{{ {draft.lists[-1]} }}}}"}
        did = ", then ".join(dict.fromkeys(draft.described))
        return {
            "tool_name": f"run_steps_{place}",
            "description": f"Does in this order: {did}. Gives what comes out of it. Times are in seconds.",
            "inputs": inputs,
            "outputs": outputs,
            "steps": draft.steps,
        }

    def _bind(self, word: str, step: Mapping[str, Any], described: str) -> str:
        name = f"{word}_{len(self._draft.steps) + 1}"
        self._draft.steps.append({**step, "save_as": name})
        self._draft.described.append(described)
        return name

    def _call(self, api: str, params: Mapping[str, Any], **loop: Any) -> dict[str, Any]:
        self._draft.uses_query |= "query" in params
        return {"type": "call_world_api", "api": api, "params": {"video_id": "{{ video_id }}", **params}, **loop}

    def _source(self) -> None:
        """Write the step that returns the first intervals, enough of them for every loop."""
        api = self._budget.source
        params: dict[str, Any] = {} if api == "list_scenes" else {"query": "{{ query }}"}
        if api.startswith("search"):
            params["top_k"] = self._most
        found = self._bind("found", self._call(api, params), api)
        self._draft.lists.append(found)
        self._draft.intervals[found] = self._most

    def _look(self, kind: CallKind, count: int) -> None:
        """Write a loop that calls an operation for each of some intervals."""
        known = [name for name in _FOR_EACH if name in self._operations]
        api = self._chance.choice([name for name in known if CallKind.of(self._operations[name]) == kind])
        loop = {"loop_over": self._wide(count), "max_items": count, "on_error": "skip"}
        step = self._call(api, _FOR_EACH[api](self._chance), **loop)
        seen = self._bind("seen", step, f"{api} for each of them")
        self._draft.lists.append(seen)
        if api != "detect_objects":
            self._draft.intervals[seen] = count

    def _judge(self, count: int) -> None:
        step = {
            "type": "judge", "inputs": self._wide(count), "question": self._chance.choice(_JUDGED),
            "answers": ["yes", "no"], "max_items": count,
        }  # fmt: skip
        self._draft.lists.append(self._bind("judged", step, "a model's yes or no about each of them"))

    def _wide(self, count: int) -> str:
        """Choose one of the last lists of intervals that can have that many items."""
        wide = [name for name, most in self._draft.intervals.items() if most >= count]
        return self._chance.choice(wide[-2:])

    def _reshape(self) -> None:
        name = self._chance.choice(sorted(_RESHAPES))
        params = {key: self._chance.choice(values) for key, values in _RESHAPES[name].items()}
        self._draft.lists.append(self._bind("kept", self._aggregate(name) | {"params": params}, name))

    def _pick(self) -> None:
        name = self._chance.choice(_PICKS)
        self._draft.values[self._bind("one", self._aggregate(name), name)] = "record?"

    def _measure(self) -> None:
        name = self._chance.choice(sorted(_MEASURES))
        self._draft.values[self._bind("number", self._aggregate(name), name)] = _MEASURES[name]

    def _aggregate(self, name: str) -> dict[str, Any]:
        return {"type": "aggregate", "operation": name, "inputs": self._chance.choice(self._draft.lists[-2:])}
