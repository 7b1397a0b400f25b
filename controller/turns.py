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
from world_api.core.ports import Clock

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
