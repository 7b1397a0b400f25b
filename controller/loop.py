"""The loop: messages to the model, its calls to the tools, their results back, until it answers or the budget is spent.

Every episode ends with an answer in the type of its question, or with a named reason why there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from controller.answers import (
    SUBMIT_ANSWER,
    Answer,
    answer_in_text,
    parse_answer,
    read_answer,
    submit_answer_tool,
    usable_answer,
)
from controller.budgets import Budget, Meter
from controller.calls import MAX_PARALLEL, CallExecutor, CallOutcome
from controller.episode import CallRecord, Episode, FaultRecord, Outcome, RoundRecord, RoundTiming, Task, Timings
from controller.evidence import DIGEST, cite
from controller.observations import Observation, call_slip
from controller.prompts import (
    EMPTY_PREAMBLE,
    FirstCall,
    PictureBook,
    Pictures,
    Preamble,
    Prompts,
    first_call,
    first_message,
    no_pictures,
    refuse_failed,
)
from controller.questions import Question
from controller.replies import Problem, Reply, ToolCall, read_reply
from controller.toolsets import Toolset, judging_tokens, split_result
from controller.transcript import (
    MAX_RESULT_CHARACTERS,
    EpisodeTimeout,
    ModelReply,
    ModelRequests,
    Transcript,
    WindowExceeded,
)
from world_api.chat.messages import call_position
from world_api.chat.usage import Prices
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
    preamble: Preamble = EMPTY_PREAMBLE,
    pictures: Pictures = no_pictures,
) -> Episode:
    """Run one episode: the model answers the task's question with these tools. ``pictures`` loads the pictures that results name.

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
    requests = ModelRequests(model, transcript, offer=offer, pictures=book, meter=meter, clock=clock)
    turns = TurnExecutor(task.question, tools=tools, preamble=preamble, meter=meter, clock=clock, prompts=prompts)
    loop = _Loop(task, preamble, offer=offer, transcript=transcript, requests=requests, turns=turns, prompts=prompts)
    began = clock.monotonic()
    try:
        ending = loop.run(meter)
    finally:
        turns.close()
    answer = ending.answer
    given = [] if preamble.digest is None else [(DIGEST, preamble.digest, None)]
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
    """The conversation of one episode: rounds of request and reply until there is an answer or the budget is spent."""

    def __init__(
        self,
        task: Task,
        preamble: Preamble,
        *,
        offer: list[dict[str, Any]],
        transcript: Transcript,
        requests: ModelRequests,
        turns: TurnExecutor,
        prompts: Prompts,
    ) -> None:
        self._task, self._question, self._preamble, self._prompts = task, task.question, preamble, prompts
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
        # The rounds so far have been paid for: the record keeps them, with the place of the defect.
        except Exception as error:  # noqa: BLE001 - see above
            defect = internal_fault(error)
            return _Ending(outcome="failed", reason=defect.code, fault=FaultRecord.of(defect))

    def _open(self) -> None:
        """Add the system message and the question, with the results of the system's own calls."""
        question, preamble = self._question, self._preamble
        instructions = self._prompts.render(
            preamble.instructions, as_of=question.as_of, briefing=preamble.briefing, kind=question.kind
        )
        self._transcript.add({"role": "system", "content": instructions})
        options = list(zip(question.letters, question.options, strict=True))
        text = self._prompts.render(
            "question", video_id=self._task.video_id, question=question.text, kind=question.kind, options=options
        )
        gathered: list[tuple[str, dict[str, Any]]] = []
        try:
            for first, result in self._turns.gather():
                if first.shown:
                    gathered.append((first.tool, result))
        finally:
            if preamble.digest is not None:
                text += "\n\n" + self._prompts.render("digest")
                gathered.insert(0, (DIGEST, preamble.digest))
            self._transcript.add({"role": "user", "content": first_message(text, gathered)})

    def _converse(self, meter: Meter) -> _Ending:
        malformed = 0  # malformed replies in a row
        while True:
            meter.refuse_unpriced()
            limit = meter.exceeded()
            if limit is not None:
                return self._force(limit, meter)
            if malformed > MAX_MALFORMED_IN_A_ROW:
                return self._force("malformed_replies", meter)
            try:
                reply = self._read(self._requests.ask(), meter, tools_offered=True)
            except WindowExceeded:
                return self._force("window", meter)
            except EpisodeTimeout:
                return self._force("seconds", meter)
            if reply.calls:
                turn = self._turns.execute(reply.calls, round_number=len(self.rounds), transcript=self._transcript)
                self.timings[-1].tool_seconds.extend(turn.call_seconds)
                if turn.answer is not None:
                    return _Ending(outcome="submitted", answer=turn.answer)
                malformed = malformed + 1 if turn.malformed else 0
                continue
            answer, problem = self._answer_without_calls(reply)
            if problem is None:
                return _Ending(outcome="prose", answer=answer)
            detail = str(self._preamble.answer_after) if problem == "early_answer" else ""
            self._say(canonical_json({"error": self._prompts.notice(problem, detail)}))
            malformed += 1

    def _answer_without_calls(self, reply: Reply) -> tuple[Answer | None, Problem | None]:
        """Return the answer in a reply without calls; otherwise also the problem with it."""
        if reply.fault is not None:
            return None, reply.fault
        if self._turns.is_early:
            self._mark_round("early_answer")
            return None, "early_answer"
        answer = self._answer_in_prose(reply)  # marks the round if the reply was cut off
        if answer is None or answer.value is None:
            self._mark_round("untyped_answer")
        problem = next(iter(self.rounds[-1].problems), None)
        if problem is not None:
            self._turns.rejected_answer = answer or self._turns.rejected_answer
        return answer, problem

    def _force(self, reason: str, meter: Meter) -> _Ending:
        """Request the best answer so far once, without tools; used when the budget is spent."""
        letters = ", ".join(self._question.letters)
        self._say(self._prompts.render("forced", reason=reason, kind=self._question.kind, letters=letters))
        reply = self._read(self._requests.ask_final(), meter, tools_offered=False)
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
        """Return the best answer there is in the final reply or in an answer that was rejected before; a typed one if possible."""
        given, before = self._answer_in_final_reply(reply), self._turns.rejected_answer
        return next(
            (answer for answer in (given, before) if answer is not None and answer.value is not None), given or before
        )

    def _answer_in_final_reply(self, reply: Reply) -> Answer | None:
        for call in reply.calls:  # some models call submit_answer although no tool is offered
            answer = usable_answer(self._question, call.arguments) if call.tool == SUBMIT_ANSWER else None
            if answer is not None:
                if isinstance(parse_answer(self._question, call.arguments), str):
                    self._mark_round("bad_answer")
                return answer
        if reply.fault == "call_in_text":
            words = reply.content[: call_position(reply.content, self._names)]  # the text before the call
            given = answer_in_text(self._question, reply.content)
            return given or self._turns.rejected_answer or read_answer(self._question, words)
        return self._answer_in_prose(reply)

    def _answer_in_prose(self, reply: Reply) -> Answer | None:
        """Parse the text of a reply as the answer; the round is marked if the server says the reply was cut off."""
        if reply.content == self._prompts.render("nothing_said"):
            return None  # the model repeats the filler of an empty reply
        if reply.content and self.rounds[-1].finish_reason == "length":
            self._mark_round("cut_reply")
        return read_answer(self._question, reply.content)

    def _read(self, answered: ModelReply, meter: Meter, *, tools_offered: bool) -> Reply:
        """Parse a reply, record its round and append it to the transcript."""
        number = len(self.rounds) + 1
        used_ids = {call.id for call in self._turns.calls}
        reply = read_reply(answered.reply, tools=self._names, round_number=number, used_ids=used_ids)
        meter.add_round(answered.usage)
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
        self._transcript.add(reply.message())
        return reply

    def _mark_round(self, problem: Problem) -> None:
        self.rounds[-1] = replace(self.rounds[-1], problems=[*self.rounds[-1].problems, problem])

    def _say(self, text: str) -> None:
        self._transcript.add({"role": "user", "content": text})


