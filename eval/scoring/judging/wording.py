"""What a judge is asked, and how its reply is read: our own prompts, or a published one from a file that the user has."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from controller.prompts import LANGUAGES, language_of
from world_api.backends.chat.marking import data_line
from world_api.backends.chat.prompts import PromptFiles
from world_api.core.canonical import parse_json
from world_api.core.faults import EvalFault
from world_api.world.disk.files import open_regular

MAX_ANSWER_CHARACTERS = 8_000  #: of what is judged; an answer may have more, and little of it is an answer then
_MOST_PROMPT_BYTES = 200_000
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^```\w*\s*|\s*```$")
_YES, _NO = frozenset({"yes", "true", "是"}), frozenset({"no", "false", "否"})
_AROUND = " \t\r\n.。!！\"'*`"

Messages = list[dict[str, Any]]

#: The form of a reply, for servers that hold a model to one.
REPLY_FORM: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        },
    },
}


class Wording(Protocol):
    """How a judge is asked. ``hash`` names all that is not the question, ``structured`` is whether a reply has a form."""

    hash: str
    structured: bool

    def messages(self, question: str, accepted: str | Sequence[str], given: str, *, again: bool) -> Messages:
        """The messages that put an answer to the judge; ``again``: the last reply could not be read."""
        ...

    def read(self, reply: str) -> bool | None:
        """The verdict of a reply; None where it cannot be read."""
        ...


class OwnWording:
    """Our prompts, in English, and in Chinese for questions that are asked in Chinese. The answer stands in a marked field."""

    structured = True

    def __init__(self) -> None:
        self._prompts = {name: PromptFiles("eval.scoring.judging", f"prompts/{name}") for name in LANGUAGES}
        self.hash = hashlib.sha256("".join(files.hash for files in self._prompts.values()).encode()).hexdigest()

    def messages(self, question: str, accepted: str | Sequence[str], given: str, *, again: bool) -> Messages:
        """Instructions, and the material as one line of JSON in which no text can pass for a mark of the conversation."""
        told = [accepted] if isinstance(accepted, str) else list(accepted)
        material = {"question": question, "accepted": told, "answer": given[:MAX_ANSWER_CHARACTERS]}
        instructions = self._prompts[language_of(question)].render("judge", again=again)
        return [{"role": "system", "content": instructions}, {"role": "user", "content": data_line(material)}]

    def read(self, reply: str) -> bool | None:
        """``{"verdict": ...}``, or one word alone. Words round it are not searched: an answer may have put them there."""
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
    """A published prompt, as its file has it, read as its authors read replies: "yes" anywhere in it.

    The file's text holds ``{question}``, ``{ground_truth_answer}`` and ``{agent_answer}`` where they belong, as M3-Bench's does. It
    marks no data as such; compare it with ours by ``measure_agreement``.

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
        missing = [part for part in self._PARTS if f"{{{part}}}" not in self._text]
        if missing or len(raw) > _MOST_PROMPT_BYTES:
            raise _bad_prompt(file, f"it holds no {{{missing[0]}}}" if missing else "it is too long")
        self.hash = hashlib.sha256(raw).hexdigest()

    def messages(self, question: str, accepted: str | Sequence[str], given: str, *, again: bool) -> Messages:
        """One message of the user's: the prompt, filled in once, so that no answer is taken for a place to fill."""
        told = accepted if isinstance(accepted, str) else " / ".join(accepted)
        values = {"question": question, "ground_truth_answer": told, "agent_answer": given}
        places = re.compile("{(" + "|".join(self._PARTS) + ")}")
        return [{"role": "user", "content": places.sub(lambda found: values[found[1]], self._text)}]

    def read(self, reply: str) -> bool | None:
        """Yes where the word is in the reply; nothing said is no verdict."""
        text = _THOUGHTS.sub("", reply).strip().lower()
        return "yes" in text if text else None


def _bad_prompt(file: Path, why: str) -> EvalFault:
    return EvalFault(
        "bad_judge_prompt",
        f"{file.name} is no prompt of a judge: {why}",
        hint="give the published text with {question}, {ground_truth_answer} and {agent_answer} where they belong",
    )
