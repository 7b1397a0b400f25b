"""A system as another package would add it: it asks the model once, in its own words, and writes its own episode."""

from __future__ import annotations

from controller import Episode, Question
from controller.episode import Task
from controller.systems import SystemContext
from world_api.chat import usage_of
from world_api.core import content_hash
from world_api.session import Session


class AskedOnce:
    """Asks the bare question."""

    def __init__(self, context: SystemContext) -> None:
        self.context = context

    def answer(self, question: Question, session: Session) -> Episode:
        from controller.episode import FaultRecord, RoundRecord
        from world_api.core import VideoWorldError

        task = Task.of(question, session, system="asked_once", settings=dict(self.context.options))
        messages = [{"role": "user", "content": question.text}]
        request = {"model": self.context.model.name, "messages": messages}
        rounds, answer, fault = [], None, None
        if self.context.budget.rounds:
            try:
                reply = self.context.model.complete(request)
                answer = reply["choices"][0]["message"]["content"]
                usage = usage_of(request, reply)
                rounds = [RoundRecord(number=1, tools_offered=False, usage=usage, finish_reason=None, problems=[])]
            except VideoWorldError as failure:
                fault = FaultRecord.of(failure)
        else:
            fault = FaultRecord(code="rounds", message="nothing may be asked", hint="")
        return Episode(
            task=task,
            model=self.context.model.name,
            prompt_hash=content_hash([]),
            language=self.context.language,
            tools=[],
            tools_hash=content_hash([]),
            budget=self.context.budget,
            prices={},
            messages=messages,
            rounds=rounds,
            calls=[],
            outcome="prose" if answer else "failed",
            reason=fault.code if fault else None,
            fault=fault,
            value=answer,
            answer=answer,
            spans=[],
        )


def build(context: SystemContext) -> AskedOnce:
    """What the entry point names."""
    return AskedOnce(context)