_MALFORMED: frozenset[Problem] = frozenset(
    {"bad_call", "arguments_not_json", "arguments_not_object", "unknown_tool", "bad_answer"}
)


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """The result that the model gets for a call that is not executed."""

    result: dict[str, Any]
    problem: Problem | None = None


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """The outcome of the calls of one reply.

    ``malformed``: no call was executed, or at least one was malformed. ``call_seconds``: the duration of each executed call.
    """

    answer: Answer | None
    malformed: bool
    call_seconds: list[float]


class TurnExecutor:
    """Executes the calls of one episode, records them and appends their results to the transcript. Must be closed."""

    def __init__(
        self,
        question: Question,
        *,
        tools: Toolset,
        preamble: Preamble,
        meter: Meter,
        clock: Clock,
        prompts: Prompts,
    ) -> None:
        self.calls: list[CallRecord] = []
        self.rejected_answer: Answer | None = None  #: what can be used of an answer that was not valid
        self._question = question
        self._preamble = preamble
        self._meter = meter
        self._prompts = prompts
        reading = frozenset(first.tool for first in preamble.first_calls if first.reads)
        self._executor = CallExecutor(
            tools,
            clock,
            overtime={"error": prompts.notice("tool_overtime")},
            too_late={"error": prompts.notice("budget_spent", "seconds")},
            reading=reading,
        )
        self._last_results: dict[str, tuple[dict[str, Any], int]] = {}  #: by call: its last result and position

    def close(self) -> None:
        """End the worker threads."""
        self._executor.close()

    def gather(self) -> Iterator[tuple[FirstCall, dict[str, Any]]]:
        """Execute the system's own calls, which precede the first round, and yield their results.

        Raises:
            BackendFault: the fault of a required call; ``no_price``.
        """
        number = 0
        for together in _parallel_groups(self._preamble.first_calls):
            self._meter.refuse_unpriced()
            if self._meter.exceeded() is not None:
                return  # the loop sees the limit too, and requests a final answer
            calls = [first_call(place, first) for place, first in enumerate(together, start=number)]
            number += len(calls)
            kept = []
            for call, made in zip(calls, self._executor.execute(calls, left=self._meter.left()), strict=True):
                self._meter.add_spent(made.spent, judging=judging_tokens(made.result))
                kept.append(self._keep(call, made.result, round_number=0, made=made))
            for first, one in zip(together, kept, strict=True):
                refuse_failed(first, one.result)
                yield first, one.result

    def execute(self, calls: Sequence[ToolCall], *, round_number: int, transcript: Transcript) -> TurnResult:
        """Execute the valid calls of one reply and append every result or rejection to the transcript.

        Which calls run is decided before the first one runs, so that no result influences the decision.
        """
        answer, rejections = self._plan(calls)
        valid = [call for call, rejection in zip(calls, rejections, strict=True) if rejection is None]
        outcomes = iter(self._executor.execute(valid, left=self._meter.left()) if valid else ())
        limit = transcript.most_characters(len(valid))
        seconds = []
        for call, rejection in zip(calls, rejections, strict=True):
            outcome = next(outcomes) if rejection is None else None
            if outcome is not None and outcome.ran:
                seconds.append(outcome.seconds)
                self._add_result(call, outcome, round_number, transcript, limit=limit)
                continue
            result, problem = (self._executor.too_late, None)
            if rejection is not None:
                result, problem = rejection.result, rejection.problem
            self._keep(call, result, round_number=round_number, problem=problem)
            notice = self._prompts.notice(call.note) if call.note is not None else None
            seen = Observation(call=call, result=result, is_data=False, notice=notice)
            transcript.add(seen.message(self._prompts, limit=MAX_RESULT_CHARACTERS))
        malformed = any(item is not None and item.problem in _MALFORMED for item in rejections)
        return TurnResult(answer=answer, malformed=malformed or not valid, call_seconds=seconds)

    @property
    def is_early(self) -> bool:
        """Whether an answer would come before the call that the system requires first."""
        tried = [call for call in self.calls if call.ran and call.tool == self._preamble.answer_after]
        enough = len(tried) >= self._preamble.tries or any(not call.failed for call in tried)
        return self._preamble.answer_after is not None and not enough

    def _plan(self, calls: Sequence[ToolCall]) -> tuple[Answer | None, list[Rejection | None]]:
        """Return the submitted answer, if any, and for each call its rejection, or None if it is to be executed."""
        answer: Answer | None = None
        rejections: list[Rejection | None] = []
        left = self._meter.left()
        for call in calls:
            item: Rejection | None = None
            if call.fault is not None:
                item = Rejection(result={"error": call_slip(call, call.fault, self._prompts)}, problem=call.fault)
            elif answer is not None:
                item = self._rejection("second_answer" if call.tool == SUBMIT_ANSWER else "call_after_answer")
            elif call.tool == SUBMIT_ANSWER:
                parsed = self._submitted(call)
                if isinstance(parsed, Answer):
                    answer, parsed = parsed, Rejection(result={"accepted": True})
                item = parsed
            elif left <= 0 or not self._meter.may_call(rejections.count(None)):
                spent = self._prompts.notice("budget_spent", "seconds" if left <= 0 else "calls")
                item = Rejection(result={"error": spent})
            rejections.append(item)
        return answer, rejections

    def _submitted(self, call: ToolCall) -> Answer | Rejection:
        if self.is_early:
            return self._rejection("early_answer", str(self._preamble.answer_after))
        parsed = parse_answer(self._question, call.arguments)
        if isinstance(parsed, Answer):
            return parsed
        self.rejected_answer = usable_answer(self._question, call.arguments) or self.rejected_answer
        return self._rejection("bad_answer", parsed)

    def _rejection(self, problem: Problem, detail: str = "") -> Rejection:
        return Rejection(result={"error": self._prompts.notice(problem, detail)}, problem=problem)

    def _add_result(
        self, call: ToolCall, made: CallOutcome, round_number: int, transcript: Transcript, *, limit: int
    ) -> None:
        """Record a result, append it cut to ``limit`` characters, and note a repeat of a call whose equal result is still shown."""
        self._meter.add_call(made.spent, judging=judging_tokens(made.result))
        found = split_result(made.result)[0]
        key = canonical_json([call.tool, call.arguments])
        before, place = self._last_results.get(key, (None, 0))
        is_repeated = before == found and transcript.is_whole(place)
        note: Problem | None = call.note or ("asked_before" if is_repeated else None)
        kept = self._keep(call, made.result, round_number=round_number, note=note, made=made)
        notice = self._prompts.notice(note) if note is not None else None
        seen = Observation(call=call, result=kept.result, is_data=not made.timed_out, notice=notice)
        folds = (partial(seen.folded, self._prompts), partial(seen.dropped, self._prompts))
        self._last_results[key] = found, transcript.add_result(seen.message(self._prompts, limit=limit), folds)

    def _keep(
        self,
        call: ToolCall,
        result: Mapping[str, Any],
        *,
        round_number: int,
        problem: Problem | None = None,
        note: Problem | None = None,
        made: CallOutcome | None = None,
    ) -> CallRecord:
        found, inner_calls, origins = split_result(result)
        kept = CallRecord(
            id=call.id,
            round=round_number,
            tool=call.tool,
            written=call.written,
            arguments=call.arguments,
            result=found,
            inner_calls=inner_calls,
            origins=origins,
            ran=made is not None and made.ran,
            problem=problem,
            note=note or call.note,
            spent=list(made.spent) if made is not None else [],
        )
        self.calls.append(kept)
        return kept


def _parallel_groups(calls: Sequence[FirstCall]) -> Iterator[list[FirstCall]]:
    """Group neighbouring calls that only read, up to the parallel limit; every other call is a group of its own."""
    together: list[FirstCall] = []
    for call in calls:
        if together and not (call.reads and together[-1].reads and len(together) < MAX_PARALLEL):
            yield together
            together = []
        together.append(call)
    if together:
        yield together
