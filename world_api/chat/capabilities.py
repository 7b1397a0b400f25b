"""Probes of a chat endpoint: small requests that show what it really supports.

``capabilities_of`` sends a model a few requests whose right answer is known and stores the finding in a cache folder,
by the endpoint's address, the model and the project's version. Neither file names nor contents hold an API key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from pydantic import TypeAdapter

from world_api.chat.json_wire import JsonCalls
from world_api.chat.messages import CARRIED, Usage, call_position, first_message, is_count, text_of, usage_of
from world_api.chat.models import OpenAIChatModel
from world_api.chat.transport import Endpoint, Transport
from world_api.chat.wires import ChatCompletionsWire, ResponsesWire, WireName
from world_api.core.canonical import closed_object, content_hash, json_object
from world_api.core.faults import BackendFault, StoreFault
from world_api.core.files import write_atomically
from world_api.core.ports import Clock
from world_api.installation import project_version

SCHEMA_VERSION = 5
_FOLDER = "video-world-api"
_MOST_SEEN = 160  #: characters

Outcome = Literal["ok", "wrong", "not_offered", "not_tried"]
CheckName = Literal["chat", "responses", "tools", "json", "parallel_calls", "images"]
CHECKS: tuple[CheckName, ...] = get_args(CheckName)  #: in the order in which they are shown

TITLES: dict[CheckName, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "tools": "tools",
    "json": "calls as JSON",
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
    ("tools", "wrong"): "a server of open models may need its tool-call parser switched on",
    ("json", "ok"): "the model can act all the same: --wire json, which is spoken by itself from now on",
    ("json", "wrong"): "it cannot be a controller",
    ("json", "not_offered"): "it cannot be a controller",
    ("json", "not_tried"): "only needed where tools are not taken",
    ("parallel_calls", "ok"): "fewer rounds: reading calls of one reply run side by side",
    ("parallel_calls", "not_offered"): "one call a round: allow more rounds",
    ("images", "ok"): "it can look at frames: --system direct and --profile endpoint work",
    ("images", "wrong"): "pictures are taken and not seen: --system direct and --profile endpoint would guess",
    ("images", "not_offered"): "no frames: --system direct and --profile endpoint are refused",
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """The outcome of one check. ``seen`` describes in one line what the server did."""

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
        wire: The API to use; None if nothing is known.
        checks: The outcomes of the checks that were made.
        thorough: Whether all checks were completed.
        requests: How many requests were sent.
        spent: The tokens of these requests.
        found_at: The time of the probe, as ISO 8601.
        window: The context window in tokens, if the server reports it.
    """

    wire: WireName | None = None
    checks: tuple[Check, ...] = ()
    thorough: bool = False
    requests: int = 0
    spent: Usage = field(default_factory=Usage)
    found_at: str = ""
    window: int | None = None

    @property
    def usable(self) -> bool:
        """Whether the model can be a controller: it calls tools, or writes calls as JSON, and uses the results."""
        return self.can("tools") is True or self.can("json") is True

    def check(self, name: CheckName) -> Check:
        """Return the check of that name; one with outcome ``not_tried`` if it was not made."""
        return next((check for check in self.checks if check.name == name), Check(name=name, outcome="not_tried"))

    def can(self, name: CheckName) -> bool | None:
        """Whether a check succeeded; None if it was not tried."""
        outcome = self.check(name).outcome
        return None if outcome == "not_tried" else outcome == "ok"


_CAPABILITIES = TypeAdapter(Capabilities)


def read_finding(folder: Path | str, endpoint: Endpoint, model: str) -> Capabilities:
    """Return the stored capabilities of a model that this version of the project found; empty if there are none to read."""
    try:
        record = json_object(_place(folder, endpoint, model)[0].read_bytes()) or {}
        return _CAPABILITIES.validate_python(record.get("found"))
    except (OSError, ValueError):
        return Capabilities()


def keep_finding(folder: Path | str, endpoint: Endpoint, model: str, found: Capabilities) -> None:
    """Store the capabilities of a model. If the folder cannot be written, nothing is stored and no fault is raised."""
    path, subject = _place(folder, endpoint, model)
    record = json.dumps({"of": subject, "found": asdict(found)}, indent=1, sort_keys=True) + "\n"
    with suppress(OSError, StoreFault):
        write_atomically(path, record.encode())


def _place(folder: Path | str, endpoint: Endpoint, model: str) -> tuple[Path, dict[str, str | int]]:
    """Return the file of stored capabilities, and what identifies them; the file's name is a hash of it."""
    subject: dict[str, str | int] = {"schema_version": SCHEMA_VERSION, "version": project_version()}
    subject |= {"endpoint": endpoint.address, "model": model}
    return Path(folder) / "endpoints" / f"{content_hash(subject)[:32]}.json", subject


Message = dict[str, Any]
Shown = tuple[Outcome, str]  #: the outcome of a check, and what was seen

