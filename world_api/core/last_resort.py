"""The last resort: an error of our own, or of a toolset's, becomes a named fault, so that a paid episode is not lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from world_api.core.canonical import is_deep, json_line, parse_json
from world_api.core.faults import EpisodeFault, VideoWorldError

INTERNAL_FAULT = "internal_fault"


def observed(call: Callable[[], Any]) -> dict[str, Any]:
    """What a tool call gives back, or the fault that stands in for it.

    A named fault is an observation as it is. Any other error is an ``internal_fault``: the model goes on without the
    tool, and the episode counts it.

    Raises:
        EpisodeFault: the call's own; such an episode cannot go on.
    """
    try:
        result = call()
    except EpisodeFault:
        raise
    except VideoWorldError as fault:
        return {**fault.record()}
    # Tools are made of code from many hands over data of any kind. Whatever they forgot must cost one call and not the
    # episode, whose replies have been paid for; the fault is counted and names its place, so it is not hidden.
    except Exception as error:  # noqa: BLE001 - see above
        return {**internal_fault(error).record()}
    return result if isinstance(result, dict) else {**internal_fault(TypeError()).record()}


def as_stored(result: Any) -> Any:
    """A result as it reads back from the record, so that a replay goes on from the very same value.

    Raises:
        ValueError, TypeError, RecursionError: it is not JSON, or nested too deeply to be stored.
    """
    stored = parse_json(json_line(result))
    if is_deep(stored):
        raise ValueError("nested too deeply")
    return stored


def internal_fault(error: Exception) -> VideoWorldError:
    """Names an unexpected error by its type and place; its text may hold words of the video, so it is left out."""
    return VideoWorldError(
        INTERNAL_FAULT,
        f"{type(error).__name__}{_place(error)}",
        hint="this is a defect of the program, not of what was asked; go on without it, and report it",
    )


def _place(error: Exception) -> str:
    """Where the error was raised, without this machine's paths."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" in {trace.tb_frame.f_globals.get('__name__', 'a module')}, line {trace.tb_lineno}"
