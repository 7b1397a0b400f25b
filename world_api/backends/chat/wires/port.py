"""The port of a wire: how a request goes to a server and what comes back, without the tries and the waiting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from openai import OpenAI


class NotAReply(ValueError):
    """What a server answered with status 200 is no reply; ``str`` says why.

    ``status`` is the HTTP status under which the failure would be known had the server used one.
    """

    def __init__(self, reason: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


class Answering(Protocol):
    """An HTTP answer whose body is still to be read."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, whose names are found in any case."""
        ...

    def iter_bytes(self) -> Iterator[bytes]:
        """The body, as it comes."""
        ...


class Wire(Protocol):
    """One API of a server. ``request`` and what ``read`` returns are in Chat Completions form."""

    name: str

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> AbstractContextManager[Answering]:
        """Send a request; the answer's body is read inside the block.

        Raises:
            BackendFault: ``endpoint_refused_request``: the API has no place for a part of it.
        """
        ...

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The reply that an answer of the server is.

        Raises:
            NotAReply: it is none.
        """
        ...

    def adapt(self, refusal: str) -> bool:
        """Do without an extra that the server refuses in these words; whether the request is worth sending again."""
        ...


def said_error(answer: dict[str, Any]) -> NotAReply | None:
    """The error that some gateways report with status 200, if an answer holds one."""
    error = answer.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return NotAReply(str(error))
    code, message = error.get("code"), error.get("message")
    status = code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None
    return NotAReply(str(message or error), status=status, code=code if isinstance(code, str) else None)
