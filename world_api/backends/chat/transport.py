"""Requests to an endpoint: how often they are tried, how long they may take, how much of the answer is read.

The client's own retries are off: attempts and waits are decided here, with an injected clock and sleep, within the
deadline of the request. The key is redacted from all that is received.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from world_api.backends.chat.endpoint import Endpoint, asks_for_patience, unreachable
from world_api.core.canonical import parse_json
from world_api.core.cost import deadline, remaining
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import APIStatusError, OpenAI
    from tenacity import RetryCallState

MAX_REPLY_BYTES = 32 * 1024 * 1024
#: Of a refusal, as it comes over the network. The ``openai`` client reads refusals whole; packed, each byte may hold a thousand.
MAX_REFUSAL_BYTES = 64 * 1024
_MOST_ADAPTATIONS = 2  #: of one request, to the other API and to what the server refuses
_SHORTEST_ATTEMPT = 0.001  #: seconds
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  #: seconds; the first is doubled with each attempt
_JITTER = 0.25  #: share of a wait
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SPENT = "insufficient_quota"  #: the code of a 429 that waiting does not mend
_HTML = "an HTML page"

T = TypeVar("T")


class Answering(Protocol):
    """An HTTP answer whose body is still to be read."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, whose names are found in any case."""
        ...

    def iter_bytes(self) -> Iterator[bytes]:
        """The body, as it comes."""
        ...


#: Sends a request with a client, within so many seconds; the answer's body is read inside the block.
Send = Callable[["OpenAI", float], AbstractContextManager[Answering]]


class NotAReply(ValueError):
    """What a server answered with status 200 is no reply; ``str`` says why.

    ``status`` is the HTTP status under which the failure would be known had the server used one.
    """

    def __init__(self, reason: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


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


def said_error(answer: Mapping[str, Any]) -> NotAReply | None:
    """The error that some gateways report with status 200, if an answer holds one."""
    error = answer.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return NotAReply(str(error))
    code, message = error.get("code"), error.get("message")
    status = code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None
    return NotAReply(str(message or error), status=status, code=code if isinstance(code, str) else None)


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


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A try that failed: what to say, whether to try again, and how long the server asks to wait.

    ``adapted``: the next try is another request, without what the server refused.
    """

    fault: BackendFault
    passing: bool = False
    retry_after: float | None = None
    adapted: bool = False


class _FailedError(Exception):
    """An attempt that failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.fault.message)
        self.failure = failure


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
        """What is understood of the answer, after as many attempts as the deadline allows.

        The deadline is the endpoint's patience, or less where the caller has less (``world_api.core.cost``).

        Raises:
            BackendFault: that of the last failure; ``endpoint_unreachable`` where nothing was received.
        """
        from tenacity import Retrying, retry_if_exception

        until = self._clock.monotonic() + remaining(self._endpoint.patience)
        adaptations = 0

        def left() -> float:
            return until - self._clock.monotonic()

        def attempt() -> T:
            nonlocal adaptations
            while True:
                heard = self._try(send, left=left())
                if isinstance(heard, Heard):
                    with deadline(left()):  # understanding may ask the server something, too
                        outcome = understand(heard)
                else:
                    outcome = heard
                if not isinstance(outcome, Failure):
                    return outcome
                if not outcome.adapted or adaptations == _MOST_ADAPTATIONS or left() <= 0:
                    raise _FailedError(outcome)
                adaptations += 1

        retrying = Retrying(
            sleep=self._sleep,
            retry=retry_if_exception(lambda error: isinstance(error, _FailedError) and error.failure.passing),
            wait=lambda state: self._wait(state, left=left()),
            stop=lambda state: state.attempt_number > self._endpoint.retries or state.upcoming_sleep >= left(),
            reraise=True,
        )
        try:
            return retrying(attempt)
        except _FailedError as error:
            failure, time_left = error.failure, max(0.0, left())
        if failure.passing and failure.retry_after and failure.retry_after >= time_left:
            raise asks_for_patience(failure.fault, failure.retry_after, left=time_left)
        raise failure.fault

    def _wait(self, state: RetryCallState, *, left: float) -> float:
        """Seconds before the next attempt: what the server asks for, else longer each time.

        Up to a quarter is added, so that clients that failed together do not come back together; not if that takes longer
        than the time left.
        """
        error = state.outcome.exception() if state.outcome else None
        asked = error.failure.retry_after if isinstance(error, _FailedError) else None
        seconds = asked or float(min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(state.attempt_number - 1, 16)))
        longer = seconds * (1 + _JITTER * self._chance())
        return longer if longer < left else seconds

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

    def _fetch(self, send: Send, seconds: float, given_up: Callable[[], bool]) -> tuple[bytes, str]:
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
        return f"{content_type or 'something'} that is not JSON: {self._clean(text[:10_000])[:80]!r}"

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


def passes(status: int, code: str | None) -> bool:
    """Whether a refusal may be gone when the request is made again."""
    return status in _WORTH_ANOTHER_TRY and code != _SPENT


def asked_wait(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, or ``Retry-After`` as a number or a date (RFC 9110, 10.2.3)."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, (then - datetime.fromisoformat(clock.now())).total_seconds())
    except (ValueError, TypeError):
        return None


def within(seconds: float, work: Callable[[Callable[[], bool]], T]) -> T:
    """The result of work on a thread of its own, which is told by its argument whether anybody still waits for it.

    An HTTP client's timeouts bound each read, so a server that sends a byte now and then would be waited on for ever.

    Raises:
        TimeoutError: it took longer; the work may go on unheard until it looks at its argument.
        Exception: the work's own.
    """
    done: Future[T] = Future()
    given_up = threading.Event()

    def run() -> None:
        try:
            done.set_result(work(given_up.is_set))
        except BaseException as error:  # noqa: BLE001 - raised again below, where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="chat-attempt", daemon=True).start()
    try:
        return done.result(timeout=seconds)
    finally:
        given_up.set()


def client_for(endpoint: Endpoint) -> OpenAI:
    """A client of the endpoint that never tries again by itself and never goes elsewhere.

    Redirects are not followed: what is asked, and the key, are meant for the address that was configured.

    Raises:
        BackendFault: ``endpoint_bad_url``.
    """
    from openai import DefaultHttpxClient, OpenAI

    endpoint.check_url()
    http = DefaultHttpxClient(
        follow_redirects=False, timeout=endpoint.timeout, event_hooks={"response": [_bound_refusal]}
    )
    return OpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=http,
    )


def _bound_refusal(response: Response) -> None:
    """Let no more of a refusal be read than its beginning."""
    from httpx2 import SyncByteStream

    if response.is_success or not isinstance(response.stream, SyncByteStream):
        return
    stream: SyncByteStream = response.stream

    class Beginning(SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            left = MAX_REFUSAL_BYTES
            for chunk in stream:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return

        def close(self) -> None:
            stream.close()

    response.stream = Beginning()
