"""Probes of a chat endpoint: small requests that show what it really supports.

``capabilities_of`` sends a model a few requests whose right answer is known and stores the finding in a cache folder,
by the endpoint's address, the model and the project's version. Neither file names nor contents hold an API key.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import TypeAdapter, ValidationError

from world_api.chat.messages import CARRIED, Usage, call_position, first_message, is_count, text_of, usage_of
from world_api.chat.models import OpenAIChatModel
from world_api.chat.transport import Endpoint, Transport
from world_api.chat.wires import ChatCompletionsWire, ResponsesWire, WireName
from world_api.core.canonical import closed_object, content_hash, json_object
from world_api.core.faults import BackendFault, StoreFault
from world_api.core.files import write_atomically
from world_api.core.ports import Clock
from world_api.installation import project_version

SCHEMA_VERSION = 4
CACHE_VARIABLE = "VIDEOWORLD_CACHE"
_FOLDER = "video-world-api"
_MOST_SEEN = 160  #: characters

Outcome = Literal["ok", "wrong", "not_offered", "not_tried"]
CheckName = Literal["chat", "responses", "tools", "parallel_calls", "images"]
CHECKS: tuple[CheckName, ...] = get_args(CheckName)  #: in the order in which they are shown

TITLES: dict[CheckName, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "tools": "tools",
    "parallel_calls": "several calls at once",
    "images": "images",
}
_MEANINGS: dict[tuple[CheckName, Outcome], str] = {
    ("chat", "ok"): "this wire is spoken where both are there",
    ("chat", "wrong"): "it takes no tools here; the other wire is spoken",
    ("chat", "not_offered"): "the other wire is spoken",
    ("responses", "ok"): "can be spoken with --wire responses",
    ("responses", "not_offered"): "not needed where Chat Completions takes tools",
    ("tools", "ok"): "the model can act, and reads what its calls found",
    ("tools", "wrong"): "it cannot be a controller; a server of open models may need its tool-call parser switched on",
    ("tools", "not_offered"): "it cannot be a controller",
    ("parallel_calls", "ok"): "fewer rounds: reading calls of one reply run side by side",
    ("parallel_calls", "not_offered"): "one call a round: allow more rounds",
    ("images", "ok"): "it can look at frames: --system direct and --profile endpoint work",
    ("images", "wrong"): "pictures are taken and not seen: --system direct and --profile endpoint would guess",
    ("images", "not_offered"): "no frames: --system direct and --profile endpoint are refused",
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of a model and its outcome: ``ok``, ``wrong``, ... ``seen`` is a line on what the server did, or empty."""

    name: CheckName
    outcome: Outcome
    seen: str = ""

    @property
    def meaning(self) -> str:
        """What the outcome means for a controller, as a phrase; empty for outcomes that need no comment."""
        return _MEANINGS.get((self.name, self.outcome), "")


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What one model on one endpoint supports.

    Args:
        wire: The API to use.
        checks: The outcomes of the checks that were made.
        thorough: Whether all checks were completed.
        requests: How many requests were sent.
        spent: The tokens of these requests.
        found_at: The time of the probe, as ISO 8601.
        window: The context window in tokens, if the server reports it.
    """

    wire: WireName | None
    checks: tuple[Check, ...] = ()
    thorough: bool = False
    requests: int = 0
    spent: Usage = field(default_factory=Usage)
    found_at: str = ""
    window: int | None = None

    @property
    def usable(self) -> bool:
        """Whether the model can be a controller: it calls tools in a readable form and uses their results."""
        return self.wire is not None and self.can("tools") is True

    def check(self, name: CheckName) -> Check:
        """Return the check of that name; one with outcome ``not_tried`` if it was not made."""
        return next((check for check in self.checks if check.name == name), Check(name=name, outcome="not_tried"))

    def can(self, name: CheckName) -> bool | None:
        """Whether a check succeeded; None if it was not tried."""
        outcome = self.check(name).outcome
        return None if outcome == "not_tried" else outcome == "ok"


_CAPABILITIES = TypeAdapter(Capabilities)


def cache_folder(environment: Mapping[str, str], *, home: Path | str) -> Path:
    """Return the folder of probe results: ``VIDEOWORLD_CACHE``, else ``video-world-api`` in the platform's cache folder."""
    named = environment.get(CACHE_VARIABLE, "").strip()
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Caches" / _FOLDER
    usual = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "").strip()
    return (Path(usual) if usual and Path(usual).is_absolute() else Path(home) / ".cache") / _FOLDER


