"""Arms of an experiment: libraries made from an induced one, frozen as any other; the manifest records the arm.

The tools of the ``random`` arm are composites: random sequences of operations without a purpose, each about as long and
as expensive as one tool of the library. If the library does better, the reason is neither that operations are packed
into one call nor that more is spent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args

from tool_induction import limits
from tool_induction.compiler.compilation import CompiledTool, compile_document
from tool_induction.curation.fork import ancestor_of
from tool_induction.language.model import Block, Call, If, JudgeStep, Step, walk_steps
from tool_induction.library import FROZEN_KEYS, Origin, ToolLibrary, carried_induction, freeze_library
from world_api.core.faults import ToolFault
from world_api.core.identifiers import suggestion
from world_api.operations import EVERY_OPERATION, Operation, operations_for

#: random: random composites of operations; placebo: the same declarations, and nothing found. The others are the same tools under
#: a label: selected or unselected, written by a person, induced for the domain of the questions or for another.
ArmKind = Literal["random", "placebo", "selected", "unselected", "hand_written", "own", "other"]
ARM_KINDS: tuple[ArmKind, ...] = get_args(ArmKind)

#: Manifest keys that an arm writes itself; the others are copied from the library it is made from.
_OWN_KEYS = FROZEN_KEYS | {"lineage", "arm", "of", "seed"}
#: A step that ends each run at once, with nothing found.
_NEVER = {"type": "require", "condition": "{{ 1 > 2 }}", "status": "empty", "reason": "nothing was found"}


def make_arm(
    kind: str,
    library: ToolLibrary,
    folder: Path,
    *,
    name: str,
    date: str,
    seed: int = 1,
    allow_judge: bool = False,
    groups: Collection[str] = (),
) -> ToolLibrary:
    """Freeze an arm of a library: ``random`` (see ``composites_like``), ``placebo`` (``placebo_of``), or a label for its tools.

    Only ``random`` uses ``seed``; other manifests keep what the induction of ``library`` saw, for the leak guard.

    Raises:
        ToolFault: ``unknown_arm``, ``already_an_arm``, ``no_composite``, ``no_placebo``; the faults of freezing.
    """
    if kind not in ARM_KINDS:
        raise ToolFault("unknown_arm", f"there is no arm {kind[:64]!r}", hint=suggestion(kind, ARM_KINDS))
    if "arm" in library.manifest:
        raise ToolFault(
            "already_an_arm",
            f"{library.name} is the arm {library.manifest['arm']!r}",
            hint="make arms of the library it came from",
        )
    details: dict[str, Any] = {
        "arm": kind,
        "of": {"name": library.name, "content_hash": library.hash},
        "lineage": [*library.manifest.get("lineage", ()), ancestor_of(library)],
    }
    how, domain = str(library.manifest.get("origin", "brought")), str(library.manifest.get("domain", ""))
    document: dict[str, Any] | None = None
    if kind == "random":
        drawn = composites_like(library.tools, seed=seed, allow_judge=allow_judge, groups=groups)
        document = {"tools": [item.document for item in drawn]}
        how, domain = "random composites", ""
        details |= {"seed": seed, "composites": [item.record for item in drawn]}
    else:
        details |= {key: value for key, value in library.manifest.items() if key not in _OWN_KEYS}
        details |= carried_induction(library.manifest)
    if kind == "placebo":
        document, how = placebo_of(library.tools), "placebo"
    tools = library.tools
    if document is not None:
        tools = compile_document(document, allow_judge=allow_judge, groups=groups).require()
    return freeze_library(tools, folder, name=name, origin=Origin(how=how, date=date, domain=domain, details=details))


def placebo_of(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    """Return a document of tools that find nothing and whose declarations to the model equal those of the real tools.

    Each keeps its name, description, inputs, outputs and steps, so its declared price is the same. A step added before
    them ends every run with the status ``empty``.

    Raises:
        ToolFault: ``no_placebo``: a tool already has as many steps as are allowed.
    """
    return {"tools": [{**item.frozen, "steps": _ended_at_once(item)} for item in tools.values()]}


def _ended_at_once(tool: CompiledTool) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = tool.frozen["steps"]
    if len(steps) >= limits.MAX_STEPS or _length(tool) >= limits.MAX_TOOL_STEPS:
        raise ToolFault(
            "no_placebo",
            f"{tool.name!r} has as many steps as a tool may have: none can be added to end it at once",
            hint="make the arms of a fork without it, or of one in which it has a step less",
        )
    return [_NEVER, *steps]


_ATTEMPTS = 24  #: composites drawn for each tool; the nearest in length and price is kept
_MAX_OUTPUTS = 4
_FEW_HITS = 5  #: hits of a search that is made for each interval
_LITTLE_SECONDS = 0.01  #: added to both sides before seconds are compared
_SECONDS_TOLERANCE = 0.1  #: Calls of one kind may replace another if the tool's seconds change by at most this share.

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


class CallKind(NamedTuple):
    """The price of one call (``looks``: requests to a vision model). Operations of equal price are of one kind."""

    tokens: int
    looks: int
    seconds: float
    model_calls: int


def _kind(operation: Operation) -> CallKind:
    price = operation.price
    return CallKind(price.tokens, operation.looks, price.seconds, price.model_calls)


#: What a tool does at most: the number of calls of each kind.
Workload = Counter[CallKind]
#: A judged item in a workload; it weighs little, since a composite judges as many items as its counterpart anyway.
_JUDGED_ITEM = CallKind(tokens=1, looks=0, seconds=0.0, model_calls=0)


def _weight(work: Workload) -> tuple[float, ...]:
    """Return tokens, seconds and number of all calls in ``work``; by these, in order, two branches of an ``if`` are compared."""
    tokens, seconds = (sum(kind[part] * count for kind, count in work.items()) for part in (0, 2))
    return tokens, seconds, work.total()


def _looks(work: Workload) -> int:
    """Return the number of requests to a vision model."""
    return sum(kind.looks * count for kind, count in work.items())


def _workload(
    steps: tuple[Step, ...], tools: Mapping[str, CompiledTool], weight: Callable[[Workload], Any] = _weight
) -> Workload:
    """Return how many calls of each kind steps make at most; of two branches, the one of greater ``weight`` counts."""
    work: Workload = Counter()
    for step in steps:
        turns = step.loop.bound if isinstance(step, Call | Block) and step.loop is not None else 1
        match step:
            case Call(kind="api"):
                once = Counter([_kind(EVERY_OPERATION[step.target])] if step.target in EVERY_OPERATION else [])
            case Call():
                once = _workload(tools[step.target].tool.steps, tools, weight)
            case Block():
                once = _workload(step.body, tools, weight)
            case JudgeStep():
                once = Counter({_JUDGED_ITEM: step.bound})
            case If():
                once = max((_workload(block, tools, weight) for block in (step.then, step.otherwise)), key=weight)
            case _:
                continue
        work.update({kind: count * turns for kind, count in once.items()})
    return work


#: The price of a run at most: calls, model calls, their tokens, seconds, and looks (requests to a vision model).
Expense = dict[str, float]


def _expense(tool: CompiledTool, tools: Mapping[str, CompiledTool]) -> Expense:
    """Return the highest price of a tool, which may call others of ``tools``."""
    most = tool.price.most.record()
    parts = {part: most[part] for part in ("calls", "model_calls", "tokens")}
    return {**parts, "seconds": round(most["seconds"], 6), "looks": _looks(_workload(tool.tool.steps, tools, _looks))}


def _ratios(one: Expense, other: Expense) -> dict[str, float]:
    """Return ``one / other`` for each part of the price; before the division 1 is added to both (to seconds 0.01)."""
    little = {"seconds": _LITTLE_SECONDS}
    return {part: (one[part] + little.get(part, 1)) / (other[part] + little.get(part, 1)) for part in one}


@dataclass(frozen=True, kw_only=True)
class Composite:
    """A composite (the document of a tool of randomly drawn operations), and its record in the manifest.

    ``record``: the names of the composite (``tool``) and of its counterpart (``like``), the number of steps of both
    (inner ones included), the highest prices of both with the ``ratios`` of their parts, and whether they judge items.
    """

    document: Mapping[str, Any]
    record: Mapping[str, Any]


def composites_like(
    tools: Mapping[str, CompiledTool], *, seed: int, allow_judge: bool = False, groups: Collection[str] = ()
) -> list[Composite]:
    """Return one composite for each tool, about as long and as expensive; the same for the same seed.

    Operations of optional ``groups`` may be drawn if their price is nearest to that of the counterpart's calls. If a
    counterpart judges items, its composite does too.

    Raises:
        ToolFault: ``no_composite``: no composite that compiles was drawn.
    """
    operations = operations_for(groups)

    def drawn(model: CompiledTool, place: int) -> Iterator[tuple[float, Composite]]:
        work, aim, steps = _workload(model.tool.steps, tools), _expense(model, tools), _length(model)
        judged = work.pop(_JUDGED_ITEM, 0)
        for attempt in range(_ATTEMPTS):
            chance = Random(f"{seed} {place} {model.name} {attempt}")  # noqa: S311 - a draw, not a secret
            writer = _writer(work, judged, aim, min(steps, limits.MAX_STEPS), operations, chance)
            document = writer.document(place)
            found = compile_document(document, allow_judge=allow_judge, groups=groups).tools.get(document["tool_name"])
            if found is None:
                continue
            takes = _expense(found, {})
            ratios = _ratios(takes, aim)
            record: dict[str, Any] = {
                "tool": found.name, "like": model.name, "steps": _length(found), "steps_of_like": steps,
                "takes": takes, "takes_of_like": aim, "ratios": {part: round(item, 3) for part, item in ratios.items()},
                "judges": judged > 0,
            }  # fmt: skip
            distance = sum(abs(math.log(ratio)) for ratio in (*ratios.values(), record["steps"] / steps))
            yield distance, Composite(document=document, record=record)
            if distance == 0:
                return

    composites = []
    for place, model in enumerate(tools.values(), start=1):
        best = min(drawn(model, place), key=lambda item: item[0], default=None)
        if best is None:
            raise ToolFault("no_composite", f"no tool like {model.name!r} could be drawn", hint="try another seed")
        composites.append(best[1])
    return composites


def _length(tool: CompiledTool) -> int:
    return sum(1 for _ in walk_steps(tool.tool.steps))


def _writer(
    work: Workload, judged: int, aim: Expense, steps: int, operations: Mapping[str, Operation], chance: Random
) -> _Writer:
    """Return the writer of a tool with about the calls of ``work``, ``judged`` judgements, ``steps`` steps (more to cost ``aim``)."""
    kinds = sorted({_kind(operations[name]) for name in _FOR_EACH if name in operations})
    calls: Workload = Counter()
    for kind, count in work.items():
        calls[_nearest(kind, kinds)] += count
    _add_cheap_calls(calls, aim, kinds)
    source = _take_source(calls, operations, chance)
    judges = _parts(judged, limits.MAX_JUDGED_ITEMS)
    loops = [(kind, part) for kind, count in sorted(calls.items()) for part in _parts(count, limits.MAX_LOOP_ITEMS)]
    while 1 + len(loops) + len(judges) > steps and _join(loops, aim):
        pass
    spare = max(0, steps - 1 - len(loops) - len(judges))
    return _Writer(chance=chance, operations=operations, source=source, loops=loops, judges=judges, others=spare)


def _add_cheap_calls(calls: Workload, aim: Expense, kinds: list[CallKind]) -> None:
    """Add calls without tokens until ``calls`` has as many requests to a vision model, and as many calls, as ``aim``."""
    for with_looks in (True, False):
        cheap = [kind for kind in kinds if not kind.tokens and bool(kind.looks) == with_looks]
        lacking = int(aim["looks"] - _looks(calls) if with_looks else aim["calls"] - calls.total())
        if cheap and lacking > 0:
            calls[min(cheap, key=lambda kind: kind.seconds)] += lacking


def _take_source(calls: Workload, operations: Mapping[str, Operation], chance: Random) -> str:
    """Return the operation of the first step, and remove one call of its price (or the nearest) from ``calls``."""
    names = [name for name in _SOURCES if name in operations]
    same = [name for name in names if calls[_kind(operations[name])] > 0]
    name = chance.choice(same or names)
    kind = _kind(operations[name])
    if not same:
        free = [other for other, count in calls.items() if count and not other.tokens and not other.looks]
        kind = _nearest(kind, free) if free else kind
    calls[kind] -= 1
    return name


def _join(loops: list[tuple[CallKind, int]], aim: Expense) -> bool:
    """Join the two loops whose joining changes the seconds least; return False if none can be joined or they change too much."""
    pairs = [
        (abs(kind.seconds - other.seconds) * count, place, into)
        for place, (kind, count) in enumerate(loops)
        for into, (other, there) in enumerate(loops)
        if place != into
        and (kind.tokens, kind.looks) == (other.tokens, other.looks)
        and count + there <= limits.MAX_LOOP_ITEMS
    ]
    change, place, into = min(pairs, default=(math.inf, 0, 0))
    if change > _SECONDS_TOLERANCE * aim["seconds"]:
        return False
    loops[into] = (loops[into][0], loops[into][1] + loops[place][1])
    del loops[place]
    return True


def _parts(count: int, most: int) -> list[int]:
    """Split ``count`` into parts of ``most``; the last may be smaller; none for 0."""
    return [min(most, count - at) for at in range(0, count, most)]


def _nearest(kind: CallKind, kinds: list[CallKind]) -> CallKind:
    def distance(other: CallKind) -> tuple[float, int, float]:
        seconds = abs(math.log(kind.seconds / other.seconds))
        return abs(kind.tokens - other.tokens), abs(kind.looks - other.looks), seconds

    return min(kinds, key=distance)


@dataclass(kw_only=True)
class _Writer:
    """Writes one tool: a first step, loops of calls, judge steps, and steps without calls.

    ``source``: operation of the first step; ``loops``: kind and number of calls of each loop; ``judges``: number of
    items of each judge step; ``others``: number of steps without calls.
    """

    chance: Random
    operations: Mapping[str, Operation]
    source: str
    loops: list[tuple[CallKind, int]]
    judges: list[int]
    others: int
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _lists: list[str] = field(default_factory=list)
    _intervals: dict[str, int] = field(default_factory=dict)  #: lists whose items have times, with their largest size
    _values: dict[str, str] = field(default_factory=dict)  #: outputs by type
    _described: list[str] = field(default_factory=list)
    _uses_query: bool = False

    def __post_init__(self) -> None:
        self._most = max([limits.TYPICAL_LIST_ITEMS, *(count for _, count in self.loops), *self.judges])

    def document(self, place: int) -> dict[str, Any]:
        """Return the tool document; ``place`` (from 1) is the number in its name."""
        chance = self.chance
        self._begin()
        moves: list[Callable[[], None]] = [partial(self._look, kind, count) for kind, count in self.loops]
        moves += [partial(self._judge, count) for count in self.judges]
        others = [self._reshape, self._reshape, self._reshape, self._pick, self._measure]
        moves += [chance.choice(others) for _ in range(self.others)]
        chance.shuffle(moves)
        for move in moves:
            move()
        inputs: dict[str, Any] = {"video_id": "string"}
        if self._uses_query:
            inputs["query"] = {"type": "string", "description": "What to look for, in words."}
        outputs: dict[str, Any] = {
            name: {"type": type_, "from": f"{{{{ {name} }}}}"}
            for name, type_ in list(self._values.items())[-_MAX_OUTPUTS + 1 :]
        }
        outputs["stretches"] = {"type": "list<record>", "from": f"{{{{ {self._lists[-1]} }}}}"}
        did = ", then ".join(dict.fromkeys(self._described))
        return {
            "tool_name": f"run_steps_{place}",
            "description": f"Does in this order: {did}. Gives what comes out of it. Times are in seconds.",
            "inputs": inputs,
            "outputs": outputs,
            "steps": self._steps,
        }

    def _bind(self, word: str, step: Mapping[str, Any], described: str) -> str:
        name = f"{word}_{len(self._steps) + 1}"
        self._steps.append({**step, "save_as": name})
        self._described.append(described)
        return name

    def _call(self, api: str, params: Mapping[str, Any], **loop: Any) -> dict[str, Any]:
        self._uses_query |= "query" in params
        return {"type": "call_world_api", "api": api, "params": {"video_id": "{{ video_id }}", **params}, **loop}

    def _begin(self) -> None:
        """Write the first step, which returns intervals, enough of them for every loop."""
        api = self.source
        params: dict[str, Any] = {} if api == "list_scenes" else {"query": "{{ query }}"}
        if api.startswith("search"):
            params["top_k"] = self._most
        found = self._bind("found", self._call(api, params), api)
        self._lists.append(found)
        self._intervals[found] = self._most

    def _look(self, kind: CallKind, count: int) -> None:
        """Write a loop that calls an operation of this kind for at most ``count`` intervals."""
        known = [name for name in _FOR_EACH if name in self.operations]
        api = self.chance.choice([name for name in known if _kind(self.operations[name]) == kind])
        loop = {"loop_over": self._wide(count), "max_items": count, "on_error": "skip"}
        step = self._call(api, _FOR_EACH[api](self.chance), **loop)
        seen = self._bind("seen", step, f"{api} for each of them")
        self._lists.append(seen)
        if api != "detect_objects":
            self._intervals[seen] = count

    def _judge(self, count: int) -> None:
        step = {
            "type": "judge", "inputs": self._wide(count), "question": self.chance.choice(_JUDGED),
            "answers": ["yes", "no"], "max_items": count,
        }  # fmt: skip
        self._lists.append(self._bind("judged", step, "a model's yes or no about each of them"))

    def _wide(self, count: int) -> str:
        """Return at random the name of one of the two newest lists of intervals that may hold ``count`` or more items."""
        wide = [name for name, most in self._intervals.items() if most >= count]
        return self.chance.choice(wide[-2:])

    def _reshape(self) -> None:
        name = self.chance.choice(sorted(_RESHAPES))
        params = {key: self.chance.choice(values) for key, values in _RESHAPES[name].items()}
        self._lists.append(self._bind("kept", self._aggregate(name) | {"params": params}, name))

    def _pick(self) -> None:
        name = self.chance.choice(_PICKS)
        self._values[self._bind("one", self._aggregate(name), name)] = "record?"

    def _measure(self) -> None:
        name = self.chance.choice(sorted(_MEASURES))
        self._values[self._bind("number", self._aggregate(name), name)] = _MEASURES[name]

    def _aggregate(self, name: str) -> dict[str, Any]:
        return {"type": "aggregate", "operation": name, "inputs": self.chance.choice(self._lists[-2:])}
