"""One episode: its budget, the record of its question, calls, replies and answer, and what it cost.

The content of the record is determined by the question, the model's replies and the tool results, so that a replay gives
the same bytes. Wall times are kept apart, in ``Timings``. Field names are those of the JSON form.

Costs are counted twice. *Logical* cost is counted as if no cache existed: each distinct request once, without a discount
for tokens that the server had cached. *Physical* cost is what was really requested and paid. Token counts are always
given; they are marked *estimated* if a server did not count them. Money is given only if a price is known; a sum with
an unpriced part is marked as a lower bound.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from controller.answers import Question
from controller.messages import DIGEST, CitedSpan, Problem
from controller.options import Budget
from world_api.chat.messages import Price, Prices, Usage
from world_api.chat.recording import check_schema
from world_api.core.cost import Spent
from world_api.core.faults import INTERNAL_FAULT, BackendFault, EpisodeFault, VideoWorldError
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from tool_induction.library import ToolLibrary
    from world_api.session.session import Session

# --- the budget -----------------------------------------------------------------------------------------------------

Limit = Literal["rounds", "calls", "tokens", "money", "seconds"]
RequestKey = tuple[str, str, str]  #: purpose, model and hash of a request


def each_once(spent: Iterable[Spent], paid: set[RequestKey]) -> Iterator[Spent]:
    """Yield the charges of requests that are not in ``paid``, each request once, and add them to ``paid``."""
    for item in spent:
        key = (item.purpose, item.model, item.request)
        if key not in paid:
            paid.add(key)
            yield item


def refuse_unpriced(budget: Budget, model: str, prices: Prices) -> None:
    """Check that a budget of money has the model's price. Raises EpisodeFault: ``no_price``."""
    if budget.money is not None and prices.of(model) is None:
        raise EpisodeFault(
            "no_price", f"a budget of money needs the price of {model!r}", hint="give prices, or no budget of money"
        )


class BudgetMeter:
    """Adds up what an episode spends and compares it with the budget."""

    def __init__(self, budget: Budget, clock: Clock, *, model: str, prices: Prices) -> None:
        refuse_unpriced(budget, model, prices)
        self.budget = budget
        self.rounds = 0
        self.calls = 0
        self.prices: dict[str, Price] = {}  #: of the models that were used, if known
        self._known = prices
        self._model = model
        self._tokens = 0
        self._money = 0.0
        self._paid: set[RequestKey] = set()
        self._unpriced: str | None = None  #: a model that was charged and has no price
        self._clock = clock
        self._began = clock.monotonic()

    def add_round(self, usage: Usage) -> None:
        """Count one request to the model."""
        self.rounds += 1
        self._charge(self._model, usage.prompt, usage.completion)

    def add_call(self, spent: Sequence[Spent], *, judging: int) -> None:
        """Count one tool call that ran, with its requests to other models (see ``add_spent``)."""
        self.calls += 1
        self.add_spent(spent, judging=judging)

    def add_spent(self, spent: Sequence[Spent], *, judging: int) -> None:
        """Count requests to other models; ``judging``: the judge's tokens, counted if ``spent`` has no judge's request."""
        if not any(item.purpose == "judge" for item in spent):
            self._tokens += judging
        for item in each_once(spent, self._paid):
            self._charge(item.model, item.prompt, item.completion)

    def may_call(self, more: int = 0) -> bool:
        """Whether the budget allows one tool call in addition to ``more`` others that are about to run."""
        return self.calls + more < self.budget.calls

    def left(self) -> float:
        """Return the seconds that are left; negative once they are used up."""
        return self.budget.seconds - (self._clock.monotonic() - self._began)

    def exceeded(self) -> Limit | None:
        """Return the limit that forbids another round; None if none is reached.

        If several are reached, it is the first in this order: rounds, calls, tokens, money, seconds.
        """
        if self.rounds >= self.budget.rounds:
            return "rounds"
        if self.calls >= self.budget.calls:
            return "calls"
        if self._tokens >= self.budget.tokens:
            return "tokens"
        if self.budget.money is not None and self._money >= self.budget.money:
            return "money"
        return "seconds" if self.left() <= 0 else None

    def refuse_unpriced(self) -> None:
        """Check that a budget of money can be kept: every model charged so far has a price.

        Raises BackendFault: ``no_price``, for a perception model or a judge.
        """
        if self.budget.money is not None and self._unpriced is not None:
            raise BackendFault(
                "no_price",
                f"a budget of money needs the price of {self._unpriced!r}, which was charged",
                hint="give its price too, or no budget of money",
            )

    def _charge(self, model: str, prompt: int, completion: int) -> None:
        """Charge a request at full price: tokens that a server had cached get no discount."""
        usage = Usage(prompt=prompt, completion=completion)
        self._tokens += usage.total
        price = self._known.of(model)
        if price is not None:
            self.prices[model] = price
            self._money += price.money(usage)
        elif usage.total:
            self._unpriced = model


