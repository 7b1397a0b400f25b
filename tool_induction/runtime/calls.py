"""Calls of operations: made, checked, counted in the order of the plan, cached, and traced."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tool_induction.aggregates.functions import span_of
from tool_induction.checker.environment import list_field
from tool_induction.language.evaluation import Json
from tool_induction.language.types import INT, RecordType, operation_types, plain
from tool_induction.runtime.limits import RunMeter, Unfit, check_json
from tool_induction.runtime.trace import Trace
from world_api.core.canonical import canonical_json
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.core.spans import TimeSpan
from world_api.operations import EVERY_OPERATION

if TYPE_CHECKING:
    from tool_induction.runtime.parallel import PreparedCalls

#: Calls one operation: name and arguments in, result record out; raises VideoWorldError. Several threads
#: use it at the same time if a run may make several calls at a time.
Caller: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]
_EVIDENCE_PER_ITEM = 2
_RUNS = count(1)  #: numbers of the runs of this process, for cache keys
_SAME_SPAN = 0.5  #: intersection over union from which two spans count as the same


@dataclass(frozen=True, kw_only=True, slots=True)
class CallResult:
    """A result and its approximate size in bytes as JSON. If it is larger than allowed, ``result`` is empty."""

    result: dict[str, Any]
    size: int


class Asks(Protocol):
    """Protocol of a callable that makes the calls of a run; ``logical`` counts them."""

    logical: int

    def __call__(self, name: str, arguments: Mapping[str, Json], made_from: Sequence[int] = ()) -> dict[str, Any]:
        """Return the result of an operation; ``made_from``: numbers of the calls that its arguments were computed from."""


class WorldState(Protocol):
    """What results depend on besides operation and arguments; a session implements it."""

    @property
    def memo_key(self) -> str:
        """Cache key of the world and its causal cut."""

    @property
    def session_key(self) -> str:
        """Cache key of what was written in the session; two sessions have the same key only if they wrote the same."""


class Memo:
    """A least-recently-used cache of results, limited in their number and in their bytes. Threads may share one."""

    def __init__(self, capacity: int = 2_000, *, most_bytes: int = 200_000_000) -> None:
        self._capacity = capacity
        self._most_bytes = most_bytes
        self._bytes = 0
        self._answers: OrderedDict[str, CallResult] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> CallResult | None:
        """Return the result under a key and mark it as used; None if there is none."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def peek(self, key: str) -> CallResult | None:
        """Return the result under a key without marking it as used; None if there is none."""
        return self._answers.get(key)

    def put(self, key: str, answer: CallResult) -> None:
        """Store a result; remove the least recently used ones that exceed the limits."""
        with self._lock:
            before = self._answers.pop(key, None)
            self._answers[key] = answer
            self._bytes += answer.size - (before.size if before is not None else 0)
            while len(self._answers) > self._capacity or self._bytes > self._most_bytes:
                self._bytes -= self._answers.popitem(last=False)[1].size


@dataclass
class WorldCalls:
    """The world of one run: makes calls and computes their cache keys."""

    call: Caller
    state: WorldState | None
    most: int  #: bytes of a result that is kept
    writes: int = 0
    _run: int = field(default_factory=lambda: next(_RUNS))

    def ask(self, name: str, arguments: Mapping[str, Json]) -> CallResult:
        """Make a call. Of a result that is too large only the size is returned.

        Raises:
            VideoWorldError: the faults of the operation; ``bad_result`` if the result is not a JSON record.
        """
        result = self.call(name, dict(arguments))
        if not isinstance(result, dict):
            raise ToolFault("bad_result", f"{name} gave {type(result).__name__}, not a record")
        try:
            size = check_json(result, most=self.most)
        except Unfit as why:
            raise ToolFault("bad_result", f"{name} gave a result that cannot be used: {why}") from None
        return CallResult(result={} if size > self.most else _with_item_evidence(name, result), size=size)

    def key(self, name: str, arguments: Mapping[str, Json]) -> str | None:
        """Return the cache key of a call; None for operations that write."""
        operation = EVERY_OPERATION[name]
        if operation.state == "writes":
            return None
        world = "" if self.state is None else self.state.memo_key
        # Without a session, results that depend on what was written can be shared within this run only.
        known = f"run {self._run}, {self.writes} written" if self.state is None else self.state.session_key
        return canonical_json([world, name, arguments, known if operation.depends_on_session else None])


