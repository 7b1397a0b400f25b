"""The loop of an episode: request, reply, tool calls and results, until an answer is given or the budget is spent.

Every episode ends with an answer in the type of its question, or with a named reason why there is none.

The tool calls of one model reply: which of them run, how they run, and what the model gets for each.

Calls that only read run in parallel, calls that write run alone and in order. Results do not depend on thread timing: they are
returned in the order of the calls, and the recorded clock is read by the loop's thread only.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from controller.answers import (
    SUBMIT_ANSWER,
    FinalAnswer,
    Question,
    answer_in_text,
    parse_answer,
    read_answer,
    submit_answer_tool,
    usable_answer,
)
from controller.conversation import (
    EMPTY_PREAMBLE,
    Conversation,
    FirstCall,
    ModelReply,
    ModelRequests,
    NoFurtherRound,
    Pictures,
    Preamble,
    Prompts,
    first_message,
    no_pictures,
)
from controller.digest import digest_in_lines
from controller.episode import (
    BudgetMeter,
    CallRecord,
    Episode,
    FaultRecord,
    Outcome,
    RoundRecord,
    RoundTiming,
    Task,
    Timings,
)
from controller.episode_tools import (
    CALL_OPERATION,
    Hidden,
    Toolset,
    judging_tokens,
    nothing_hidden,
    operation_called,
    split_result,
)
from controller.messages import DIGEST, Problem, Reply, ToolCall, cite, read_reply
from controller.options import Budget
from controller.rendering import Observation, call_slip, lean, read_more_tool
from world_api.chat.messages import CURSOR, MAX_RESULT_CHARACTERS, READ_MORE, Page, Prices, ResultPages, call_position
from world_api.core.canonical import canonical_json, content_hash, json_line
from world_api.core.cost import Ledger, Spent, deadline, ledger
from world_api.core.faults import (
    BackendFault,
    EpisodeFault,
    ToolFault,
    VideoWorldError,
    as_stored,
    internal_fault,
    tool_result_or_error,
)
from world_api.core.ports import ChatModel, Clock
from world_api.schemas.formats import openai_tool

MAX_PARALLEL = 8
#: Least seconds of waiting for all calls of a reply together, however little time the episode has left.
_SHORTEST_WAIT = 0.5


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """The outcome of one call: its whole result, what it spent, and the seconds since the result before (or the start).

    ``timed_out``: the call did not end in time, and the result is a notice of this. ``ran`` is False if no time was
    left to start it.
    """

    result: dict[str, Any]
    spent: tuple[Spent, ...]
    seconds: float
    timed_out: bool = False
    ran: bool = True


#: A started call: the future of its result, and its ledger, which also counts the cost of a call that hangs.
_PendingCall = tuple[Future[dict[str, Any]], Ledger]


@dataclass(kw_only=True)
class CallExecutor:
    """Executes the calls of one episode; a call that hangs is abandoned.

    ``overtime`` is the result of a call that timed out, ``too_late`` that of one that was not started. ``reading`` are
    the names of the system's own, undeclared calls that only read.
    """

    tools: Toolset
    clock: Clock
    overtime: dict[str, Any]
    too_late: dict[str, Any]
    reading: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        #: By name, whether a request declares them or not.
        self.declared = {tool.name: tool for tool in self.tools.get_tools()}

    def execute(self, calls: Sequence[ToolCall], *, left: float) -> list[CallOutcome]:
        """Execute the calls and return their outcomes in the same order.

        After ``left`` seconds, calls that read are abandoned, no further call is started, and running calls make no
        more model requests. Raises EpisodeFault: a tool raised it, and the episode cannot continue.
        """
        # Whether a call is started is visible in the record, so it is decided by the recorded clock. Waiting for a thread uses the
        # machine's clock: in a replay calls are fast, and the recorded clock is not waited for.
        until = monotonic() + max(_SHORTEST_WAIT, left)
        began = last = self.clock.monotonic()
        made: list[CallOutcome] = []
        for together in self._batches(calls):
            is_late = left - (last - began) <= 0
            for waited in [None] * len(together) if is_late else self._start(together, until):
                one = self._wait_for(waited, until)
                now = self.clock.monotonic()
                made.append(replace(one, seconds=round(now - last, 6)))
                last = now
        return _charge_first_call(made)

    def _wait_for(self, call: _PendingCall | None, until: float) -> CallOutcome:
        if call is None:
            return CallOutcome(result=self.too_late, spent=(), seconds=0.0, ran=False)
        future, spending = call
        try:
            result = future.result(timeout=max(0.0, until - monotonic()))
        except TimeoutError:
            result = self.overtime
        return CallOutcome(result=result, spent=spending.items, seconds=0.0, timed_out=result is self.overtime)

    def _batches(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Yield the calls in order: consecutive calls that only read as one list, each call that writes as its own."""
        for is_exclusive, run in itertools.groupby(calls, key=self._is_exclusive):
            batch = list(run)
            yield from ([call] for call in batch) if is_exclusive else [batch]

    def _is_exclusive(self, call: ToolCall) -> bool:
        """Whether a call writes, or could write."""
        declared = self.declared.get(call.tool)
        return call.tool not in self.reading if declared is None else declared.writes

    def _start(self, calls: list[ToolCall], until: float) -> list[_PendingCall]:
        """Start the calls, with deadline ``until`` (monotonic); return future results. Writing calls run in this thread."""
        waited: list[_PendingCall] = [(Future(), Ledger()) for _ in calls]
        work: SimpleQueue[tuple[ToolCall, _PendingCall]] = SimpleQueue()
        in_turn: SimpleQueue[tuple[ToolCall, _PendingCall]] = SimpleQueue()
        for call, pending in zip(calls, waited, strict=True):
            declared = self.declared.get(call.tool)
            if self._is_exclusive(call):
                self._fulfil(call, pending, until)
            else:
                (in_turn if declared is not None and declared.in_turn else work).put((call, pending))
        for queue in [*[work] * min(MAX_PARALLEL, work.qsize()), *[in_turn] * min(1, in_turn.qsize())]:
            run_all = partial(copy_context().run, self._run_all, queue, until)
            # A daemon thread does not delay the end of the program.
            threading.Thread(target=run_all, name="tool-call", daemon=True).start()
        return waited

    def _run_all(self, queue: SimpleQueue[tuple[ToolCall, _PendingCall]], until: float) -> None:
        with suppress(Empty):
            while True:
                self._fulfil(*queue.get_nowait(), until)

    def _fulfil(self, call: ToolCall, pending: _PendingCall, until: float) -> None:
        try:
            pending[0].set_result(self._made(call, pending[1], until))
        except BaseException as error:  # noqa: BLE001 - raised again where the result is waited for
            pending[0].set_exception(error)

    def _made(self, call: ToolCall, spending: Ledger, until: float) -> dict[str, Any]:
        left = until - monotonic()
        if left <= 0 and not self._is_exclusive(call):
            return self.overtime  # it was abandoned before it started
        with ledger(spending), deadline(left, clock=monotonic):
            return tool_result_or_error(lambda: as_stored(self.tools.call_tool(call.tool, call.arguments)))


