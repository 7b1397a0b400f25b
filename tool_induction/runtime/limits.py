"""The limits of one run of a tool: the budget and the exceptions that end it early, and checks of the values that enter it.

After a limit is exceeded no calls are made, but steps without calls still run. Values are finite JSON of limited size and of
the required type: for the compiler ``any`` fits every type, so they are checked again before Python code computes with them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from tool_induction import limits
from tool_induction.aggregates.functions import span_of, times
from tool_induction.language import types as ty
from tool_induction.language.evaluation import Json, kind, weight_and_depth
from tool_induction.language.model import StopStatus
from tool_induction.limits import MAX_VALUE_DEPTH
from world_api.core.faults import ToolFault
from world_api.core.spans import round_time


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Limits of one run, including all tools it calls: steps, loop items, bytes of results, saved values, seconds."""

    steps: int = 5_000
    items: int = 2_000
    result_bytes: int = 16_000_000
    values: int = 2_000_000  #: numbers, texts, records and lists in all that is saved under a name
    seconds: float = 300.0
    #: Maximum number of calls at a time; the results do not depend on it. Above 1, the caller must be thread-safe.
    concurrency: int = 1


class BudgetExhausted(ToolFault):
    """A limit of the run is exceeded; the code is ``budget_exhausted``."""


