"""The calls of one model reply: which of them run, and what the model gets for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any

from controller.answers import SUBMIT_ANSWER, FinalAnswer, parse_answer, usable_answer
from controller.calls import MAX_PARALLEL, CallExecutor, CallOutcome
from controller.episode import CallRecord
from controller.episode_budget import BudgetMeter
from controller.episode_tools import Toolset, judging_tokens, split_result
from controller.observations import Observation, call_slip
from controller.prompts import FirstCall, Preamble, Prompts
from controller.questions import Question
from controller.replies import Problem, ToolCall
from controller.transcript import MAX_RESULT_CHARACTERS, Conversation
from world_api.core.canonical import canonical_json, json_line
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

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

    answer: FinalAnswer | None
    malformed: bool
    call_seconds: list[float]


@dataclass(kw_only=True)
class TurnExecutor:
    """Executes the calls of one episode, records them and appends their results to the transcript."""

    question: Question
    tools: Toolset
    preamble: Preamble
    meter: BudgetMeter
    clock: Clock
    prompts: Prompts
    calls: list[CallRecord] = field(default_factory=list)
    rejected_answer: FinalAnswer | None = None  #: what can be used of an answer that was not valid

    def __post_init__(self) -> None:
        self._executor = CallExecutor(
            tools=self.tools,
            clock=self.clock,
            overtime={"error": self.prompts.notice("tool_overtime")},
            too_late={"error": self.prompts.notice("budget_spent", "seconds")},
            reading=frozenset(first.tool for first in self.preamble.first_calls if first.reads),
        )
        self._last_results: dict[str, tuple[dict[str, Any], int]] = {}  #: by call: its last result and position

    def gather(self) -> Iterator[tuple[FirstCall, dict[str, Any]]]:
        """Execute the system's own calls, which precede the first round, and yield their results.

        Raises BackendFault: the fault of a required call; ``no_price``.
        """
        number = 0
        for together in _parallel_groups(self.preamble.first_calls):
            self.meter.refuse_unpriced()
            if self.meter.exceeded() is not None:
                return  # the loop sees the limit too, and requests a final answer
            calls = [
                ToolCall(
                    id=f"first_{place}", tool=first.tool, arguments=first.arguments, written=json_line(first.arguments)
                )
                for place, first in enumerate(together, start=number + 1)
            ]
            number += len(calls)
            kept = []
            for call, made in zip(calls, self._executor.execute(calls, left=self.meter.left()), strict=True):
                self.meter.add_spent(made.spent, judging=judging_tokens(made.result))
                kept.append(self._keep(call, made.result, round_number=0, made=made))
            for first, one in zip(together, kept, strict=True):
                error = one.result.get("error")
                if first.needed and isinstance(error, Mapping):
                    raise BackendFault(
                        str(error.get("code")), str(error.get("message")), hint=str(error.get("hint", ""))
                    )
                yield first, one.result

    def execute(self, calls: Sequence[ToolCall], *, round_number: int, transcript: Conversation) -> TurnResult:
        """Execute the valid calls of one reply and append every result or rejection to the transcript.

        Which calls run is decided before the first one runs, so that no result influences the decision.
        """
        answer, rejections = self._plan(calls)
        valid = [call for call, rejection in zip(calls, rejections, strict=True) if rejection is None]
        outcomes = iter(self._executor.execute(valid, left=self.meter.left()) if valid else ())
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
            notice = self.prompts.notice(call.note) if call.note is not None else None
            seen = Observation(call=call, result=result, is_data=False, notice=notice)
            transcript.add(seen.message(self.prompts, limit=MAX_RESULT_CHARACTERS))
        malformed = any(item is not None and item.problem in _MALFORMED for item in rejections)
        return TurnResult(answer=answer, malformed=malformed or not valid, call_seconds=seconds)

    @property
    def is_early(self) -> bool:
        """Whether an answer would come before the call that the system requires first."""
        tried = [call for call in self.calls if call.ran and call.tool == self.preamble.answer_after]
        enough = len(tried) >= self.preamble.tries or any(not call.failed for call in tried)
        return self.preamble.answer_after is not None and not enough

    def _plan(self, calls: Sequence[ToolCall]) -> tuple[FinalAnswer | None, list[Rejection | None]]:
        """Return the submitted answer, if any, and for each call its rejection, or None if it is to be executed."""
        answer: FinalAnswer | None = None
        rejections: list[Rejection | None] = []
        left = self.meter.left()
        for call in calls:
            item: Rejection | None = None
            if call.fault is not None:
                item = Rejection(result={"error": call_slip(call, call.fault, self.prompts)}, problem=call.fault)
            elif answer is not None:
                item = self._rejection("second_answer" if call.tool == SUBMIT_ANSWER else "call_after_answer")
            elif call.tool == SUBMIT_ANSWER:
                parsed = self._submitted(call)
                if isinstance(parsed, FinalAnswer):
                    answer, parsed = parsed, Rejection(result={"accepted": True})
                item = parsed
            elif left <= 0 or not self.meter.may_call(rejections.count(None)):
                spent = self.prompts.notice("budget_spent", "seconds" if left <= 0 else "calls")
                item = Rejection(result={"error": spent})
            rejections.append(item)
        return answer, rejections

    def _submitted(self, call: ToolCall) -> FinalAnswer | Rejection:
        if self.is_early:
            return self._rejection("early_answer", str(self.preamble.answer_after))
        parsed = parse_answer(self.question, call.arguments)
        if isinstance(parsed, FinalAnswer):
            return parsed
        self.rejected_answer = usable_answer(self.question, call.arguments) or self.rejected_answer
        return self._rejection("bad_answer", parsed)

    def _rejection(self, problem: Problem, detail: str = "") -> Rejection:
        return Rejection(result={"error": self.prompts.notice(problem, detail)}, problem=problem)

    def _add_result(
        self, call: ToolCall, made: CallOutcome, round_number: int, transcript: Conversation, *, limit: int
    ) -> None:
        """Record a result, append it cut to ``limit`` characters, and note a repeat of a call whose equal result is still shown."""
        self.meter.add_call(made.spent, judging=judging_tokens(made.result))
        found = split_result(made.result)[0]
        key = canonical_json([call.tool, call.arguments])
        before, place = self._last_results.get(key, (None, 0))
        is_repeated = before == found and transcript.is_whole(place)
        note: Problem | None = call.note or ("asked_before" if is_repeated else None)
        kept = self._keep(call, made.result, round_number=round_number, note=note, made=made)
        notice = self.prompts.notice(note) if note is not None else None
        seen = Observation(call=call, result=kept.result, is_data=not made.timed_out, notice=notice)
        folds = (partial(seen.folded, self.prompts), partial(seen.dropped, self.prompts))
        self._last_results[key] = found, transcript.add_result(seen.message(self.prompts, limit=limit), folds)

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
    for reads, run in itertools.groupby(calls, key=attrgetter("reads")):
        group = list(run)
        size = MAX_PARALLEL if reads else 1
        yield from (group[start : start + size] for start in range(0, len(group), size))
