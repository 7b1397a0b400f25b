"""Any OpenAI-compatible chat server, through the ``openai`` client.

The client's own retries are off: tries, waits and the time they may take together are decided here, where the
clock and the sleeping are passed in. Replies are taken from the raw JSON the server sent, not from the client's
models of it, so that what is recorded is what was said. Which API is spoken is the wire's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from world_api.backends.chat.endpoint import Endpoint, asks_for_patience, not_an_answer, refused, unreachable
from world_api.backends.chat.wires.chat_completions import ChatCompletionsWire
from world_api.backends.chat.wires.deadlines import GivenUp, within
from world_api.backends.chat.wires.port import NotAReply, Wire
from world_api.backends.chat.wires.waiting import asked_wait, own_wait, spread
from world_api.core.canonical import parse_json
from world_api.core.faults import BackendFault
from world_api.core.patience import at_most
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

MAX_REPLY_BYTES = 32 * 1024 * 1024
_SHORTEST_ATTEMPT = 0.001  #: seconds
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SPENT = "insufficient_quota"  #: a 429 that waiting does not mend
_OURS = "videoworld"  #: the part of a reply that this project adds; no server may speak in it


@dataclass(frozen=True, kw_only=True)
class _Failure:
    """A try that failed: what to say, whether to try again, and how long the server asked us to wait.

    ``adapted``: the next try is another request, without what the server refused.
    """

    fault: BackendFault
    passing: bool = False
    retry_after: float | None = None
    adapted: bool = False


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
        wire: Wire | None = None,
    ) -> None:
        self.name = model
        self._endpoint = endpoint
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._wire = ChatCompletionsWire() if wire is None else wire
        self._client = _client(endpoint)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """One reply, after as many tries as there is patience for: the endpoint's, or less where the caller has less.

        It ends within that time, whatever comes.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
                ``endpoint_rate_limited``, ``endpoint_refused_request``, ``endpoint_error``.
        """
        deadline = self._clock.monotonic() + at_most(self._endpoint.patience)
        tries, adapted = 0, False
        while True:
            outcome = self._try(request, left=deadline - self._clock.monotonic())
            if not isinstance(outcome, _Failure):
                return outcome
            left = deadline - self._clock.monotonic()
            if outcome.adapted and not adapted and left > 0:
                adapted = True
                continue
            tries += 1
            if not outcome.passing or tries > self._endpoint.retries:
                raise outcome.fault
            self._sleep(self._wait(outcome, tries - 1, left=left))

    def _wait(self, failure: _Failure, tries: int, *, left: float) -> float:
        """Seconds to wait before the next try.

        Raises:
            BackendFault: that of the failure, where the wait is longer than the time left.
        """
        asked = failure.retry_after
        seconds = asked or own_wait(tries)
        if seconds < left:
            return spread(seconds, self._chance(), left=left)
        raise asks_for_patience(failure.fault, asked, left=max(0.0, left)) if asked else failure.fault

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
            return _Failure(fault=unreachable(self._endpoint, f"the request cannot be sent: {error}"))

    def _fetch(self, request: dict[str, Any], seconds: float, given_up: GivenUp) -> bytes:
        """The body of the answer, read while somebody waits for it and as far as an answer can reasonably go."""
        body = bytearray()
        with self._wire.send(self._client, request, seconds=seconds) as answer:
            for chunk in answer.iter_bytes():
                body += chunk
                if given_up() or len(body) > MAX_REPLY_BYTES:
                    break
        return bytes(body)

    def _read(self, body: bytes) -> dict[str, Any] | _Failure:
        if len(body) > MAX_REPLY_BYTES:
            return _Failure(fault=not_an_answer(self._endpoint, f"over {MAX_REPLY_BYTES} bytes"))
        try:
            # The key is blotted out only after parsing: JSON can spell it in many ways.
            answer = _with_texts(parse_json(body.decode("utf-8", errors="replace")), self._clean)
        except (ValueError, RecursionError) as error:
            return _Failure(fault=not_an_answer(self._endpoint, f"not JSON ({error})"), passing=True)
        if not isinstance(answer, dict):
            return _Failure(fault=not_an_answer(self._endpoint, "not a JSON object"))
        try:
            reply = self._wire.read(answer)
        except NotAReply as error:
            return self._no_reply(error)
        return {key: value for key, value in reply.items() if key != _OURS}

    def _clean(self, text: str) -> str:
        """Text that can be sent back and stored: Unicode, and without the key."""
        return self._endpoint.without_key(text.encode("utf-8", errors="replace").decode())

    def _no_reply(self, error: NotAReply) -> _Failure:
        if error.status is None:
            return _Failure(fault=not_an_answer(self._endpoint, str(error)[:500]))
        fault = refused(self._endpoint, self.name, status=error.status, message=str(error), code=error.code)
        return _Failure(fault=fault, passing=_passes(error.status, error.code))

    def _refusal(self, error: APIStatusError) -> _Failure:
        status = error.status_code
        said = error.body.get("message") if isinstance(error.body, dict) else None
        message = str(said or error.message)
        fault = refused(self._endpoint, self.name, status=status, message=message, code=error.code)
        return _Failure(
            fault=fault,
            passing=_passes(status, error.code),
            retry_after=asked_wait(error.response.headers, self._clock),
            adapted=status in (400, 422) and self._wire.adapt(message),
        )


def _client(endpoint: Endpoint) -> OpenAI:
    from openai import OpenAI

    endpoint.check_url()
    return OpenAI(api_key=endpoint.api_key, base_url=endpoint.base_url, max_retries=0, timeout=endpoint.timeout)


def _passes(status: int, code: str | None) -> bool:
    return status in _WORTH_ANOTHER_TRY and code != _SPENT


def _with_texts(value: Any, clean: Callable[[str], str]) -> Any:
    """The value with each of its texts cleaned, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_with_texts(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(key): _with_texts(item, clean) for key, item in value.items()}
    return value
