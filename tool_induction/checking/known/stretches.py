"""Stretches that end before they begin, as far as that is sure before a tool runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tool_induction.checking.known.ranges import range_of
from tool_induction.language.syntax import Arithmetic, Const, Expr, Field, Filtered, Items, Name, to_text

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference

#: the times of one item, in this order
_ORDER = {"start_time": 0, "center_time": 1, "end_time": 2}


def check_stretch(
    at: Inference, entries: Mapping[str, Expr], *, places: tuple[str | int, ...] = (), moments: bool = False
) -> None:
    """Note a stretch that surely ends before it begins, or, unless it may be of one moment, where it begins.

    Args:
        at: the place of the stretch.
        entries: the written-out values; those under ``start_time`` and ``end_time`` are looked at.
        places: where start and end stand, when not under their own names.
        moments: whether a stretch may end where it begins.
    """
    start, end = entries.get("start_time"), entries.get("end_time")
    if start is None or end is None:
        return
    is_turned = _lasts(at, start, end)
    if is_turned is None or (moments and not is_turned):
        return
    with at.at(places[1] if places else "end_time"):
        at.note(
            "E_TYPE",
            "the stretch ends before it begins" if is_turned else "the stretch ends where it begins",
            found=f"{to_text(start)} to {to_text(end)}",
            expected="an end after the start",
            suggestion=_in_order(at, start, end) if is_turned else "",
        )


def _in_order(at: Inference, start: Expr, end: Expr) -> str:
    swapped = f'"start_time": "{{{{ {to_text(end)} }}}}", "end_time": "{{{{ {to_text(start)} }}}}"'
    (first, _), (last, added) = _shifted(at, start), _shifted(at, end)
    if first == last and start == first and added < 0:
        later = to_text(Arithmetic(start, "+", Const(-added)))
        return f'for the time after it write "end_time": "{{{{ {later} }}}}", for the time before it {swapped}'
    return f"swap the two: {swapped}"


def _lasts(at: Inference, start: Expr, end: Expr) -> bool | None:
    """Whether a stretch surely ends before it begins (True) or, if anything, where it begins (False); else None."""
    (first, before), (last, after) = _shifted(at, start), _shifted(at, end)
    turned = 0
    if isinstance(first, Field) and isinstance(last, Field) and first.base == last.base:
        turned = _ORDER.get(first.key, 0) - _ORDER.get(last.key, 9)
    if (first == last or turned > 0) and after <= before:
        return turned > 0 or after < before
    latest, earliest = range_of(at, end).most, range_of(at, start).least
    return None if latest > earliest else latest < earliest


def _shifted(at: Inference, time: Expr) -> tuple[Expr, float]:
    """A time as another one and the seconds that were added to it; that it is kept from falling below 0 is passed over."""
    added: float = 0
    while True:
        match time:
            case Name(name) if name in at.environment.meanings:
                time = at.environment.meanings[name]
            case Arithmetic(left, ("+" | "-") as op, Const(value)) if isinstance(value, int | float):
                time, added = left, added + (value if op == "+" else -value)
            case Arithmetic(Const(value), "+", right) if isinstance(value, int | float):
                time, added = right, added + value
            case Filtered(Items((value, Const(0)) | (Const(0), value)), "max", ()):
                time = value
            case _:
                return time, added


def is_shifted(at: Inference, time: Expr) -> bool:
    """Whether a value is another one and some seconds."""
    return _shifted(at, time)[0] != time
