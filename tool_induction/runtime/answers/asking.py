"""Asking the world: one call of an operation, its result looked at and made ready for tools. Keeps nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, Protocol, TypeAlias

from tool_induction.aggregates.functions import span_of
from tool_induction.checking.expressions.unwrapping import list_field
from tool_induction.language.evaluation import Json
from tool_induction.language.types import INT, RecordType, operation_types, plain
from tool_induction.runtime.values import Unfit, check_json
from world_api.core.canonical import canonical
from world_api.core.faults import ToolFault
from world_api.core.spans import TimeSpan
from world_api.operations import EVERY_OPERATION

#: calls one operation: name and arguments in, result record out; raises VideoWorldError. Called from several threads
#: at once where a run may make several calls at a time.
Caller: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]
_EVIDENCE_PER_ITEM = 2
_RUNS = count(1)  #: tells runs of this process apart
_SAME_STRETCH = 0.5  #: intersection over union from which two stretches are taken for one


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A result, and about how many bytes it takes written out. Of one that is larger than allowed only the size is kept."""

    result: dict[str, Any]
    size: int


class Asks(Protocol):
    """What makes the calls of a run; ``logical`` counts them."""

    logical: int

    def __call__(self, name: str, arguments: Mapping[str, Json], made_from: Sequence[int] = ()) -> dict[str, Any]:
        """The result of an operation; ``made_from`` tells of which calls' results its arguments were made."""
        ...


class WorldState(Protocol):
    """What results depend on beside operation and arguments; a session is one."""

    @property
    def memo_key(self) -> str:
        """The world and its causal cut."""
        ...

    @property
    def session_key(self) -> str:
        """What was written in the session: the same for two sessions only where it is the same."""
        ...


def _ask(call: Caller, name: str, arguments: Mapping[str, Json], *, most: int) -> Answer:
    """Make a call. A result of more than ``most`` bytes is told by its size and not kept.

    Raises:
        VideoWorldError: what the operation names; ``bad_result`` where it gave no JSON.
    """
    result = call(name, dict(arguments))
    if not isinstance(result, dict):
        raise ToolFault("bad_result", f"{name} gave {type(result).__name__}, not a record")
    try:
        size = check_json(result, most=most)
    except Unfit as why:
        raise ToolFault("bad_result", f"{name} gave a result that cannot be used: {why}") from None
    return Answer(result={} if size > most else _with_item_evidence(name, result), size=size)


class World:
    """The world of one run: what calls it, and under which key an answer may be remembered."""

    def __init__(self, call: Caller, state: WorldState | None, *, most: int) -> None:
        self._call = call
        self._state = state
        self._most = most
        self._run = next(_RUNS)
        self.writes = 0

    def ask(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Make a call.

        Raises:
            VideoWorldError: what the operation names; ``bad_result``.
        """
        return _ask(self._call, name, arguments, most=self._most)

    def key(self, name: str, arguments: Mapping[str, Json]) -> str | None:
        """What an answer is remembered under; None for operations that write."""
        operation = EVERY_OPERATION[name]
        if operation.state == "writes":
            return None
        world = "" if self._state is None else self._state.memo_key
        return canonical([world, name, arguments, self._session() if operation.depends_on_session else None])

    def _session(self) -> str:
        # Of a session that nobody tells about, only this run knows what it has written.
        return f"run {self._run}, {self.writes} written" if self._state is None else self._state.session_key


@lru_cache(maxsize=64)
def listed_under(name: str) -> str | None:
    """The one list field of an operation's result, if it has one."""
    found = operation_types(name).result
    one = list_field(RecordType(fields=found.fields)) if isinstance(found, RecordType) else None
    return None if one is None else one[0]


@lru_cache(maxsize=64)
def _whole_number_parameters(name: str) -> frozenset[str]:
    return frozenset(key for key, type_ in operation_types(name).parameters.items() if plain(type_) == INT)


def whole_numbers(name: str, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """``5.0`` where a whole number is wanted is 5; anything else is left for the operation to refuse."""
    odd = {
        key: int(value)
        for key in _whole_number_parameters(name)
        if isinstance(value := arguments.get(key), float) and value.is_integer()
    }
    return {key: odd.get(key, value) for key, value in arguments.items()} if odd else arguments


def _with_item_evidence(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The items of the result's list carry the evidence that lies in their stretch."""
    one = listed_under(name)
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
