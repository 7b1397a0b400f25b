"""What a tool takes at most, part by part: the measure by which composites are made like the tools of a library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language.model import Block, Call, If, JudgeStep, Step
from world_api.core.cost import Cost
from world_api.operations import EVERY_OPERATION, Operation

#: What is added to both sides before two outlays are compared, so that little beside nothing is little: of seconds a hundredth.
_LITTLE_SECONDS = 0.01


@dataclass(frozen=True, kw_only=True, order=True)
class Kind:
    """What one call takes. Operations of one kind are as dear as each other."""

    tokens: int
    looks: int
    seconds: float
    model_calls: int

    @classmethod
    def of(cls, operation: Operation) -> Kind:
        """The kind of an operation."""
        price = operation.price
        return cls(tokens=price.tokens, looks=operation.looks, seconds=price.seconds, model_calls=price.model_calls)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a tool does at most: so many calls of each kind, and so many items judged."""

    calls: Counter[Kind]
    judged: int

    def times(self, count: int) -> Planned:
        """This, so many times."""
        return Planned(
            calls=Counter({kind: number * count for kind, number in self.calls.items()}), judged=self.judged * count
        )

    def weight(self) -> tuple[int, float, int]:
        """By which of two branches the dearer one is told."""
        tokens = sum(kind.tokens * number for kind, number in self.calls.items()) + self.judged
        return tokens, sum(kind.seconds * number for kind, number in self.calls.items()), sum(self.calls.values())


@dataclass(frozen=True, kw_only=True)
class Outlay:
    """What a run takes at most: calls, model calls, their tokens, seconds; ``looks`` are requests to a model beside."""

    calls: int
    model_calls: int
    tokens: int
    seconds: float
    looks: int

    @classmethod
    def of(cls, tool: CompiledTool, tools: Mapping[str, CompiledTool]) -> Outlay:
        """That of a tool, which may call others of ``tools``."""
        most: Cost = tool.price.most
        return cls(
            calls=most.calls,
            model_calls=most.model_calls,
            tokens=most.tokens,
            seconds=round(most.seconds, 6),
            looks=_looks(tool.tool.steps, tools),
        )

    def ratios(self, other: Outlay) -> dict[str, float]:
        """How many times that of another each part is; one more is added to both sides, of seconds a hundredth."""
        found: dict[str, float] = {}
        for part in fields(self):
            little = _LITTLE_SECONDS if part.name == "seconds" else 1
            found[part.name] = (getattr(self, part.name) + little) / (getattr(other, part.name) + little)
        return found

    def distance(self, other: Outlay) -> float:
        """How far apart two are in all parts; 0 where they are the same."""
        return sum(abs(math.log(ratio)) for ratio in self.ratios(other).values())

    def record(self) -> dict[str, float]:
        """The wire form."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


def planned(steps: tuple[Step, ...], tools: Mapping[str, CompiledTool]) -> Planned:
    """What some steps do at most; of two branches, what the dearer one does."""
    calls: Counter[Kind] = Counter()
    judged = 0
    for step in steps:
        does = _planned(step, tools)
        calls.update(does.calls)
        judged += does.judged
    return Planned(calls=calls, judged=judged)


def _planned(step: Step, tools: Mapping[str, CompiledTool]) -> Planned:
    match step:
        case Call(kind="api"):
            operation = EVERY_OPERATION.get(step.target)
            once = Planned(calls=Counter() if operation is None else Counter([Kind.of(operation)]), judged=0)
            return once.times(_turns(step))
        case Call():
            return planned(tools[step.target].tool.steps, tools).times(_turns(step))
        case Block():
            return planned(step.body, tools).times(_turns(step))
        case JudgeStep():
            return Planned(calls=Counter(), judged=step.bound)
        case If():
            return max((planned(block, tools) for block in (step.then, step.otherwise)), key=Planned.weight)
    return Planned(calls=Counter(), judged=0)


def _looks(steps: tuple[Step, ...], tools: Mapping[str, CompiledTool]) -> int:
    return sum(_looks_of(step, tools) for step in steps)


def _looks_of(step: Step, tools: Mapping[str, CompiledTool]) -> int:
    match step:
        case Call(kind="api"):
            operation = EVERY_OPERATION.get(step.target)
            return 0 if operation is None else operation.looks * _turns(step)
        case Call():
            return _looks(tools[step.target].tool.steps, tools) * _turns(step)
        case Block():
            return _looks(step.body, tools) * _turns(step)
        case If():
            return max(_looks(step.then, tools), _looks(step.otherwise, tools))
    return 0


def _turns(step: Call | Block) -> int:
    return 1 if step.loop is None else step.loop.bound
