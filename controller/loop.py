"""The loop: messages to the model, its calls to the tools, their results back, until it answers or a limit is reached.

Every episode ends with an answer or with a named reason why there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.budgets import Budget, Meter
from controller.conversation.answers import (
    SUBMIT_ANSWER,
    SubmittedAnswer,
    answer_in_text,
    cite,
    parse_answer,
    submit_answer_tool,
    usable_answer,
)
from controller.conversation.observations import budget_spent, call_slip, slip, tool_message
from controller.conversation.prompting import Prompts
from controller.conversation.replies import Problem, Reply, ToolCall, read_reply
from controller.episode import (
    CallRecord,
    Episode,
    FaultRecord,
    Opening,
    Outcome,
    RoundRecord,
    RoundTiming,
    Task,
    Timings,
)
from controller.toolsets import Toolset, judging_tokens, split_result
from world_api.backends.chat.completions import checked_reply
from world_api.backends.chat.usage import usage_of
from world_api.core.canonical import canonical, content_hash
from world_api.core.faults import EpisodeFault, VideoWorldError
from world_api.core.last_resort import as_stored, internal_fault, observed
from world_api.core.ports import ChatModel, Clock
from world_api.exposure.schemas import openai_tool

MAX_SLIPS_IN_A_ROW = 2
NOTHING_MORE = Opening()


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """How it ended, and the answer if there is one."""

    outcome: Outcome
    answer: SubmittedAnswer | None = None
    reason: str | None = None
    fault: FaultRecord | None = None


def run_episode(
    task: Task,
    *,
    model: ChatModel,
    tools: Toolset,
    budget: Budget,
    clock: Clock,
    prompts: Prompts,
    opening: Opening = NOTHING_MORE,
) -> Episode:
    """Ask the model the task's question with these tools.

    Raises:
        EpisodeFault: ``replay_mismatch``, from a replayed model, toolset or clock.
    """
    return _Loop(task, model=model, tools=tools, budget=budget, clock=clock, prompts=prompts, opening=opening).run()


class _Loop:
    """The state of one episode while it runs."""

    def __init__(
        self,
        task: Task,
        *,
        model: ChatModel,
        tools: Toolset,
        budget: Budget,
        clock: Clock,
        prompts: Prompts,
        opening: Opening,
    ) -> None:
        self._task, self._model, self._tools, self._clock, self._prompts = task, model, tools, clock, prompts
        self._opening = opening
        self._started_at = clock.now()
        self._meter = Meter(budget, clock)
        self._offer = [
            openai_tool(tool.name, tool.description, tool.parameters, strict=False)
            for tool in (*tools.get_tools(), submit_answer_tool())
        ]
        self._names = frozenset(item["function"]["name"] for item in self._offer)
        self._messages: list[dict[str, Any]] = [
            {
                "role": "system",
                "content": prompts.render("system", as_of=task.question.as_of, briefing=opening.briefing),
            },
            {
                "role": "user",
                "content": prompts.render("question", video_id=task.video_id, question=task.question.text),
            },
        ]
        self._rounds: list[RoundRecord] = []
        self._calls: list[CallRecord] = []
        self._timings: list[RoundTiming] = []
        self._refused: SubmittedAnswer | None = None  #: the last answer that could not be taken as it was

    def run(self) -> Episode:
        began = self._clock.monotonic()
        try:
            ending = self._converse()
        except EpisodeFault:
            raise
        except VideoWorldError as fault:
            ending = _Ending(outcome="failed", reason=fault.code, fault=FaultRecord.of(fault))
        # What was asked and answered so far has been paid for: the record keeps it, with the place of the defect.
        except Exception as error:  # noqa: BLE001 - see above
            defect = internal_fault(error)
            ending = _Ending(outcome="failed", reason=defect.code, fault=FaultRecord.of(defect))
        return self._episode(ending, seconds=self._clock.monotonic() - began)

    def _converse(self) -> _Ending:
        slips = 0
        while True:
            limit = self._meter.reached()
            if limit is not None:
                return self._force(limit)
            if slips > MAX_SLIPS_IN_A_ROW:
                return self._force("malformed_replies")
            reply = self._ask(offer_tools=True)
            if reply.fault is not None:
                self._say("slip", observation=canonical(slip(reply.fault)))
                slips += 1
                continue
            if not reply.calls:
                return _Ending(outcome="prose", answer=self._prose(reply))
            answer, any_ran = self._run_calls(reply.calls)
            if answer is not None:
                return _Ending(outcome="submitted", answer=answer)
            slips = 0 if any_ran else slips + 1

    def _force(self, reason: str) -> _Ending:
        """Ask once, without tools, for the best answer."""
        self._say("forced", reason=reason)
        reply = self._ask(offer_tools=False)
        answer = self._last_answer(reply)
        if answer is not None:
            return _Ending(outcome="forced", answer=answer, reason=reason)
        return _Ending(
            outcome="failed",
            reason="no_answer",
            fault=FaultRecord(
                code="no_answer",
                message=f"the model gave no answer when asked for one ({reason})",
                hint="give a larger budget, or another model",
            ),
        )

    def _last_answer(self, reply: Reply) -> SubmittedAnswer | None:
        """Whatever answer there is once the model cannot be asked again: in a call, in words, or refused before."""
        for call in reply.calls:  # some models call submit_answer although no tool is offered
            answer = usable_answer(call.arguments) if call.tool == SUBMIT_ANSWER else None
            if answer is not None:
                if isinstance(parse_answer(call.arguments), str):
                    self._mark_round("bad_answer")
                return answer
        if reply.fault == "call_in_text":
            return answer_in_text(reply.content) or self._refused
        return self._prose(reply) if reply.content else self._refused

    def _prose(self, reply: Reply) -> SubmittedAnswer:
        """The words of a reply as the answer; marked where the server says that they were cut off."""
        if self._rounds[-1].finish_reason == "length":
            self._mark_round("cut_reply")
        return SubmittedAnswer.model_construct(answer=reply.content, spans=[])

    def _mark_round(self, problem: Problem) -> None:
        self._rounds[-1] = replace(self._rounds[-1], problem=problem)

    def _ask(self, *, offer_tools: bool) -> Reply:
        request: dict[str, Any] = {"model": self._model.name, "messages": list(self._messages)}
        if offer_tools:
            request["tools"] = self._offer
        began = self._clock.monotonic()
        raw = checked_reply(self._model.complete(request))
        self._timings.append(RoundTiming(model_seconds=_since(began, self._clock), tool_seconds=[]))
        number = len(self._rounds) + 1
        used_ids = {call.id for call in self._calls}
        reply = read_reply(raw, tools=self._names, round_number=number, used_ids=used_ids)
        usage = usage_of(request, raw)
        self._meter.add_round(usage)
        self._rounds.append(
            RoundRecord(
                number=number,
                tools_offered=offer_tools,
                usage=usage,
                finish_reason=_finish_reason(raw),
                problem=reply.fault,
            )
        )
        self._messages.append(reply.message())
        return reply

    def _say(self, prompt: str, **values: Any) -> None:
        self._messages.append({"role": "user", "content": self._prompts.render(prompt, **values)})

    def _run_calls(self, calls: tuple[ToolCall, ...]) -> tuple[SubmittedAnswer | None, bool]:
        """Run what can run, tell the model of the rest; the answer if one was submitted, and whether anything ran."""
        answer: SubmittedAnswer | None = None
        any_ran = False
        for call in calls:
            if call.fault is not None:
                self._observe(call, call_slip(call, call.fault), problem=call.fault)
            elif call.tool == SUBMIT_ANSWER:
                parsed = parse_answer(call.arguments)
                if answer is not None:
                    self._observe(call, slip("second_answer"), problem="second_answer")
                elif isinstance(parsed, str):
                    self._refused = usable_answer(call.arguments) or self._refused
                    self._observe(call, slip("bad_answer", parsed), problem="bad_answer")
                else:
                    answer = parsed
                    self._observe(call, {"accepted": True})
            elif answer is not None:
                self._observe(call, slip("call_after_answer"), problem="call_after_answer")
            elif not self._meter.may_call():
                self._observe(call, budget_spent("calls"))
            else:
                any_ran = True
                self._run_call(call)
        return answer, any_ran

    def _run_call(self, call: ToolCall) -> None:
        self._meter.add_call()
        began = self._clock.monotonic()
        result = observed(lambda: as_stored(self._tools.call_tool(call.tool, call.arguments)))
        self._timings[-1].tool_seconds.append(_since(began, self._clock))
        self._meter.add_judging(judging_tokens(result))
        self._observe(call, result, ran=True)

    def _observe(
        self, call: ToolCall, result: Mapping[str, Any], *, ran: bool = False, problem: Problem | None = None
    ) -> None:
        """Keep the whole result, and tell the model."""
        found, inner_calls, origins = split_result(result)
        self._calls.append(
            CallRecord(
                id=call.id,
                round=len(self._rounds),
                tool=call.tool,
                written=call.written,
                arguments=call.arguments,
                result=found,
                inner_calls=inner_calls,
                origins=origins,
                ran=ran,
                problem=problem,
                note=call.note,
            )
        )
        notice = slip(call.note)["error"] if call.note is not None else None
        self._messages.append(tool_message(call.id, found, is_data=ran, notice=notice))

    def _episode(self, ending: _Ending, *, seconds: float) -> Episode:
        answer = ending.answer
        results = [(call.id, call.result) for call in self._calls if call.ran]
        return Episode(
            task=self._task,
            model=self._model.name,
            prompt_hash=self._prompts.hash,
            language=self._prompts.language,
            opening=self._opening,
            tools=self._offer,
            tools_hash=content_hash(self._offer),
            budget=self._meter.budget,
            prices={},
            messages=self._messages,
            rounds=self._rounds,
            calls=self._calls,
            outcome=ending.outcome,
            reason=ending.reason,
            fault=ending.fault,
            value=answer.answer.strip() if answer is not None else None,
            answer=answer.answer.strip() if answer is not None else None,
            spans=cite(answer.spans, results) if answer is not None else [],
            timings=Timings(started_at=self._started_at, seconds=round(seconds, 6), rounds=self._timings),
        )


def _finish_reason(raw: dict[str, Any]) -> str | None:
    choices = raw.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("finish_reason") if isinstance(first, dict) else None
    return reason if isinstance(reason, str) else None


def _since(began: float, clock: Clock) -> float:
    return round(clock.monotonic() - began, 6)
