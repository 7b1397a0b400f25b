"""What is known of a step before it runs: the names it needs, and whether it calls, writes or may stop the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.model import Block, Call, If, JudgeStep, Require, Step, binds, blocks, values, walk_steps
from tool_induction.language.syntax import names
from world_api.operations import EVERY_OPERATION

Slice = tuple[Step, ...]
#: Declared seconds from which on a call waits for something beside Python's lock: a picture to be decoded, a model.
_WAITS_FROM = 0.05
#: Libraries whose facts are kept.
_MOST_KEPT = 32
_KEPT: dict[tuple[int, ...], Facts] = {}


def is_waited_for(name: str) -> bool:
    """Whether a call of an operation waits, by its declared price: others only take turns in computing."""
    price = EVERY_OPERATION[name].price
    return price.model_calls > 0 or price.seconds >= _WAITS_FROM


def facts_of(tools: Mapping[str, CompiledTool]) -> Facts:
    """The facts of a library's steps; kept for the libraries that ran last."""
    key = tuple(map(id, tools.values()))
    known = _KEPT.get(key)
    if known is None:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        known = _KEPT[key] = Facts(dict(tools))  # holds the tools, so that nothing else gets their ids
    return known


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """``reads`` may name more than is read, never less. ``stops``: a ``require`` in it may end the tool.

    ``waits``: it calls an operation that is worth running ahead.
    """

    reads: frozenset[str]
    binds: frozenset[str]
    waits: bool
    writes: bool
    stops: bool


@dataclass(frozen=True, kw_only=True)
class Departure:
    """Steps that may be run ahead from one place of a block on: a call and what it needs, in document order.

    ``distance`` is how many steps of the block lie before the call.
    """

    steps: Slice
    distance: int


class Facts:
    """The facts of a library's steps, each found out once. Threads may share them."""

    def __init__(self, tools: Mapping[str, CompiledTool]) -> None:
        self._tools = tools
        self._steps: dict[int, StepFacts] = {}
        self._departures: dict[int, dict[int, tuple[Departure, ...]]] = {}
        self._bodies: dict[int, Slice] = {}

    def of(self, step: Step) -> StepFacts:
        """The facts of one step, with all that is inside it."""
        known = self._steps.get(id(step))
        if known is None:
            known = self._steps[id(step)] = self._found(step)
        return known

    def departures(self, steps: Slice) -> Mapping[int, tuple[Departure, ...]]:
        """Where in a block something may be run ahead, and what: by the place from which on it may."""
        known = self._departures.get(id(steps))
        if known is None:
            known = self._departures[id(steps)] = self._departing(steps)
        return known

    def items_apart(self, step: Call | Block) -> bool:
        """Whether the items of a loop may be run ahead of each other.

        Not where ``until`` or a ``require`` may make the later ones needless, and not where they write.
        """
        facts = self.of(step)
        return facts.waits and not facts.writes and not facts.stops and (step.loop is None or step.loop.until is None)

    def body(self, step: Block) -> Slice:
        """The steps of a loop's body that the calls need which are waited for."""
        known = self._bodies.get(id(step))
        if known is None:
            calls = [place for place, inner in enumerate(step.body) if self.of(inner).waits]
            needed = reduce(set.union, (self._needed(step.body, 0, place) for place in calls), set(calls))
            known = self._bodies[id(step)] = tuple(step.body[place] for place in sorted(needed))
        return known

    def _found(self, step: Step) -> StepFacts:
        inner = [self.of(one) for block in blocks(step) for one in block]
        reads = frozenset(name for one in walk_steps((step,)) for _, value in values(one) for name in names(value))
        waits, writes = any(one.waits for one in inner), any(one.writes for one in inner)
        stops = any(one.stops for one in inner)
        match step:
            case Require():
                stops = True
            case JudgeStep():
                stops = writes = True  # nothing runs ahead of it, and it is not asked ahead: its answers cost tokens
            case Call(kind="api"):
                waits, writes = is_waited_for(step.target), EVERY_OPERATION[step.target].state == "writes"
            case Call():
                callee = [self.of(one) for one in self._tools[step.target].tool.steps]
                waits, writes = any(one.waits for one in callee), any(one.writes for one in callee)
                stops = any(one.stops for one in callee)
        if isinstance(step, Call | Block) and step.on_error != "fail":
            stops = False
        bound = frozenset(name for one in walk_steps((step,)) if not isinstance(one, If) for name in binds(one))
        return StepFacts(reads=reads, binds=bound, waits=waits, writes=writes, stops=stops)

    def _departing(self, steps: Slice) -> dict[int, tuple[Departure, ...]]:
        found: dict[int, tuple[Departure, ...]] = {}
        first = 0
        for place, step in enumerate(steps):
            facts = self.of(step)
            is_last = facts.stops or facts.writes
            if is_last or place == len(steps) - 1:
                stretch = self._of_stretch(steps, first, place if facts.writes else place + 1)
                if stretch:
                    found[first] = stretch
                first = place + 1
        return found

    def _of_stretch(self, steps: Slice, first: int, end: int) -> tuple[Departure, ...]:
        """The calls of a stretch that are waited for and need not wait for every such call before them."""
        calls = [place for place in range(first, end) if self.of(steps[place]).waits]
        needs = {place: self._needed(steps, first, place) for place in calls}
        early = [place for at, place in enumerate(calls) if any(before not in needs[place] for before in calls[:at])]
        ends = [place for place in early if not any(place in needs[other] for other in early)]
        return tuple(
            Departure(steps=tuple(steps[at] for at in sorted({*needs[place], place})), distance=place - first)
            for place in ends
        )

    def _needed(self, steps: Slice, first: int, place: int) -> set[int]:
        """The places from ``first`` on whose names a step needs, directly or not."""
        wanted, needed = set(self.of(steps[place]).reads), set()
        for before in range(place - 1, first - 1, -1):
            facts = self.of(steps[before])
            if facts.binds & wanted:
                needed.add(before)
                wanted |= facts.reads
        return needed