def read_finding(folder: Path | str, endpoint: Endpoint, model: str) -> Capabilities | None:
    """Return the stored capabilities of a model that this version of the project found; None if there are none to read."""
    subject = _subject(endpoint, model)
    try:
        record = json_object(_path(folder, subject).read_bytes())
        if record is None or record.get("of") != subject:
            return None
        return _CAPABILITIES.validate_python(record.get("found"))
    except (OSError, ValueError, ValidationError):
        return None


def keep_finding(folder: Path | str, endpoint: Endpoint, model: str, found: Capabilities) -> None:
    """Store the capabilities of a model. If the folder cannot be written, nothing is stored and no fault is raised."""
    subject = _subject(endpoint, model)
    record = json.dumps({"of": subject, "found": asdict(found)}, indent=1, sort_keys=True) + "\n"
    with suppress(OSError, StoreFault):
        write_atomically(_path(folder, subject), record.encode())


def _subject(endpoint: Endpoint, model: str) -> dict[str, str | int]:
    """Return what identifies stored capabilities: schema version, endpoint, model and project version."""
    version = project_version()
    return {"schema_version": SCHEMA_VERSION, "endpoint": endpoint.address, "model": model, "version": version}


def _path(folder: Path | str, subject: Mapping[str, Any]) -> Path:
    return Path(folder) / "endpoints" / f"{content_hash(subject)[:32]}.json"


def capabilities_of(
    endpoint: Endpoint,
    model: str,
    *,
    cache: Path | str | None,
    clock: Clock,
    sleep: Callable[[float], None],
    again: bool = False,
) -> Capabilities:
    """Test what a model supports, with about ten small requests.

    ``cache`` is the folder in which results are stored (None: nowhere). A complete stored result is returned without
    requests, unless ``again`` is true.

    Raises BackendFault: ``endpoint_unreachable``, ``endpoint_bad_url``, ``endpoint_refused_key``,
    ``endpoint_unknown_model``, ``endpoint_rate_limited``, ``endpoint_error``. Then nothing is stored.
    """
    known = None if cache is None or again else read_finding(cache, endpoint, model)
    if known is not None and known.thorough:
        return known
    found = _Probe(endpoint, model, clock=clock, sleep=sleep).run()
    if cache is not None:
        keep_finding(cache, endpoint, model, found)
    return found


_TOOL = "look_up_city"
_PARAMETERS = closed_object({"city": {"type": "string", "description": "The city's name."}})
_FUNCTION = {"name": _TOOL, "description": "Look up the code word of a city.", "parameters": _PARAMETERS}
_TOOLS = [{"type": "function", "function": _FUNCTION}]
_ONE_CALL = "Use the tool to look up the code word of the city Paris, then say that word."
_TWO_CALLS = (
    "Use the tool to look up the code words of two cities, Paris and Oslo. Make both calls at once, in one reply."
)
_CODE_WORD = "tangerine"  #: no model says it by chance
_COLOURS = "What colours are the left and the right half of this picture? Answer in two words: left, then right."
#: Names of the window in lists of models: vLLM and SGLang; OpenRouter and others; Mistral; Groq; LM Studio; llama.cpp, under ``meta``.
_WINDOW_NAMES = (
    *("max_model_len", "context_length", "max_context_length", "context_window", "loaded_context_length"),
    *("n_ctx", "n_ctx_train"),
)


