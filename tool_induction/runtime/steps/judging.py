"""Judging the items of a list: bounded, remembered, and priced as if nothing had been remembered."""

from __future__ import annotations

from collections.abc import Sequence

from tool_induction.compiler.price import JUDGEMENT
from tool_induction.judging.answers import asked_item, asked_question, chosen
from tool_induction.judging.port import Judge
from tool_induction.language.evaluation import Json
from tool_induction.language.model import JudgeStep
from tool_induction.runtime.answers.asking import Answer
from tool_induction.runtime.answers.memo import Memo
from tool_induction.runtime.budget import Meter
from world_api.core.canonical import canonical
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault


class Judging:
    """The judgements of one run."""

    def __init__(self, judge: Judge | None, *, memo: Memo, meter: Meter) -> None:
        self._judge = judge
        self._memo = memo
        self._meter = meter
        self._judged = 0

    @property
    def cost(self) -> Cost:
        """The price of all that was judged."""
        return JUDGEMENT.times(self._judged)

    def judged(self, step: JudgeStep, question: str, rows: Sequence[Json]) -> list[Json]:
        """The items with their answers.

        Raises:
            ToolFault: ``no_judge``, ``bad_judgement``.
            BackendFault: what the judge names.
            BudgetExhausted: when a bound of the run was reached.
        """
        if self._judge is None:
            raise no_judge()
        asked, made = asked_question(question), []
        for item in rows:
            self._meter.item()
            self._meter.call()
            made.append(_with_answer(item, self._answer(self._judge, asked, step.answers, asked_item(item))))
        return made

    def _answer(self, judge: Judge, question: str, answers: tuple[str, ...], item: str) -> str:
        self._judged += 1
        key = canonical(["judge", judge.name, question, list(answers), item])
        known = self._memo.get(key)
        if known is None:
            given = list(judge.answer(question, answers, [item]))
            if len(given) != 1 or not isinstance(given[0], str):
                raise ToolFault("bad_judgement", f"{judge.name} gave {len(given)} answers about one item")
            answer = chosen(given[0], answers, judge=judge.name)
            known = Answer(result={"answer": answer}, size=len(key) + len(answer))
            self._memo.put(key, known)
        return str(known.result["answer"])


def no_judge() -> ToolFault:
    """The fault of a tool that asks where there is nobody to ask."""
    return ToolFault(
        "no_judge", "the tool has a judge step and there is no judge", hint="give a judging model: --judge-model MODEL"
    )


def _with_answer(item: Json, answer: str) -> Json:
    return {**item, "answer": answer} if isinstance(item, dict) else {"answer": answer, "parent": item}
