"""The conversation of an episode: prompt files of both languages, the first message, and the requests within the context window.

The first message holds the question and the results of the calls that the system makes itself before the first round.
Results are data: they are put into ``data_from_video``, like every tool result. A result names pictures by hash
(``{"frames": [{"time", "picture": "sha256:..."}]}``). Records keep these names; requests contain the pictures.

If a request would not fit, old tool results are replaced by their summaries, the oldest first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from controller.episode import BudgetMeter
from world_api.chat.messages import (
    DATA,
    MAX_RESULT_CHARACTERS,
    PromptFiles,
    Usage,
    checked_reply,
    data_line,
    estimate_tokens,
    first_choice,
    from_cache,
    usage_of,
)
from world_api.core.cost import deadline
from world_api.core.faults import BackendFault, EpisodeFault, ErrorBody
from world_api.core.ports import ChatModel, Clock

# --- prompts and the first message ----------------------------------------------------------------------------------

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")


class Prompts(PromptFiles):
    """The prompt files of one language. Raises EpisodeFault: ``unknown_language``."""

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise EpisodeFault(
                "unknown_language", f"there are no prompts in {language[:20]!r}", hint="one of: " + ", ".join(LANGUAGES)
            )
        super().__init__("controller", f"prompts/{language}")
        self.language = language

    def notice(self, code: str, detail: str = "") -> ErrorBody:
        """Return code, message and hint for the model on a malformed call or a changed result; ``detail`` is quoted."""
        message, _, hint = self.render("notice", code=code, detail=detail).rpartition("\n")
        return {"code": code, "message": message.strip(), "hint": hint}

    def of_answer(self, part: str) -> str:
        """Return the description of a part (a type, a field, "tool") in the declaration of ``submit_answer``."""
        return self.render("submit_answer", part=part)

    def of_pages(self, part: str) -> str:
        """Return the description of a part (``tool``, ``cursor``) in the declaration of ``read_more``."""
        return self.render("read_more", part=part)


def language_of(text: str) -> Language:
    """Return the language of the prompts for a question: Chinese if it is mostly written in Chinese, else English."""
    han = len(_HAN.findall(text))
    is_other = _KANA_OR_HANGUL.search(text) is not None
    return "zh" if han and not is_other and han >= len(_LATIN_WORD.findall(text)) else "en"


@dataclass(frozen=True, kw_only=True)
class FirstCall:
    """A call that the system makes before the first request; it does not count as a call of the model.

    ``shown``: the model is given the result with the question. ``needed``: a fault of the call ends the episode.
    ``reads``: it changes nothing, so that consecutive calls of this kind run in parallel.
    """

    tool: str
    arguments: dict[str, Any]
    shown: bool = True
    needed: bool = True
    reads: bool = False


@dataclass(frozen=True, kw_only=True)
class Preamble:
    """What a system gives the model before the first round, from recorded inputs only, so that a replay has it too.

    ``instructions`` names the prompt; ``briefing`` is text that is added to it, such as a domain's; ``digest`` is the
    summary of the world. ``answer_after`` names a tool that must run before an answer is accepted, unless it failed
    ``tries`` times.
    """

    instructions: str = "system"
    briefing: str = ""
    digest: dict[str, Any] | None = None
    first_calls: tuple[FirstCall, ...] = ()
    answer_after: str | None = None
    tries: int = 1


EMPTY_PREAMBLE = Preamble()


PICTURE = "sha256:"
#: Returns the ``data:`` address of a picture, given its name (its hash).
Pictures = Callable[[str], str]


def no_pictures(name: str) -> str:
    """Raise for every picture; used if no result contains any. Raises EpisodeFault: ``no_such_picture``."""
    raise EpisodeFault("no_such_picture", f"there is no picture {name[:80]}")


def with_pictures(messages: Sequence[dict[str, Any]], pictures: Pictures) -> list[dict[str, Any]]:
    """Return the messages with the name of each picture replaced by its ``data:`` address."""

    def loaded(part: dict[str, Any]) -> dict[str, Any]:
        if part.get("type") != "image_url":
            return part
        return {**part, "image_url": {**part["image_url"], "url": pictures(part["image_url"]["url"])}}

    return [
        {**message, "content": [loaded(part) for part in message["content"]]}
        if message.get("role") == "user" and isinstance(message.get("content"), list)
        else dict(message)
        for message in messages
    ]


def first_message(question: str, gathered: Sequence[tuple[str, Mapping[str, Any]]]) -> str | list[dict[str, Any]]:
    """Return the content of the first message: the question, the results as data, and the pictures that they name.

    It is a text, or a list of parts if there are pictures.
    """
    lines = [data_line({"found_by": tool, DATA: result}) for tool, result in gathered]
    text = "\n\n".join([question, *lines])
    pictures = [
        part
        for _, result in gathered
        for frame in result.get("frames", ())
        if str(frame.get("picture")).startswith(PICTURE)
        for part in (
            {"type": "text", "text": f"{frame['time']} s"},
            {"type": "image_url", "image_url": {"url": frame["picture"]}},
        )
    ]
    return [{"type": "text", "text": text}, *pictures] if pictures else text


Message = dict[str, Any]
#: Functions that return the shorter forms of a result, in the order of use.
Folds = tuple[Callable[[], Message], ...]
_STAGES = 2

#: Part of a window that is reserved for the reply: its share, and the most tokens.
_REPLY_SHARE, _REPLY_MOST = 0.125, 4_096
#: Share of the window to fold to, so that not every round has to fold.
_FOLD_TO = 0.8
_FACTORS = (0.2, 5.0)  #: bounds of the scale between a server's count and the estimate
_MAX_ROUND_CHARACTERS = 120_000
#: Share of the free tokens that the results of one reply may take.
_ROUND_SHARE = 0.6
_CHARACTERS_A_TOKEN = 2.5  #: of results, which are mostly English words and numbers, and sometimes Chinese
_MIN_RESULT_CHARACTERS = 400

_TOO_LONG_CODES = frozenset({"endpoint_refused_request", "endpoint_unknown_model", "endpoint_error"})
#: How servers say that a request does not fit the model's window.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum (?:context|prompt|input|sequence)|too many (?:input )?tokens|prompt is too long|"
    r"(?:input|prompt|request|sequence)\b.{0,40}\btoo (?:long|large)|exceeds? .{0,40}\b(?:tokens|token limit)|n_ctx|max_model_len",
    re.IGNORECASE,
)


def is_too_long(fault: BackendFault) -> bool:
    """Whether a server refused a request because it exceeds the model's window."""
    return fault.code in _TOO_LONG_CODES and _TOO_LONG.search(fault.message) is not None