# --- the record -----------------------------------------------------------------------------------------------------

SCHEMA_VERSION = 3

#: submitted: by ``submit_answer``; prose: as text, before a limit; forced: at a limit; failed: no answer.
Outcome = Literal["submitted", "prose", "forced", "failed"]


@dataclass(frozen=True, kw_only=True)
class Library:
    """Name and content hash of the tool library of an episode."""

    name: str
    hash: str

    @classmethod
    def of(cls, library: ToolLibrary | None) -> Library | None:
        """Return the name and hash of a library; None if there is none."""
        return None if library is None else cls(name=library.name, hash=library.hash)


@dataclass(frozen=True, kw_only=True)
class Task:
    """The question, the world as the session saw it at the start, and the system.

    ``settings`` is the system's own configuration (exposure, variant of the library, domain, profile ...), as JSON.
    """

    question: Question
    video_id: str
    world_hash: str
    session: str
    revision: int  #: of the session's overlay, before the first call
    system: str
    settings: dict[str, Any] = field(default_factory=dict)
    library: Library | None = None

    @classmethod
    def of(
        cls,
        question: Question,
        session: Session,
        *,
        system: str,
        settings: dict[str, Any] | None = None,
        library: Library | None = None,
    ) -> Task:
        """Return the task of answering a question in a session.

        Raises EpisodeFault: ``as_of_mismatch``, if the causal cut of the session is not that of the question.
        """
        if question.as_of != session.as_of:
            raise EpisodeFault(
                "as_of_mismatch",
                f"the question is asked as of {question.as_of}, the session is open as of {session.as_of}",
                hint="open the session as of the question's moment",
            )
        return cls(
            question=question,
            video_id=session.video_id,
            world_hash=session.world_hash,
            session=session.name,
            revision=session.revision,
            system=system,
            settings=settings or {},
            library=library,
        )


@dataclass(frozen=True, kw_only=True)
class FaultRecord:
    """The fault that ended an episode."""

    code: str
    message: str
    hint: str

    @classmethod
    def of(cls, fault: VideoWorldError) -> FaultRecord:
        """Return the record of a fault."""
        return cls(code=fault.code, message=fault.message, hint=fault.hint)


@dataclass(frozen=True, kw_only=True)
class RoundRecord:
    """One request to the model.

    ``problems`` are the faults of the reply as a whole; ``thought`` is the reasoning text of the reply, if the server
    sends any. ``physical`` is False if the reply came from the request cache. ``folded`` counts the old results that
    were shortened to summaries for this request.
    """

    number: int
    tools_offered: bool
    usage: Usage
    finish_reason: str | None
    problems: list[Problem]
    thought: str | None = None
    physical: bool = True
    folded: int = 0


