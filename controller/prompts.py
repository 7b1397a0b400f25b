"""Everything the loop itself says to the model: the prompt files of both languages, and the first message of an episode.

The first message holds the question and the results of the calls that the system makes itself before the first round. Results are
data: they are put into ``data_from_video``, as every tool result is. A result names pictures by hash
(``{"frames": [{"time", "picture": "sha256:..."}]}``). Records keep these names; requests carry the pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from world_api.chat.prompts import DATA, PromptFiles, data_line
from world_api.core.faults import EpisodeFault, ErrorBody

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")


class Prompts(PromptFiles):
    """The prompt files of one language."""

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise EpisodeFault(
                "unknown_language", f"there are no prompts in {language[:20]!r}", hint="one of: " + ", ".join(LANGUAGES)
            )
        super().__init__("controller", f"prompts/{language}")
        self.language = language

    def notice(self, code: str, detail: str = "") -> ErrorBody:
        """The message to the model about a malformed call or a changed result."""
        message, _, hint = self.render("notice", code=code, detail=detail).rpartition("\n")
        return {"code": code, "message": message.strip(), "hint": hint}

    def of_answer(self, part: str) -> str:
        """A description in the declaration of ``submit_answer``."""
        return self.render("submit_answer", part=part)


def language_of(text: str) -> Language:
    """The language of the prompts for a question: Chinese where most of it is written in Chinese, else English."""
    han = len(_HAN.findall(text))
    is_other = _KANA_OR_HANGUL.search(text) is not None
    return "zh" if han and not is_other and han >= len(_LATIN_WORD.findall(text)) else "en"


@dataclass(frozen=True, kw_only=True)
class FirstCall:
    """A call that the system makes before the model is asked; it counts as no call of the model's.

    ``shown``: the model is given the result with the question. ``needed``: a fault of the call ends the episode. ``reads``: it
    changes nothing, so that neighbours that read too are made side by side.
    """

    tool: str
    arguments: dict[str, Any]
    shown: bool = True
    needed: bool = True
    reads: bool = False


@dataclass(frozen=True, kw_only=True)
class Preamble:
    """What the model gets before the first round; a system takes it from its inputs, so that a replay has it too.

    ``instructions`` names the prompt; ``briefing`` is text that is added to it, such as a domain's; ``digest`` is the summary of
    the world. ``answer_after`` names a tool that must run before an answer is accepted, unless it failed ``tries`` times.
    """

    instructions: str = "system"
    briefing: str = ""
    digest: dict[str, Any] | None = None
    first_calls: tuple[FirstCall, ...] = ()
    answer_after: str | None = None
    tries: int = 1


EMPTY_PREAMBLE = Preamble()


PICTURE = "sha256:"
#: The ``data:`` address of a picture that is named by its hash.
Pictures = Callable[[str], str]


def no_pictures(name: str) -> str:
    """Refuse every picture, for systems whose results have none. Raises EpisodeFault: ``no_such_picture``."""
    raise EpisodeFault("no_such_picture", f"there is no picture {name[:80]}")


def with_pictures(messages: Sequence[dict[str, Any]], pictures: Pictures) -> list[dict[str, Any]]:
    """The messages with pictures in place of their names."""

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
    """The content of the first message: the question, what was found as data, and the pictures that it names."""
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
