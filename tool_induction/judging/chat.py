"""A judge that is a chat model: one short request an item, temperature 0 if it takes one, one of the closed answers back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tool_induction.compiler.price import JUDGEMENT
from tool_induction.judging.answers import chosen, judged_material
from world_api.chat.messages import OptionalSettings, first_message, from_cache
from world_api.chat.prompts import PromptFiles
from world_api.chat.usage import Usage, usage_of
from world_api.core.canonical import content_hash
from world_api.core.cost import Spent, charge
from world_api.core.faults import ToolFault
from world_api.core.ports import ChatModel

#: tokens of a reply; an answer has at most forty characters
_REPLY_TOKENS = 40


class ChatJudge:
    """Judges with a chat model. ``name`` says which, and with which prompt.

    Each request is charged (see ``world_api.core.cost``), with the tokens the server counted where it counts.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._prompts = PromptFiles("tool_induction.judging")
        self._settings = OptionalSettings(temperature=0, max_tokens=_REPLY_TOKENS)
        self.name = f"{model.name}/{self._prompts.hash[:12]}"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """One of the answers for each item.

        Raises:
            ToolFault: ``bad_judgement``; ``judge_over_price``: an item took more tokens than its price.
            BackendFault: what the model names.
        """
        return [chosen(_said(self._reply(question, answers, item)), answers, judge=self.name) for item in items]

    def request(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        """What is asked about one item, in Chat Completions form."""
        return {**self._plain_request(question, answers, item), **self._settings.settings}

    def _plain_request(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        system = self._prompts.render("judge", answers=list(answers))
        return {
            "model": self._model.name,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": judged_material(question, item)},
            ],
        }

    def _reply(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        request, reply = self._settings.complete(self._model, self._plain_request(question, answers, item))
        usage = usage_of(request, reply)
        charge(_charged(self._model.name, request, usage, physical=not from_cache(reply)))
        if usage.total > JUDGEMENT.tokens and not usage.estimated:
            raise ToolFault(
                "judge_over_price",
                f"{self._model.name} took {usage.total} tokens for one item; the price is {JUDGEMENT.tokens} at most",
                hint="use a judging model that answers at once, without reasoning",
            )
        return reply


def _charged(model: str, request: dict[str, Any], usage: Usage, *, physical: bool) -> Spent:
    return Spent(
        purpose="judge",
        model=model,
        request=content_hash(request),
        prompt=usage.prompt,
        completion=usage.completion,
        cached=usage.cached,
        estimated=usage.estimated,
        physical=physical,
    )


def _said(reply: dict[str, Any]) -> str:
    """The text of a reply; whatever else it holds says nothing."""
    content = (first_message(reply) or {}).get("content")
    return content if isinstance(content, str) else ""
