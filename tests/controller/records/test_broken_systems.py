"""Systems of other hands break in any way: by name, recorded with their cost, and at no other question's expense."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget
from controller.records import Answered, Journal, Unanswered, answer, answer_many
from controller.systems import SystemContext
from tests.support.scripted import ScriptedChatModel
from world_api import SystemClock
from world_api.chat import Price, Prices, RuleBasedChatModel, completion
from world_api.core import EpisodeFault

ASKED = Question(text="When?")
PAID = completion(model="m", content="So.", usage=(70, 7))
PRICES = Prices(models={"scripted": Price(prompt=1.0, cached=1.0, completion=1.0)})


def deep(level: int = 0) -> int:
    return deep(level + 1)


@dataclass
class Breaking:
    """Asks once, and breaks."""

    context: SystemContext
    way: Any

    def answer(self, question: Question, session: Any) -> Any:
        self.context.model.complete({"model": "m", "messages": [{"role": "user", "content": "?"}]})
        return self.way()


def ways() -> dict[str, Any]:
    return {
        "error": lambda: int("x"),
        "none": lambda: None,
        "text": lambda: "42",
        "deep": deep,
        "exit": lambda: sys.exit(3),
    }


@pytest.mark.parametrize("way", list(ways()))
def test_a_system_that_breaks_is_named_and_recorded_with_its_cost(open_made: Any, tmp_path: Path, way: str) -> None:
    context = SystemContext(
        model=ScriptedChatModel([{**PAID, "videoworld": {"from_cache": True}}]), clock=SystemClock(), prices=PRICES
    )
    told: list[str] = []
    with pytest.raises(EpisodeFault, match="system_failed") as caught:
        answer(
            ASKED,
            open_made(),
            system="theirs",
            context=context,
            journal=Journal(tmp_path),
            build=lambda given: Breaking(given, ways()[way]),
            when_broken_off=told.append,
        )
    assert "'theirs'" in caught.value.message
    [entry] = Journal(tmp_path).entries()
    assert told == [entry.name]
    episode = entry.episode
    assert (episode.outcome, episode.reason, episode.usage.prompt) == ("failed", "system_failed", 70)
    assert list(episode.prices) == ["scripted"]
    assert not episode.rounds[0].physical


@pytest.mark.parametrize("build", [lambda given: 1 // 0, lambda given: object()])
@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_builder_that_breaks_is_named_and_leaves_nothing(
    open_made: Any, tmp_path: Path, build: Any, is_recorded: bool
) -> None:
    journal = Journal(tmp_path / "records") if is_recorded else None
    context = SystemContext(model=ScriptedChatModel([]), clock=SystemClock())
    with pytest.raises(EpisodeFault, match="system_failed"):
        answer(ASKED, open_made(), system="theirs", context=context, journal=journal, build=build)
    assert not (tmp_path / "records").exists()


def test_one_question_that_breaks_costs_no_other_its_answer(open_made: Any) -> None:
    def opening(question: Question) -> Any:
        if question.text == "bad?":
            raise PermissionError("no")
        return open_made()

    asked = [Question(text="When does the person in red appear?"), Question(text="bad?")]
    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock())
    first, second = answer_many(asked, open_session=opening, system="flat", context=context)
    assert isinstance(first, Answered)
    assert isinstance(second, Unanswered)
    assert second.fault.code == "session_failed"


def test_a_budget_of_money_without_a_price_is_refused_and_leaves_nothing(open_made: Any, tmp_path: Path) -> None:
    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock(), budget=Budget(money=1.0))
    with pytest.raises(EpisodeFault, match="no_price"):
        answer(ASKED, open_made(), system="flat", context=context, journal=Journal(tmp_path / "records"))
    assert not (tmp_path / "records").exists()
