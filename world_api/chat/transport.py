"""One chat endpoint: its address and key, the faults of its answers, and requests with retries within a deadline.

The client's own retries are off: attempts and waits are decided here, with an injected clock and sleep function. The
key is redacted from everything that is received.
"""

from __future__ import annotations

import base64
import functools
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from world_api.core.canonical import content_hash, map_texts, parse_json
from world_api.core.cost import remaining
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import APIResponse, APIStatusError, OpenAI
    from tenacity import RetryCallState

MAX_REPLY_BYTES = 32 * 1024 * 1024
#: Limit of an error body, before decompression, which may multiply it by 1000: the ``openai`` client reads it whole.
MAX_REFUSAL_BYTES = 64 * 1024
_PUBLIC_URL = "https://api.openai.com/v1"
_NO_KEY = "not-needed"  #: sent to a server that needs no key; the client insists on one
_LONG = 8  #: characters; shorter secrets also occur inside words, so they are redacted only as whole words
_SHORTEST = 4  #: characters; shorter secrets occur everywhere and are not redacted
#: Usual values of the key for servers that need none; they are ordinary words.
_NO_SECRETS = frozenset(
    {"not-needed", "empty", "none", "null", "dummy", "test", "fake", "local", "ollama", "lm-studio", "user"}
)
_IS_SECRET = re.compile(r"key|token|secret|sig|auth|pass|pwd|cred|code|jwt", re.IGNORECASE)  #: names of a query's parts
#: How servers report that they have no model of a name; "this model does not support tools" is a different failure.
_IS_MISSING = re.compile(
    r"not (?:found|exist|served|available)|n't exist|no such|unknown|invalid model name|model \S+ is not supported",
    re.IGNORECASE,
)
_MOST_ADAPTATIONS = 2  #: changes of one request after refusals of the server
_SHORTEST_ATTEMPT = 0.001  #: seconds
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  #: seconds; doubled with each attempt
_JITTER = 0.25  #: share of a wait
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_QUOTA = "insufficient_quota"  #: the code of a 429 that waiting does not cure
_HTML = "an HTML page"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible server.

    Args:
        base_url: The URL of the API, such as ``http://127.0.0.1:8000/v1``.
        api_key: The key that is sent with each request.
        timeout: Seconds for one attempt, from the connection to the last byte of the reply.
        total_timeout: Seconds for all attempts of one request together with the waits between them.
        retries: How often a failed request is repeated.
    """

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    timeout: float = 120.0
    total_timeout: float = 300.0
    retries: int = 4

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Endpoint:
        """Return the endpoint that ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY`` configure; OpenAI's own without a URL.

        Raises BackendFault: ``endpoint_not_configured`` if both are unset; ``endpoint_refused_key`` for an invalid key.
        """
        base_url = environment.get("OPENAI_BASE_URL", "").strip()
        api_key = environment.get("OPENAI_API_KEY", "").strip()
        if not base_url and not api_key:
            raise BackendFault(
                "endpoint_not_configured",
                "a model was named, but no endpoint is configured",
                hint="set OPENAI_BASE_URL (and OPENAI_API_KEY if the server needs one)",
            )
        if not api_key.isascii() or not api_key.isprintable():
            raise BackendFault(
                "endpoint_refused_key",
                "OPENAI_API_KEY holds characters that cannot be sent",
                hint="copy the key again; it is one line of plain ASCII",
            )
        return cls(base_url=base_url or _PUBLIC_URL, api_key=api_key or _NO_KEY)

    def __repr__(self) -> str:
        return f"Endpoint({self.host})"

    @property
    def _parts(self) -> SplitResult | None:
        try:
            parts = urlsplit(self.base_url)
            return parts if (parts.port or 1) > 0 else None
        except ValueError:
            return None

    @property
    def host(self) -> str:
        """Host and port, for messages; without the credentials that a URL may contain."""
        parts = self._parts
        if parts is None or not parts.hostname:
            return "the configured URL"
        return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname

    @property
    def address(self) -> str:
        """The URL that identifies this server in stored files: without credentials, with a hash in place of the query."""
        parts = self._parts
        if parts is None:
            return self.host
        query = f"?{content_hash(parts.query)[:16]}" if parts.query else ""
        return f"{parts.scheme}://{self.host}{parts.path.rstrip('/')}{query}"

    def check_url(self) -> None:
        """Check the address. Raises BackendFault: ``endpoint_bad_url`` if it is not an http or https URL."""
        parts = self._parts
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise BackendFault(
                "endpoint_bad_url",
                "OPENAI_BASE_URL is not an http or https address",
                hint="it looks like http://127.0.0.1:8000/v1",
            )

    def without_key(self, text: str) -> str:
        """Return the text with ``[key]`` in place of the key and of the secret parts of the address.

        They are also found in the escapes of JSON, Python and URLs. Secrets of four to seven characters are redacted
        only as whole words; shorter ones, and words such as ``none`` that mean that there is no key, are not redacted.
        """
        for secret in _secrets(self.base_url, self.api_key):
            text = _spellings(secret).sub("[key]", text)
        return text

    def unreachable(self, reason: str) -> BackendFault:
        """Return the fault of a server that does not answer, or of a connection that broke."""
        return BackendFault(
            "endpoint_unreachable",
            f"no answer from {self.host}: {self.without_key(reason)}",
            hint="check that the server runs and that OPENAI_BASE_URL is right (it usually ends in /v1)",
        )

    def not_a_reply(self, reason: str) -> BackendFault:
        """Return the fault of an answer with status 200 that is not a model's reply."""
        return BackendFault(
            "endpoint_error",
            f"{self.host} answered with something that is no reply of a model: {self.without_key(reason)}",
            hint="check that OPENAI_BASE_URL names an OpenAI-compatible server (it usually ends in /v1)",
        )

    def refused(self, model: str, answer: ServerAnswer) -> BackendFault:
        """Return the fault of an answer with an error status; its code depends on the status and the message."""
        status, message = answer.status, self.without_key(answer.message)[:500]
        is_missing = "model" in message.lower() and _IS_MISSING.search(message) is not None
        code, hint = "endpoint_error", "the server failed; try again later"
        if 300 <= status < 400:
            hint = "set OPENAI_BASE_URL to the server's real address if you trust it; nothing was sent there"
        elif status in (401, 403):
            code, hint = "endpoint_refused_key", "check OPENAI_API_KEY and what it may be used for"
        elif answer.code == "model_not_found" or (status in (400, 404) and is_missing):
            code, hint = "endpoint_unknown_model", f"{model!r} is not served there; check --model"
        elif status == 404:
            hint = "check OPENAI_BASE_URL; it usually ends in /v1"
        elif status == 429:
            code, hint = "endpoint_rate_limited", "wait and try again, or raise the account's limits"
        elif status < 500:
            code = "endpoint_refused_request" if status in (400, 422) else code
            hint = "the server does not take this request as it is; videoworld doctor --endpoint URL --model M says what it takes"
        return BackendFault(code, f"{self.host} answered {status}: {message}", hint=hint)