_TOOL = "look_up_city"
_PARAMETERS = closed_object({"city": {"type": "string", "description": "The city's name."}})
_FUNCTION = {"name": _TOOL, "description": "Look up the code word of a city.", "parameters": _PARAMETERS}
_TOOLS = [{"type": "function", "function": _FUNCTION}]
_ONE_CALL = "Use the tool to look up the code word of the city Paris, then say that word."
_TWO_CALLS = (
    "Use the tool to look up the code words of two cities, Paris and Oslo. Make both calls at once, in one reply."
)
_ANSWERS = "it answers"
_CODE_WORD = "tangerine"  #: no model says it by chance
_COLOURS = "What colours are the left and the right half of this picture? Answer in two words: left, then right."
#: PNG of 64 x 64 pixels (some models take nothing under 28), yellow on the left and blue on the right.
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAVUlEQVR42u3PMQ0AMAwEsaT4yn8qlxTFD5F8BE7ueRWtb3ZwankAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+T5VLwOEmj5AnQAAAABJRU5ErkJggg=="
)
_PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}}


def _right_call(message: Message) -> Shown:
    calls = _functions(message)
    if not calls:
        said = text_of(message)
        written = call_position(said, {_TOOL}) is not None
        return "wrong", f"{'a call written as text' if written else 'no call'}: {said!r}"
    for call in calls:
        arguments = call.get("arguments")
        if call.get("name") != _TOOL:
            return "wrong", f"it called {call.get('name')}"
        if not isinstance(arguments, str):
            return "wrong", "arguments that are not JSON in a string"
        if not (value := json_object(arguments)):
            no_object = f"arguments that are not a JSON object: {arguments!r}"
            return "wrong", no_object if value is None else "empty arguments, though the tool needs one"
    return "ok", f"it called {_TOOL} {calls[0]['arguments']}"


def _code_word(message: Message) -> Shown:
    said = text_of(message)
    return "ok" if _CODE_WORD in said.lower() else "wrong", f"the result of a call was not read: it said {said!r}"


def _both_calls(message: Message) -> Shown:
    count = len(_functions(message))
    return "ok" if count > 1 else "not_offered", f"{count} of 2 calls in one reply"


def _both_colours(message: Message) -> Shown:
    said = text_of(message)
    return "ok" if 0 <= said.lower().find("yellow") < said.lower().find("blue") else "wrong", f"it saw {said!r}"


class _Probe(NamedTuple):
    """A row of the table of probes: a request whose right answer is known.

    ``content`` is that of the user's message; ``shows`` returns the outcome of the check that the reply's message
    shows, and what was seen. A second probe of a check answers the calls of the first one's reply.
    """

    check: CheckName
    content: str | list[Message]
    offers_tool: bool
    shows: Callable[[Message], Shown]


#: In the order of sending. The first one shows which API is spoken; one that offers the tool is sent if it is called rightly.
#: Calls as JSON are tried if tools are not taken.
_PROBES = (
    _Probe("tools", _ONE_CALL, True, _right_call),
    _Probe("responses", "Say: ready.", False, lambda message: ("ok", _ANSWERS)),
    _Probe("images", [{"type": "text", "text": _COLOURS}, _PICTURE], False, _both_colours),
    _Probe("parallel_calls", _TWO_CALLS, True, _both_calls),
    _Probe("tools", _ONE_CALL, True, _code_word),
    _Probe("json", _ONE_CALL, True, _right_call),
    _Probe("json", _ONE_CALL, False, _code_word),  # in words, which the schema of a reply with calls does not allow
)


def _with_results(called: Message) -> list[Message]:
    """Return a message with calls as it is repeated in a history (content null), and results of the calls."""
    # A call without an id gets one, as in the loop.
    calls = [
        {**call, "id": call.get("id") or f"call_{place}"}
        for place, call in enumerate(called["tool_calls"])
        if isinstance(call, dict)
    ]
    past = {"role": "assistant", "content": None, "tool_calls": calls, CARRIED: called.get(CARRIED)}
    content = json.dumps({"code_word": _CODE_WORD})
    return [past, *({"role": "tool", "tool_call_id": call["id"], "content": content} for call in calls)]


