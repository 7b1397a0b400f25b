"""A judge that gives scripted answers."""

from __future__ import annotations

from collections.abc import Sequence

from world_api.core.faults import ToolFault


class ScriptedJudge:
    """Gives scripted answers in order and records the questions."""

    def __init__(self, answers: Sequence[str], *, name: str = "scripted") -> None:
        self.name = name
        self.questions: list[tuple[str, tuple[str, ...], str]] = []
        self._answers = tuple(answers)

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """The next answers of the script.

        Raises:
            ToolFault: ``script_ended``.
        """
        start = len(self.questions)
        if start + len(items) > len(self._answers):
            raise ToolFault("script_ended", f"the script holds {len(self._answers)} answers", hint="write one an item")
        self.questions += [(question, tuple(answers), item) for item in items]
        return self._answers[start : start + len(items)]
