"""Requests to an endpoint and what is heard of them: how often, how long and how much, whichever API is spoken.

The client's own retries are off: tries, waits and the time they may take together are decided here, where the clock and the
sleeping are passed in. The key is blotted out of all that is heard.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from world_api.backends.chat.endpoint import Endpoint, asks_for_patience, unreachable
from world_api.backends.chat.wires.client import client_for
from world_api.backends.chat.wires.deadlines import GivenUp, within
from world_api.backends.chat.wires.port import Answering
from world_api.backends.chat.wires.waiting import asked_wait, own_wait, spread
from world_api.core.canonical import parse_json
from world_api.core.deadline import deadline, remaining
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

T = TypeVar("T")
Send = Callable[["OpenAI", float], AbstractContextManager[Answering]]
MAX_REPLY_BYTES = 32 * 1024 * 1024
_MOST_ADAPTATIONS = 2  #: to the other API, and to what it refuses
_SHORTEST_ATTEMPT = 0.001  #: seconds
_HTML = "an HTML page"
_GLANCE = 10_000  #: characters of a body that is no JSON that are looked at


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What a server said: its status, its JSON object if it was one, and what was wrong in its own words.

    ``garbled``: what came was no JSON, as it is when something on the way failed. ``retry_after``: seconds it asks to wait.
    """

    status: int
    body: dict[str, Any] | None
    told: str = ""
    code: str | None = None
    garbled: bool = False
    retry_after: float | None = None

    @property
    def answered(self) -> bool:
        """Whether it took the request and said something in JSON that is no error."""
        return self.status == 200 and self.body is not None and not self.body.get("error")

    @property
    def html(self) -> bool:
        """Whether it sent a page for people."""
        return self.told == _HTML


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A try that failed: what to say, whether to try again, and how long the server asks to wait.

    ``adapted``: the next try is another request, without what the server refused.
    """

    fault: BackendFault
    passing: bool = False
    retry_after: float | None = None
    adapted: bool = False


class Transport:
    """The way to one endpoint. ``requests`` counts what was sent, tries and all.

    ``chance`` gives numbers from 0 to 1; they lengthen the waits between tries by up to a quarter, so that clients
    that failed together do not come back together.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.requests = 0
        self._endpoint = endpoint
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._client = client_for(endpoint)

    def exchange(self, send: Send, understand: Callable[[Heard], T | Failure]) -> T:
        """What is understood of the answer, after as many tries as there is patience for.

        Patience is the endpoint's, or less where the caller has less (see ``world_api.core.deadline``); this ends within
        that time, whatever comes.

        Raises:
            BackendFault: that of the last failure; ``endpoint_unreachable`` where nothing was heard.
        """
        until = self._clock.monotonic() + remaining(self._endpoint.patience)
        tries, adapted = 0, 0
        while True:
            outcome = self._try(send, left=until - self._clock.monotonic())
            if isinstance(outcome, Heard):
                with deadline(until - self._clock.monotonic()):  # understanding may ask the server something, too
                    understood = understand(outcome)
                if not isinstance(understood, Failure):
                    return understood
                outcome = understood
            left = until - self._clock.monotonic()
            if outcome.adapted and adapted < _MOST_ADAPTATIONS and left > 0:
                adapted += 1
                continue
            tries += 1
            if not outcome.passing or tries > self._endpoint.retries:
                raise outcome.fault
            self._sleep(self._wait(outcome, tries - 1, left=left))

    def _wait(self, failure: Failure, tries: int, *, left: float) -> float:
        """Seconds to wait before the next try.

        Raises:
            BackendFault: that of the failure, where the wait is longer than the time left.
        """
        asked = failure.retry_after
        seconds = asked or own_wait(tries)
        if seconds < left:
            return spread(seconds, self._chance(), left=left)
        raise asks_for_patience(failure.fault, asked, left=max(0.0, left)) if asked else failure.fault

    def _try(self, send: Send, *, left: float) -> Heard | Failure:
        # The client does not wrap the errors that come in the midst of a body; they are those of its HTTP library.
        from httpx2 import HTTPError
        from openai import APIConnectionError, APIStatusError, OpenAIError

        seconds = max(_SHORTEST_ATTEMPT, min(self._endpoint.timeout, left))
        self.requests += 1
        try:
            return self._read(*within(seconds, lambda given_up: self._fetch(send, seconds, given_up)))
        except TimeoutError:
            return Failure(fault=unreachable(self._endpoint, f"no whole answer in {seconds:g} s"), passing=True)
        except APIStatusError as error:
            return self._refusal(error)
        except (APIConnectionError, HTTPError) as error:
            reason = str(error.__cause__ or error) or type(error).__name__
            return Failure(fault=unreachable(self._endpoint, reason), passing=True)
        except (OpenAIError, UnicodeError) as error:
            # The client refuses some requests before it sends them, such as text that is not Unicode.
            return Failure(fault=unreachable(self._endpoint, f"the request cannot be sent: {error}"))

    def _fetch(self, send: Send, seconds: float, given_up: GivenUp) -> tuple[bytes, str]:
        """The body of the answer, read while somebody waits for it and as far as an answer can reasonably go; its type."""
        body = bytearray()
        with send(self._client, seconds) as answer:
            for chunk in answer.iter_bytes():
                body += chunk
                if given_up() or len(body) > MAX_REPLY_BYTES:
                    break
            return bytes(body), answer.headers.get("content-type", "")

    def _read(self, raw: bytes, content_type: str) -> Heard:
        if len(raw) > MAX_REPLY_BYTES:
            return Heard(status=200, body=None, told=f"an answer of over {MAX_REPLY_BYTES} bytes")
        text = raw.decode("utf-8", errors="replace")
        try:
            # The key is blotted out only after parsing: JSON can spell it in many ways.
            body = _with_texts(parse_json(text), self._clean)
        except (ValueError, RecursionError):
            return Heard(status=200, body=None, told=self._garbled(text, content_type), garbled=True)
        if not isinstance(body, dict):
            return Heard(status=200, body=None, told="JSON that is no object")
        return Heard(status=200, body=body, told=_error_in(body))

    def _garbled(self, text: str, content_type: str) -> str:
        """What a body that is no JSON looks like. The key goes before the text is cut, or half of it would stay."""
        if _is_html(text):
            return _HTML
        if text.startswith(("data:", "event:")):
            return "a stream"
        return f"{content_type or 'something'} that is not JSON: {self._clean(text[:_GLANCE])[:80]!r}"

    def _refusal(self, error: APIStatusError) -> Heard:
        said = error.body.get("message") if isinstance(error.body, dict) else None
        elsewhere = error.response.headers.get("location")
        told = f"it sends requests on to {elsewhere}" if elsewhere else str(said or error.message)
        told = self._clean(told)
        return Heard(
            status=error.status_code,
            body=None,
            told=_HTML if _is_html(told) else told[:500],
            code=error.code,
            retry_after=asked_wait(error.response.headers, self._clock),
        )

    def _clean(self, text: str) -> str:
        """Text that can be sent back and stored: Unicode, and without the key."""
        return self._endpoint.without_key(text.encode("utf-8", errors="replace").decode())


def _is_html(text: str) -> bool:
    return text.lstrip()[:200].lower().startswith(("<!doctype html", "<html"))


def _error_in(body: dict[str, Any]) -> str:
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return str(message)[:500] if message else ""


def _with_texts(value: Any, clean: Callable[[str], str]) -> Any:
    """The value with each of its texts cleaned, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_with_texts(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(key): _with_texts(item, clean) for key, item in value.items()}
    return value
