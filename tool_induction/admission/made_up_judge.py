"""The judge of trials: what it answers follows from what it is asked, and from nothing else. No model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tool_induction.admission.film import draw


class MadeUpJudge:
    """Gives one of the answers for each item; different items get different ones, now and then."""

    name = "made-up"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """One of the answers for each item, in order."""
        return [answers[draw(question, item) % len(answers)] for item in items]