class _Probe:
    """Makes the checks of one model. Once the outcome of a check is bad, later outcomes do not replace it."""

    def __init__(self, endpoint: Endpoint, model: str, *, clock: Clock, sleep: Callable[[float], None]) -> None:
        self._checks: dict[CheckName, Check] = {}
        self._spent = Usage()
        self._name = model
        self._clock = clock
        self._transport = Transport(endpoint, clock=clock, sleep=sleep)
        chat, responses = ChatCompletionsWire(), ResponsesWire()
        connect = partial(OpenAIChatModel, endpoint, model, clock=clock, sleep=sleep)
        self._model = connect(wire=chat, other=responses, on_switch=self._note_switch)
        self._responses = connect(wire=responses)

    def run(self) -> Capabilities:
        """Make all checks and return their results; the first is whether the model calls a tool, and over which API.

        Raises BackendFault: the faults of ``capabilities_of``; after the first check only ``endpoint_refused_key``.
        """
        try:
            self._first_call()
            self._note("chat", "ok", "it answers")
        except BackendFault as fault:
            if fault.code != "endpoint_refused_request":
                raise
            self._note("tools", "not_offered", fault.message)
            self._note("chat", "ok", fault.message)
        tries = {"responses": self._other_wire, "images": self._images}
        if self._checks["tools"].outcome == "ok":
            tries |= {"tools": self._round_trip, "parallel_calls": self._parallel_calls}
        complete = True
        for name, check in cast("dict[CheckName, Callable[[], None]]", tries).items():
            try:
                check()
            except BackendFault as fault:
                if fault.code == "endpoint_refused_key":
                    raise
                transient = fault.code in ("endpoint_rate_limited", "endpoint_unreachable")
                complete = complete and not transient
                refused: Outcome = "wrong" if name == "tools" else "not_offered"
                self._note(name, "not_tried" if transient else refused, fault.message)
        window = self._window()
        return Capabilities(
            wire=cast(WireName, self._model.wire_name),
            checks=tuple(self._checks[name] for name in CHECKS if name in self._checks),
            thorough=complete,
            requests=self._transport.requests + self._model.requests + self._responses.requests,
            spent=self._spent,
            found_at=self._clock.now(),
            window=window,
        )

    def _window(self) -> int | None:
        """Return the smallest context window, in tokens, that the server reports for the model; None if it has none."""
        try:
            answer = self._transport.exchange(
                lambda client, seconds: client.models.with_streaming_response.list(timeout=seconds),
                lambda answer: answer,
            )
        except BackendFault:  # nothing depends on it
            return None
        listed = (answer.body or {}).get("data")
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        named = [entry for entry in entries if entry.get("id") == self._name]
        if not named and len(entries) == 1:  # a server of one model answers under any name
            named = entries
        places = [place for entry in named for place in (entry, entry.get("meta"), entry.get("top_provider"))]
        values = [place[name] for place in places if isinstance(place, dict) for name in _WINDOW_NAMES if name in place]
        return min((value for value in values if is_count(value) and value > 0), default=None)

    def _first_call(self) -> None:
        """Record as the check ``tools`` whether the model calls an offered tool, and whether the call has the right form."""
        message = self._request(_ONE_CALL, tools=_TOOLS)
        calls = _functions(message)
        if calls:
            wrong = next((why for call in calls if (why := _wrong_with(call))), "")
            self._note("tools", "wrong" if wrong else "ok", wrong or f"it called {_TOOL} {calls[0]['arguments']}")
        else:
            written = call_position(text_of(message), {_TOOL}) is not None
            what = "a call written as text" if written else "no call"
            self._note("tools", "wrong", f"{what}: {text_of(message)!r}")

    def _round_trip(self) -> None:
        """Send a history with a call (content null) and its result; record ``tools`` as wrong if the model does not use it."""
        message = self._request(_ONE_CALL, tools=_TOOLS)
        functions = _functions(message)
        if not functions or any(_wrong_with(function) for function in functions):
            return
        # A call without an id gets one, as in the loop.
        calls = [
            {**call, "id": call.get("id") or f"call_{place}"}
            for place, call in enumerate(message["tool_calls"])
            if isinstance(call, dict)
        ]
        past = {"role": "assistant", "content": None, "tool_calls": calls, CARRIED: message.get(CARRIED)}
        content = json.dumps({"code_word": _CODE_WORD})
        results = [{"role": "tool", "tool_call_id": call["id"], "content": content} for call in calls]
        said = text_of(self._request(_ONE_CALL, past, *results, tools=_TOOLS))
        if _CODE_WORD not in said.lower():
            self._note("tools", "wrong", f"the result of a call was not read: it said {said!r}")

    def _other_wire(self) -> None:
        if self._model.wire_name == "chat":
            self._request("Say: ready.", model=self._responses)
            self._note("responses", "ok", "it answers")

    def _parallel_calls(self) -> None:
        count = len(_functions(self._request(_TWO_CALLS, tools=_TOOLS)))
        self._note("parallel_calls", "ok" if count > 1 else "not_offered", f"{count} of 2 calls in one reply")

    def _images(self) -> None:
        """Record whether the model names the colours of a picture from left to right; no text of the request mentions them."""
        picture = {"type": "image_url", "image_url": {"url": _yellow_and_blue()}}
        said = text_of(self._request([{"type": "text", "text": _COLOURS}, picture]))
        left, right = said.lower().find("yellow"), said.lower().find("blue")
        self._note("images", "ok" if 0 <= left < right else "wrong", f"it saw {said!r}")

    def _request(
        self, content: Any, *history: dict[str, Any], model: OpenAIChatModel | None = None, **settings: Any
    ) -> dict[str, Any]:
        """Send a user's message, ``history`` and further fields (``settings``); return the message of the reply.

        Raises BackendFault: as ``OpenAIChatModel.complete``; ``endpoint_error`` if a reply has no message.
        """
        request = {"model": self._name, "messages": [{"role": "user", "content": content}, *history], **settings}
        reply = (model or self._model).complete(request)
        self._spent += usage_of(request, reply)
        message = first_message(reply)
        if message is None:
            raise BackendFault("endpoint_error", "a reply without a message", hint="use another server")
        return message

    def _note(self, name: CheckName, outcome: Outcome, seen: str) -> None:
        line = " ".join(seen.split())
        short = line if len(line) <= _MOST_SEEN else line[: _MOST_SEEN - 3] + "..."
        if name not in self._checks or self._checks[name].outcome in ("ok", "not_tried"):
            self._checks[name] = Check(name=name, outcome=outcome, seen=short)

    def _note_switch(self, refusal: BackendFault) -> None:
        self._note("chat", "wrong" if "responses" in refusal.message.lower() else "not_offered", refusal.message)
        self._note("responses", "ok", "it answers")


def _functions(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ``function`` objects of a message's tool calls; their fields may be of any type."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [function for function in functions if isinstance(function, dict)]


def _wrong_with(call: Mapping[str, Any]) -> str:
    """Describe what is wrong with the name and arguments of a call (a ``function`` object); empty if both are right."""
    arguments = call.get("arguments")
    if call.get("name") != _TOOL:
        return f"it called {call.get('name')}"
    if not isinstance(arguments, str):
        return "arguments that are not JSON in a string"
    value = json_object(arguments)
    if value is None:
        return f"arguments that are not a JSON object: {arguments!r}"
    return "" if value else "empty arguments, though the tool needs one"


def _yellow_and_blue() -> str:
    """Return a PNG picture, yellow on the left and blue on the right, as a data URL."""
    import cv2
    import numpy as np

    image = np.full((64, 64, 3), (0, 220, 255), np.uint8)  # some models take nothing under 28 pixels
    image[:, 32:] = (220, 40, 0)
    return "data:image/png;base64," + base64.b64encode(cv2.imencode(".png", image)[1].tobytes()).decode()
