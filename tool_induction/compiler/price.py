"""Pass 5: the price of a tool, computed from those of the operations and tools it calls and the bounds of its loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tool_induction import limits
from tool_induction.judge.judges import JUDGEMENT
from tool_induction.language.diagnostics import Findings
from tool_induction.language.model import Block, Call, If, JudgeStep, Require, Step, Tool
from world_api.core.cost import Cost
from world_api.operations import EVERY_OPERATION

_NOTHING = Cost()
_FEWER_CALLS = "give the loops smaller max_items, or the searches a smaller top_k"
_FEWER_TOKENS = "give its judge steps and the loops in which models look smaller max_items, and judge outside of loops"


@dataclass(frozen=True, kw_only=True)
class ToolPrice:
    """Three costs of one run: ``least``, ``expected`` (with lists of typical length) and ``most``.

    Calls, model calls, tokens and seconds are separate bounds. ``least`` is for a run that no fault and no limit ends
    early; ``may_stop``: a ``require`` may end the run before its last step.
    """

    least: Cost = _NOTHING
    expected: Cost = _NOTHING
    most: Cost = _NOTHING
    may_stop: bool = False

    def then(self, other: ToolPrice) -> ToolPrice:
        """Return the price of this part followed by another, which does not run if this one stopped."""
        return ToolPrice(
            least=self.least if self.may_stop else self.least + other.least,
            expected=self.expected + other.expected,
            most=self.most + other.most,
            may_stop=self.may_stop or other.may_stop,
        )

    def record(self) -> dict[str, dict[str, float]]:
        """Return the JSON form, with the keys ``min``, ``expected`` and ``max``."""
        return {"min": self.least.record(), "expected": self.expected.record(), "max": self.most.record()}


def price_of(tool: Tool, prices: Mapping[str, ToolPrice], findings: Findings) -> ToolPrice:
    """Return the price of a checked tool; note one that exceeds a limit. ``prices``: those of the tools it calls."""
    price = _block(tool.steps, prices)
    for amount, most, what, suggestion in (
        (price.most.calls, limits.MAX_PLANNED_CALLS, "calls", _FEWER_CALLS),
        (price.most.tokens, limits.MAX_PLANNED_TOKENS, "tokens of models", _FEWER_TOKENS),
    ):
        if amount > most:
            message = f"the tool may need {amount} {what}, more than {most}"
            findings.add("E_BUDGET", (*tool.path, "steps"), message, found=str(amount), suggestion=suggestion)
    return price


def _block(steps: tuple[Step, ...], prices: Mapping[str, ToolPrice]) -> ToolPrice:
    total = ToolPrice()
    for step in steps:
        total = total.then(_step(step, prices))
    return total


def _step(step: Step, prices: Mapping[str, ToolPrice]) -> ToolPrice:
    match step:
        case Require():
            return ToolPrice(may_stop=True)
        case Call(kind="api"):
            operation = EVERY_OPERATION.get(step.target)
            once = _NOTHING if operation is None else operation.price
            return _repeated(ToolPrice(least=once, expected=once, most=once), step)
        case Call():
            return _repeated(prices.get(step.target, ToolPrice()), step)
        case JudgeStep():
            least, expected, most = map(JUDGEMENT.times, (step.least, step.typical, step.bound))
            return ToolPrice(least=least, expected=expected, most=most)
        case Block():
            return _repeated(_block(step.body, prices), step)
        case If():
            then, otherwise = (_block(block, prices) for block in (step.then, step.otherwise))
            return ToolPrice(
                least=_by_part(min, then.least, otherwise.least),
                expected=_by_part(max, then.expected, otherwise.expected),
                most=_by_part(max, then.most, otherwise.most),
                may_stop=then.may_stop or otherwise.may_stop,
            )
    return ToolPrice()


def _repeated(price: ToolPrice, step: Call | Block) -> ToolPrice:
    """Return the price of a step with its loop. A stop inside it ends the tool only if ``on_error`` is ``fail``."""
    may_stop = price.may_stop and step.on_error == "fail"
    if step.loop is None:
        return replace(price, may_stop=may_stop)
    return ToolPrice(
        least=price.least.times(min(step.loop.least, 1) if may_stop else step.loop.least),
        expected=price.expected.times(step.loop.typical),
        most=price.most.times(step.loop.bound),
        may_stop=may_stop,
    )


def _by_part(choose: Callable[..., Any], one: Cost, other: Cost) -> Cost:
    """Return a cost with the smaller (or larger) of each part of two costs; ``choose`` is ``min`` or ``max``."""
    others = asdict(other)
    return Cost(**{part: choose(amount, others[part]) for part, amount in asdict(one).items()})
