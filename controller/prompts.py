"""The texts of the loop for the model: the prompt files of both languages, and the first message.

The first message holds the question and the results of the calls that the system makes itself before the first round.
Results are data: they are put into ``data_from_video``, like every tool result. A result names pictures by hash
(``{"frames": [{"time", "picture": "sha256:..."}]}``). Records keep these names; requests contain the pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from world_api.chat.messages import DATA, PromptFiles, data_line
from world_api.core.faults import EpisodeFault, ErrorBody

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
