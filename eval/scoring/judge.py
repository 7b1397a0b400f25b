"""The judge of open answers: a chat model that does not see which arm answered, its prompts, its recorded verdicts."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from controller.conversation import LANGUAGES, language_of
from eval.scoring.kinds import AnswerJudge, AnswerVerdict, cjk_tokens, has_cjk, overlap, squad_tokens
from world_api.chat.messages import OptionalSettings, PromptFiles, Usage, data_line, first_message, from_cache, usage_of
from world_api.chat.recording import Exchange, append_line, check_schema, read_lines
from world_api.core.canonical import closed_object, content_hash, parse_json
from world_api.core.execution import OnceEach
from world_api.core.faults import EpisodeFault, EvalFault
from world_api.core.files import open_regular
from world_api.core.ports import ChatModel, Clock, WireChoice
from world_api.core.yaml_text import packaged_yaml

MAX_ANSWER_CHARACTERS = 8_000  #: of an answer that are judged; the rest is cut off
_MOST_PROMPT_BYTES = 200_000
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^```\w*\s*|\s*```$")
_YES, _NO = frozenset({"yes", "true", "是"}), frozenset({"no", "false", "否"})
_AROUND = " \t\r\n.。!！\"'*`"

Messages = list[dict[str, Any]]

#: The form of a reply, for servers that support structured output.
REPLY_FORM: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": closed_object({"verdict": {"type": "string", "enum": ["yes", "no"]}}),
    },
}


class OwnWording:
    """Our prompts: English, or Chinese for questions in Chinese. The answer is in a field of its own.

    ``hash`` is over all prompts; ``structured``: replies have the form ``REPLY_FORM``.
    """

    structured = True

    def __init__(self) -> None:
        self._prompts = {name: PromptFiles("eval.scoring", f"prompts/{name}") for name in LANGUAGES}
        self.hash = hashlib.sha256("".join(files.hash for files in self._prompts.values()).encode()).hexdigest()

    def messages(self, question: str, accepted: Sequence[str], given: str, *, again: bool) -> Messages:
        """Return the instructions, and the material as one line of JSON, so that no text can look like a message.

        ``given`` is the answer to judge. ``again``: the last reply could not be read.
        """
        material = {"question": question, "accepted": list(accepted), "answer": given[:MAX_ANSWER_CHARACTERS]}
        instructions = self._prompts[language_of(question)].render("judge", again=again)
        return [{"role": "system", "content": instructions}, {"role": "user", "content": data_line(material)}]

    def read(self, reply: str) -> bool | None:
        """Return the verdict of ``{"verdict": ...}`` or of a single word such as yes; None for any other reply.

        The rest of a reply is not searched, since a judged answer may have made the judge repeat its words.
        """
        text = _FENCE.sub("", _THOUGHTS.sub("", reply).strip()).strip()
        said: Any = text
        if text.startswith("{"):
            try:
                said = parse_json(text)
            except ValueError:
                return None
            if not isinstance(said, dict) or set(said) - {"verdict"}:
                return None
            said = said.get("verdict")
        word = str(said).strip(_AROUND).casefold()
        return True if word in _YES else False if word in _NO else None


class PublishedWording:
    """A published prompt, used unchanged. As its authors do, "yes" anywhere in a reply is read as a yes.

    The file's text must contain ``{question}``, ``{ground_truth_answer}`` and ``{agent_answer}``, as M3-Bench's does.
    It does not separate data from instructions; compare it with ours by ``measure_agreement``.

    Raises:
        EvalFault: ``bad_judge_prompt``.
    """

    structured = False
    _PARTS = ("question", "ground_truth_answer", "agent_answer")

    def __init__(self, file: Path) -> None:
        try:
            with open_regular(file) as opened:
                raw = opened.read(_MOST_PROMPT_BYTES + 1)
            self._text = raw.decode()
        except (OSError, ValueError) as error:
            raise _bad_prompt(file, f"it cannot be read: {type(error).__name__}") from None
        missing = [f"it holds no {{{part}}}" for part in self._PARTS if f"{{{part}}}" not in self._text]
        if missing or len(raw) > _MOST_PROMPT_BYTES:
            raise _bad_prompt(file, missing[0] if missing else "it is too long")
        self.hash = hashlib.sha256(raw).hexdigest()

    def messages(self, question: str, accepted: Sequence[str], given: str, *, again: bool) -> Messages:
        """Return the filled prompt as one user message. It is filled once, so placeholders in an answer stay."""
        values = {"question": question, "ground_truth_answer": " / ".join(accepted), "agent_answer": given}
        places = re.compile("{(" + "|".join(self._PARTS) + ")}")
        return [{"role": "user", "content": places.sub(lambda found: values[found[1]], self._text)}]

    def read(self, reply: str) -> bool | None:
        """Return whether "yes" is in the reply; None for an empty reply."""
        text = _THOUGHTS.sub("", reply).strip().lower()
        return "yes" in text if text else None


Wording = OwnWording | PublishedWording


def _bad_prompt(file: Path, why: str) -> EvalFault:
    return EvalFault(
        "bad_judge_prompt",
        f"{file.name} is no prompt of a judge: {why}",
        hint="give the published text with {question}, {ground_truth_answer} and {agent_answer} where they belong",
    )


SCHEMA_VERSION = 1
UNREADABLE = "judge_unreadable"
#: Most tokens of a reply: a verdict needs ten, a reasoning model some hundreds more.
_REPLY_TOKENS = 2_048
_TRIES = 2


@dataclass(kw_only=True)
class JudgeCounts:
    """The work of a judge: verdicts requested, known ones reused (``remembered``), unreadable replies, tokens."""

    requested: int = 0
    remembered: int = 0
    unreadable: int = 0  #: replies; a second one in a row makes the answer wrong
    given_up: int = 0  #: answers that count as wrong since no reply could be read
    usage: Usage = field(default_factory=Usage)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        counts = asdict(self)
        return {"asked": counts.pop("requested"), **counts, "usage": self.usage.record()}


class ModelJudge:
    """Judges with a chat model at temperature 0, with structured replies if the server supports them.

    A request contains the question, the accepted answers and the answer, but not which arm answered. The same three get
    the same verdict: from memory, or from ``record``, a file of JSON lines that stores each request with its reply.
    Without a model only recorded verdicts are available. Threads may share a judge; equal answers at the same time are
    one request.
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
        self.counts = JudgeCounts()
        self._on_file = _on_file(record)
        self._verdicts: OnceEach[str, AnswerVerdict] = OnceEach()
        judges = {verdict.judge for verdict in self._on_file.values()}
        if model is None and len(judges) > 1:
            raise EvalFault(
                "several_judges",
                f"{record.name if record else 'the file'} holds verdicts of {', '.join(sorted(judges))}",
                hint="say with --judge-model whose verdicts are meant",
            )
        own = f"{model.name}/{self._wording.hash[:12]}" if model is not None else None
        self.name = own or next(iter(judges), "none")

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        """Return whether the answer means the same as an accepted one; after two unreadable replies it counts as wrong.

        Raises:
            EvalFault: ``no_judgement``: there is no model, and no recorded verdict.
            BackendFault: the faults of the model.
        """
        key = content_hash([self.name, question, list(accepted), given])
        requested: list[AnswerVerdict] = []

        def request() -> AnswerVerdict:
            requested.append(self._judged(key, question, accepted, given))
            return requested[0]

        verdict = self._on_file.get(key) or self._verdicts.get(key, request)
        if not requested:
            with self._guard:
                self.counts.remembered += 1
        return verdict

    def _judged(self, key: str, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        """Request a verdict, a second time if the reply cannot be read, and record it."""
        model = self._model
        if model is None:
            raise EvalFault(
                "no_judgement",
                f"no verdict of {self.name} is on file about an answer to {question[:60]!r}",
                hint="name a judging model, or give the file of the run that is to be repeated",
            )
        exchanges: list[dict[str, Any]] = []
        said = None
        while said is None and len(exchanges) < _TRIES:
            messages = self._wording.messages(question, accepted, given, again=bool(exchanges))
            began = self._clock.monotonic()
            request, reply = self._settings.complete(model, {"model": model.name, "messages": messages})
            seconds = round(self._clock.monotonic() - began, 6)
            exchanges.append(Exchange(request=request, reply=reply, fault=None, seconds=seconds).record())
            content = (first_message(reply) or {}).get("content")
            said = self._wording.read(content if isinstance(content, str) else "")
            with self._guard:
                self.counts.unreadable += said is None
                if not from_cache(reply):
                    self.counts.usage += usage_of(request, reply)
        verdict = AnswerVerdict(yes=bool(said), judge=self.name, fault=UNREADABLE if said is None else None)
        with self._guard:
            self.counts.requested += 1
            self.counts.given_up += said is None
            if self._file is not None:
                record = {"schema_version": SCHEMA_VERSION, "key": key, "judge": self.name, "verdict": verdict.yes}
                append_line(self._file, {**record, "fault": verdict.fault, "exchanges": exchanges})
        return verdict


class _StoredVerdict(BaseModel, strict=True):
    """The form of a recorded verdict."""

    key: str
    verdict: bool
    judge: str
    fault: Any = None


def _on_file(file: Path | None) -> dict[str, AnswerVerdict]:
    """Return the recorded verdicts of a file, by key; empty without a file."""
    known: dict[str, AnswerVerdict] = {}
    if file is None or not file.exists():
        return known
    try:
        for line in read_lines(file, hint="give the file of verdicts that a run made"):
            check_schema(line, SCHEMA_VERSION, file)
            found = _StoredVerdict.model_validate(line)
            fault = UNREADABLE if found.fault is not None else None
            known[found.key] = AnswerVerdict(yes=found.verdict, judge=found.judge, fault=fault)
    except ValidationError as error:
        part = ".".join(map(str, error.errors()[0]["loc"]))
        raise EvalFault(
            "recording_damaged", f"a verdict in {file.name} is not whole: {part}", hint="restore it from a copy"
        ) from None
    except EpisodeFault as error:
        raise EvalFault(error.code, error.message, hint=error.hint) from None
    return known


BY_WORDS = "words"


class WordsJudge:
    """Accepts an answer whose token F1 with an accepted one is 0.5 or more; it ignores meaning and negation."""

    name = BY_WORDS

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        """Return whether the answer shares enough words with an accepted one."""
        tokens = cjk_tokens if any(map(has_cjk, accepted)) else squad_tokens
        f1 = max(overlap(tokens(given), tokens(one)).f1 for one in accepted)
        return AnswerVerdict(yes=f1 >= 0.5, judge=self.name)


def answer_judge(
    model: str | None,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    prompt: Path | None = None,
    record: Path | None = None,
    wire: WireChoice = "auto",
) -> AnswerJudge | None:
    """Return a judge with this model (``words``: token F1), without a model one with recorded verdicts, without these None.

    ``prompt`` is a file with a published judge's prompt, ``record`` the file of verdicts, ``wire`` the protocol of the
    endpoint.

    Raises:
        EvalFault: ``bad_judge_prompt``, ``recording_damaged``, ``recording_schema``, ``several_judges``.
        BackendFault: ``endpoint_not_configured`` and other faults of an endpoint.
    """
    from world_api.chat.models import endpoint_model

    if model == BY_WORDS:
        return WordsJudge()
    if model is None and (record is None or not record.exists()):
        return None
    wording = OwnWording() if prompt is None else PublishedWording(prompt)
    chosen = None if model is None else endpoint_model(model, clock=clock, environment=environment, wire=wire)
    return ModelJudge(chosen, clock=clock, record=record, wording=wording)


#: Words in the names of a family's models, by family. A name may belong to several (a distilled model).
_FAMILIES: Mapping[str, list[str]] = packaged_yaml("eval.scoring", "families.yaml")


def families_of(model: str) -> frozenset[str]:
    """Return the families that a model's name indicates; an unknown name is a family of its own, by its first word.

    Owner and path are ignored if the rest of the name is known: ``org/qwen3-8b`` is Qwen for every ``org``.
    """
    whole = model.casefold()
    own = whole.rstrip("/").rpartition("/")[2]
    for name in (own, whole):
        parts = re.split(r"[^a-z0-9]+", name)
        words = {*parts, *(found for part in parts for found in re.findall("^[a-z]+", part))}  # qwen3 is qwen
        found = frozenset(family for family, called in _FAMILIES.items() if words & set(called))
        if found:
            return found
    return frozenset({next(iter(re.findall("[a-z]+", own)), own)})


def same_family(judge: str, judged: Iterable[str]) -> str | None:
    """Return a warning if a judge shares a family with a model that it judges; else None."""
    ours = families_of(judge)
    shared = sorted({model for model in judged if families_of(model) & ours})
    if not shared:
        return None
    return (
        f"{judge} judges {', '.join(shared)}, of its own family ({', '.join(sorted(ours))}): a judge may favour answers that "
        "sound like its own; take one of another family, or report its agreement per arm"
    )