class Stopped(Exception):
    """The condition of a ``require`` step was false, in this tool or in one that it called."""

    def __init__(self, status: StopStatus | str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class RunMeter:
    """Counts what a run uses; ``exhausted`` describes the first limit that was exceeded (empty if none)."""

    def __init__(self, limits: RunLimits, monotonic: Callable[[], float], *, started: float | None = None) -> None:
        self.limits = limits
        self.exhausted = ""
        self._monotonic = monotonic
        self._started = monotonic() if started is None else started
        self._used = {"steps": 0, "items": 0, "bytes": 0, "values": 0}

    def for_worker(self) -> RunMeter:
        """Return a meter for one worker thread: the same limits and start, but 1/``concurrency`` of the saved values."""
        share = replace(self.limits, values=self.limits.values // self.limits.concurrency)
        return RunMeter(share, self._monotonic, started=self._started)

    def count(self, what: Literal["steps", "items"]) -> None:
        """Count a step, or an item of a loop.

        Raises:
            BudgetExhausted: there are too many, or the time is over.
        """
        self._use(what, 1, getattr(self.limits, what))
        if self.is_late():
            self._stop(self._seconds)

    def result(self, size: int) -> None:
        """Count a result of ``size`` bytes. A result after the time limit still counts; no call is made after it.

        Raises:
            BudgetExhausted: all results together are too large.
        """
        self._use("bytes", size, self.limits.result_bytes)
        if self.is_late():
            self.exhausted = self.exhausted or self._seconds

    def bound(self, value: object) -> None:
        """Count the parts of a value that is saved under a name.

        Raises:
            BudgetExhausted: all saved values together have too many parts, or this one is nested too deep.
        """
        amount, depth = weight_and_depth(value, most=self.limits.values)
        self._use("values", amount, self.limits.values)
        if depth > MAX_VALUE_DEPTH:
            self._stop(f"values nested more than {MAX_VALUE_DEPTH} deep")

    def left(self, what: Literal["steps", "items"]) -> int:
        """Return how many more steps or items are allowed; 0 after a limit was exceeded."""
        return 0 if self.exhausted else int(getattr(self.limits, what)) - self._used[what]

    def look(self) -> None:
        """Check the time between two items of a long step.

        After a limit was exceeded, steps without calls may continue until twice the time limit.

        Raises:
            BudgetExhausted: the time is over.
        """
        if self.is_late(times=2 if self.exhausted else 1):
            self._stop(self._seconds)

    def is_late(self, times: int = 1) -> bool:
        """Whether the run has taken longer than ``times`` its time limit. Thread-safe."""
        return self._monotonic() - self._started > self.limits.seconds * times

    @property
    def bytes_left(self) -> int:
        """How many more bytes of results are allowed. The number never grows, so any thread may read it."""
        return self.limits.result_bytes - self._used["bytes"]

    def call(self) -> None:
        """Check before a call that no limit was exceeded.

        Raises:
            BudgetExhausted: a limit was exceeded; the message names the first one.
        """
        if self.exhausted:
            self._stop(self.exhausted)

    @property
    def _seconds(self) -> str:
        return f"more than {self.limits.seconds:g} seconds"

    def _use(self, what: str, amount: int, bound: float) -> None:
        self._used[what] += amount
        if self._used[what] > bound:
            self._stop(f"more than {bound:g} {what}")

    def _stop(self, why: str) -> None:
        self.exhausted = self.exhausted or why
        raise BudgetExhausted("budget_exhausted", f"the run used {why}", hint="narrow the request")


_NUMBER_SIZE = 6  #: bytes of a number, a truth value or null with its comma, on the average


@lru_cache(maxsize=256)
def validator_of(schema: str) -> Any:
    """Return the validator of a JSON Schema that is given as canonical JSON."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


class Unfit(ValueError):
    """A value does not fit its type; the message has the place inside the value and the reason."""


def check_json(value: object, *, most: int | None = None) -> int:
    """Check that a value is JSON that can be computed with and serialised; return its approximate size in bytes.

    The check ends early if the size exceeds ``most``.

    Raises:
        Unfit: a number that is not finite or too large, text that is not valid Unicode, a key that is no string,
            something nested too deep, or a Python object that is not JSON.
    """
    size = 0
    level = [value]
    for _ in range(limits.MAX_VALUE_DEPTH):
        below: list[object] = []
        for item in level:
            if isinstance(item, str):
                size += _text_size(item) + 3
            elif isinstance(item, float | int):
                if not -limits.MAX_NUMBER <= item <= limits.MAX_NUMBER:  # not a number compares false with everything
                    is_finite = isinstance(item, int) or math.isfinite(item)
                    raise Unfit(f"a number is {f'larger than {limits.MAX_NUMBER:g}' if is_finite else 'not finite'}")
                size += _NUMBER_SIZE
            elif isinstance(item, dict):
                size += _keys_size(item)
                below.extend(item.values())
            elif isinstance(item, list):
                size += 2
                below.extend(item)
            elif item is None:
                size += _NUMBER_SIZE
            else:
                raise Unfit(f"{type(item).__name__} is not a JSON value")
        if most is not None and size + len(below) > most:
            return size + len(below)
        if not below:
            return size
        level = below
    raise Unfit(f"it is nested more than {limits.MAX_VALUE_DEPTH} deep")


def _keys_size(record: dict[str, object]) -> int:
    try:
        keys = "".join(record)
    except TypeError:
        raise Unfit("a key is not a string") from None
    return _text_size(keys) + 4 * len(record) + 2


def _text_size(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise Unfit("a text is not valid Unicode") from None


def fitted(value: Json, wanted: ty.Type, *, place: str = "") -> Json:
    """Return the value converted to a type: ``3.0`` becomes 3 for a whole number. Messages begin with ``place``.

    Raises:
        Unfit: the value is of another type.
    """
    match wanted:
        case ty.AnyType():
            return value
        case ty.OptionalType(item):
            return None if value is None else fitted(value, item, place=place)
        case ty.EnumType(values) if value in values:
            return value
        case ty.ScalarType(name):
            return _scalar(value, name, place)
        case ty.ListType() if isinstance(value, list):
            return [fitted(item, wanted.item, place=f"{place}[{index}]") for index, item in enumerate(value)]
        case ty.RecordType() if isinstance(value, dict):
            return _record(value, wanted, place)
    raise _unfit(value, ty.show(wanted), place)


def _record(value: dict[str, Json], wanted: ty.RecordType, place: str) -> Json:
    """Return a record with its fields fitted. An interval must have both ends; other records may lack fields."""
    is_interval = wanted.name == ty.INTERVAL.name
    fields = ty.INTERVAL.fields if is_interval else wanted.fields
    checked = {
        key: fitted(value.get(key), type_, place=f"{place}.{key}" if place else key)
        for key, type_ in fields
        if is_interval or key in value
    }
    return value | checked


def _scalar(value: Json, name: str, place: str) -> Json:
    if name in {"null", "bool", "string"}:
        right = {"null": value is None, "bool": isinstance(value, bool), "string": isinstance(value, str)}[name]
    elif isinstance(value, bool) or not isinstance(value, int | float):
        right = False
    elif name == "int" and float(value).is_integer():
        return int(value)
    else:
        right = name != "int"
    if not right:
        raise _unfit(value, "a whole number" if name == "int" else name, place)
    return value


def _unfit(value: Json, wanted: str, place: str) -> Unfit:
    shown = f"{value:g}" if isinstance(value, float) else kind(value)
    return Unfit(f"{place}{': ' if place else ''}{wanted} is wanted, found {shown}")


def completed(value: Json, type_: ty.Type) -> Json:
    """Return the value; if ``type_`` is Interval or a list of it, with the centre and duration of each interval added."""
    inner = ty.plain(type_)
    if isinstance(inner, ty.ListType) and isinstance(value, list):
        return [completed(item, inner.item) for item in value]
    if not isinstance(inner, ty.RecordType) or inner.name != ty.INTERVAL.name or not isinstance(value, dict):
        return value
    span = span_of(value)
    return value if span is None else times(span) | {"duration": round_time(span.duration)} | value
