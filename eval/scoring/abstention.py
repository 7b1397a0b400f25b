"""Scoring questions that may abstain: whether what is asked about is there, and whether the video determines the answer.

The gold of a question is ``present`` (it has an answer of its type), ``absent`` (what it asks about is not in the
video) or ``undeterminable`` (the video does not determine the answer, no matter what a profile perceives of it). An answer
says the same three things. Some typed answers say "absent" too: the count 0, and the option that the label ``absence``
of an item names, such as the letter of "No".
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from controller.answers import NOT_THERE, UNDETERMINABLE, is_abstention
from eval.datasets.items import Item
from eval.scoring.kinds import given_value
from eval.scoring.score import Context, Score

Stance = Literal["present", "absent", "undeterminable"]
STANCES: tuple[Stance, ...] = get_args(Stance)
ABSENCE = "absence"  #: label of an item: the letter of the option that says "absent"
_ABSTENTIONS: dict[Any, Stance] = {NOT_THERE: "absent", UNDETERMINABLE: "undeterminable"}
SCORER = "abstention/1"


def stance_of(item: Item, value: Any) -> Stance | None:
    """Return what an answer to an item that may abstain says; None for other items, and if it is no answer to it."""
    given = given_value(item, value) if item.question.may_abstain else None
    if given is None:
        return None
    if is_abstention(item.question, given):
        return _ABSTENTIONS[given]
    negative = 0 if item.question.kind == "count" else item.labels.get(ABSENCE)
    return "absent" if given == negative else "present"


def score_abstention(item: Item, value: Any) -> Score | None:
    """Score an answer if it or the accepted one abstains: it is right if both say the same. None for two typed answers."""
    accepted = (item.answer, *item.also)
    if not any(is_abstention(item.question, one) for one in (value, *accepted)):
        return None
    said = stance_of(item, value)
    typed = said == "present" and value in accepted
    correct = said is not None and (typed or (said != "present" and said in {stance_of(item, one) for one in accepted}))
    context = Context(scorer=SCORER)
    return context.scored(correct=correct, score=correct) if said is not None else context.wrong("no_answer")
