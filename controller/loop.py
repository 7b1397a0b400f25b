"""The loop: messages to the model, its calls to the tools, their results back, until it answers or a limit is reached.

Every episode ends with an answer in the type of its question, or with a named reason why there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from controller.budgets import Budget, Meter
from controller.conversation.answers import (
    SUBMIT_ANSWER,
    Answer,
    answer_in_text,
    parse_answer,
    read_answer,
    submit_answer_tool,
    usable_answer,
)
from controller.conversation.citing import DIGEST, cite
from controller.conversation.gathering import PictureBook, Pictures, first_message, no_pictures
from controller.conversation.opening import NOTHING_MORE, Opening
from controller.conversation.prompting import Prompts
from controller.conversation.replies import Problem, Reply, read_reply
from controller.conversation.requests import Asked, NoRoom, Requests, TimeUp
from controller.conversation.transcript import Transcript
from controller.episode import Episode, FaultRecord, Outcome, RoundRecord, RoundTiming, Task, Timings
from controller.toolsets import Toolset
from controller.turns import Turns
from world_api.backends.chat.completions import call_position
from world_api.backends.chat.prices import Prices
from world_api.core.canonical import canonical, content_hash
from world_api.core.faults import EpisodeFault, ToolFault, VideoWorldError
from world_api.core.last_resort import internal_fault
from world_api.core.ports import ChatModel, Clock
from world_api.exposure.schemas import openai_tool

MAX_SLIPS_IN_A_ROW = 2
NO_PRICES = Prices()


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """How it ended, and the answer if there is one."""

    outcome: Outcome
    answer: Answer | None = None
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
    prices: Prices = NO_PRICES,
    opening: Opening = NOTHING_MORE,
    pictures: Pictures = no_pictures,
) -> Episode:
    """Ask the model the task's question with these tools. ``pictures`` are those that results name.

    Raises:
        EpisodeFault: ``no_price``, for a budget of money without the model's price; ``replay_mismatch``, from a replayed model,
            toolset or clock.
        ToolFault: ``duplicate_tool``: the tools have a ``submit_answer`` of their own.
    """
    started_at = clock.now()
    meter = Meter(budget, clock, model=model.name, prices=prices)
    _refuse_second_submit(tools)
    declared = (*tools.get_tools(), submit_answer_tool(task.question, prompts.of_answer))
    offer = [openai_tool(tool.name, tool.description, tool.parameters, strict=False) for tool in declared]
    transcript = Transcript(tools=offer, window=budget.window, filler=prompts.render("nothing_said"))
    book = PictureBook(pictures)
    requests = Requests(model, transcript, offer=offer, pictures=book, meter=meter, clock=clock)
    turns = Turns(task.question, tools=tools, opening=opening, meter=meter, clock=clock, prompts=prompts)
    loop = _Loop(task, opening, offer=offer, transcript=transcript, requests=requests, turns=turns, prompts=prompts)
    began = clock.monotonic()
    try:
        ending = loop.run(meter)
    finally:
        turns.close()
    answer = ending.answer
    given = [] if opening.digest is None else [(DIGEST, opening.digest, None)]
    results = [*given, *((call.id, call.result, call.arguments) for call in turns.calls if call.ran)]
    seconds = round(clock.monotonic() - began, 6)
    return Episode(
        task=task,
        model=model.name,
        prompt_hash=prompts.hash,
        language=prompts.language,
        tools=offer,
        tools_hash=content_hash(offer),
        budget=budget,
        prices=dict(sorted(meter.prices.items())),
        messages=transcript.messages,
        rounds=loop.rounds,
        calls=turns.calls,
        outcome=ending.outcome,
        reason=ending.reason,
        fault=ending.fault,
        value=answer.value if answer is not None else None,
        answer=answer.text if answer is not None else None,
        spans=cite(answer.spans, results) if answer is not None else [],
        timings=Timings(started_at=started_at, seconds=seconds, rounds=loop.timings),
    )


def _refuse_second_submit(tools: Toolset) -> None:
    if any(tool.name == SUBMIT_ANSWER for tool in tools.get_tools()):
        raise ToolFault(
            "duplicate_tool", f"a tool is named {SUBMIT_ANSWER!r}, as is the loop's own", hint="rename the tool"
        )


class _Loop:
    """The talk of one episode: what is asked, what is taken for an answer, and how it ends."""

    def __init__(
        self,
        task: Task,
        opening: Opening,
        *,
        offer: list[dict[str, Any]],
        transcript: Transcript,
        requests: Requests,
        turns: Turns,
        prompts: Prompts,
    ) -> None:
        self._task, self._question, self._opening, self._prompts = task, task.question, opening, prompts
        self._names = frozenset(item["function"]["name"] for item in offer)
        self._transcript, self._requests, self._turns = transcript, requests, turns
        self.rounds: list[RoundRecord] = []
        self.timings: list[RoundTiming] = []

    def run(self, meter: Meter) -> _Ending:
        try:
            self._open()
            return self._converse(meter)
        except EpisodeFault:
            raise
        except VideoWorldError as fault:
            return _Ending(outcome="failed", reason=fault.code, fault=FaultRecord.of(fault))
        # What was asked and answered so far has been paid for: the record keeps it, with the place of the defect.
        except Exception as error:  # noqa: BLE001 - see above
            defect = internal_fault(error)
            return _Ending(outcome="failed", reason=defect.code, fault=FaultRecord.of(defect))

    def _open(self) -> None:
        """The instructions; and the question, with what the system's own calls brought."""
        question, opening = self._question, self._opening
        told = {"as_of": question.as_of, "briefing": opening.briefing, "kind": question.kind}
        instructions = self._prompts.render(opening.instructions, **told)
        self._transcript.add({"role": "system", "content": instructions})
        options = list(zip(question.letters, question.options, strict=True))
        asked = self._prompts.render(
            "question", video_id=self._task.video_id, question=question.text, kind=question.kind, options=options
        )
        gathered: list[tuple[str, dict[str, Any]]] = []
        try:
            for first, result in self._turns.gather():
                if first.shown:
                    gathered.append((first.tool, result))
        finally:
            if opening.digest is not None:
                asked += "\n\n" + self._prompts.render("digest")
                gathered.insert(0, (DIGEST, opening.digest))
            self._transcript.add({"role": "user", "content": first_message(asked, gathered)})

    def _converse(self, meter: Meter) -> _Ending:
        slips = 0
        while True:
            meter.refuse_unpriced()
            limit = meter.reached()
            if limit is not None:
                return self._force(limit, meter)
            if slips > MAX_SLIPS_IN_A_ROW:
                return self._force("malformed_replies", meter)
            try:
                reply = self._read(self._requests.ask(), meter, tools_offered=True)
            except NoRoom:
                return self._force("window", meter)
            except TimeUp:
                return self._force("seconds", meter)
            if reply.calls:
                answer, slipped = self._turns.take(
                    reply.calls,
                    round_number=len(self.rounds),
                    transcript=self._transcript,
                    seconds=self.timings[-1].tool_seconds,
                )
                if answer is not None:
                    return _Ending(outcome="submitted", answer=answer)
                slips = slips + 1 if slipped else 0
                continue
            answer, problem = self._said(reply)
            if problem is None:
                return _Ending(outcome="prose", answer=answer)
            detail = str(self._opening.answer_after) if problem == "early_answer" else ""
            self._say(canonical({"error": self._prompts.notice(problem, detail)}))
            slips += 1

    def _said(self, reply: Reply) -> tuple[Answer | None, Problem | None]:
        """The answer in a reply without calls, or why it is none."""
        if reply.fault is not None:
            return None, reply.fault
        if self._turns.is_early:
            self._mark_round("early_answer")
            return None, "early_answer"
        answer = self._prose(reply)  # which marks one that was cut off
        if answer is None or answer.value is None:
            self._mark_round("untyped_answer")
        problem = next(iter(self.rounds[-1].problems), None)
        if problem is not None:
            self._turns.last_words = answer or self._turns.last_words
        return answer, problem

    def _force(self, reason: str, meter: Meter) -> _Ending:
        """Ask once, without tools, for the best answer."""
        letters = ", ".join(self._question.letters)
        self._say(self._prompts.render("forced", reason=reason, kind=self._question.kind, letters=letters))
        reply = self._read(self._requests.ask_at_last(), meter, tools_offered=False)
        answer = self._last_answer(reply)
        if answer is not None and answer.value is not None:
            return _Ending(outcome="forced", answer=answer, reason=reason)
        code, what = ("no_answer", "") if answer is None else ("untyped_answer", " of the type asked for")
        fault = FaultRecord(
            code=code,
            message=f"the model gave no answer{what} when asked for one ({reason})",
            hint="give a larger budget, or another model",
        )
        return _Ending(outcome="failed", answer=answer, reason=code, fault=fault)

    def _last_answer(self, reply: Reply) -> Answer | None:
        """Whatever answer there is once the model cannot be asked again: in a call, in words, or refused before."""
        given, before = self._given_at_last(reply), self._turns.last_words
        return next(
            (answer for answer in (given, before) if answer is not None and answer.value is not None), given or before
        )

    def _given_at_last(self, reply: Reply) -> Answer | None:
        for call in reply.calls:  # some models call submit_answer although no tool is offered
            answer = usable_answer(self._question, call.arguments) if call.tool == SUBMIT_ANSWER else None
            if answer is not None:
                if isinstance(parse_answer(self._question, call.arguments), str):
                    self._mark_round("bad_answer")
                return answer
        if reply.fault == "call_in_text":
            words = reply.content[: call_position(reply.content, self._names)]  # those that stand before the call
            given = answer_in_text(self._question, reply.content)
            return given or self._turns.last_words or read_answer(self._question, words)
        return self._prose(reply)

    def _prose(self, reply: Reply) -> Answer | None:
        """The words of a reply as the answer; marked where the server says that they were cut off."""
        if reply.content == self._prompts.render("nothing_said"):
            return None  # it only repeats what stands for its silence
        if reply.content and self.rounds[-1].finish_reason == "length":
            self._mark_round("cut_reply")
        return read_answer(self._question, reply.content)

    def _read(self, asked: Asked, meter: Meter, *, tools_offered: bool) -> Reply:
        number = len(self.rounds) + 1
        used_ids = {call.id for call in self._turns.calls}
        reply = read_reply(asked.reply, tools=self._names, round_number=number, used_ids=used_ids)
        meter.add_round(asked.usage)
        self.timings.append(RoundTiming(model_seconds=asked.seconds, tool_seconds=[]))
        self.rounds.append(
            RoundRecord(
                number=number,
                tools_offered=tools_offered,
                usage=asked.usage,
                finish_reason=asked.finish_reason,
                problems=[reply.fault] if reply.fault is not None else [],
                thought=reply.thought,
                physical=asked.physical,
                folded=asked.folded,
            )
        )
        self._transcript.add(reply.message())
        return reply

    def _mark_round(self, problem: Problem) -> None:
        self.rounds[-1] = replace(self.rounds[-1], problems=[*self.rounds[-1].problems, problem])

    def _say(self, text: str) -> None:
        self._transcript.add({"role": "user", "content": text})
