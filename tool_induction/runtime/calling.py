"""Calls of operations: counted, remembered, their results made ready for tools."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from tool_induction.aggregates.items import span_of
from tool_induction.checking.unwrapping import list_field
from tool_induction.language.evaluation import Json
from tool_induction.language.schemas import operation_types
from tool_induction.language.types import INT, RecordType, plain
from tool_induction.runtime.budget import Meter
from tool_induction.runtime.trace import Trace
from tool_induction.runtime.values import Unfit, check_json
from world_api.core.canonical import canonical
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault, VideoWorldError
from world_api.core.spans import TimeSpan
from world_api.operations import OPERATIONS

#: calls one operation: name and arguments in, result record out; raises VideoWorldError
Caller: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]
_EVIDENCE_PER_ITEM = 2
_SAME_STRETCH = 0.5  #: intersection over union from which two stretches are taken for one


class WorldState(Protocol):
    """What results depend on beside operation and arguments; a session is one."""

    @property
    def memo_key(self) -> str:
        """The world and its causal cut."""
        ...

    @property
    def revision(self) -> int:
        """How often the session was written to."""
        ...


class Memo:
    """Results that were computed before, the least recently used forgotten first."""

    def __init__(self, capacity: int = 2_000) -> None:
        self._capacity = capacity
        self._results: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def get(self, key: str) -> dict[str, Any] | None:
        """The result under a key, if it is there."""
        found = self._results.get(key)
        if found is not None:
            self._results.move_to_end(key)
        return found

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Remember a result."""
        self._results[key] = result
        while len(self._results) > self._capacity:
            self._results.popitem(last=False)


class OperationCalls:
    """Makes the calls of one run."""

    def __init__(self, call: Caller, *, meter: Meter, memo: Memo, world: WorldState | None, trace: Trace) -> None:
        self._call = call
        self._meter = meter
        self._memo = memo
        self._world = world
        self._trace = trace
        self._writes = 0
        self.logical = 0
        self.physical = 0
        self.cost = Cost()

    def __call__(self, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """The result of an operation, its items with their evidence.

        Raises:
            VideoWorldError: what the operation names.
            BudgetExhausted: when a bound of the run was reached.
        """
        self._meter.call()
        arguments = _whole_numbers(name, arguments)
        with self._trace.inside("call", name, arguments=arguments) as node:
            self.logical += 1
            self.cost += OPERATIONS[name].price
            key = self._key(name, arguments)
            result = None if key is None else self._memo.get(key)
            if result is not None:
                node.outcome = "cached"
            else:
                try:
                    result = self._checked(name, arguments)
                except VideoWorldError as fault:
                    node.outcome = fault.code
                    raise
                if key is not None:
                    self._memo.put(key, result)
            one = _list_field(name)
            rows = result.get(one) if one else None
            node.size = len(rows) if isinstance(rows, list) else None
            return result

    def _checked(self, name: str, arguments: Mapping[str, Json]) -> dict[str, Any]:
        self.physical += 1
        self._writes += OPERATIONS[name].state == "writes"
        result = self._call(name, dict(arguments))
        if not isinstance(result, dict):
            raise ToolFault("bad_result", f"{name} gave {type(result).__name__}, not a record")
        try:
            check_json(result)
        except Unfit as why:
            raise ToolFault("bad_result", f"{name} gave a result that cannot be used: {why}") from None
        self._meter.result(len(canonical(result)))
        return _with_item_evidence(name, result)

    def _key(self, name: str, arguments: Mapping[str, Json]) -> str | None:
        """What a result is remembered under; None for operations that write."""
        operation = OPERATIONS[name]
        if operation.state == "writes":
            return None
        world = "" if self._world is None else self._world.memo_key
        revision = self._writes if self._world is None else self._world.revision
        return canonical([world, name, dict(arguments), revision if operation.depends_on_session else None])


@lru_cache(maxsize=64)
def _list_field(name: str) -> str | None:
    found = operation_types(name).result
    one = list_field(RecordType(fields=found.fields)) if isinstance(found, RecordType) else None
    return None if one is None else one[0]


@lru_cache(maxsize=64)
def _whole_number_parameters(name: str) -> frozenset[str]:
    return frozenset(key for key, type_ in operation_types(name).parameters.items() if plain(type_) == INT)


def _whole_numbers(name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """``5.0`` where a whole number is wanted is 5; anything else is left for the operation to refuse."""
    wanted = _whole_number_parameters(name)
    return {
        key: int(value) if key in wanted and isinstance(value, float) and value.is_integer() else value
        for key, value in arguments.items()
    }


def _with_item_evidence(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The items of the result's list carry the evidence that lies in their stretch."""
    one = _list_field(name)
    rows = result.get(one) if one else None
    if one is None or not isinstance(rows, list):
        return result
    evidence = [(span, piece) for piece in result.get("evidence", ()) if (span := _span(piece))]
    return result | {one: [_with_evidence(row, evidence) if isinstance(row, dict) else row for row in rows]}


def _span(piece: Any) -> TimeSpan | None:
    return span_of(piece) if isinstance(piece, dict) else None


def _with_evidence(row: dict[str, Any], evidence: list[tuple[TimeSpan, Any]]) -> dict[str, Any]:
    if "evidence" in row:
        return row
    own = span_of(row) or span_of({"start_time": row.get("first_time"), "end_time": row.get("last_time")})
    if own is None:
        return row | {"evidence": []}
    near = [(span.iou(own), piece) for span, piece in evidence if span.overlaps(own) or span == own]
    near.sort(key=lambda found: -found[0])
    kept = [piece for place, (overlap, piece) in enumerate(near) if place == 0 or overlap >= _SAME_STRETCH]
    return row | {"evidence": kept[:_EVIDENCE_PER_ITEM]}