def _functions(message: Message) -> list[dict[str, Any]]:
    """Return the ``function`` objects of a message's tool calls; their fields may be of any type."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [function for function in functions if isinstance(function, dict)]


def capabilities_of(
    endpoint: Endpoint,
    model: str,
    *,
    cache: Path | str | None,
    clock: Clock,
    sleep: Callable[[float], None],
    again: bool = False,
) -> Capabilities:
    """Test what a model supports, with a few small requests (``_PROBES``).

    ``cache`` is the folder in which results are stored (None: nowhere). A complete stored result is returned without
    requests, unless ``again`` is true.

    Raises BackendFault: ``endpoint_unreachable``, ``endpoint_bad_url``, ``endpoint_refused_key``,
    ``endpoint_unknown_model``, ``endpoint_rate_limited``, ``endpoint_error``. Then nothing is stored.
    """
    known = Capabilities() if cache is None or again else read_finding(cache, endpoint, model)
    if known.thorough:
        return known
    found = _probed(endpoint, model, clock=clock, sleep=sleep)
    if cache is not None:
        keep_finding(cache, endpoint, model, found)
    return found


def _probed(endpoint: Endpoint, model: str, *, clock: Clock, sleep: Callable[[float], None]) -> Capabilities:
    """Send the probes and return what they show.

    Faults other than a refused key are raised for the first probe only; an ``endpoint_error`` of it, which may be about the
    tools alone, if no other probe succeeds either.
    """
    connect = partial(OpenAIChatModel, endpoint, model, clock=clock, sleep=sleep)
    switches: list[BackendFault] = []
    spoken = connect(wire=ChatCompletionsWire(), other=ResponsesWire(), on_switch=switches.append)
    responses, as_json = connect(wire=ResponsesWire()), JsonCalls(connect(wire=ChatCompletionsWire()))
    models: dict[CheckName, OpenAIChatModel | JsonCalls] = {"responses": responses, "json": as_json}
    at_first: BackendFault | None = None
    checks: dict[CheckName, Check] = {}
    replies: dict[CheckName, Message] = {}
    spent, complete = Usage(), True
    for probe in _PROBES:
        is_first, over = not checks, models.get(probe.check, spoken)
        if (over is responses and switches) or not _is_due(probe, checks):  # Responses is the one that is spoken
            continue
        past = _with_results(replies[probe.check]) if probe.check in replies else []
        request: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": probe.content}, *past]}
        if probe.offers_tool:
            request["tools"] = _TOOLS
        try:
            reply = over.complete(request)
            spent += usage_of(request, reply)
            message = first_message(reply)
            if message is None:
                raise BackendFault("endpoint_error", "a reply without a message", hint="use another server")
            replies[probe.check] = message
            outcome, seen = probe.shows(message)
        except BackendFault as fault:
            at_first = fault if is_first and fault.code == "endpoint_error" else at_first
            may_be_about_tools = fault.code in ("endpoint_refused_request", "endpoint_error")
            if fault.code == "endpoint_refused_key" or (is_first and not may_be_about_tools):
                raise
            passing = fault.code in ("endpoint_rate_limited", "endpoint_unreachable")
            complete = complete and not passing
            refused: Outcome = "wrong" if past else "not_offered"
            outcome, seen = "not_tried" if passing else refused, fault.message
        if probe.check not in checks or outcome != "ok":
            checks[probe.check] = _check(probe.check, outcome, seen)
    if at_first is not None and all(check.outcome != "ok" for check in checks.values()):
        raise at_first
    if switches:
        refusal = switches[0].message
        checks["chat"] = _check("chat", "wrong" if "responses" in refusal.lower() else "not_offered", refusal)
        checks["responses"] = _check("responses", "ok", _ANSWERS)
    else:
        tools = checks["tools"]
        checks["chat"] = _check("chat", "ok", tools.seen if tools.outcome == "not_offered" else _ANSWERS)
    transport = Transport(endpoint, clock=clock, sleep=sleep)
    window = _window(transport, model)
    return Capabilities(
        wire="json" if "json" in checks and checks["json"].outcome == "ok" else cast(WireName, spoken.wire_name),
        checks=tuple(checks[name] for name in CHECKS if name in checks),
        thorough=complete,
        requests=transport.requests + spoken.requests + responses.requests + as_json.requests,
        spent=spent,
        found_at=clock.now(),
        window=window,
    )


def _is_due(probe: _Probe, checks: Mapping[CheckName, Check]) -> bool:
    """Whether a probe is sent after these checks."""
    tools = checks["tools"].outcome if "tools" in checks else "ok"
    if probe.check == "json":
        return tools in ("wrong", "not_offered") and ("json" not in checks or checks["json"].outcome == "ok")
    return not probe.offers_tool or tools == "ok"


def _check(name: CheckName, outcome: Outcome, seen: str) -> Check:
    line = " ".join(seen.split())
    return Check(name=name, outcome=outcome, seen=line if len(line) <= _MOST_SEEN else line[: _MOST_SEEN - 3] + "...")


#: Names of the window in lists of models: vLLM and SGLang; OpenRouter and others; Mistral; Groq; LM Studio; llama.cpp, under ``meta``.
_WINDOW_NAMES = (
    *("max_model_len", "context_length", "max_context_length", "context_window", "loaded_context_length"),
    *("n_ctx", "n_ctx_train"),
)


def _window(transport: Transport, model: str) -> int | None:
    """Return the smallest context window, in tokens, that the server reports for the model; None if it has none."""
    try:
        answer = transport.exchange(
            lambda client, seconds: client.models.with_streaming_response.list(timeout=seconds),
            lambda answer: answer,
        )
    except BackendFault:  # nothing depends on it
        return None
    listed = (answer.body or {}).get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    named = [entry for entry in entries if entry.get("id") == model]
    if not named and len(entries) == 1:  # a server of one model answers under any name
        named = entries
    places = [place for entry in named for place in (entry, entry.get("meta"), entry.get("top_provider"))]
    values = [place[name] for place in places if isinstance(place, dict) for name in _WINDOW_NAMES if name in place]
    return min((value for value in values if is_count(value) and value > 0), default=None)
