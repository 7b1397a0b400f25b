"""What is known of a step before it runs: the names it needs, and whether it calls, writes or may stop the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.model import Block, Call, If, JudgeStep, Require, Step, binds, blocks, values, walk_steps
from tool_induction.language.syntax import names
from world_api.operations import OPERATIONS

Slice = tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """``reads`` may name more than is read, never less. ``stops``: a ``require`` in it may end the tool."""

    reads: frozenset[str]
    binds: frozenset[str]
    calls: bool
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
    """The facts of a library's steps, each found out once."""

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
        return facts.calls and not facts.writes and not facts.stops and (step.loop is None or step.loop.until is None)

    def body(self, step: Block) -> Slice:
        """The steps of a loop's body that its calls need."""
        known = self._bodies.get(id(step))
        if known is None:
            calls = [place for place, inner in enumerate(step.body) if self.of(inner).calls]
            needed = reduce(set.union, (self._needed(step.body, 0, place) for place in calls), set(calls))
            known = self._bodies[id(step)] = tuple(step.body[place] for place in sorted(needed))
        return known

    def _found(self, step: Step) -> StepFacts:
        inner = [self.of(one) for block in blocks(step) for one in block]
        reads = frozenset(name for one in walk_steps((step,)) for _, value in values(one) for name in names(value))
        calls, writes = any(one.calls for one in inner), any(one.writes for one in inner)
        stops = any(one.stops for one in inner)
        match step:
            case Require():
                stops = True
            case JudgeStep():
                stops = writes = True  # nothing runs ahead of it, and it is not asked ahead: its answers cost tokens
            case Call(kind="api"):
                calls, writes = True, OPERATIONS[step.target].state == "writes"
            case Call():
                callee = [self.of(one) for one in self._tools[step.target].tool.steps]
                calls, writes = any(one.calls for one in callee), any(one.writes for one in callee)
                stops = any(one.stops for one in callee)
        if isinstance(step, Call | Block) and step.on_error != "fail":
            stops = False
        bound = frozenset(name for one in walk_steps((step,)) if not isinstance(one, If) for name in binds(one))
        return StepFacts(reads=reads, binds=bound, calls=calls, writes=writes, stops=stops)

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
        """The calls of a stretch that need not wait for every call before them."""
        calls = [place for place in range(first, end) if self.of(steps[place]).calls]
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
