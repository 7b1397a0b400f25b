"""Pass 5: what a tool costs before it runs: at least, as a rule, at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings
from tool_induction.language.model import Block, Call, If, Loop, Require, Step, Tool
from world_api.core.cost import Cost
from world_api.operations import OPERATIONS

_NOTHING = Cost()


@dataclass(frozen=True, kw_only=True)
class Price:
    """Three costs of one run: ``least``, ``expected`` (lists as long as they usually are) and ``most``."""

    least: Cost = _NOTHING
    expected: Cost = _NOTHING
    most: Cost = _NOTHING

    def __add__(self, other: Price) -> Price:
        return Price(
            least=self.least + other.least, expected=self.expected + other.expected, most=self.most + other.most
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
    return price


def _block(steps: tuple[Step, ...], prices: Mapping[str, Price], findings: Findings) -> Price:
    total = Price()
    may_have_stopped = False
    for step in steps:
        price = _step(step, prices, findings)
        total += Price(least=_NOTHING, expected=price.expected, most=price.most) if may_have_stopped else price
        may_have_stopped = may_have_stopped or isinstance(step, Require)
    return total


def _step(step: Step, prices: Mapping[str, Price], findings: Findings) -> Price:
    match step:
        case Call(kind="api"):
            operation = OPERATIONS.get(step.target)
            once = _NOTHING if operation is None else operation.price
            return _repeated(Price(least=once, expected=once, most=once), step.loop)
        case Call():
            return _repeated(prices.get(step.target, Price()), step.loop)
        case Block():
            return _repeated(_block(step.body, prices, findings), step.loop)
        case If():
            then, otherwise = (_block(block, prices, findings) for block in (step.then, step.otherwise))
            return Price(
                least=min(then.least, otherwise.least, key=_size),
                expected=max(then.expected, otherwise.expected, key=_size),
                most=max(then.most, otherwise.most, key=_size),
            )
    return Price()


def _repeated(price: Price, loop: Loop | None) -> Price:
    if loop is None:
        return price
    return Price(
        least=price.least.times(loop.least),
        expected=price.expected.times(loop.typical),
        most=price.most.times(loop.bound),
    )


def _size(cost: Cost) -> tuple[float, ...]:
    return (cost.tokens, cost.model_calls, cost.calls, cost.seconds)