@dataclass(frozen=True, kw_only=True)
class CallRecord:
    """One tool call: as the model wrote it, as it ran, and the whole result.

    ``ran`` is False if the call was not executed; ``result`` is then the message to the model. ``inner_calls`` are the
    operations that an induced tool called, in the order of its plan. ``origins`` gives, for each output and each shown
    piece of evidence, the numbers of the inner calls that it came from. ``spent`` are the requests to perception models
    and to the judge during the call.
    """

    id: str
    round: int
    tool: str
    written: Any
    arguments: dict[str, Any]
    result: dict[str, Any]
    inner_calls: list[dict[str, Any]]
    ran: bool
    problem: Problem | None
    note: Problem | None
    origins: dict[str, Any] = field(default_factory=dict)
    spent: list[Spent] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether the result is only a fault; a tool of several steps may report a fault beside its outputs."""
        return "error" in self.result and self.result.get("status", "error") == "error"


@dataclass(frozen=True, kw_only=True)
class RoundTiming:
    """Seconds that a round's request and each of its tool calls took."""

    model_seconds: float
    tool_seconds: list[float]


@dataclass(frozen=True, kw_only=True)
class Timings:
    """When an episode started (ISO 8601), and the wall-clock seconds of it and of each of its rounds."""

    started_at: str
    seconds: float
    rounds: list[RoundTiming]


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One question with its answer, or the reason why there is none.

    ``value`` is the answer in the type of the question (see ``Question``), ``answer`` its text. ``prices`` are the
    known prices of the models that were used, in USD per million tokens, so that money can be computed again.
    """

    schema_version: Literal[3] = 3
    task: Task
    model: str
    prompt_hash: str
    language: str  #: of the prompts
    tools: list[dict[str, Any]]  #: the declarations, ``submit_answer`` last, whether a round offered them or not
    tools_hash: str
    budget: Budget
    prices: dict[str, Price]
    messages: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[RoundRecord] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    outcome: Outcome
    reason: str | None  #: why it was forced or failed: a limit, ``malformed_replies``, ``no_answer`` or a fault's code
    fault: FaultRecord | None
    value: Any = None
    answer: str | None = None
    spans: list[CitedSpan] = field(default_factory=list)
    timings: Timings | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all rounds; estimated if those of any round are."""
        return functools.reduce(lambda total, item: total + item.usage, self.rounds, Usage())

    @property
    def tool_calls(self) -> list[CallRecord]:
        """The calls that ran, in order."""
        return [call for call in self.calls if call.ran]

    @property
    def slips(self) -> dict[str, int]:
        """How often each kind of malformed reply or call occurred."""
        problems: list[Problem | None] = [problem for item in self.rounds for problem in item.problems]
        problems += [problem for call in self.calls for problem in (call.problem, call.note)]
        return dict(sorted(Counter(problem for problem in problems if problem is not None).items()))

    @property
    def internal_faults(self) -> int:
        """The number of calls that ended in an error of the program itself."""
        errors = [call.result.get("error") for call in self.calls if call.ran]
        return sum(isinstance(error, dict) and error.get("code") == INTERNAL_FAULT for error in errors)

    def tools_that_gave(self, span: CitedSpan) -> list[str]:
        """Return the names of the tools that returned a cited span, with ``digest`` first if the digest contains it."""
        digest = [DIGEST] if DIGEST in span.returned_by else []
        return list(dict.fromkeys([*digest, *(call.tool for call in self.calls if call.id in span.returned_by)]))

    def record(self) -> dict[str, Any]:
        """Return the JSON form, without the timings."""
        # Records from before a question could abstain do not have this field, and stay what they are.
        forced = {"question": {"may_abstain": not self.task.question.may_abstain}}
        return cast(
            dict[str, Any], _adapter().dump_python(self, mode="json", exclude={"timings": True, "task": forced})
        )


def episode_from_record(record: dict[str, Any]) -> Episode:
    """Read an episode from its JSON form. Raises EpisodeFault: ``recording_schema``, ``recording_damaged``."""
    check_schema(record, SCHEMA_VERSION, "the episode")
    try:
        episode = _adapter().validate_python(record)
    except ValidationError as error:
        raise _damaged(".".join(map(str, error.errors()[0]["loc"]))) from None
    except EpisodeFault as fault:
        where = "budget" if fault.code == "bad_budget" else "task.question"
        raise _damaged(f"{where}: {fault.message}") from None
    written = episode.record()
    changed = [key for key in sorted(written.keys() | record.keys()) if written.get(key) != record.get(key)]
    if changed:  # else an unknown field would be lost silently, and a missing one filled in
        raise _damaged(changed[0])
    return episode


