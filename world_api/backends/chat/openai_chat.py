"""Any OpenAI-compatible chat server, through the ``openai`` client.

The client's own retries are off: tries, waits and the time they may take together are decided here, where the
clock and the sleeping are passed in. Replies are taken as the raw JSON the server sent, not as the client's
models of it, so that what is recorded is what was said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from world_api.backends.chat.deadlines import GivenUp, within
from world_api.backends.chat.endpoint import Endpoint, not_an_answer, refused, unreachable
from world_api.core.canonical import parse_json
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

MAX_REPLY_BYTES = 32 * 1024 * 1024
_SHORTEST_ATTEMPT = 0.001  #: seconds
_FIRST_WAIT = 0.5  #: seconds before the second try; doubled each time
_LONGEST_WAIT = 30.0
_SPREAD = 0.25  #: of a wait
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, kw_only=True)
class _Failure:
    """A try that failed: what to say, whether to try again, and how long the server asked us to wait."""

    fault: BackendFault
    passing: bool
    retry_after: float | None = None


class OpenAIChatModel:
    """A model on an endpoint. ``name`` is the model's name as the server knows it.

    ``chance`` gives numbers from 0 to 1; they lengthen the waits between tries by up to a quarter, so that clients
    that failed together do not come back together.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        chance: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.name = model
        self._endpoint = endpoint
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._client = _client(endpoint)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """One reply, after as many tries as the endpoint's patience allows; it ends within that time, whatever comes.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
                ``endpoint_rate_limited``, ``endpoint_refused_request``, ``endpoint_error``.
        """
        deadline = self._clock.monotonic() + self._endpoint.patience
        tries = 0
        while True:
            outcome = self._try(request, left=deadline - self._clock.monotonic())
            if not isinstance(outcome, _Failure):
                return outcome
            wait = _wait(outcome, tries) * (1 + _SPREAD * self._chance())
            tries += 1
            late = self._clock.monotonic() + wait >= deadline
            if not outcome.passing or tries > self._endpoint.retries or late:
                raise outcome.fault
            self._sleep(wait)

    def _try(self, request: dict[str, Any], *, left: float) -> dict[str, Any] | _Failure:
        # The client does not wrap the errors that come in the midst of a body; they are those of its HTTP library.
        from httpx2 import HTTPError
        from openai import APIConnectionError, APIStatusError, OpenAIError

        seconds = max(_SHORTEST_ATTEMPT, min(self._endpoint.timeout, left))
        try:
            body = within(seconds, lambda given_up: self._fetch(request, seconds, given_up))
            return self._read(body)
        except TimeoutError:
            return _Failure(fault=unreachable(self._endpoint, f"no whole answer in {seconds:g} s"), passing=True)
        except APIStatusError as error:
            return self._refusal(error)
        except (APIConnectionError, HTTPError) as error:
            reason = str(error.__cause__ or error) or type(error).__name__
            return _Failure(fault=unreachable(self._endpoint, reason), passing=True)
        except (OpenAIError, UnicodeError) as error:
            # The client refuses some requests before it sends them, such as text that is not Unicode.
            return _Failure(fault=unreachable(self._endpoint, f"the request cannot be sent: {error}"), passing=False)

    def _fetch(self, request: dict[str, Any], seconds: float, given_up: GivenUp) -> bytes:
        """The body of the reply, read while somebody waits for it and as far as a reply can reasonably go."""
        body = bytearray()
        create = self._client.chat.completions.with_streaming_response.create
        with create(**request, timeout=seconds) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if given_up() or len(body) > MAX_REPLY_BYTES:
                    break
        return bytes(body)

    def _read(self, body: bytes) -> dict[str, Any] | _Failure:
        if len(body) > MAX_REPLY_BYTES:
            return _Failure(fault=not_an_answer(self._endpoint, f"over {MAX_REPLY_BYTES} bytes"), passing=False)
        try:
            # The key is blotted out only after parsing: JSON can spell it in many ways.
            reply = _with_texts(parse_json(body.decode("utf-8", errors="replace")), self._clean)
        except ValueError as error:
            return _Failure(fault=not_an_answer(self._endpoint, f"not JSON ({error})"), passing=True)
        if not isinstance(reply, dict):
            return _Failure(fault=not_an_answer(self._endpoint, "not a JSON object"), passing=False)
        if "choices" not in reply and "error" in reply:
            # Some gateways report an error with status 200.
            return _Failure(fault=not_an_answer(self._endpoint, str(reply["error"])[:500]), passing=False)
        if not isinstance(reply.get("choices"), list):
            # It must not be taken, paid for and kept as something that the model said.
            return _Failure(fault=not_an_answer(self._endpoint, "it has no list of choices"), passing=False)
        return reply

    def _clean(self, text: str) -> str:
        """Text that can be sent back and stored: Unicode, and without the key."""
        return self._endpoint.without_key(text.encode("utf-8", errors="replace").decode())

    def _refusal(self, error: APIStatusError) -> _Failure:
        headers = error.response.headers
        status = error.status_code
        message = error.body.get("message") if isinstance(error.body, dict) else None
        fault = refused(
            self._endpoint, self.name, status=status, message=str(message or error.message), code=error.code
        )
        spent = error.code == "insufficient_quota"  # a 429 that waiting does not mend
        return _Failure(
            fault=fault,
            passing=status in _WORTH_ANOTHER_TRY and not spent,
            retry_after=_retry_after(headers.get("retry-after"), self._clock),
        )


def _client(endpoint: Endpoint) -> OpenAI:
    from openai import OpenAI

    endpoint.check_url()
    return OpenAI(api_key=endpoint.api_key, base_url=endpoint.base_url, max_retries=0, timeout=endpoint.timeout)


def _wait(failure: _Failure, tries: int) -> float:
    if failure.retry_after is not None:
        return failure.retry_after
    return float(min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries))


def _retry_after(value: str | None, clock: Clock) -> float | None:
    """Seconds to wait, from the header's number or date (RFC 9110, section 10.2.3)."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(value)
        return max(0.0, (then - datetime.fromisoformat(clock.now())).total_seconds())
    except (ValueError, TypeError):
        return None


def _with_texts(value: Any, clean: Callable[[str], str]) -> Any:
    """The value with each of its texts cleaned, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_with_texts(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(key): _with_texts(item, clean) for key, item in value.items()}
    return value
