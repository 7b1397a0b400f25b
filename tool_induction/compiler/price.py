"""Pass 5: what a tool costs before it runs: at least, as a rule, at most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings
from tool_induction.language.model import Block, Call, If, JudgeStep, Require, Step, Tool
from world_api.core.cost import Cost
from world_api.operations import EVERY_OPERATION

_NOTHING = Cost()
#: the most that one judgement of one item costs; what is sent is cut so that it holds
JUDGEMENT = Cost(model_calls=1, tokens=1_200, seconds=1.0)


@dataclass(frozen=True, kw_only=True)
class Price:
    """Three costs of one run: ``least``, ``expected`` (lists as long as they usually are) and ``most``.

    Each holds for calls, model calls, tokens and seconds by itself. ``least`` is that of a run which no fault and no
    bound cuts short; ``may_stop`` says that a ``require`` may end it before its last step.
    """

    least: Cost = _NOTHING
    expected: Cost = _NOTHING
    most: Cost = _NOTHING
    may_stop: bool = False

    def then(self, other: Price) -> Price:
        """The price of this followed by another, which is not reached where this one stopped."""
        return Price(
            least=self.least if self.may_stop else self.least + other.least,
            expected=self.expected + other.expected,
            most=self.most + other.most,
            may_stop=self.may_stop or other.may_stop,
        )

    def record(self) -> dict[str, dict[str, float]]:
        """The wire form."""
        return {"min": self.least.record(), "expected": self.expected.record(), "max": self.most.record()}


def price_of(tool: Tool, prices: Mapping[str, Price], findings: Findings) -> Price:
    """The price of a checked tool; ``prices`` holds those of the tools it calls."""
    price = _block(tool.steps, prices, findings)
    if price.most.calls > limits.MAX_PLANNED_CALLS:
        findings.add(
            "E_BUDGET",
            (*tool.path, "steps"),
            f"the tool may need {price.most.calls} calls, more than {limits.MAX_PLANNED_CALLS}",
            found=str(price.most.calls),
            expected=f"at most {limits.MAX_PLANNED_CALLS} calls",
            suggestion="give the loops smaller max_items, or the searches a smaller top_k",
        )
    if price.most.tokens > limits.MAX_PLANNED_TOKENS:
        findings.add(
            "E_BUDGET",
            (*tool.path, "steps"),
            f"the tool may need {price.most.tokens} tokens of models, more than {limits.MAX_PLANNED_TOKENS}",
            found=str(price.most.tokens),
            expected=f"at most {limits.MAX_PLANNED_TOKENS} tokens",
            suggestion="give its judge steps and the loops in which models look smaller max_items, and judge outside of loops",
        )
    return price


def _block(steps: tuple[Step, ...], prices: Mapping[str, Price], findings: Findings) -> Price:
    total = Price()
    for step in steps:
        total = total.then(_step(step, prices, findings))
    return total


def _step(step: Step, prices: Mapping[str, Price], findings: Findings) -> Price:
    match step:
        case Require():
            return Price(may_stop=True)
        case Call(kind="api"):
            operation = EVERY_OPERATION.get(step.target)
            once = _NOTHING if operation is None else operation.price
            return _repeated(Price(least=once, expected=once, most=once), step)
        case Call():
            return _repeated(prices.get(step.target, Price()), step)
        case JudgeStep():
            return Price(
                least=JUDGEMENT.times(step.least),
                expected=JUDGEMENT.times(step.typical),
                most=JUDGEMENT.times(step.bound),
            )
        case Block():
            return _repeated(_block(step.body, prices, findings), step)
        case If():
            then, otherwise = (_block(block, prices, findings) for block in (step.then, step.otherwise))
            return Price(
                least=_by_part(min, then.least, otherwise.least),
                expected=_by_part(max, then.expected, otherwise.expected),
                most=_by_part(max, then.most, otherwise.most),
                may_stop=then.may_stop or otherwise.may_stop,
            )
    return Price()


def _repeated(price: Price, step: Call | Block) -> Price:
    """What a step costs that is done for each item. Where ``on_error`` is not ``fail``, nothing stops the whole."""
    may_stop = price.may_stop and step.on_error == "fail"
    if step.loop is None:
        return replace(price, may_stop=may_stop)
    return Price(
        least=price.least.times(min(step.loop.least, 1) if may_stop else step.loop.least),
        expected=price.expected.times(step.loop.typical),
        most=price.most.times(step.loop.bound),
        may_stop=may_stop,
    )


def _by_part(choose: Callable[[float, float], float], one: Cost, other: Cost) -> Cost:
    """The smaller or larger of each part of two costs."""
    return Cost(
        calls=int(choose(one.calls, other.calls)),
        model_calls=int(choose(one.model_calls, other.model_calls)),
        tokens=int(choose(one.tokens, other.tokens)),
        seconds=choose(one.seconds, other.seconds),
    )
