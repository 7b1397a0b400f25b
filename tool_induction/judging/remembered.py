"""Judgements of one episode: whoever asks the same again, a step of a tool or the model itself, gets the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from tool_induction.judging.port import Judge
from world_api.core.canonical import canonical_json


class RememberedJudge:
    """A judge that is asked once about the same; threads may share it."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge
        self._known: dict[str, str] = {}
        self._lock = Lock()

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """The remembered answers, and new ones where there are none.

        Raises:
            ToolFault, BackendFault: what the judge names.
        """
        with self._lock:
            return [self._one(question, answers, item) for item in items]

    def _one(self, question: str, answers: Sequence[str], item: str) -> str:
        key = canonical_json([question, list(answers), item])
        if key not in self._known:
            [self._known[key]] = self._judge.answer(question, answers, [item])
        return self._known[key]
