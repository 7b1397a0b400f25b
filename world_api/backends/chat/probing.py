"""Finding out what a chat endpoint really does with what it is sent.

``capabilities_of`` asks a model a few small questions whose right answer is known and keeps the finding in a cache folder,
named by the endpoint's address, the model and our version. Neither its name nor its text ever holds a key.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from world_api.backends.chat.completions import (
    CARRIED,
    Usage,
    call_position,
    first_message,
    is_count,
    text_of,
    usage_of,
)
from world_api.backends.chat.endpoint import Endpoint
from world_api.backends.chat.openai_chat import OpenAIChatModel, WireName, wire_named
from world_api.backends.chat.transport import Transport
from world_api.core.canonical import content_hash, parse_json
from world_api.core.faults import BackendFault, StoreFault
from world_api.core.files import write_atomically
from world_api.core.ports import Clock
from world_api.version import project_version

SCHEMA_VERSION = 3
CACHE_VARIABLE = "VIDEOWORLD_CACHE"
_FOLDER = "video-world-api"
_MOST_SEEN = 160  #: characters

Outcome = Literal["ok", "wrong", "not_offered", "not_tried"]
CheckName = Literal["chat", "responses", "tools", "parallel_calls", "strict", "structured_output", "images"]
CHECKS: tuple[CheckName, ...] = get_args(CheckName)  #: in the order in which they are shown

OUTCOMES: dict[Outcome, str] = {"ok": "ok", "wrong": "wrong", "not_offered": "not offered", "not_tried": "not tried"}
TITLES: dict[CheckName, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "tools": "tools",
    "parallel_calls": "several calls at once",
    "strict": "strict tools",
    "structured_output": "structured output",
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
    ("strict", "ok"): "tools may be sent with strict schemas",
    ("strict", "wrong"): "send tools without strict (the default)",
    ("strict", "not_offered"): "send tools without strict (the default)",
    ("structured_output", "ok"): "answers outside tool calls can be held to a schema",
    ("structured_output", "wrong"): "a schema is taken and not kept: replies are checked here in any case",
    ("structured_output", "not_offered"): "replies are checked here in any case",
    ("images", "ok"): "it can look at frames: --system direct and --profile endpoint work",
    ("images", "wrong"): "pictures are taken and not seen: --system direct and --profile endpoint would guess",
    ("images", "not_offered"): "no frames: --system direct and --profile endpoint are refused",
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """The outcome of trying one thing. ``seen`` is what the server did, in one line."""

    name: CheckName
    outcome: Outcome
    seen: str = ""

    @property
    def meaning(self) -> str:
        """What it means for a controller; empty where it was not tried."""
        return _MEANINGS.get((self.name, self.outcome), "")


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What one model on one endpoint does.

    ``wire`` is the one to speak. ``spent`` are the tokens that finding out took, ``thorough`` says whether everything was tried
    or only what chooses the wire. ``window`` is the context window in tokens, where the server tells it.
    """

    wire: WireName | None
    checks: tuple[Check, ...] = ()
    thorough: bool = False
    requests: int = 0
    spent: Usage = field(default_factory=Usage)
    asked_at: str = ""
    window: int | None = None

    @property
    def images(self) -> bool | None:
        """Whether the model sees pictures."""
        return self.can("images")

    @property
    def usable(self) -> bool:
        """Whether the model can be a controller: it calls tools, in a form that can be read, and reads what they found."""
        return self.wire is not None and self.can("tools") is True

    def check(self, name: CheckName) -> Check:
        """The outcome of trying this."""
        return next((check for check in self.checks if check.name == name), Check(name=name, outcome="not_tried"))

    def can(self, name: CheckName) -> bool | None:
        """Yes, no, or not known."""
        outcome = self.check(name).outcome
        return None if outcome == "not_tried" else outcome == "ok"

    @classmethod
    def of(cls, record: Any) -> Capabilities | None:
        """What a stored record says; None if it is not one."""
        try:
            checks = tuple(Check(**check) for check in record["checks"])
            known = all(check.name in CHECKS and check.outcome in OUTCOMES for check in checks)
            if not known or record["wire"] not in (*get_args(WireName), None):
                return None
            return cls(**{**record, "checks": checks, "spent": Usage(**record["spent"])})
        except (KeyError, TypeError):
            return None


