"""One request to the model and what its reply is worth: the text, and by name whatever was odd about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tool_induction.documents.credentials import without_secrets
from tool_induction.documents.schema import emission_schema
from tool_induction.inducing.asking.exchanging import REFUSALS, Exchanges
from tool_induction.inducing.asking.prompting import Mode
from world_api.chat.recording import Exchange
from world_api.chat.usage import Usage, usage_of
from world_api.core.faults import BackendFault

#: what can be odd about a reply or the tools in it; each is told in the log and in the report
Problem = Literal[
    "no_choices",
    "bad_message",
    "empty_reply",
    "refused_by_model",
    "cut_reply",
    "structured_refused",
    "structured_ignored",
    "setting_refused",
    "prose_around",
    "reasoning_in_reply",
    "repeated",
    "secret_in_reply",
    "no_tools",
    "unreadable_tool",
    "fewer_tools",
    "more_tools",
    "too_many_tools",
    "renamed",
    "unasked",
    "not_rewritten",
    "retired",
    "not_better",
]
#: settings of a request that a server may refuse, and the words by which its message names them
_NAMED_BY: dict[str, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "guided", "structured"),
    "seed": ("seed",),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something that is told: its name, what it is about, and in words."""

    problem: Problem
    message: str
    tool: str = ""

    def record(self) -> dict[str, str]:
        """The wire form."""
        return {"problem": self.problem, "tool": self.tool, "message": self.message}

    def blotted(self) -> Note:
        """The note without what looks like a credential: a refusal may quote one."""
        return replace(self, message=without_secrets(self.message), tool=without_secrets(self.tool))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the model is asked. ``seed`` is sent, so that a draw can be repeated where the server honours it."""

    mode: Mode = "plain"
    seed: int = 1
    temperature: float | None = None  #: None leaves it to the server
    max_tokens: int | None = None  #: of a reply; None leaves it to the server
    groups: frozenset[str] = frozenset()  #: optional groups of operations that tools may call
    allow_judge: bool = False  #: whether tools may have judge steps

    def record(self) -> dict[str, Any]:
        """The wire form; groups and judging stand there where they are switched on."""
        return {
            "mode": self.mode,
            "seed": self.seed,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            **({"groups": sorted(self.groups)} if self.groups else {}),
            **({"allow_judge": True} if self.allow_judge else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A reply: its text as it came, why it ended, what it cost, and what was odd about it."""

    text: str
    finish_reason: str | None
    usage: Usage
    seconds: float
    request_hash: str
    mode: Mode
    notes: tuple[Note, ...] = ()

    def noted(self, *notes: Note) -> Answer:
        """The answer with more notes."""
        return replace(self, notes=(*self.notes, *notes))


class Asker:
    """Asks, and falls back where a server refuses a setting: each fall-back holds from then on and is told once."""

    def __init__(self, exchanges: Exchanges, settings: Settings) -> None:
        self.exchanges = exchanges
        self.settings = settings
        self.mode: Mode = settings.mode
        self._without: set[str] = set()

    def ask(self, system: Callable[[Mode], str], user: Callable[[Mode], str]) -> Answer:
        """The model's reply to two messages, which may depend on the mode.

        Raises:
            BackendFault: the model's.
        """
        notes: list[Note] = []
        while True:
            request = self._request(system(self.mode), user(self.mode))
            try:
                exchange = self.exchanges.ask(request)
            except BackendFault as fault:
                notes.append(self._fallen_back(request, fault))
                continue
            return _answer(exchange, self.mode).noted(*notes)

    def _request(self, system: str, user: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.exchanges.model_name,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        }
        settings = self.settings
        length = "max_completion_tokens" if "max_tokens" in self._without else "max_tokens"
        for key, name, value in (
            ("seed", "seed", settings.seed),
            ("temperature", "temperature", settings.temperature),
            ("max_tokens", length, settings.max_tokens),
        ):
            if value is not None and (key not in self._without or name != key):
                request[name] = value
        if self.mode != "plain":
            request["response_format"] = response_format(self.mode, settings.groups, allow_judge=settings.allow_judge)
        return request

    def _fallen_back(self, request: Mapping[str, Any], fault: BackendFault) -> Note:
        """Leave out the setting that a server refuses. Nothing else changes how the model is asked: a server that fails fails.

        Raises:
            BackendFault: the fault, where it is about no setting.
        """
        told = fault.message.lower()
        refused = [key for key, words in _NAMED_BY.items() if key in request and any(word in told for word in words)]
        unnamed = fault.code == "endpoint_refused_request" and self.mode != "plain"
        if fault.code not in REFUSALS or not (refused or unnamed):
            raise fault
        if not refused or "response_format" in refused:
            # A server that cannot do it may say so in any words: without the schema it is asked once more.
            before, self.mode = self.mode, "structured" if self.mode == "strict" else "plain"
            message = f"{before} mode is refused, asked in {self.mode} mode instead: {fault.message}"
            return Note(problem="structured_refused", message=message)
        self._without.update(refused)
        return Note(problem="setting_refused", message=f"asked without {', '.join(refused)}: {fault.message}")


def response_format(mode: Mode, groups: frozenset[str] = frozenset(), *, allow_judge: bool = False) -> dict[str, Any]:
    """What a mode asks of a server: one object that holds tools."""
    strict = mode == "strict"
    written = emission_schema(strict=strict, groups=groups, allow_judge=allow_judge)
    schema = {"name": "tool_documents", "strict": strict, "schema": written}
    return {"type": "json_schema", "json_schema": schema}


def _answer(exchange: Exchange, mode: Mode) -> Answer:
    reply = exchange.reply or {}
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    message = choice.get("message") if choice is not None else None
    finish = choice.get("finish_reason") if choice is not None else None
    answer = Answer(
        text=_text(message.get("content")) if isinstance(message, dict) else "",
        finish_reason=finish if isinstance(finish, str) else None,
        usage=usage_of(exchange.request, reply),
        seconds=exchange.seconds,
        request_hash=exchange.request_hash,
        mode=mode,
    )
    if choice is None:
        return answer.noted(Note(problem="no_choices", message="the reply holds no choice"))
    if not isinstance(message, dict):
        return answer.noted(Note(problem="bad_message", message="the reply's message is not an object"))
    return answer.noted(*_oddities(answer, message))


def _oddities(answer: Answer, message: Mapping[str, Any]) -> list[Note]:
    notes = []
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        notes.append(Note(problem="refused_by_model", message=f"the model refuses: {refusal.strip()[:300]}"))
    elif answer.finish_reason == "content_filter":
        notes.append(Note(problem="refused_by_model", message="the server's content filter ended the reply"))
    elif not answer.text.strip():
        notes.append(Note(problem="empty_reply", message="the reply holds no text"))
    if answer.finish_reason == "length":
        notes.append(Note(problem="cut_reply", message="the reply was cut off at the longest a reply may be"))
    return notes


def _text(content: Any) -> str:
    """The text of a message as it came; content may also be a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""
