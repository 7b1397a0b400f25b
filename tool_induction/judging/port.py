"""The port of the judge step, and the fake that ships with the product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from world_api.core.faults import ToolFault


class Judge(Protocol):
    """Answers a closed question about each of some items. The same question gets the same answer."""

    name: str  #: who judges; a remembered answer is that of this name only

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """One of the answers for each item, in order.

        Raises:
            ToolFault: ``bad_judgement``: it gave none of the answers.
            BackendFault: what the model behind it names.
        """
        ...


class ScriptedJudge:
    """Plays answers in order, whatever is asked, and keeps what it was asked."""

    def __init__(self, answers: Sequence[str], *, name: str = "scripted") -> None:
        self.name = name
        self.asked: list[tuple[str, tuple[str, ...], str]] = []
        self._answers = tuple(answers)

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """The next answers of the script.

        Raises:
            ToolFault: ``script_ended``.
        """
        start = len(self.asked)
        if start + len(items) > len(self._answers):
            raise ToolFault("script_ended", f"the script holds {len(self._answers)} answers", hint="write one an item")
        self.asked += [(question, tuple(answers), item) for item in items]
        return self._answers[start : start + len(items)]