def _damaged(where: str) -> EpisodeFault:
    return EpisodeFault(
        "recording_damaged", f"the episode's record is not whole: {where}", hint="restore it from a copy"
    )


@functools.cache
def _adapter() -> TypeAdapter[Episode]:
    return TypeAdapter(Episode)


# --- costs ----------------------------------------------------------------------------------------------------------

Part = Literal["controller", "perception", "judge"]
PARTS: tuple[Part, ...] = ("controller", "perception", "judge")


@dataclass(frozen=True, kw_only=True)
class Account:
    """Requests with their tokens, and their cost in USD.

    ``cached`` counts the tokens of ``prompt`` that a server had cached; a logical account has none. ``money`` is None
    if no price is known. ``unpriced`` names the models whose cost is missing; if there are any, ``money`` is a lower
    bound.
    """

    requests: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    images: int = 0
    estimated: bool = False
    money: float | None = None
    unpriced: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt + self.completion

    @property
    def is_least(self) -> bool:
        """Whether the money is a lower bound."""
        return self.money is not None and bool(self.unpriced)

    def __add__(self, other: Account) -> Account:
        known = [money for money in (self.money, other.money) if money is not None]
        counts = ("requests", "prompt", "cached", "completion", "images")
        return Account(
            **{name: getattr(self, name) + getattr(other, name) for name in counts},
            estimated=self.estimated or other.estimated,
            money=sum(known) if known else None,
            unpriced=tuple(sorted({*self.unpriced, *other.unpriced})),
        )

    def record(self) -> dict[str, Any]:
        """Return the JSON form, with the total of the tokens; money is rounded to 8 decimals."""
        money = round(self.money, 8) if self.money is not None else None
        return {
            **asdict(self),
            "total": self.tokens,
            "money": money,
            "money_is_least": self.is_least,
            "unpriced": list(self.unpriced),
        }


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The cost of an episode by part (controller, perception, judge): without caches (logical), as paid (physical)."""

    logical: Mapping[Part, Account]
    physical: Mapping[Part, Account]

    def record(self) -> dict[str, Any]:
        """Return the JSON form: for logical and physical cost the account of each part and the total."""
        return {
            way: {**{part: held[part].record() for part in PARTS}, "total": total(held).record()}
            for way, held in (("logical", self.logical), ("physical", self.physical))
        }


def total(held: Mapping[Part, Account]) -> Account:
    """Return the sum of the accounts of all parts."""
    return sum(held.values(), Account())


def accounts_of(episode: Episode) -> Accounts:
    """Return the cost of an episode, at the prices it was run with."""
    spent = [item for call in episode.calls for item in call.spent]
    paid = [item for item in spent if item.physical], [item for item in episode.rounds if item.physical]
    return Accounts(
        logical=_by_part(each_once(spent, set()), episode.rounds, episode, cold=True),
        physical=_by_part(*paid, episode, cold=False),
    )


def _by_part(
    spent: Iterable[Spent], rounds: Iterable[RoundRecord], episode: Episode, *, cold: bool
) -> dict[Part, Account]:
    held: dict[Part, Account] = dict.fromkeys(PARTS, Account())
    for round_ in rounds:
        held["controller"] += _account(round_.usage, episode.model, episode.prices, cold=cold)
    for item in spent:
        held[item.purpose] += _account(item, item.model, episode.prices, cold=cold)
    return held


def _account(item: Usage | Spent, model: str, prices: Mapping[str, Price], *, cold: bool) -> Account:
    """Return the account of one request. If ``cold``, no token counts as cached, so no discount applies."""
    price = prices.get(model)
    tokens = Usage(prompt=item.prompt, completion=item.completion, cached=0 if cold else item.cached)
    return Account(
        requests=1,
        prompt=tokens.prompt,
        cached=tokens.cached,
        completion=tokens.completion,
        images=item.images if isinstance(item, Spent) else 0,
        estimated=item.estimated,
        money=None if price is None else price.money(tokens),
        unpriced=(model,) if price is None and tokens.total else (),
    )