@dataclass
class OperationCalls:
    """Makes the calls of one run, one after the other, or uses results that worker threads have ``prepared``.

    ``logical`` counts all calls, ``physical`` those that were not answered from the cache.
    """

    world: WorldCalls
    meter: RunMeter
    memo: Memo
    trace: Trace
    prepared: PreparedCalls | None = None
    logical: int = 0
    physical: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _writes: list[int] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        """The price of all calls, cached ones included."""
        total = Cost()
        for name, times in self._counts.items():
            total += EVERY_OPERATION[name].price.times(times)
        return total

    def __call__(self, name: str, arguments: Mapping[str, Json], made_from: Sequence[int] = ()) -> dict[str, Any]:
        """Return the result of an operation, with evidence added to the items of its list.

        ``made_from``: numbers of the calls that the arguments were computed from, for the trace.

        Raises:
            VideoWorldError: the faults of the operation.
            BudgetExhausted: a limit of the run was exceeded.
        """
        self.meter.call()
        arguments = whole_numbers(name, arguments)
        with self.trace.call(name, arguments) as node:
            self.logical += 1
            self._counts[name] += 1
            writes = self._writes if EVERY_OPERATION[name].depends_on_session else []
            node.number = self.logical
            node.made_from = tuple(sorted({*made_from, *writes})) if writes else tuple(made_from)
            key = self.world.key(name, arguments)
            answer = None if key is None else self.memo.get(key)
            if answer is not None:
                node.outcome = "cached"
            else:
                self.physical += 1
                answer = self._made(name, arguments, key)
            result = node.result = answer.result
            rows = result.get(listed_under(name) or "")
            node.size = len(rows) if isinstance(rows, list) else None
            return result

    def _made(self, name: str, arguments: Mapping[str, Json], key: str | None) -> CallResult:
        """Return the result of a call, made now or before by a worker; ``key`` is None if the operation writes."""
        prepared = None if key is None else self.prepared
        if key is None:
            self.world.writes += 1
            self._writes.append(self.logical)
        try:
            take = self.world.ask if key is None or prepared is None else partial(prepared.take, key)
            answer = take(name, arguments)
            self.meter.result(answer.size)
            if key is not None:
                self.memo.put(key, answer)
        finally:
            if key is not None and prepared is not None:
                prepared.drop(key)
        return answer


@lru_cache(maxsize=64)
def listed_under(name: str) -> str | None:
    """Return the name of the only list field of an operation's result; None if it has none or several (``BOOKKEEPING`` aside)."""
    found = operation_types(name).result
    one = list_field(RecordType(fields=found.fields)) if isinstance(found, RecordType) else None
    return None if one is None else one[0]


@lru_cache(maxsize=64)
def _whole_number_parameters(name: str) -> frozenset[str]:
    return frozenset(key for key, type_ in operation_types(name).parameters.items() if plain(type_) == INT)


def whole_numbers(name: str, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the arguments with ``5.0`` converted to 5 for whole-number parameters; other values are unchanged."""
    odd = {
        key: int(value)
        for key in _whole_number_parameters(name)
        if isinstance(value := arguments.get(key), float) and value.is_integer()
    }
    return {key: odd.get(key, value) for key, value in arguments.items()} if odd else arguments


def _with_item_evidence(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return the result with evidence for each item of its list.

    It is the item's own piece where there is one for each item, in order; else at most two pieces, those that overlap its
    span best. Items that have evidence stay as they are. A result without exactly one list is returned unchanged.
    """
    one = listed_under(name)
    rows = result.get(one) if one else None
    if one is None or not isinstance(rows, list):
        return result
    pieces = (piece for piece in result.get("evidence", ()) if isinstance(piece, dict))
    evidence = [(span, piece) for piece in pieces if (span := span_of(piece))]
    edges = np.array([(span.start, span.end) for span, _ in evidence], dtype=np.float64).reshape(-1, 2)
    own = evidence if len(evidence) == len(rows) else [None] * len(rows)
    return result | {
        one: [
            _with_evidence(row, evidence, edges, piece) if isinstance(row, dict) else row
            for row, piece in zip(rows, own, strict=True)
        ]
    }


def _with_evidence(
    row: dict[str, Any],
    evidence: list[tuple[TimeSpan, Any]],
    edges: NDArray[np.float64],
    piece: tuple[TimeSpan, Any] | None,
) -> dict[str, Any]:
    """Return a row with its evidence: its own ``piece`` if they have about the same span.

    ``edges``: start and end of each piece, so that long lists are compared as arrays.
    """
    if "evidence" in row:
        return row
    own = span_of(row) or span_of({"start_time": row.get("first_time"), "end_time": row.get("last_time")})
    if own is None:
        return row | {"evidence": []}
    if piece is not None and piece[0].iou(own) >= _SAME_SPAN:
        return row | {"evidence": [piece[1]]}
    shares = (edges[:, 0] < own.end) & (own.start < edges[:, 1]) | (edges == (own.start, own.end)).all(axis=1)
    near = [(span.iou(own), piece) for span, piece in (evidence[place] for place in np.flatnonzero(shares).tolist())]
    near.sort(key=lambda found: -found[0])
    kept = [piece for place, (overlap, piece) in enumerate(near) if place == 0 or overlap >= _SAME_SPAN]
    return row | {"evidence": kept[:_EVIDENCE_PER_ITEM]}
