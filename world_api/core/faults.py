"""Every failure this project names, in one tree below ``VideoWorldError``; a user's mistake never ends in a traceback.

A fault says what happened (``message``), under which stable name (``code``), and what to do next
(``hint``). Codes are lower-case words with underscores and are part of the public interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from world_api.core.canonical import is_deep, json_line, parse_json


class ErrorBody(TypedDict):
    """The body of ``{"error": ...}`` on every face of the API."""

    code: str
    message: str
    hint: str


class VideoWorldError(Exception):
    """A named failure. ``code`` is stable, ``message`` says what happened, ``hint`` what to do next."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def record(self) -> dict[str, ErrorBody]:
        """The wire form: the observation a model sees and the body the command line prints."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" + (f". {self.hint}" if self.hint else "")


class OperationFault(VideoWorldError):
    """A call that its caller can mend: wrong arguments, unknown names, times that are not there; becomes an observation."""


class MediaFault(VideoWorldError):
    """A file that is not a video this project can decode."""


class StoreFault(VideoWorldError):
    """A world or a store that is missing, of another schema, locked, damaged or not writable."""


class BackendFault(VideoWorldError):
    """A model, a package or an endpoint that is missing or refuses; says what to install."""


class ToolFault(VideoWorldError):
    """A tool document or library that cannot be loaded, compiled or run."""


class EpisodeFault(VideoWorldError):
    """An episode that cannot be run or replayed."""


class EvalFault(VideoWorldError):
    """A dataset, a configuration, a run or a bundle that cannot be used."""


INTERNAL_FAULT = "internal_fault"


def tool_result_or_error(call: Callable[[], Any]) -> dict[str, Any]:
    """Return the result of a tool call, or the record of the fault that it raised.

    An unexpected error becomes an ``internal_fault``: the model continues without the tool, and the episode counts it.

    Raises EpisodeFault: raised by the call; the episode cannot continue.
    """
    try:
        result = call()
    except EpisodeFault:
        raise
    except VideoWorldError as fault:
        return fault.record()
    # Tools run code of many authors over data of any kind. An error there must cost one call and not the episode, whose
    # replies have been paid for; the fault is counted and names its place, so it is not hidden.
    except Exception as error:  # noqa: BLE001 - see above
        return internal_fault(error).record()
    return result if isinstance(result, dict) else internal_fault(TypeError()).record()


def as_stored(result: Any) -> Any:
    """Return a result as it reads back from a record, so that a replay continues from the same value.

    Raises ValueError, TypeError, RecursionError: it is not JSON, or nested too deeply to be stored.
    """
    stored = parse_json(json_line(result))
    if is_deep(stored):
        raise ValueError("nested too deeply")
    return stored


def internal_fault(error: Exception) -> VideoWorldError:
    """Name an unexpected error by its type and place; its text may hold words of the video, so it is left out."""
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
