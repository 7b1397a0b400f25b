"""Every failure this project names, in one tree.

::

    VideoWorldError            code, message, hint; never a traceback for a user's mistake
    |-- OperationFault         an argument a model or a person can mend; becomes an observation
    |-- MediaFault             a file that is not a video, or cannot be decoded
    |-- StoreFault             a world or store that is missing, foreign, locked or not writable
    |-- BackendFault           a model, package or endpoint that is not there; says what to install
    |-- ToolFault              a tool document or library that cannot be used
    |-- EpisodeFault           an episode that cannot go on, or cannot be replayed
    `-- EvalFault              a dataset, a configuration, a run or a bundle that cannot be used

A fault says what happened (``message``), under which stable name (``code``), and what to do next
(``hint``). Codes are lower-case words with underscores and are part of the public interface.
"""

from __future__ import annotations

from typing import TypedDict


class ErrorBody(TypedDict):
    """The body of ``{"error": ...}`` on every face of the API."""

    code: str
    message: str
    hint: str


class ErrorRecord(TypedDict):
    """The wire form of a fault."""

    error: ErrorBody


class VideoWorldError(Exception):
    """A named failure. ``code`` is stable, ``message`` says what happened, ``hint`` what to do next."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def record(self) -> ErrorRecord:
        """The observation a model sees and the body the command line prints."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" + (f". {self.hint}" if self.hint else "")


class OperationFault(VideoWorldError):
    """A call that its caller can mend: wrong arguments, unknown names, times that are not there."""


class MediaFault(VideoWorldError):
    """A file that is not a video this project can decode."""


class StoreFault(VideoWorldError):
    """A world or a store that is missing, of another schema, locked, damaged or not writable."""


class BackendFault(VideoWorldError):
    """A model, a package or an endpoint that is missing or refuses."""


class ToolFault(VideoWorldError):
    """A tool document or library that cannot be loaded, compiled or run."""


class EpisodeFault(VideoWorldError):
    """An episode that cannot be run or replayed."""


class EvalFault(VideoWorldError):
    """A dataset, a configuration, a run or a bundle that cannot be used."""