@functools.lru_cache(maxsize=8)
def _secrets(base_url: str, api_key: str) -> tuple[str, ...]:
    """Return the texts to redact, longest first: the key, the credentials of the address, secret parts of its query."""
    found = {api_key}
    try:
        parts = urlsplit(base_url)
        found |= {value for name, value in parse_qsl(parts.query) if _IS_SECRET.search(name)}
        user, password = parts.username or "", parts.password or ""
        if secret := password or user:  # as written, decoded, and as a header sends both
            pair = f"{unquote(user)}:{unquote(password)}"
            found |= {secret, unquote(secret), base64.b64encode(pair.encode()).decode()}
    except ValueError:  # not an address: nothing is sent there
        found.add(base_url)
    secrets = {secret for secret in found if len(secret) >= _SHORTEST and secret.lower() not in _NO_SECRETS}
    return tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))


@functools.lru_cache(maxsize=32)
def _spellings(secret: str) -> re.Pattern[str]:
    """Return a pattern of a secret in which each character is written plainly, after backslashes, or as an escape.

    Repetitions are bounded: otherwise a text of many backslashes would take very long.
    """
    characters = (rf"\\{{0,4}}(?:{re.escape(c)}|[ux]0{{0,6}}{ord(c):02x}(?![0-9a-f])|%{ord(c):02x})" for c in secret)
    spelt = "".join(f"(?:{one})" for one in characters)
    return re.compile(spelt if len(secret) >= _LONG else rf"(?<![^\W_]){spelt}(?![^\W_])", re.IGNORECASE)


#: A request that is sent; the response's body is read inside the block.
Sending = AbstractContextManager["APIResponse[Any]"]
#: Sends a request with a client and a timeout in seconds.
Send = Callable[["OpenAI", float], Sending]