def cache_folder(environment: Mapping[str, str], *, home: Path | str) -> Path:
    """Where findings are kept: ``VIDEOWORLD_CACHE``, else the platform's folder for caches."""
    named = environment.get(CACHE_VARIABLE, "").strip()
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Caches" / _FOLDER
    usual = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "").strip()
    return (Path(usual) if usual and Path(usual).is_absolute() else Path(home) / ".cache") / _FOLDER


def read_finding(folder: Path | str, endpoint: Endpoint, model: str) -> Capabilities | None:
    """What was found out earlier by this version; None where nothing was, or what is there cannot be read."""
    names = _names(endpoint, model)
    try:
        record = parse_json(_path(folder, names).read_bytes().decode())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("of") != names:
        return None
    return Capabilities.of(record.get("found"))


def keep_finding(folder: Path | str, endpoint: Endpoint, model: str, found: Capabilities) -> None:
    """Keep what was found out. A folder that cannot be written to costs asking again, and nothing else."""
    names = _names(endpoint, model)
    record = json.dumps({"of": names, "found": asdict(found)}, indent=1, sort_keys=True) + "\n"
    try:
        write_atomically(_path(folder, names), record.encode())
    except (OSError, StoreFault):
        return


def _names(endpoint: Endpoint, model: str) -> dict[str, str | int]:
    """What a finding is about."""
    version = project_version()
    return {"schema_version": SCHEMA_VERSION, "endpoint": endpoint.address, "model": model, "version": version}


def _path(folder: Path | str, names: Mapping[str, Any]) -> Path:
    return Path(folder) / "endpoints" / f"{content_hash(names)[:32]}.json"


def capabilities_of(
    endpoint: Endpoint,
    model: str,
    *,
    cache: Path | str | None,
    clock: Clock,
    sleep: Callable[[float], None],
    thorough: bool = False,
    again: bool = False,
) -> Capabilities:
    """What is known of the model, asked for where it is not known yet.

    One or two requests choose the wire and try a tool; ``thorough`` tries everything. ``cache`` is the folder in which
    findings are kept (None: nowhere); ``again`` asks although there is one.

    Raises:
        BackendFault: ``endpoint_unreachable``, ``endpoint_bad_url``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
            ``endpoint_rate_limited``, ``endpoint_error``: nothing was learnt, and nothing is kept.
    """
    known = None if cache is None or again else read_finding(cache, endpoint, model)
    if known is not None and (known.thorough or not thorough):
        return known
    probe = _Probe(endpoint, model, clock=clock, sleep=sleep)
    wire = probe.choose_wire()
    complete = thorough and probe.try_all()
    window = probe.window() if thorough else None
    found = Capabilities(
        wire=wire,
        checks=tuple(probe.checks[name] for name in CHECKS if name in probe.checks),
        thorough=complete,
        requests=probe.requests,
        spent=probe.spent,
        asked_at=clock.now(),
        window=window,
    )
    if cache is not None:
        keep_finding(cache, endpoint, model, found)
    return found


_CITY = "look_up_city"
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city's name."}},
    "required": ["city"],
    "additionalProperties": False,
}
_FUNCTION = {"name": _CITY, "description": "Look up the code word of a city.", "parameters": _PARAMETERS}
_TOOLS = [{"type": "function", "function": _FUNCTION}]
_STRICT_TOOLS = [{"type": "function", "function": {**_FUNCTION, "strict": True}}]
_PARIS = "Use the tool to look up the code word of the city Paris, then say that word."
_BOTH = "Use the tool to look up the code words of two cities, Paris and Oslo. Make both calls at once, in one reply."
_CODE_WORD = "tangerine"  #: no model says it by chance
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["agreed", "denied"]}, "letters": {"type": "integer"}},
    "required": ["verdict", "letters"],
    "additionalProperties": False,
}
_COLOURS = "What colours are the left and the right half of this picture? Answer in two words: left, then right."
#: What servers call the window in the list of their models: vLLM and SGLang; OpenRouter and others; Mistral; Groq; LM Studio;
#: llama.cpp, under ``meta``.
_WINDOW_NAMES = (
    *("max_model_len", "context_length", "max_context_length", "context_window", "loaded_context_length"),
    *("n_ctx", "n_ctx_train"),
)


