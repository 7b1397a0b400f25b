"""The faults of this project, all below ``VideoWorldError``. A user's mistake raises one and never ends in a traceback.

A fault has a stable name (``code``), a description of what happened (``message``) and advice (``hint``). Codes are
lower-case words with underscores and are part of the public interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from world_api.core.canonical import is_deep, json_line, parse_json


class ErrorBody(TypedDict):
    """Code, message and hint of a fault: the value in ``{"error": ...}``, the same in every interface."""

    code: str
    message: str
    hint: str


class VideoWorldError(Exception):
    """A fault: ``code`` is its stable name, ``message`` describes what happened, ``hint`` what to do next."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def record(self) -> dict[str, ErrorBody]:
        """Return the JSON form, which a model gets as an observation and the command line prints."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" + (f". {self.hint}" if self.hint else "")


class OperationFault(VideoWorldError):
    """A wrong call that the caller can correct: bad arguments, unknown names, times outside the video."""


class MediaFault(VideoWorldError):
    """A file that is missing, is not a video, or cannot be decoded."""


class StoreFault(VideoWorldError):
    """A world or a store that is missing, of another schema, locked, damaged or not writable."""


class BackendFault(VideoWorldError):
    """A model, a package or an endpoint that is missing, fails or refuses a request."""


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

    Raises EpisodeFault: the call's own; the episode cannot continue.
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
    """Return a result after writing and reading it as JSON: the value with which a replay continues.

    Raises ValueError, TypeError, RecursionError: it is not JSON, or nested too deeply to be stored.
    """
    stored = parse_json(json_line(result))
    if is_deep(stored):
        raise ValueError("nested too deeply")
    return stored


def internal_fault(error: Exception) -> VideoWorldError:
    """Return the fault ``internal_fault`` with type and place of an unexpected error.

    Its text is omitted, since it may contain words of the video.
    """
    return VideoWorldError(
        INTERNAL_FAULT,
        f"{type(error).__name__}{_place(error)}",
        hint="this is a defect of the program, not of what was asked; go on without it, and report it",
    )


def _place(error: Exception) -> str:
    """Return the module and line that raised the error, such as `` in world_api.api, line 12``; no file paths."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" in {trace.tb_frame.f_globals.get('__name__', 'a module')}, line {trace.tb_lineno}"
