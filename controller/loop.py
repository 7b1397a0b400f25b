"""The loop of an episode: request, reply, tool calls and results, until an answer is given or the budget is spent.

Every episode ends with an answer in the type of its question, or with a named reason why there is none.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

from controller.answers import (
    SUBMIT_ANSWER,
    FinalAnswer,
    answer_in_text,
    parse_answer,
    read_answer,
    submit_answer_tool,
    usable_answer,
)
from controller.conversation import Conversation, ModelReply, ModelRequests, NoFurtherRound
from controller.digest import digest_in_lines
from controller.episode import (
    BudgetMeter,
    Episode,
    FaultRecord,
    Outcome,
    RoundRecord,
    RoundTiming,
    Task,
    Timings,
)
from controller.episode_tools import CALL_OPERATION, Hidden, Toolset, nothing_hidden
from controller.messages import DIGEST, Problem, Reply, cite, read_reply
from controller.options import Budget
from controller.prompts import EMPTY_PREAMBLE, Pictures, Preamble, Prompts, first_message, no_pictures
from controller.rendering import lean, read_more_tool
from controller.turns import TurnExecutor
from world_api.chat.messages import READ_MORE, Prices, call_position
from world_api.core.canonical import canonical_json, content_hash
from world_api.core.faults import EpisodeFault, ToolFault, VideoWorldError, internal_fault
from world_api.core.ports import ChatModel, Clock
from world_api.schemas.formats import openai_tool

MAX_MALFORMED_IN_A_ROW = 2
NO_PRICES = Prices()


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """How an episode ended, and its answer if there is one."""

    outcome: Outcome
    answer: FinalAnswer | None = None
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
    preamble: Preamble = EMPTY_PREAMBLE,
    pictures: Pictures = no_pictures,
    hidden: Hidden = nothing_hidden,
) -> Episode:
    """Run one episode, in which the model answers the task's question with these tools; return its record.

    ``pictures`` loads the pictures that results name. ``hidden`` returns the names of the tools that the next request does not
    declare, given the calls so far.

    Raises EpisodeFault: ``no_price``, for a budget of money without the model's price; ``replay_mismatch``, from a
    replayed model, toolset or clock; ToolFault: ``duplicate_tool``, if the tools include a ``submit_answer`` or a
    ``read_more`` of their own.
    """
    started_at = clock.now()
    meter = BudgetMeter(budget, clock, model=model.name, prices=prices)
    offered = tools.get_tools()
    if own := [tool.name for tool in offered if tool.name in (SUBMIT_ANSWER, READ_MORE)]:
        raise ToolFault("duplicate_tool", f"a tool is named {own[0]!r}, as is the loop's own", hint="rename the tool")
    paging = [read_more_tool(prompts)] if offered else []
    declared = (*offered, *paging, submit_answer_tool(task.question, prompts.of_answer))
    offer = [openai_tool(tool.name, tool.description, tool.parameters, strict=False) for tool in declared]
    transcript = Conversation(window=budget.window, filler=prompts.render("nothing_said"))
    requests = ModelRequests(
        model=model, transcript=transcript, offer=offer, pictures=functools.cache(pictures), meter=meter, clock=clock
    )
    turns = TurnExecutor(
        question=task.question, tools=tools, preamble=preamble, meter=meter, clock=clock, prompts=prompts
    )
    loop = _Loop(
        task=task, preamble=preamble, offer=offer, hidden=hidden, transcript=transcript, requests=requests, turns=turns,
        prompts=prompts, meter=meter,
    )  # fmt: skip
    began = clock.monotonic()
    ending = loop.run()
    answer = ending.answer
    given = [] if preamble.digest is None else [(DIGEST, preamble.digest, None)]
    results = [
        *given,
        *((call.id, call.result, call.arguments) for call in turns.calls if call.ran and call.tool != READ_MORE),
    ]
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


@dataclass(kw_only=True)
class _Loop:
    """The conversation of one episode: rounds of request and reply until there is an answer or the budget is spent."""

    task: Task
    preamble: Preamble
    offer: list[dict[str, Any]]  #: the declarations of all tools
    hidden: Hidden
    transcript: Conversation
    requests: ModelRequests
    turns: TurnExecutor
    prompts: Prompts
    meter: BudgetMeter
    rounds: list[RoundRecord] = field(default_factory=list)
    timings: list[RoundTiming] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools that the latest request declares."""
        return frozenset(tool["function"]["name"] for tool in self.requests.offer)

    def _declare(self) -> None:
        """Determine the tools that the next request declares."""
        hidden = self.hidden(self.turns.calls)
        self.requests.offer = [tool for tool in self.offer if tool["function"]["name"] not in hidden]
        self.transcript.declare(self.requests.offer)

    def run(self) -> _Ending:
        try:
            self._open()
            return self._converse()
        except EpisodeFault:
            raise
        except VideoWorldError as fault:
            return _Ending(outcome="failed", reason=fault.code, fault=FaultRecord.of(fault))
        # The rounds so far have been paid for: the record keeps them, with the place of the defect.
        except Exception as error:  # noqa: BLE001 - see above
            defect = internal_fault(error)
            return _Ending(outcome="failed", reason=defect.code, fault=FaultRecord.of(defect))

    def _open(self) -> None:
        """Add the system message and the first message: the question with the results of the system's own calls."""
        question, preamble = self.task.question, self.preamble
        instructions = self.prompts.render(
            preamble.instructions,
            as_of=question.as_of,
            briefing=preamble.briefing,
            kind=question.kind,
            may_abstain=question.may_abstain,
            notes=self._takes_notes(),
        )
        self.transcript.add({"role": "system", "content": instructions})
        options = list(zip(question.letters, question.options, strict=True))
        text = self.prompts.render(
            "question",
            question=question.text,
            kind=question.kind,
            options=options,
            may_abstain=question.may_abstain,
        )
        gathered: list[tuple[str, dict[str, Any]]] = []
        try:
            for first, result in self.turns.gather():
                if first.shown:
                    gathered.append((first.tool, lean(result)))
        finally:
            if preamble.digest is not None:
                text += "\n\n" + self.prompts.render("digest")
                gathered.insert(0, (DIGEST, digest_in_lines(preamble.digest)))
            self.transcript.add({"role": "user", "content": first_message(text, gathered)})

    def _takes_notes(self) -> bool:
        """Whether memories can be written from the first round on."""
        names = {tool["function"]["name"] for tool in self.offer}
        return "write_memory" in names and ("write_memory" not in self.hidden(()) or CALL_OPERATION in names)

    def _converse(self) -> _Ending:
        malformed = 0  # malformed replies in a row
        while True:
            self._declare()
            self.meter.refuse_unpriced()
            limit = self.meter.exceeded()
            if limit is not None:
                return self._force(limit)
            if malformed > MAX_MALFORMED_IN_A_ROW:
                return self._force("malformed_replies")
            try:
                reply = self._read(self.requests.ask(), tools_offered=True)
            except NoFurtherRound as stop:
                return self._force(str(stop))
            if reply.calls:
                turn = self.turns.execute(reply.calls, round_number=len(self.rounds), transcript=self.transcript)
                self.timings[-1].tool_seconds.extend(turn.call_seconds)
                if turn.answer is not None:
                    return _Ending(outcome="submitted", answer=turn.answer)
                malformed = malformed + 1 if turn.malformed else 0
                continue
            answer, problem = self._answer_without_calls(reply)
            if problem is None:
                return _Ending(outcome="prose", answer=answer)
            detail = str(self.preamble.answer_after) if problem == "early_answer" else ""
            self._say(canonical_json({"error": self.prompts.notice(problem, detail)}))
            malformed += 1

    def _answer_without_calls(self, reply: Reply) -> tuple[FinalAnswer | None, Problem | None]:
        """Return the answer in a reply without calls, if any, and the problem with the reply; no problem if it is accepted."""
        if reply.fault is not None:
            return None, reply.fault
        if self.turns.is_early:
            self._mark_round("early_answer")
            return None, "early_answer"
        answer = self._answer_in_prose(reply)  # marks the round if the reply was cut off
        if answer is None or answer.value is None:
            self._mark_round("untyped_answer")
        problem = next(iter(self.rounds[-1].problems), None)
        if problem is not None:
            self.turns.rejected_answer = answer or self.turns.rejected_answer
        return answer, problem

    def _force(self, reason: str) -> _Ending:
        """Request the best answer so far once, without tools; return the ending. ``reason``: why it is forced."""
        question = self.task.question
        words = {"kind": question.kind, "letters": ", ".join(question.letters), "may_abstain": question.may_abstain}
        self._say(self.prompts.render("forced", reason=reason, **words))
        reply = self._read(self.requests.ask_final(), tools_offered=False)
        # The best answer in the final reply or in one that was rejected before; a typed one if possible.
        given, before = self._answer_in_final_reply(reply), self.turns.rejected_answer
        typed = (one for one in (given, before) if one is not None and one.value is not None)
        answer = next(typed, given or before)
        if answer is not None and answer.value is not None:
            return _Ending(outcome="forced", answer=answer, reason=reason)
        code, what = ("no_answer", "") if answer is None else ("untyped_answer", " of the type asked for")
        fault = FaultRecord(
            code=code,
            message=f"the model gave no answer{what} when asked for one ({reason})",
            hint="give a larger budget, or another model",
        )
        return _Ending(outcome="failed", answer=answer, reason=code, fault=fault)

    def _answer_in_final_reply(self, reply: Reply) -> FinalAnswer | None:
        for call in reply.calls:  # some models call submit_answer although no tool is offered
            answer = usable_answer(self.task.question, call.arguments) if call.tool == SUBMIT_ANSWER else None
            if answer is not None:
                if isinstance(parse_answer(self.task.question, call.arguments), str):
                    self._mark_round("bad_answer")
                return answer
        if reply.fault == "call_in_text":
            words = reply.content[: call_position(reply.content, self.names)]  # the text before the call
            given = answer_in_text(self.task.question, reply.content)
            return given or self.turns.rejected_answer or read_answer(self.task.question, words)
        return self._answer_in_prose(reply)

    def _answer_in_prose(self, reply: Reply) -> FinalAnswer | None:
        """Return the answer in a reply's text, if any; a round whose reply was cut off gets the problem ``cut_reply``."""
        if reply.content == self.prompts.render("nothing_said"):
            return None  # the model repeats the filler of an empty reply
        if reply.content and self.rounds[-1].finish_reason == "length":
            self._mark_round("cut_reply")
        return read_answer(self.task.question, reply.content)

    def _read(self, answered: ModelReply, *, tools_offered: bool) -> Reply:
        """Parse a reply, record its round and append it to the transcript."""
        number = len(self.rounds) + 1
        used_ids = {call.id for call in self.turns.calls}
        reply = read_reply(answered.reply, tools=self.names, round_number=number, used_ids=used_ids)
        self.meter.add_round(answered.usage)
        self.timings.append(RoundTiming(model_seconds=answered.seconds, tool_seconds=[]))
        self.rounds.append(
            RoundRecord(
                number=number,
                tools_offered=tools_offered,
                usage=answered.usage,
                finish_reason=answered.finish_reason,
                problems=[reply.fault] if reply.fault is not None else [],
                thought=reply.thought,
                physical=answered.physical,
                folded=answered.folded,
            )
        )
        self.transcript.add(reply.message())
        return reply

    def _mark_round(self, problem: Problem) -> None:
        self.rounds[-1] = replace(self.rounds[-1], problems=[*self.rounds[-1].problems, problem])

    def _say(self, text: str) -> None:
        self.transcript.add({"role": "user", "content": text})
