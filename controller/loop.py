"""The loop: messages to the model, its calls to the tools, their results back, until it answers or a limit is reached.

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
from controller.calls import SIDE_BY_SIDE, Calling, Made
from controller.episode import CallRecord, Episode, FaultRecord, Outcome, RoundRecord, RoundTiming, Task, Timings
from controller.evidence import DIGEST, cite
from controller.observations import Observation, call_slip
from controller.prompts import (
    NOTHING_MORE,
    FirstCall,
    Opening,
    PictureBook,
    Pictures,
    Prompts,
    first_call,
    first_message,
    no_pictures,
    refuse_failed,
)
from controller.questions import Question
from controller.replies import Problem, Reply, ToolCall, read_reply
from controller.toolsets import Toolset, judging_tokens, split_result
from controller.transcript import MAX_RESULT_CHARACTERS, Asked, NoRoom, Requests, TimeUp, Transcript
from world_api.backends.chat.prices import Prices
from world_api.backends.chat.wires.text_calls import call_position
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


_MALFORMED: frozenset[Problem] = frozenset(
    {"bad_call", "arguments_not_json", "arguments_not_object", "unknown_tool", "bad_answer"}
)


@dataclass(frozen=True, kw_only=True)
class _Told:
    """What a call is answered with that does not run."""

    result: dict[str, Any]
    problem: Problem | None = None


class Turns:
    """The calls so far. To be closed."""

    def __init__(
        self,
        question: Question,
        *,
        tools: Toolset,
        opening: Opening,
        meter: Meter,
        clock: Clock,
        prompts: Prompts,
    ) -> None:
        self.calls: list[CallRecord] = []
        self.last_words: Answer | None = None  #: of an answer that could not be taken as it was
        self._question = question
        self._opening = opening
        self._meter = meter
        self._prompts = prompts
        reading = frozenset(first.tool for first in opening.first_calls if first.reads)
        self._calling = Calling(
            tools,
            clock,
            overtime={"error": prompts.notice("tool_overtime")},
            too_late={"error": prompts.notice("budget_spent", "seconds")},
            reading=reading,
        )
        self._given: dict[str, tuple[dict[str, Any], int]] = {}  #: the last result of what was asked, and its place

    def close(self) -> None:
        """Let go of the threads."""
        self._calling.close()

    def gather(self) -> Iterator[tuple[FirstCall, dict[str, Any]]]:
        """Make the system's own calls, which come before the model is asked; what they brought.

        Raises:
            BackendFault: the fault of a call that is needed; ``no_price``.
        """
        number = 0
        for together in _side_by_side(self._opening.first_calls):
            self._meter.refuse_unpriced()
            if self._meter.reached() is not None:
                return  # the loop will see it too, and ask for an answer from what there is
            calls = [first_call(place, first) for place, first in enumerate(together, start=number)]
            number += len(calls)
            kept = []
            for call, made in zip(calls, self._calling.make(calls, left=self._meter.left()), strict=True):
                self._meter.add_spent(made.spent, judging=judging_tokens(made.result))
                kept.append(self._keep(call, made.result, round_number=0, made=made))
            for first, one in zip(together, kept, strict=True):
                refuse_failed(first, one.result)
                yield first, one.result

    def take(
        self, calls: Sequence[ToolCall], *, round_number: int, transcript: Transcript, seconds: list[float]
    ) -> tuple[Answer | None, bool]:
        """Run what can run, tell the model of the rest; the answer if one was submitted, and whether the reply was a slip.

        It is one where no call ran, or one was malformed, whatever ran beside it. What runs is decided before anything does, so
        that no result bears on it. ``seconds`` gets the time of each that ran.
        """
        answer, told = self._decided(calls)
        run = [call for call, item in zip(calls, told, strict=True) if item is None]
        made = iter(self._calling.make(run, left=self._meter.left()) if run else ())
        limit = transcript.most_characters(len(run))
        for call, item in zip(calls, told, strict=True):
            one = next(made) if item is None else None
            if one is not None and one.ran:
                seconds.append(one.seconds)
                self._tell_result(call, one, round_number, transcript, limit=limit)
                continue
            result, problem = (item.result, item.problem) if item is not None else (self._calling.too_late, None)
            self._keep(call, result, round_number=round_number, problem=problem)
            notice = self._prompts.notice(call.note) if call.note is not None else None
            seen = Observation(call=call, result=result, is_data=False, notice=notice)
            transcript.add(seen.message(self._prompts, limit=MAX_RESULT_CHARACTERS))
        malformed = any(item is not None and item.problem in _MALFORMED for item in told)
        return answer, malformed or not run

    @property
    def is_early(self) -> bool:
        """Whether an answer would come before what has to come first."""
        tried = [call for call in self.calls if call.ran and call.tool == self._opening.answer_after]
        enough = len(tried) >= self._opening.tries or any(not call.failed for call in tried)
        return self._opening.answer_after is not None and not enough

    def _decided(self, calls: Sequence[ToolCall]) -> tuple[Answer | None, list[_Told | None]]:
        """The answer, if one was submitted, and for each call what it is told; None for those that run."""
        answer: Answer | None = None
        told: list[_Told | None] = []
        left = self._meter.left()
        for call in calls:
            item: _Told | None = None
            if call.fault is not None:
                item = _Told(result={"error": call_slip(call, call.fault, self._prompts)}, problem=call.fault)
            elif answer is not None:
                item = self._slip("second_answer" if call.tool == SUBMIT_ANSWER else "call_after_answer")
            elif call.tool == SUBMIT_ANSWER:
                parsed = self._submitted(call)
                if isinstance(parsed, Answer):
                    answer, parsed = parsed, _Told(result={"accepted": True})
                item = parsed
            elif left <= 0 or not self._meter.may_call(told.count(None)):
                spent = self._prompts.notice("budget_spent", "seconds" if left <= 0 else "calls")
                item = _Told(result={"error": spent})
            told.append(item)
        return answer, told

    def _submitted(self, call: ToolCall) -> Answer | _Told:
        if self.is_early:
            return self._slip("early_answer", str(self._opening.answer_after))
        parsed = parse_answer(self._question, call.arguments)
        if isinstance(parsed, Answer):
            return parsed
        self.last_words = usable_answer(self._question, call.arguments) or self.last_words
        return self._slip("bad_answer", parsed)

    def _slip(self, problem: Problem, detail: str = "") -> _Told:
        return _Told(result={"error": self._prompts.notice(problem, detail)}, problem=problem)

    def _tell_result(
        self, call: ToolCall, made: Made, round_number: int, transcript: Transcript, *, limit: int
    ) -> None:
        """Keep what came back and tell it to the model; and where the very same came back before and still stands there."""
        self._meter.add_call(made.spent, judging=judging_tokens(made.result))
        found = split_result(made.result)[0]
        key = canonical([call.tool, call.arguments])
        before, place = self._given.get(key, (None, 0))
        stands = before == found and transcript.is_whole(place)
        note: Problem | None = call.note or ("asked_before" if stands else None)
        kept = self._keep(call, made.result, round_number=round_number, note=note, made=made)
        notice = self._prompts.notice(note) if note is not None else None
        seen = Observation(call=call, result=kept.result, is_data=not made.given_up, notice=notice)
        folds = (partial(seen.folded, self._prompts), partial(seen.dropped, self._prompts))
        self._given[key] = found, transcript.add_result(seen.message(self._prompts, limit=limit), folds)

    def _keep(
        self,
        call: ToolCall,
        result: Mapping[str, Any],
        *,
        round_number: int,
        problem: Problem | None = None,
        note: Problem | None = None,
        made: Made | None = None,
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


def _side_by_side(calls: Sequence[FirstCall]) -> Iterator[list[FirstCall]]:
    """Calls that only read, as many as are made at a time; and single calls that may not."""
    together: list[FirstCall] = []
    for call in calls:
        if together and not (call.reads and together[-1].reads and len(together) < SIDE_BY_SIDE):
            yield together
            together = []
        together.append(call)
    if together:
        yield together
