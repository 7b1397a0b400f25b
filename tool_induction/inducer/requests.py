"""Requests to the model: recorded replies are used first, refused settings are left out, problems are noted."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tool_induction.compiler.source import without_secrets
from tool_induction.documents import emission_schema
from tool_induction.inducer.prompt_builder import Mode
from world_api.chat.messages import Usage, first_choice, first_message, text_of, usage_of
from world_api.chat.recording import Exchange, RecordingChatModel, ReplayChatModel
from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel, Clock

#: Problems of a reply or its tools; each is noted in the log and in the report.
Problem = Literal[
    "no_choices", "bad_message", "empty_reply", "refused_by_model", "cut_reply", "structured_refused",
    "structured_ignored", "setting_refused", "prose_around", "reasoning_in_reply", "repeated", "secret_in_reply",
    "no_tools", "unreadable_tool", "fewer_tools", "more_tools", "too_many_tools", "renamed", "unasked",
    "not_rewritten", "retired", "not_better",
]  # fmt: skip
#: Faults about the request itself: the same request gets the same fault again.
_REFUSALS = ("endpoint_refused_request", "endpoint_unknown_model")
#: Settings that a server may refuse, and the words by which its message names them.
_NAMED_BY: dict[str, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "guided", "structured"),
    "seed": ("seed",),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}


@dataclass(frozen=True)
class Note:
    """A remark on a reply: the problem, a message, and the name of the tool if it is about one."""

    problem: Problem
    message: str
    tool: str = ""

    def record(self) -> dict[str, str]:
        """Return the note as a JSON record."""
        return {"problem": self.problem, "tool": self.tool, "message": self.message}

    def redacted(self) -> Note:
        """Return the note without credentials: a refusal may quote one."""
        return replace(self, message=without_secrets(self.message), tool=without_secrets(self.tool))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of an induction's requests. Replies are repeatable if the server uses ``seed``."""

    mode: Mode = "plain"
    seed: int = 1
    temperature: float | None = None  #: None leaves it to the server
    max_tokens: int | None = None  #: of a reply; None leaves it to the server
    groups: frozenset[str] = frozenset()  #: optional groups of operations that tools may call
    allow_judge: bool = False  #: whether tools may have judge steps

    def record(self) -> dict[str, Any]:
        """Return the settings as a JSON record; groups and judging are in it only if they are switched on."""
        return {
            **{key: getattr(self, key) for key in ("mode", "seed", "temperature", "max_tokens")},
            **({"groups": sorted(self.groups)} if self.groups else {}),
            **({"allow_judge": True} if self.allow_judge else {}),
        }


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """A reply: its unchanged text, the reason why it ended, its cost, and notes."""

    text: str
    finish_reason: str | None
    usage: Usage
    seconds: float
    request_hash: str
    mode: Mode
    notes: tuple[Note, ...] = ()


