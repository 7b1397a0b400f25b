"""Many questions at once against one world: no state leaks, and who is first makes no difference."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget
from controller.records import Answered, Journal, Unanswered, answer_many, replay_recorded
from controller.systems import SystemContext
from tool_induction import load_library
from world_api import SystemClock
from world_api.api import open_session
from world_api.chat import RuleBasedChatModel
from world_api.core import StoreFault, json_line
from world_api.session import Session

THINGS = ("the person in the red coat", "the green folder", "tea", "the person in the yellow coat")


def thirty_two() -> list[Question]:
    """Questions of every kind, each of another thing or another moment, and some twice."""
    choices = ("in the office", "in the library", "in the kitchen")
    asked = []
    for thing, as_of in product(THINGS, (None, 30.0)):
        asked += [
            Question(text=f"When does {thing} first appear?", as_of=as_of),
            Question(text=f"When does {thing} first appear?", kind="interval", as_of=as_of),
            Question(text=f"How often does {thing} appear?", kind="count", as_of=as_of),
            Question(text=f"Where is {thing}?", kind="choice", options=choices, as_of=as_of),
        ]
    return list(islice(asked, 32))


@pytest.fixture
def opener(make_world: Any) -> Callable[[Question], Session]:
    make_world()
    return lambda question: open_session(make_world.store, "made", as_of=question.as_of, name=None)


def context(**chosen: Any) -> SystemContext:
    return SystemContext(
        **{"model": RuleBasedChatModel(), "clock": SystemClock(), "library": load_library("hand_A"), **chosen}
    )


@pytest.mark.parametrize("system", ["flat", "hier"])
def test_thirty_two_at_once_are_byte_for_byte_what_they_are_one_by_one(
    opener: Any, tmp_path: Path, system: str
) -> None:
    asked = thirty_two()
    journal = Journal(tmp_path)
    together = answer_many(asked, open_session=opener, system=system, context=context(), journal=journal, at_once=32)
    alone = answer_many(asked, open_session=opener, system=system, context=context(), at_once=1)
    for question, one, other in zip(asked, together, alone, strict=True):
        assert isinstance(one, Answered) and isinstance(other, Answered)
        assert one.episode.task.question == question
        assert json_line(one.episode.record()) == json_line(other.episode.record())
    assert {item.episode.outcome for item in together if isinstance(item, Answered)} == {"submitted"}
    assert len(list(journal.entries())) == 32
    assert all(replay_recorded(journal, item.name).identical for item in together if isinstance(item, Answered))


def test_what_one_question_remembers_no_other_sees(opener: Any) -> None:
    asked = [Question(text=f"When does {thing} first appear?") for thing in THINGS] * 4
    answered = answer_many(asked, open_session=opener, system="flat", context=context(), at_once=16)
    for item in answered:
        assert isinstance(item, Answered)
        assert item.episode.task.revision == 0
    session = opener(asked[0])
    assert session.memories() == []


class Rendezvous(RuleBasedChatModel):
    """Answers only when so many are asking at the same time, the later ones first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._all_here = threading.Barrier(number, timeout=60)
        self._place = threading.Lock()
        self._waited: set[str] = set()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        asked = str(request["messages"][1]["content"])
        with self._place:
            is_first = asked not in self._waited
            self._waited.add(asked)
        if is_first:
            self._all_here.wait()
        return super().complete(request)


def test_answers_stand_in_the_order_of_the_questions_and_questions_really_run_together(opener: Any) -> None:
    asked = [Question(text=f"When does {thing} appear?") for thing in THINGS]
    answered = answer_many(asked, open_session=opener, system="flat", context=context(model=Rendezvous(4)), at_once=4)
    assert [item.episode.task.question for item in answered if isinstance(item, Answered)] == asked


def test_a_question_that_cannot_be_asked_keeps_the_others_from_nothing(opener: Any) -> None:
    def some(question: Question) -> Session:
        if question.text == "bad?":
            raise StoreFault("no_such_world", "there is none")
        session: Session = opener(question)
        return session

    asked = [Question(text=text) for text in ("When does tea appear?", "bad?", "Where is the folder?")]
    first, second, third = answer_many(asked, open_session=some, system="flat", context=context())
    assert isinstance(first, Answered) and isinstance(third, Answered)
    assert isinstance(second, Unanswered)
    assert (second.question, second.fault.code) == (asked[1], "no_such_world")


def test_a_broken_off_run_begins_nothing_more(opener: Any) -> None:
    class Interrupted(RuleBasedChatModel):
        def complete(self, request: dict[str, Any]) -> dict[str, Any]:
            raise KeyboardInterrupt

    begun: list[Question] = []

    def opening(question: Question) -> Session:
        begun.append(question)
        session: Session = opener(question)
        return session

    asked = [Question(text=f"When does {thing} appear?") for thing in THINGS * 8]
    with pytest.raises(KeyboardInterrupt):
        answer_many(asked, open_session=opening, system="flat", context=context(model=Interrupted()), at_once=1)
    assert len(begun) < len(asked)


def test_no_questions_are_no_answers(opener: Any) -> None:
    assert answer_many([], open_session=opener, system="flat", context=context(budget=Budget(rounds=0))) == []
