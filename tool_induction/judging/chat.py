"""A judge that is a chat model: one short request an item, temperature 0, one of the closed answers back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tool_induction.judging.answers import asked_item, asked_question, chosen
from world_api.backends.chat.prompts import PromptFiles
from world_api.core.ports import ChatModel

#: tokens of a reply; an answer has at most forty characters
_REPLY_TOKENS = 40


class ChatJudge:
    """Judges with a chat model. ``name`` says which, and with which prompt."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._prompts = PromptFiles("tool_induction.judging")
        self.name = f"{model.name}/{self._prompts.hash[:12]}"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """One of the answers for each item.

        Raises:
            ToolFault: ``bad_judgement``.
            BackendFault: what the model names.
        """
        return [chosen(_said(self._model.complete(self.request(question, answers, item))), answers, judge=self.name)
                for item in items]  # fmt: skip

    def request(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        """What is asked about one item, in Chat Completions form."""
        system = self._prompts.render("judge", answers=list(answers))
        asked = f"Question: {asked_question(question)}\n\nItem:\n{asked_item(item)}"
        return {
            "model": self._model.name,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": asked}],
            "temperature": 0,
            "max_tokens": _REPLY_TOKENS,
        }


def _said(reply: dict[str, Any]) -> str:
    """The text of a reply; whatever else it holds says nothing."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""