class Conversation:
    """The messages, their sizes in tokens, and the tool results that can be folded.

    Some servers refuse empty messages, and consecutive ones of the same role. So texts of user and assistant alternate,
    apart from calls and their results, and ``filler`` replaces an empty message of the assistant. Tokens are estimated;
    if the server counts them, the estimate is scaled by its last count. ``window``: tokens; None for no limit.
    """

    def __init__(self, *, window: int | None, filler: str) -> None:
        self.messages: list[Message] = []
        self._filler = filler
        self._tokens: list[int] = []
        self._foldable: dict[int, Folds] = {}
        self._tools = 0
        self._window = window
        self._factor = 1.0
        self._last_round = 0

    def declare(self, tools: Sequence[Message]) -> None:
        """Set the declarations of the next requests."""
        self._tools = estimate_tokens(list(tools))

    def add(self, message: Message) -> None:
        """Append a message that is never folded; a message of the assistant begins a round."""
        before = self.messages[-1]["role"] if self.messages else None
        if message["role"] == "assistant":
            self._last_round = len(self.messages)
            if not (message.get("content") or message.get("tool_calls")):
                message = {**message, "content": self._filler}
        elif message["role"] == "user" and before == "user":
            first, second = self.messages.pop()["content"], message["content"]  # the first may be a list of parts
            joined = [*first, {"type": "text", "text": second}] if isinstance(first, list) else f"{first}\n\n{second}"
            message = {**message, "content": joined}
            self._tokens.pop()
        elif message["role"] == "user" and before == "tool":
            self._append({"role": "assistant", "content": self._filler})
        self._append(message)

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self._tokens.append(estimate_tokens(message))

    def add_result(self, message: Message, folds: Folds) -> int:
        """Append a tool result; ``folds`` make its shorter forms, the shortest last. Return its index in ``messages``."""
        place = len(self.messages)
        self._foldable[place] = folds
        self.add(message)
        return place

    def is_whole(self, place: int) -> bool:
        """Whether the result at an index has not been folded."""
        return len(self._foldable[place]) == _STAGES

    def estimate(self, *, with_tools: bool) -> int:
        """Return the estimated tokens of the next request (``with_tools``: it declares the tools), not scaled by a server's count."""
        return sum(self._tokens) + (self._tools if with_tools else 0)

    def learn(self, usage: Usage, *, with_tools: bool) -> None:
        """Set the scale of estimates from the server's count, if any, for the latest request (``with_tools``: it declared tools)."""
        estimate = self.estimate(with_tools=with_tools)
        if usage.prompt and estimate and not usage.estimated:
            self._factor = min(max(usage.prompt / estimate, _FACTORS[0]), _FACTORS[1])

    def fits(self, *, with_tools: bool) -> bool:
        """Whether the next request (``with_tools``: it declares the tools) fits the window."""
        return self._scaled(with_tools) <= self._request_limit()

    def fold(self, *, with_tools: bool, last_round_too: bool = False) -> int:
        """Fold the oldest results, if needed twice, until the next request fits; return how often one became shorter.

        ``with_tools``: the request declares the tools; ``last_round_too``: results of the last round may be folded.
        """
        if self.fits(with_tools=with_tools):
            return 0
        count = 0
        old = [place for place in sorted(self._foldable) if last_round_too or place < self._last_round]
        for stage, enough in enumerate((_FOLD_TO, 1.0)):
            for place in old:
                if self._scaled(with_tools) <= enough * self._request_limit():
                    return count
                folds = self._foldable[place]
                if len(folds) == _STAGES - stage:  # else it is folded so far already
                    count += self._replace(place, folds[0]())
                    self._foldable[place] = folds[1:]
        return count

    def _replace(self, place: int, message: Message) -> bool:
        """Replace the message at index ``place`` if the new one has fewer tokens; return whether it was replaced."""
        tokens = estimate_tokens(message)
        if tokens >= self._tokens[place]:
            return False
        self.messages[place], self._tokens[place] = message, tokens
        return True

    def refused(self, *, with_tools: bool) -> None:
        """Lower the window to the size of the request just refused as too long (``with_tools``: it declared tools)."""
        self._window = min(self._window or self._scaled(with_tools), self._scaled(with_tools))

    def most_characters(self, results: int) -> int:
        """Return how many characters each of ``results`` (a number) results of one reply may have, if all earlier ones are folded."""
        fixed = self.estimate(with_tools=True) - sum(self._tokens[place] for place in self._foldable)
        free = _ROUND_SHARE * (self._request_limit() / self._factor - fixed)
        together = min(_MAX_ROUND_CHARACTERS, max(0.0, free) * _CHARACTERS_A_TOKEN)
        return min(MAX_RESULT_CHARACTERS, max(_MIN_RESULT_CHARACTERS, int(together) // max(results, 1)))

    def _scaled(self, with_tools: bool) -> int:
        return round(self.estimate(with_tools=with_tools) * self._factor)

    def _request_limit(self) -> float:
        """Return the most tokens of a request: the window less a reserve for the reply; infinite without a window."""
        return math.inf if self._window is None else self._window - min(_REPLY_MOST, _REPLY_SHARE * self._window)


#: Least and most seconds for the final request, which is added to the budget.
_LEAST_AT_LAST, _MOST_AT_LAST = 10.0, 120.0


class NoFurtherRound(Exception):
    """No further round is possible; the argument is the limit: ``window`` (even with folded results) or ``seconds``."""


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """A model's reply, unchanged, with what the request cost.

    ``physical`` is False if the reply came from the request cache. ``folded`` counts the old results that were
    shortened to summaries for the request. ``seconds`` is how long the request took.
    """

    reply: dict[str, Any]
    usage: Usage
    physical: bool
    folded: int
    seconds: float

    @property
    def finish_reason(self) -> str | None:
        """The server's reason for the end of the reply; None if it sent none."""
        reason = first_choice(self.reply).get("finish_reason")
        return reason if isinstance(reason, str) else None


@dataclass(kw_only=True)
class ModelRequests:
    """Makes the model requests of one episode."""

    model: ChatModel
    transcript: Conversation
    offer: list[Message]
    pictures: Pictures
    meter: BudgetMeter
    clock: Clock
    folded: int = 0  #: results, since the last request that was answered

    def ask(self) -> ModelReply:
        """Make a request with the tools on offer.

        Raises NoFurtherRound; BackendFault: the fault of the model.
        """
        self._fold(last=False)
        if not self.transcript.fits(with_tools=True):
            raise NoFurtherRound("window")
        for is_last in (False, True):
            try:
                return self._request(with_tools=True, seconds=self.meter.left())
            except BackendFault as fault:
                if self.meter.left() <= 0:
                    raise NoFurtherRound("seconds") from fault
                if not is_too_long(fault):
                    raise
                self.transcript.refused(with_tools=True)
                if is_last or not self._fold(last=False):
                    raise NoFurtherRound("window") from fault
        raise AssertionError  # the second refusal has raised

    def ask_final(self) -> ModelReply:
        """Make a request without tools; results of the last round may be folded too.

        Raises BackendFault: the fault of the model.
        """
        self._fold(last=True)
        seconds = min(_MOST_AT_LAST, max(_LEAST_AT_LAST, self.meter.budget.seconds))
        try:
            return self._request(with_tools=False, seconds=seconds)
        except BackendFault as fault:
            if not is_too_long(fault):
                raise
            self.transcript.refused(with_tools=False)
            if not self._fold(last=True):
                raise
        return self._request(with_tools=False, seconds=seconds)

    def _fold(self, *, last: bool) -> int:
        folded = self.transcript.fold(with_tools=not last, last_round_too=last)
        self.folded += folded
        return folded

    def _request(self, *, with_tools: bool, seconds: float) -> ModelReply:
        request: dict[str, Any] = {
            "model": self.model.name,
            "messages": with_pictures(self.transcript.messages, self.pictures),
        }
        if with_tools:
            request["tools"] = self.offer
        began = self.clock.monotonic()
        with deadline(max(seconds, 0.0)):
            reply = checked_reply(self.model.complete(request))
        took = round(self.clock.monotonic() - began, 6)
        usage = usage_of({}, reply)
        if usage.estimated:
            # The same estimate, but only new messages are measured, not the whole request in every round.
            usage = replace(usage, prompt=self.transcript.estimate(with_tools=with_tools))
        self.transcript.learn(usage, with_tools=with_tools)
        folded, self.folded = self.folded, 0
        return ModelReply(reply=reply, usage=usage, physical=not from_cache(reply), folded=folded, seconds=took)
