"""Where a chat endpoint is, and the names of what can go wrong with it."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault

_PUBLIC_URL = "https://api.openai.com/v1"
_LONG = 8  #: characters; a shorter secret is found in words, so only where it stands alone
_SHORTEST = 4  #: characters; a shorter one is found everywhere
#: What servers that want no key are told for one; they are words like others.
_NO_SECRETS = frozenset(
    {"not-needed", "empty", "none", "null", "dummy", "test", "fake", "local", "ollama", "lm-studio", "user"}
)
_IS_SECRET = re.compile(r"key|token|secret|sig|auth|pass|pwd|cred|code|jwt", re.IGNORECASE)  #: names of a query's parts
#: How servers say that they have no model of a name; "this model does not support tools" is something else.
_IS_MISSING = re.compile(
    r"not (?:found|exist|served|available)|n't exist|no such|unknown|invalid model name|model \S+ is not supported",
    re.IGNORECASE,
)
_NO_KEY = "not-needed"  #: what a server that wants no key is sent; the client insists on sending something


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible server.

    ``timeout`` bounds one attempt from the connection to the last byte of the reply, ``patience`` all attempts of one
    request together with the waits between them; both in seconds. ``retries`` is how often a request is tried again.
    """

    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    timeout: float = 120.0
    patience: float = 300.0
    retries: int = 4

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Endpoint:
        """The endpoint that ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY`` name.

        Raises:
            BackendFault: ``endpoint_not_configured``, ``endpoint_refused_key``.
        """
        base_url = environment.get("OPENAI_BASE_URL", "").strip()
        api_key = environment.get("OPENAI_API_KEY", "").strip()
        if not base_url and not api_key:
            raise BackendFault(
                "endpoint_not_configured",
                "a model was named, but no endpoint is configured",
                hint="set OPENAI_BASE_URL (and OPENAI_API_KEY where the server wants one)",
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
    def host(self) -> str:
        """Host and port, for messages; never the credentials a URL may carry."""
        try:
            parts = urlsplit(self.base_url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return "the configured URL"
        return f"{parts.hostname}{port}" if parts.hostname else "the configured URL"

    @property
    def address(self) -> str:
        """What tells this server from others, for files that are kept; never the credentials a URL may carry.

        Of a query only a hash is told.
        """
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return self.host
        query = f"?{content_hash(parts.query)[:16]}" if parts.query else ""
        return f"{parts.scheme}://{self.host}{parts.path.rstrip('/')}{query}"

    def check_url(self) -> None:
        """Refuse an address that no request can be sent to.

        Raises:
            BackendFault: ``endpoint_bad_url``.
        """
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            usable = False
        if not usable:
            raise BackendFault(
                "endpoint_bad_url",
                "OPENAI_BASE_URL is not an http or https address",
                hint="it looks like http://127.0.0.1:8000/v1",
            )

    def without_key(self, text: str) -> str:
        """The text with the key, and what of the address is secret, blotted out; also as JSON, Python or a URL spells it.

        Secrets of four to seven characters only where they stand alone, shorter ones and the usual words for no key never.
        """
        for secret in _secrets(self.base_url, self.api_key):
            text = _spellings(secret).sub("[key]", text)
        return text


@functools.lru_cache(maxsize=8)
def _secrets(base_url: str, api_key: str) -> tuple[str, ...]:
    """What must not be told, longest first: the key, the credentials in an address and the secret parts of its query."""
    found = {api_key}
    try:
        parts = urlsplit(base_url)
        found |= {value for name, value in parse_qsl(parts.query) if _IS_SECRET.search(name)}
        found |= set(_credentials(parts))
    except ValueError:  # no address at all: nothing is sent there
        found.add(base_url)
    told = {secret for secret in found if len(secret) >= _SHORTEST and secret.lower() not in _NO_SECRETS}
    return tuple(sorted(told, key=lambda secret: (-len(secret), secret)))


def _credentials(parts: SplitResult) -> tuple[str, ...]:
    """The password of an address, or the name where there is none, as written and as meant; both as a header sends them."""
    user, password = parts.username or "", parts.password or ""
    if not user and not password:
        return ()
    secret, pair = password or user, f"{unquote(user)}:{unquote(password)}"
    return (secret, unquote(secret), base64.b64encode(pair.encode()).decode())


@functools.lru_cache(maxsize=32)
def _spellings(secret: str) -> re.Pattern[str]:
    """A secret as it may stand in a text: characters as they are, after backslashes, by their numbers.

    Repetitions are bounded, or a text of many backslashes would take for ever.
    """
    characters = (rf"\\{{0,4}}(?:{re.escape(c)}|[ux]0{{0,6}}{ord(c):02x}(?![0-9a-f])|%{ord(c):02x})" for c in secret)
    spelt = "".join(f"(?:{one})" for one in characters)
    return re.compile(spelt if len(secret) >= _LONG else rf"(?<![^\W_]){spelt}(?![^\W_])", re.IGNORECASE)


def unreachable(endpoint: Endpoint, reason: str) -> BackendFault:
    """Nobody answers at the address, or the connection broke."""
    return BackendFault(
        "endpoint_unreachable",
        f"no answer from {endpoint.host}: {endpoint.without_key(reason)}",
        hint="check that the server runs and that OPENAI_BASE_URL is right (it usually ends in /v1)",
    )


def refused(endpoint: Endpoint, model: str, *, status: int, message: str, code: str | None) -> BackendFault:
    """The server answered with an error status."""
    told = endpoint.without_key(message)[:500]
    where = f"{endpoint.host} answered {status}"
    if 300 <= status < 400:
        hint = "set OPENAI_BASE_URL to where the server really is, if you trust that address; nothing was sent there"
        return BackendFault("endpoint_error", f"{where}: {told}", hint=hint)
    if status in (401, 403):
        known = ("endpoint_refused_key", "check OPENAI_API_KEY and what it may be used for")
    elif _names_the_model(status, told, code):
        known = ("endpoint_unknown_model", f"{model!r} is not served there; check --model")
    elif status == 404:
        known = ("endpoint_error", "check OPENAI_BASE_URL; it usually ends in /v1")
    elif status == 429:
        known = ("endpoint_rate_limited", "wait and ask again, or raise the account's limits")
    elif status >= 500:
        known = ("endpoint_error", "the server failed; ask again later")
    else:
        known = (
            "endpoint_refused_request" if status in (400, 422) else "endpoint_error",
            "the server does not take this request as it is; videoworld doctor --endpoint URL --model M says what it takes",
        )
    return BackendFault(known[0], f"{where}: {told}", hint=known[1])


def asks_for_patience(fault: BackendFault, seconds: float, *, left: float) -> BackendFault:
    """The fault of a server that asks to wait longer than there is time left."""
    wait = f"{round(seconds, 1):g} s"
    return BackendFault(
        fault.code,
        f"{fault.message}; it asks to wait {wait}, and {round(left, 1):g} s are left",
        hint=f"ask again in {wait}, or allow more time",
    )


def not_an_answer(endpoint: Endpoint, reason: str) -> BackendFault:
    """The server answered 200 with something that is no reply."""
    return BackendFault(
        "endpoint_error",
        f"{endpoint.host} answered with something that is no reply of a model: {endpoint.without_key(reason)}",
        hint="check that OPENAI_BASE_URL names an OpenAI-compatible server (it usually ends in /v1)",
    )


def _names_the_model(status: int, message: str, code: str | None) -> bool:
    if code == "model_not_found":
        return True
    return status in (400, 404) and "model" in message.lower() and _IS_MISSING.search(message) is not None