class Requester:
    """Sends requests. Recorded replies are used first; a setting that a server refuses is omitted from then on.

    The request of a recorded fault is sent again, except in two cases, in which the fault is raised again: the server
    refused the request and the model answered later (with other settings); or the model is a ``ReplayChatModel``.
    ``exchanges`` are all that were paid for: the recorded ones, then those of this run, which are also passed to
    ``keep``.
    """

    def __init__(
        self,
        model: ChatModel,
        settings: Settings,
        *,
        clock: Clock,
        recorded: Sequence[Exchange] = (),
        keep: Callable[[Exchange], None] = lambda _: None,
    ) -> None:
        self.mode: Mode = settings.mode
        self.exchanges = list(recorded)
        self.settings = settings
        self._without: set[str] = set()
        self._replies: dict[str, deque[Exchange]] = defaultdict(deque)
        self._faults: dict[str, BackendFault] = {}
        self._keep = keep
        self._name = model.name
        self._model = RecordingChatModel(model, clock=clock, keep=self._add)
        answered = max((place for place, item in enumerate(recorded) if item.reply is not None), default=-1)
        for place, exchange in enumerate(recorded):
            fault = exchange.fault or {"code": "endpoint_error", "message": "no reply", "hint": ""}
            if exchange.reply is not None:
                self._replies[exchange.request_hash].append(exchange)
            elif isinstance(model, ReplayChatModel) or (place < answered and fault["code"] in _REFUSALS):
                refusal = BackendFault(fault["code"], fault["message"], hint=fault["hint"])
                self._faults[exchange.request_hash] = refusal

    def send(self, system: Callable[[Mode], str], user: Callable[[Mode], str]) -> ModelReply:
        """Send a system and a user message, made for the current mode (reply form); retry without a setting that is refused.

        Raises:
            BackendFault: the fault of the model; ``bad_model_reply`` if its reply cannot be stored.
        """
        notes: list[Note] = []
        while True:
            request = self._request(system(self.mode), user(self.mode))
            try:
                return _read_reply(self._exchange(request), self.mode, notes)
            except BackendFault as fault:
                notes.append(self._fall_back(request, fault))

    def unused(self) -> int:
        """Return the number of recorded replies to requests that this run did not make; their cost counts, too."""
        return sum(map(len, self._replies.values()))

    def _exchange(self, request: dict[str, Any]) -> Exchange:
        name = content_hash(request)
        if self._replies[name]:
            return self._replies[name].popleft()
        if name in self._faults:
            raise self._faults.pop(name)
        self._model.complete(request)
        return self.exchanges[-1]

    def _add(self, exchange: Exchange) -> None:
        self._keep(exchange)
        self.exchanges.append(exchange)

    def _request(self, system: str, user: str) -> dict[str, Any]:
        settings = self.settings
        request: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        }
        for key in ("seed", "temperature", "max_tokens"):
            name = "max_completion_tokens" if key == "max_tokens" and key in self._without else key
            value = getattr(settings, key)
            if value is not None and name not in self._without:
                request[name] = value
        if self.mode != "plain":
            schema = emission_schema(groups=settings.groups, allow_judge=settings.allow_judge)
            named = {"name": "tool_documents", "strict": False, "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": named}
        return request

    def _fall_back(self, request: Mapping[str, Any], fault: BackendFault) -> Note:
        """Omit the setting that a server refuses, or use a simpler mode, in later requests too; return a note on it.

        Raises:
            BackendFault: the given fault, if it is not the refusal of a setting.
        """
        message = fault.message.lower()
        refused = [key for key, words in _NAMED_BY.items() if key in request and any(word in message for word in words)]
        unnamed = fault.code == "endpoint_refused_request" and self.mode != "plain"
        if fault.code not in _REFUSALS or not (refused or unnamed):
            raise fault
        if not refused or "response_format" in refused:
            # A server without structured output may refuse it in any words.
            self.mode = "plain"
            said = f"structured mode is refused, asked in plain mode instead: {fault.message}"
            return Note("structured_refused", said)
        self._without.update(refused)
        return Note("setting_refused", f"asked without {', '.join(refused)}: {fault.message}")


def _read_reply(exchange: Exchange, mode: Mode, notes: Sequence[Note]) -> ModelReply:
    reply = exchange.reply or {}
    choice, message = first_choice(reply), first_message(reply)
    finish, text = choice.get("finish_reason"), text_of(message or {}, separator="")
    if not choice:
        found = [Note("no_choices", "the reply holds no choice")]
    elif message is None:
        found = [Note("bad_message", "the reply's message is not an object")]
    else:
        found = list(_oddities(text, finish, message.get("refusal")))
    return ModelReply(
        text=text,
        finish_reason=finish if isinstance(finish, str) else None,
        usage=usage_of(exchange.request, reply),
        seconds=exchange.seconds,
        request_hash=exchange.request_hash,
        mode=mode,
        notes=(*found, *notes),
    )


def _oddities(text: str, finish: Any, refusal: Any) -> Iterator[Note]:
    if isinstance(refusal, str) and refusal.strip():
        yield Note("refused_by_model", f"the model refuses: {refusal.strip()[:300]}")
    elif finish == "content_filter":
        yield Note("refused_by_model", "the server's content filter ended the reply")
    elif not text.strip():
        yield Note("empty_reply", "the reply holds no text")
    if finish == "length":
        yield Note("cut_reply", "the reply was cut off at the longest a reply may be")
