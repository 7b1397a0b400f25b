"""A judge that is a chat model, blind to whose answer it judges, and what it said once kept on file."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from eval.scoring.judging.wording import REPLY_FORM, OwnWording, Wording
from eval.scoring.port import Verdict
from world_api.backends.chat.caching import from_cache
from world_api.backends.chat.completions import OptionalSettings, Usage, first_message, usage_of
from world_api.backends.chat.recording import Exchange, append_line, check_schema, read_lines
from world_api.core.canonical import content_hash
from world_api.core.faults import EpisodeFault, EvalFault
from world_api.core.ports import ChatModel, Clock

SCHEMA_VERSION = 1
UNREADABLE = "judge_unreadable"
#: Tokens of a reply: a verdict takes ten, a model that thinks first some hundreds.
_REPLY_TOKENS = 2_048
_TRIES = 2

Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class JudgeCounts:
    """What judging took: verdicts by new requests and from file, replies that could not be read, tokens."""

    asked: int = 0
    remembered: int = 0
    unreadable: int = 0  #: replies; a second one in a row makes the answer wrong
    given_up: int = 0  #: answers that count as wrong since no reply could be read
    usage: Usage = field(default_factory=Usage)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        counts = {"asked": self.asked, "remembered": self.remembered, "unreadable": self.unreadable}
        return {**counts, "given_up": self.given_up, "usage": self.usage.record()}


class ModelJudge:
    """Asks a chat model at temperature 0, in a form where the server keeps one.

    A request holds the question, the accepted answers and the answer, and nothing of who answered. The same three get the
    same verdict: from memory, or from ``record``, a file of JSON lines that keeps each request with its reply. Without a
    model only what is on file can be said. Threads may share a judge; equal answers at the same time are one request too.
    """

    def __init__(
        self, model: ChatModel | None, *, clock: Clock, record: Path | None = None, wording: Wording | None = None
    ) -> None:
        self._model = model
        self._clock = clock
        self._file = record
        self._wording = OwnWording() if wording is None else wording
        form: dict[str, Any] = {"response_format": REPLY_FORM} if self._wording.structured else {}
        self._settings = OptionalSettings(temperature=0, max_tokens=_REPLY_TOKENS, **form)
        self._guard = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._usage = Usage()
        self._asking: dict[str, Future[Verdict]] = {}
        self._known, judges = _on_file(record)
        if model is None and len(judges) > 1:
            raise EvalFault(
                "several_judges",
                f"{record.name if record else 'the file'} holds verdicts of {', '.join(sorted(judges))}",
                hint="say with --judge-model whose verdicts are meant",
            )
        own = f"{model.name}/{self._wording.hash[:12]}" if model is not None else None
        self.name = own or next(iter(judges), "nobody")

    @property
    def counts(self) -> JudgeCounts:
        """What was done so far."""
        with self._guard:
            return JudgeCounts(**self._counts, usage=self._usage)

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> Verdict:
        """Whether the answer says what an accepted one says; two replies that cannot be read make it wrong.

        Raises:
            EvalFault: ``no_judgement``: nobody can be asked, and there is none on file.
            BackendFault: what the model names.
        """
        key = content_hash([self.name, question, list(accepted), given])
        own: Future[Verdict] = Future()
        with self._guard:
            known = self._known.get(key)
            if known is not None:
                self._counts["remembered"] += 1
                return known
            asking = self._asking.setdefault(key, own)
        if asking is not own:  # another thread asks just that
            found = asking.result()
            with self._guard:
                self._counts["remembered"] += 1
            return found
        try:
            own.set_result(self._asked(key, question, accepted, given))
        except BaseException as error:  # whatever it is, those who wait must hear of it
            own.set_exception(error)
            raise
        finally:
            with self._guard:
                del self._asking[key]
        return own.result()

    def _asked(self, key: str, question: str, accepted: tuple[str, ...], given: str) -> Verdict:
        if self._model is None:
            raise EvalFault(
                "no_judgement",
                f"no verdict of {self.name} is on file about an answer to {question[:60]!r}",
                hint="name a judging model, or give the file of the run that is to be repeated",
            )
        exchanges, said = self._ask(self._model, question, accepted, given)
        fault = UNREADABLE if said is None else None
        return self._keep(key, Verdict(yes=bool(said), judge=self.name, fault=fault), exchanges)

    def _ask(
        self, model: ChatModel, question: str, accepted: tuple[str, ...], given: str
    ) -> tuple[list[Exchange], bool | None]:
        exchanges: list[Exchange] = []
        for attempt in range(_TRIES):
            messages = self._wording.messages(question, accepted, given, again=attempt > 0)
            began = self._clock.monotonic()
            request, reply = self._settings.complete(model, {"model": model.name, "messages": messages})
            seconds = round(self._clock.monotonic() - began, 6)
            exchanges.append(Exchange(request=request, reply=reply, fault=None, seconds=seconds))
            said = self._wording.read(_text(reply))
            with self._guard:
                self._counts["unreadable"] += said is None
                if not from_cache(reply):
                    self._usage += usage_of(request, reply)
            if said is not None:
                return exchanges, said
        return exchanges, None

    def _keep(self, key: str, verdict: Verdict, exchanges: list[Exchange]) -> Verdict:
        with self._guard:
            self._counts["asked"] += 1
            self._counts["given_up"] += verdict.fault is not None
            self._known[key] = verdict
            if self._file is not None:
                told = {"schema_version": SCHEMA_VERSION, "key": key, "judge": self.name}
                said = {"verdict": verdict.yes, "fault": verdict.fault}
                append_line(self._file, {**told, **said, "exchanges": [one.record() for one in exchanges]})
            return verdict


def _on_file(file: Path | None) -> tuple[dict[str, Verdict], set[str]]:
    """The verdicts of a file, by key, and whose they are."""
    known: dict[str, Verdict] = {}
    if file is None or not file.exists():
        return known, set()
    try:
        for line in read_lines(file, hint="give the file of verdicts that a run made"):
            check_schema(line, SCHEMA_VERSION, file)
            known[_part(line, "key", str, file)] = Verdict(
                yes=_part(line, "verdict", bool, file),
                judge=_part(line, "judge", str, file),
                fault=UNREADABLE if line.get("fault") is not None else None,
            )
    except EpisodeFault as fault:
        raise EvalFault(fault.code, fault.message, hint=fault.hint) from None
    return known, {verdict.judge for verdict in known.values()}


def _part(line: Mapping[str, Any], name: str, kind: type[Part], file: Path) -> Part:
    value = line.get(name)
    if not isinstance(value, kind):
        raise EvalFault(
            "recording_damaged", f"a verdict in {file.name} is not whole: {name}", hint="restore it from a copy"
        )
    return value


def _text(reply: Mapping[str, Any]) -> str:
    content = (first_message(reply) or {}).get("content")
    return content if isinstance(content, str) else ""
