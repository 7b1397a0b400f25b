"""The controller's prompts, in two languages. Whatever the loop itself says to a model stands in these files."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from world_api.backends.chat.prompts import PromptFiles
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
        """What the model is told of a slip, or of what was done to a result."""
        told, _, hint = self.render("notice", code=code, detail=detail).rpartition("\n")
        return {"code": code, "message": told.strip(), "hint": hint}

    def of_answer(self, part: str) -> str:
        """A description in the declaration of ``submit_answer``."""
        return self.render("submit_answer", part=part)


def language_of(text: str) -> Language:
    """The language of the prompts for a question: Chinese where most of it is written in Chinese, else English."""
    han = len(_HAN.findall(text))
    is_other = _KANA_OR_HANGUL.search(text) is not None
    return "zh" if han and not is_other and han >= len(_LATIN_WORD.findall(text)) else "en"


def error(body: ErrorBody) -> dict[str, Any]:
    """A notice as the observation that stands in for a result."""
    return {"error": body}
