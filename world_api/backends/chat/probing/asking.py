"""Putting one small request to a server and hearing whatever comes back, refusals too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from world_api.backends.chat.wires.deadlines import GivenUp, within
from world_api.backends.chat.endpoint import Endpoint, not_an_answer, refused, unreachable
from world_api.core.canonical import parse_json
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

Route = Literal["chat", "responses", "embeddings"]
MAX_BYTES = 4 * 1024 * 1024  #: of an answer to a probe, which is short
_FIRST_WAIT = 0.5
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What a server said: its status, its JSON object if it was one, and what was wrong in its own words."""

    status: int
    body: dict[str, Any] | None
    told: str = ""
    code: str | None = None
    html: bool = False

    @property
    def answered(self) -> bool:
        """Whether it took the request and said something in JSON that is no error."""
        return self.status == 200 and self.body is not None and not (self.body.get("error"))


class Asker:
    """Asks one endpoint. Failures that pass are waited out within the endpoint's patience."""

    def __init__(self, endpoint: Endpoint, *, clock: Clock, sleep: Callable[[float], None]) -> None:
        from openai import OpenAI

        endpoint.check_url()
        self.requests = 0
        self._endpoint, self._clock, self._sleep = endpoint, clock, sleep
        self._client: OpenAI = OpenAI(
            api_key=endpoint.api_key, base_url=endpoint.base_url, max_retries=0, timeout=endpoint.timeout
        )

    def ask(self, route: Route, body: dict[str, Any]) -> Heard:
        """What the server says to this.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_rate_limited``,
                ``endpoint_error`` where it fails again and again: nothing can be learnt from that.
        """
        deadline = self._clock.monotonic() + self._endpoint.patience
        tries = 0
        while True:
            outcome = self._try(route, body, left=deadline - self._clock.monotonic())
            if isinstance(outcome, Heard) and outcome.status not in _PASSING:
                return self._known(outcome, body)
            wait = _FIRST_WAIT * 2**tries
            tries += 1
            if tries > self._endpoint.retries or self._clock.monotonic() + wait >= deadline:
                raise self.fault(outcome, body) if isinstance(outcome, Heard) else outcome
            self._sleep(wait)

    def fault(self, heard: Heard, body: dict[str, Any]) -> BackendFault:
        """The named fault for what was heard."""
        if heard.status == 200:
            return not_an_answer(self._endpoint, heard.told or "it is not what was asked for")
        model = str(body.get("model"))
        return refused(self._endpoint, model, status=heard.status, message=heard.told, code=heard.code)

    def _known(self, heard: Heard, body: dict[str, Any]) -> Heard:
        """What was heard, unless the key or the model is refused, which ends all asking."""
        if heard.status != 200:
            fault = self.fault(heard, body)
            if fault.code == "endpoint_refused_key":
                raise fault
        return heard

    def _try(self, route: Route, body: dict[str, Any], *, left: float) -> Heard | BackendFault:
        from httpx2 import HTTPError
        from openai import APIConnectionError, APIStatusError

        seconds = max(0.001, min(self._endpoint.timeout, left))
        self.requests += 1
        try:
            return self._read(*within(seconds, lambda given_up: self._fetch(route, body, seconds, given_up)))
        except TimeoutError:
            return unreachable(self._endpoint, f"no whole answer in {seconds:g} s")
        except APIStatusError as error:
            return self._refusal(error)
        except (APIConnectionError, HTTPError) as error:
            return unreachable(self._endpoint, str(error.__cause__ or error) or type(error).__name__)

    def _fetch(self, route: Route, body: dict[str, Any], seconds: float, given_up: GivenUp) -> tuple[bytes, str]:
        client = self._client
        create: Any = {
            "chat": client.chat.completions.with_streaming_response.create,
            "responses": client.responses.with_streaming_response.create,
            "embeddings": client.embeddings.with_streaming_response.create,
        }[route]
        heard = bytearray()
        with create(**body, timeout=seconds) as response:
            for chunk in response.iter_bytes():
                heard += chunk
                if given_up() or len(heard) > MAX_BYTES:
                    break
            return bytes(heard), str(response.headers.get("content-type", ""))

    def _read(self, raw: bytes, content_type: str) -> Heard:
        text = raw[:MAX_BYTES].decode("utf-8", errors="replace")
        if len(raw) > MAX_BYTES:
            return Heard(status=200, body=None, told=f"an answer of over {MAX_BYTES} bytes")
        try:
            body = parse_json(text)
        except ValueError:
            what = "an HTML page" if _is_html(text) else "a stream" if text.startswith(("data:", "event:")) else ""
            told = what or f"{content_type or 'something'} that is not JSON: {text[:80]!r}"
            return Heard(status=200, body=None, told=self._endpoint.without_key(told), html=what == "an HTML page")
        if not isinstance(body, dict):
            return Heard(status=200, body=None, told="JSON that is no object")
        return Heard(status=200, body=body, told=self._error_in(body))

    def _error_in(self, body: dict[str, Any]) -> str:
        error = body.get("error")
        message = error.get("message") if isinstance(error, dict) else error
        return self._endpoint.without_key(str(message))[:500] if message else ""

    def _refusal(self, error: APIStatusError) -> Heard:
        message = error.body.get("message") if isinstance(error.body, dict) else None
        told = self._endpoint.without_key(str(message or error.message))
        told = "an HTML page" if _is_html(told) else told[:500]
        return Heard(status=error.status_code, body=None, told=told, code=error.code, html=told == "an HTML page")


def _is_html(text: str) -> bool:
    return text.lstrip()[:200].lower().startswith(("<!doctype html", "<html"))
