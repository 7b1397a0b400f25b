"""Types through a judge step: each item with its answer, one of the closed ones."""

from __future__ import annotations

from dataclasses import replace

from tool_induction.checking.environment import Environment
from tool_induction.checking.expressions import Inference
from tool_induction.checking.values import Wanted, want, want_list
from tool_induction.language import limits
from tool_induction.language.model import JudgeStep
from tool_induction.language.types import (
    ANY,
    STRING,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    plain,
    with_field,
)

#: the field under which an item's answer stands
ANSWER = "answer"


def check_judge(step: JudgeStep, environment: Environment, at: Inference) -> tuple[JudgeStep, Environment]:
    """The step, written out, and what is known after it."""
    with at.at("inputs"):
        rows = want_list(at, step.inputs, "a judge step")
    with at.at("question"):
        question = want(at, step.question, Wanted(type=STRING, name="question"))
    type_ = rows.type if isinstance(rows.type, ListType) else ListType(item=ANY)
    most = limits.MAX_JUDGED_ITEMS if type_.bound is None else min(type_.bound, limits.MAX_JUDGED_ITEMS)
    if step.max_items is None and (not type_.stated or most > limits.DEFAULT_JUDGED_ITEMS):
        step = replace(step, max_items=limits.DEFAULT_JUDGED_ITEMS)
        at.note(
            "W_IMPLICIT_BINDING",
            f"the first {step.max_items} items are judged, since nothing says how many",
            expected=f'"max_items": {step.max_items}',
        )
    bound = most if step.max_items is None else min(most, step.max_items)
    usual = limits.TYPICAL_LIST_ITEMS if type_.typical is None else type_.typical
    certain = type_.filled and not isinstance(type_.item, OptionalType)
    step = replace(
        step,
        inputs=rows.expr,
        question=question,
        bound=bound,
        typical=min(usual, bound),
        least=1 if certain else 0,
    )
    judged = ListType(
        item=_judged(type_.item, step.answers), bound=bound, typical=step.typical, stated=True, filled=certain
    )
    return step, environment.bind(step.save_as, judged)


def _judged(item: Type, answers: tuple[str, ...]) -> Type:
    """A record with its answer; anything else as the ``parent`` of one."""
    inner = plain(item)
    answer = EnumType(answers)
    if isinstance(inner, RecordType):
        return with_field(inner, ANSWER, answer)
    if isinstance(inner, AnyType):
        return RecordType(fields=((ANSWER, answer),), is_open=True)
    return RecordType(fields=((ANSWER, answer), ("parent", inner)))