class NotAReply(ValueError):
    """The body of an answer with status 200 is not a reply; ``str()`` of the error is the reason.

    ``status`` is the HTTP status that fits the failure, if the body reports one; ``code`` is the server's error code.
    """

    def __init__(self, reason: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


def error_in(answer: Mapping[str, Any]) -> NotAReply | None:
    """Return the error that a body with status 200 reports, as some gateways do; None if it reports none."""
    error = answer.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return NotAReply(str(error))
    code, message = error.get("code"), error.get("message")
    status = code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 else None
    return NotAReply(str(message or error), status=status, code=code if isinstance(code, str) else None)


@dataclass(frozen=True, kw_only=True)
class ServerAnswer:
    """An answer of a server: the HTTP status, the body if it is a JSON object, and the message if something is wrong.

    ``code`` is the server's error code. ``garbled``: the body is not JSON, so the transfer may have failed.
    ``retry_after``: seconds that the server requests to wait.
    """

    status: int
    body: dict[str, Any] | None
    message: str = ""
    code: str | None = None
    garbled: bool = False
    retry_after: float | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.garbled or (self.status in _TRANSIENT and self.code != _QUOTA)


@dataclass(eq=False)
class Failure(Exception):
    """A failed attempt.

    ``transient``: a repetition may succeed; ``retry_after``: seconds that the server requests to wait; ``adapted``: the
    next attempt is a changed request, without the part that the server rejected.
    """

    fault: BackendFault
    transient: bool = False
    retry_after: float | None = None
    adapted: bool = False


class Transport:
    """Sends requests to one endpoint. ``requests`` counts the requests sent, retries included.

    ``chance`` returns numbers from 0 to 1 that lengthen the waits between attempts by up to a quarter, so that clients
    that failed at the same time do not all retry at the same time.
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
        self._client = _client(endpoint)

    def exchange(self, send: Send, understand: Callable[[ServerAnswer], T]) -> T:
        """Send a request, with retries while the deadline allows, and return the answer as ``understand`` converts it.

        ``understand`` raises ``Failure`` for an answer that is not a reply. The deadline is the endpoint's
        ``total_timeout``, or the caller's (``world_api.core.cost.deadline``) if that is earlier.

        Raises BackendFault: that of the last failure; ``endpoint_unreachable`` if nothing was received.
        """
        from tenacity import Retrying, retry_if_exception

        until = self._clock.monotonic() + remaining(self._endpoint.total_timeout)
        adaptations = 0

        def left() -> float:
            return until - self._clock.monotonic()

        def attempt() -> T:
            nonlocal adaptations
            while True:
                answer = self._try(send, left=left())
                try:
                    return understand(answer)
                except Failure as failure:
                    if not failure.adapted or adaptations == _MOST_ADAPTATIONS or left() <= 0:
                        raise
                    adaptations += 1

        retrying = Retrying(
            sleep=self._sleep,
            retry=retry_if_exception(lambda error: isinstance(error, Failure) and error.transient),
            wait=lambda state: self._wait(state, left=left()),
            stop=lambda state: state.attempt_number > self._endpoint.retries or state.upcoming_sleep >= left(),
            reraise=True,
        )
        try:
            return retrying(attempt)
        except Failure as failure:
            fault, time_left = failure.fault, max(0.0, left())
            wait = failure.retry_after if failure.transient else None
        if wait and wait >= time_left:
            seconds = f"{round(wait, 1):g} s"
            raise BackendFault(
                fault.code,
                f"{fault.message}; it asks to wait {seconds}, and {round(time_left, 1):g} s are left",
                hint=f"try again in {seconds}, or allow more time",
            )
        raise fault

    def _wait(self, state: RetryCallState, *, left: float) -> float:
        """Return the seconds to wait before the next attempt, with jitter if ``left`` (seconds) allows it.

        It is the wait that the server requests; if it requests none, the wait doubles with each attempt.
        """
        error = state.outcome.exception() if state.outcome else None
        wait = error.retry_after if isinstance(error, Failure) else None
        seconds = wait or float(min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(state.attempt_number - 1, 16)))
        longer = seconds * (1 + _JITTER * self._chance())
        return longer if longer < left else seconds

    def _try(self, send: Send, *, left: float) -> ServerAnswer:
        # The client does not wrap the errors in the middle of a body; they are those of its HTTP library.
        from httpx2 import HTTPError, TimeoutException
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

        seconds = max(_SHORTEST_ATTEMPT, min(self._endpoint.timeout, left))
        self.requests += 1
        try:
            return self._read(*_within(seconds, lambda given_up: self._fetch(send, seconds, given_up)))
        except (TimeoutError, APITimeoutError, TimeoutException):
            raise Failure(self._endpoint.unreachable(f"no whole answer in {seconds:g} s"), transient=True) from None
        except APIStatusError as error:
            return self._refusal(error)
        except (APIConnectionError, HTTPError) as error:
            reason = str(error.__cause__ or error) or type(error).__name__
            raise Failure(self._endpoint.unreachable(reason), transient=True) from None
        except (OpenAIError, UnicodeError) as error:
            # The client refuses some requests before it sends them, such as text that is not Unicode.
            raise Failure(self._endpoint.unreachable(f"the request cannot be sent: {error}")) from None

    def _fetch(self, send: Send, seconds: float, given_up: Callable[[], bool]) -> tuple[bytes, str]:
        """Return the body and its content type. The body is incomplete if it exceeds ``MAX_REPLY_BYTES`` or the caller gives up."""
        body = bytearray()
        with send(self._client, seconds) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if given_up() or len(body) > MAX_REPLY_BYTES:
                    break
            return bytes(body), response.headers.get("content-type", "")

    def _read(self, raw: bytes, content_type: str) -> ServerAnswer:
        if len(raw) > MAX_REPLY_BYTES:
            return ServerAnswer(status=200, body=None, message=f"an answer of over {MAX_REPLY_BYTES} bytes")
        text = raw.decode("utf-8", errors="replace")
        try:
            # The key is redacted only after parsing: JSON can spell it in many ways.
            body = map_texts(parse_json(text), self._clean)
        except (ValueError, RecursionError):
            return ServerAnswer(status=200, body=None, message=self._describe(text, content_type), garbled=True)
        if not isinstance(body, dict):
            return ServerAnswer(status=200, body=None, message="JSON that is no object")
        return ServerAnswer(status=200, body=body)

    def _describe(self, text: str, content_type: str) -> str:
        """Describe a body that is not JSON. The key is redacted before the text is cut: half a key is not found."""
        if _is_html(text):
            return _HTML
        if text.startswith(("data:", "event:")):
            return "a stream"
        return f"{content_type or 'something'} that is not JSON: {self._clean(text[:10_000])[:80]!r}"

    def _refusal(self, error: APIStatusError) -> ServerAnswer:
        message = error.body.get("message") if isinstance(error.body, dict) else None
        location = error.response.headers.get("location")
        said = self._clean(f"it sends requests on to {location}" if location else str(message or error.message))
        return ServerAnswer(
            status=error.status_code,
            body=None,
            message=_HTML if _is_html(said) else said[:500],
            code=error.code,
            retry_after=retry_after(error.response.headers, self._clock),
        )

    def _clean(self, text: str) -> str:
        """Return the text without the key, and with ``?`` for characters that UTF-8 cannot encode."""
        return self._endpoint.without_key(text.encode("utf-8", errors="replace").decode())


def _is_html(text: str) -> bool:
    return text.lstrip()[:200].lower().startswith(("<!doctype html", "<html"))


def retry_after(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Return the seconds that a server requests to wait; None without such a header.

    The headers are ``retry-after-ms`` and ``Retry-After``, a number of seconds or a date (RFC 9110, 10.2.3).
    """
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


def _within(seconds: float, work: Callable[[Callable[[], bool]], T]) -> T:
    """Run ``work`` on a new thread for at most ``seconds`` and return its result.

    A timeout of the HTTP client bounds each read only: a server that sends a byte now and then would never time out.
    The argument of ``work`` is a function that returns whether the caller has given up.

    Raises TimeoutError: it took longer; the thread continues until it calls that function; Exception: the work's own.
    """
    done: Future[T] = Future()
    given_up = threading.Event()

    def run() -> None:
        try:
            done.set_result(work(given_up.is_set))
        except BaseException as error:  # noqa: BLE001 - raised again below
            done.set_exception(error)

    threading.Thread(target=run, name="chat-attempt", daemon=True).start()
    try:
        return done.result(timeout=seconds)
    finally:
        given_up.set()


def _client(endpoint: Endpoint) -> OpenAI:
    """Make a client without retries that follows no redirects: the key must be sent to the configured address only.

    Raises BackendFault: ``endpoint_bad_url``.
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
    """Limit how much of an error body is read to ``MAX_REFUSAL_BYTES``."""
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
