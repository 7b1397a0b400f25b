"""The calls of an episode: what of a reply runs is decided, it is made, kept in the record, and told to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from controller.budgets import Meter
from controller.calling import SIDE_BY_SIDE, Calling, Made
from controller.conversation.answers import SUBMIT_ANSWER, Answer, parse_answer, usable_answer
from controller.conversation.gathering import first_call, refuse_failed
from controller.conversation.observations import Observation, call_slip
from controller.conversation.opening import FirstCall, Opening
from controller.conversation.prompting import Prompts
from controller.conversation.replies import Problem, ToolCall
from controller.conversation.transcript import MAX_RESULT_CHARACTERS, Transcript
from controller.episode import CallRecord
from controller.questions import Question
from controller.toolsets import Toolset, judging_tokens, split_result
from world_api.core.canonical import canonical
from world_api.core.faults import ErrorBody
from world_api.core.ports import Clock


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
        self._calling = Calling(tools, clock, overtime={"error": prompts.notice("tool_overtime")}, reading=reading)
        self._given: dict[str, dict[str, Any]] = {}  #: the last result of what was asked

    def close(self) -> None:
        """Let go of the threads."""
        self._calling.close()

    def gather(self) -> Iterator[tuple[FirstCall, dict[str, Any]]]:
        """Make the system's own calls, which come before the model is asked; what they brought.

        Raises:
            BackendFault: the fault of a call that is needed.
        """
        number = 0
        for together in _side_by_side(self._opening.first_calls):
            if self._meter.reached() is not None:
                return  # the loop will see it too, and ask for an answer from what there is
            calls = [first_call(place, first) for place, first in enumerate(together, start=number)]
            number += len(calls)
            kept = []
            for call, made in zip(calls, self._calling.make(calls, left=self._meter.left()), strict=True):
                self._meter.add_spent(made.spent, judging=judging_tokens(made.result))
                kept.append(self._keep(call, made.result, round_number=0, spent=made))
            for first, one in zip(together, kept, strict=True):
                refuse_failed(first, one.result)
                yield first, one.result

    def take(
        self, calls: Sequence[ToolCall], *, round_number: int, transcript: Transcript, seconds: list[float]
    ) -> tuple[Answer | None, bool]:
        """Run what can run, tell the model of the rest; the answer if one was submitted, and whether anything ran.

        What runs is decided before anything does, so that no result bears on it. ``seconds`` gets the time of each that ran.
        """
        answer, told = self._decided(calls)
        run = [call for call, item in zip(calls, told, strict=True) if item is None]
        made = iter(self._calling.make(run, left=self._meter.left()) if run else ())
        limit = transcript.most_characters(len(run))
        for call, item in zip(calls, told, strict=True):
            if item is not None:
                kept = self._keep(call, item.result, round_number=round_number, problem=item.problem)
                notice = self._prompts.notice(call.note) if call.note is not None else None
            else:
                one = next(made)
                self._meter.add_call(one.spent, judging=judging_tokens(one.result))
                seconds.append(one.seconds)
                kept, notice = self._keep_result(call, one, round_number)
            seen = Observation(call=call, result=kept.result, is_data=item is None, notice=notice)
            message = seen.message(self._prompts, limit=limit if item is None else MAX_RESULT_CHARACTERS)
            if item is None:
                transcript.add_result(
                    message, (partial(seen.folded, self._prompts), partial(seen.dropped, self._prompts))
                )
            else:
                transcript.add(message)
        return answer, bool(run)

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

    def _keep_result(self, call: ToolCall, made: Made, round_number: int) -> tuple[CallRecord, ErrorBody | None]:
        """Keep what came back; and tell where the very same came back before."""
        found = split_result(made.result)[0]
        key = canonical([call.tool, call.arguments])
        note: Problem | None = call.note or ("asked_before" if self._given.get(key) == found else None)
        self._given[key] = found
        kept = self._keep(call, made.result, round_number=round_number, note=note, spent=made)
        return kept, self._prompts.notice(note) if note is not None else None

    def _keep(
        self,
        call: ToolCall,
        result: Mapping[str, Any],
        *,
        round_number: int,
        problem: Problem | None = None,
        note: Problem | None = None,
        spent: Made | None = None,
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
            ran=spent is not None,
            problem=problem,
            note=note or call.note,
            spent=list(spent.spent) if spent is not None else [],
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