class _Probe:
    """Asks one model, and notes what is seen. A bad outcome is not replaced by a later one."""

    def __init__(self, endpoint: Endpoint, model: str, *, clock: Clock, sleep: Callable[[float], None]) -> None:
        self.checks: dict[CheckName, Check] = {}
        self.spent = Usage()
        self._name = model
        self._transport = Transport(endpoint, clock=clock, sleep=sleep)
        self._pointed = False  #: whether the server pointed at the Responses API
        self._models = {
            name: OpenAIChatModel(
                endpoint, model, clock=clock, sleep=sleep, wire=wire_named(name), elsewhere=self._note_pointing
            )
            for name in get_args(WireName)
        }
        self._wire: WireName = "chat"

    @property
    def requests(self) -> int:
        """How many were sent, attempts and all."""
        return self._transport.requests + sum(model.requests for model in self._models.values())

    def choose_wire(self) -> WireName:
        """The wire on which the model takes tools, Chat Completions where both do; and whether it calls one.

        Raises:
            BackendFault: neither wire is there, or the model is not.
        """
        try:
            self._first_call()
            self._note("chat", "ok", "it answers")
        except BackendFault as fault:
            if not self._pointed:
                if fault.code != "endpoint_refused_request":
                    raise
                self._note("tools", "not_offered", fault.message)
                self._note("chat", "ok", fault.message)
                return self._wire
            self._wire = "responses"
            self._note("chat", "wrong" if "responses" in fault.message.lower() else "not_offered", fault.message)
            try:
                self._first_call()
            except BackendFault:
                raise fault from None
            self._note("responses", "ok", "it answers")
        return self._wire

    def try_all(self) -> bool:
        """Try everything else; whether nothing kept it from being found out.

        Raises:
            BackendFault: ``endpoint_refused_key``.
        """
        tries: dict[CheckName, Callable[[], None]] = {
            "responses": self._other_wire,
            "structured_output": self._structured_output,
            "images": self._images,
        }
        if self.checks["tools"].outcome == "ok":
            tries |= {"tools": self._round_trip, "parallel_calls": self._parallel_calls, "strict": self._strict}
        complete = True
        for name, look in tries.items():
            try:
                look()
            except BackendFault as fault:
                if fault.code == "endpoint_refused_key":
                    raise
                passing = fault.code in ("endpoint_rate_limited", "endpoint_unreachable")
                complete = complete and not passing
                refused: Outcome = "wrong" if name == "tools" else "not_offered"
                self._note(name, "not_tried" if passing else refused, fault.message)
        return complete

    def window(self) -> int | None:
        """The context window in tokens, the smallest that is told; None where none is told of this model."""
        try:
            heard = self._transport.exchange(
                lambda client, seconds: client.models.with_streaming_response.list(timeout=seconds), lambda heard: heard
            )
        except BackendFault:  # it is good to know, and nothing depends on it
            return None
        listed = (heard.body or {}).get("data")
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        named = [entry for entry in entries if entry.get("id") == self._name]
        if not named and len(entries) == 1:  # a server of one model answers under any name
            named = entries
        places = [place for entry in named for place in (entry, entry.get("meta"), entry.get("top_provider"))]
        told = [place[name] for place in places if isinstance(place, dict) for name in _WINDOW_NAMES if name in place]
        return min((window for window in told if is_count(window) and window > 0), default=None)

    def _first_call(self) -> None:
        """One call of one tool: whether tools reach the model, and in what form its calls come."""
        message = self._ask(_PARIS, tools=_TOOLS)
        calls = _calls(message)
        if calls:
            wrong = next((why for call in calls if (why := _wrong_with(call))), "")
            self._note("tools", "wrong" if wrong else "ok", wrong or f"it called {_CITY} {calls[0]['arguments']}")
        else:
            written = call_position(text_of(message), {_CITY}) is not None
            what = "a call written as text" if written else "no call"
            self._note("tools", "wrong", f"{what}: {text_of(message)!r}")

    def _round_trip(self) -> None:
        """Whether a conversation with a call in it, its content null, is taken back, and the result is read."""
        message = self._ask(_PARIS, tools=_TOOLS)
        called = message.get("tool_calls")
        calls = [call for call in called if isinstance(call, dict)] if isinstance(called, list) else []
        if not calls or any(_wrong_with(call) for call in _calls(message)):
            return
        # What came without an id gets one, as the loop gives it.
        calls = [{**call, "id": call.get("id") or f"call_{place}"} for place, call in enumerate(calls)]
        past = {"role": "assistant", "content": None, "tool_calls": calls, CARRIED: message.get(CARRIED)}
        content = json.dumps({"code_word": _CODE_WORD})
        results = [{"role": "tool", "tool_call_id": call["id"], "content": content} for call in calls]
        said = text_of(self._ask(_PARIS, past, *results, tools=_TOOLS))
        if _CODE_WORD not in said.lower():
            self._note("tools", "wrong", f"the result of a call was not read: it said {said!r}")

    def _other_wire(self) -> None:
        if self._wire == "chat":
            self._ask("Say: ready.", wire="responses")
            self._note("responses", "ok", "it answers")

    def _parallel_calls(self) -> None:
        count = len(_calls(self._ask(_BOTH, tools=_TOOLS)))
        self._note("parallel_calls", "ok" if count > 1 else "not_offered", f"{count} of 2 calls in one reply")

    def _strict(self) -> None:
        called = _calls(self._ask(_PARIS, tools=_STRICT_TOOLS))
        self._note("strict", "ok" if called else "wrong", f"a strict tool was {'' if called else 'not '}called")

    def _structured_output(self) -> None:
        """The words of the question alone would never make the answer be of that form."""
        import jsonschema

        form = {"name": "answer", "schema": _FORM, "strict": True}
        said = text_of(
            self._ask(
                "Is Paris a city in France? Tell me why, in one sentence.",
                response_format={"type": "json_schema", "json_schema": form},
            )
        )
        try:
            valid = jsonschema.Draft202012Validator(_FORM).is_valid(parse_json(said))
        except ValueError:
            valid = False
        self._note("structured_output", "ok" if valid else "wrong", said or "no text")

    def _images(self) -> None:
        """Whether the model sees a picture, made here, whose colours only its pixels tell."""
        picture = {"type": "image_url", "image_url": {"url": _yellow_and_blue()}}
        said = text_of(self._ask([{"type": "text", "text": _COLOURS}, picture]))
        left, right = said.lower().find("yellow"), said.lower().find("blue")
        self._note("images", "ok" if 0 <= left < right else "wrong", f"it saw {said!r}")

    def _ask(
        self, content: Any, *history: dict[str, Any], wire: WireName | None = None, **settings: Any
    ) -> dict[str, Any]:
        """The message of the reply.

        Raises:
            BackendFault: as ``OpenAIChatModel.complete``; ``endpoint_error`` where a reply has no message.
        """
        messages = [{"role": "user", "content": content}, *history]
        request = {"model": self._name, "messages": messages, **settings}
        reply = self._models[wire or self._wire].complete(request)
        self.spent += usage_of(request, reply)
        message = first_message(reply)
        if message is None:
            raise BackendFault("endpoint_error", "a reply without a message", hint="use another server")
        return message

    def _note(self, name: CheckName, outcome: Outcome, seen: str) -> None:
        line = " ".join(seen.split())
        short = line if len(line) <= _MOST_SEEN else line[: _MOST_SEEN - 3] + "..."
        if name not in self.checks or self.checks[name].outcome in ("ok", "not_tried"):
            self.checks[name] = Check(name=name, outcome=outcome, seen=short)

    def _note_pointing(self) -> None:
        self._pointed = True


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions that a message calls; nothing of them is trusted to be of the type it should have."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [function for function in functions if isinstance(function, dict)]


def _wrong_with(call: Mapping[str, Any]) -> str:
    """What is wrong with a call; empty where nothing is."""
    arguments = call.get("arguments")
    if call.get("name") != _CITY:
        return f"it called {call.get('name')}"
    if not isinstance(arguments, str):
        return "arguments that are not JSON in a string"
    try:
        value = parse_json(arguments)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return f"arguments that are not a JSON object: {arguments!r}"
    return "" if value else "empty arguments, though the tool needs one"


def _yellow_and_blue() -> str:
    """A picture of two colours side by side, as the data URL of a PNG (RFC 2083)."""
    side = 64  # pixels; some models take nothing under 28
    row = b"\0" + bytes((255, 220, 0)) * (side // 2) + bytes((0, 40, 220)) * (side // 2)
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(row * side)), (b"IEND", b""))
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()