def _charge_first_call(made: list[CallOutcome]) -> list[CallOutcome]:
    """Return the outcomes; a model request that parallel calls shared is ``physical`` in the first of these only."""
    paid = Counter(item.request for one in made for item in one.spent if item.physical)
    settled = []
    for one in made:
        spent = []
        for item in one.spent:
            spent.append(replace(item, physical=paid[item.request] > 0))
            paid[item.request] -= 1
        settled.append(replace(one, spent=tuple(spent)))
    return settled


_MALFORMED: frozenset[Problem] = frozenset(
    {"bad_call", "arguments_not_json", "arguments_not_object", "unknown_tool", "bad_answer", "bad_cursor"}
)


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """The result that the model gets for a call that is not executed."""

    result: dict[str, Any]
    problem: Problem | None = None


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """The outcome of the calls of one reply; ``answer`` is the accepted final answer, or None.

    ``malformed``: a call was malformed, or none was executed; submitting an answer is no execution. ``call_seconds``:
    the duration of each executed call, in order.
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
    pages: ResultPages = field(default_factory=ResultPages)
    rejected_answer: FinalAnswer | None = None  #: the valid part of an invalid answer

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
        """Execute the system's own calls, which precede the first round; yield each with its result, maybe an error.

        It ends early once a limit of the budget is reached. Raises BackendFault: the error of a ``needed`` call, under
        its code; ``no_price``: there is a budget of money, and a model that was charged has no price.
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
        """Execute the valid calls of one reply and append every result, page or rejection to the transcript.

        Which calls run is decided before the first one runs, so that no result influences the decision.
        """
        calls = [self._meant(call) for call in calls]
        answer, plan = self._plan(calls)
        valid = [call for call, planned in zip(calls, plan, strict=True) if planned is None]
        outcomes = iter(self._executor.execute(valid, left=self.meter.left()) if valid else ())
        rejections = [planned if isinstance(planned, Rejection) else None for planned in plan]
        limit = transcript.most_characters(rejections.count(None))
        seconds = []
        for call, planned, rejection in zip(calls, plan, rejections, strict=True):
            if isinstance(planned, Page):
                self._add_page(call, planned.following(limit), round_number, transcript)
                continue
            outcome = next(outcomes) if planned is None else None
            if outcome is not None and outcome.ran:
                seconds.append(outcome.seconds)
                self._add_result(call, outcome, round_number, transcript, limit=limit)
                continue
            refused = rejection or Rejection(result=self._executor.too_late)
            self._keep(call, refused.result, round_number=round_number, problem=refused.problem)
            notice = self.prompts.notice(call.note) if call.note is not None else None
            seen = Observation(call=call, result=refused.result, is_data=False, notice=notice)
            transcript.add(seen.message(self.pages, limit=MAX_RESULT_CHARACTERS))
        malformed = any(item is not None and item.problem in _MALFORMED for item in rejections)
        return TurnResult(answer=answer, malformed=malformed or None not in rejections, call_seconds=seconds)

    def _meant(self, call: ToolCall) -> ToolCall:
        """Return the call of an operation that a call of ``call_operation`` stands for; any other call as it is."""
        meant = operation_called(call.tool, call.arguments, self._executor.declared) if call.fault is None else None
        return call if meant is None else replace(call, tool=meant[0], arguments=meant[1])

    @property
    def is_early(self) -> bool:
        """Whether the tool that must run before an answer has neither succeeded nor failed ``tries`` times."""
        tried = [call for call in self.calls if call.ran and call.tool == self.preamble.answer_after]
        enough = len(tried) >= self.preamble.tries or any(not call.failed for call in tried)
        return self.preamble.answer_after is not None and not enough

    def _plan(self, calls: Sequence[ToolCall]) -> tuple[FinalAnswer | None, list[Rejection | Page | None]]:
        """Return the submitted answer, if any, and for each call its rejection, or None if it is to be executed.

        For a call of ``read_more`` it is the page that is to be continued.
        """
        answer: FinalAnswer | None = None
        plan: list[Rejection | Page | None] = []
        left = self.meter.left()
        for call in calls:
            item: Rejection | Page | None = None
            if call.fault is not None:
                item = Rejection(result={"error": call_slip(call, call.fault, self.prompts)}, problem=call.fault)
            elif answer is not None:
                item = self._rejection("second_answer" if call.tool == SUBMIT_ANSWER else "call_after_answer")
            elif call.tool == SUBMIT_ANSWER:
                parsed = self._submitted(call)
                if isinstance(parsed, FinalAnswer):
                    answer, parsed = parsed, Rejection(result={"accepted": True})
                item = parsed
            elif left <= 0 or not self.meter.may_call(sum(not isinstance(one, Rejection) for one in plan)):
                spent = self.prompts.notice("budget_spent", "seconds" if left <= 0 else "calls")
                item = Rejection(result={"error": spent})
            elif call.tool == READ_MORE:
                item = self.pages.before(call.arguments.get(CURSOR)) or self._rejection("bad_cursor")
            plan.append(item)
        return answer, plan

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
        """Record a result and append it, or its first page of ``limit`` characters.

        It gets a note if the call is a repetition whose equal result is still shown.
        """
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
        self._last_results[key] = found, transcript.add_result(seen.message(self.pages, limit=limit), folds)

    def _add_page(self, call: ToolCall, page: Page, round_number: int, transcript: Conversation) -> None:
        """Record and append the next page of a result."""
        self.meter.add_call((), judging=0)
        self._keep(
            call, page.shown, round_number=round_number, made=CallOutcome(result=page.shown, spent=(), seconds=0.0)
        )
        notice = self.prompts.notice(call.note) if call.note is not None else None
        seen = Observation(call=call, result=page.shown, is_data=True, notice=notice)
        folds = (partial(seen.folded, self.prompts), partial(seen.dropped, self.prompts))
        transcript.add_result(seen.page_message(page, self.pages), folds)

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
    """Yield consecutive calls that only read as lists of at most 8, each of the remaining calls as its own list."""
    for reads, run in itertools.groupby(calls, key=attrgetter("reads")):
        group = list(run)
        size = MAX_PARALLEL if reads else 1
        yield from (group[start : start + size] for start in range(0, len(group), size))


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
