"""Who scores is said by the dataset's protocol; scorers come by name and version, also from other packages."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

from controller.answers import Question
from eval.datasets import Item
from eval.scoring import (
    AnswerToScore,
    AnswerVerdict,
    Context,
    Score,
    check_protocol,
    score_all,
    score_value,
    scorer_named,
    scorer_names,
)
from world_api.core import BackendFault, EvalFault

OPEN = Item(id="o", video_id="v", question=Question(text="Where is the hat?"), answer="on the table")


class Obliging:
    """Says yes, and remembers who was judged."""

    name = "obliging"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def verdict(self, question: str, accepted: tuple[str, ...], given: str) -> AnswerVerdict:
        self.seen.append(given)
        if given == "broken":
            raise BackendFault("endpoint_error", "the server failed", hint="ask again")
        return AnswerVerdict(yes=True, judge=self.name)


def shouting(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    loud = answer is not None and answer.isupper()
    return Score(
        correct=loud,
        score=context.settings.get("worth", float(loud)),
        scorer=context.scorer,
        details=dict(context.settings),
    )


shouting.version = 3


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint(name="shouting", value=f"{__name__}:shouting", group="video_world_api.scorers"),
        metadata.EntryPoint(name="absent", value="no_such_package:score", group="video_world_api.scorers"),
        metadata.EntryPoint(name="choice", value=f"{__name__}:shouting", group="video_world_api.scorers"),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "video_world_api.scorers" else [])
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: _load(self.value))


def _load(value: str) -> Any:
    if value.startswith("no_such_package"):
        raise ModuleNotFoundError("No module named 'no_such_package'")
    return shouting


def fault_of(entry: Any, judge: Any = None) -> EvalFault:
    with pytest.raises(EvalFault) as caught:
        score_value(OPEN, None, "there", protocol={"scoring": {"open": entry}}, judge=judge)
    return caught.value


def test_the_protocol_names_the_scorer_and_the_score_says_who_it_was() -> None:
    assert score_value(OPEN, None, "table").scorer == "text/1"
    assert score_value(OPEN, None, "table", protocol={"scoring": {"open": "text_cjk/1"}}).scorer == "text_cjk/1"
    assert score_value(OPEN, None, "table", protocol={"scoring": {"count": "count"}}).scorer == "text/1"


def test_open_answers_are_judged_where_a_judge_is_given() -> None:
    score = score_value(OPEN, None, "on a desk", judge=Obliging())
    assert (score.scorer, score.correct, score.details["judge"]) == ("judge/1", True, "obliging")


def test_a_protocol_that_wants_a_judge_is_scored_by_words_without_one_and_says_so() -> None:
    score = score_value(OPEN, None, "on a desk", protocol={"scoring": {"open": "judge/1"}})
    assert (score.scorer, score.details["instead_of"]) == ("text/1", "judge/1")
    strict = {"scorer": "judge/1", "instead": ""}
    assert fault_of(strict).code == "no_judge"
    other = {"scoring": {"open": {"scorer": "judge/1", "instead": "text_cjk/1"}}}
    assert score_value(OPEN, None, "on a desk", protocol=other).scorer == "text_cjk/1"


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("intervall", "unknown_scorer"),
        ("text/2", "scorer_version"),
        ({"f1_at": 0.5}, "bad_protocol"),
        ({"scorer": "text/1", "f2_at": 0.5}, "bad_protocol"),
        ({"scorer": "text/1", "f1_at": "half"}, "bad_protocol"),
        ({"scorer": "text/1", "f1_at": 7.0}, "bad_protocol"),
        ({"scorer": "text/1", "f1_at": True}, "bad_protocol"),
        (7, "bad_protocol"),
    ],
)
def test_a_protocol_that_cannot_be_kept_is_named(entry: Any, code: str) -> None:
    assert fault_of(entry).code == code


def test_a_wrong_name_gets_a_hint() -> None:
    assert "'interval'" in fault_of("intervall").hint


def test_scoring_that_is_no_object_is_named_before_anything_runs() -> None:
    judged = {"scorer": "judge/1", "instead": "nobody"}
    set_wrongly = {"scorer": "interval/1", "correct_at": 3}
    for scoring in (
        ["judge"],
        {"open": "nobody"},
        {"open": judged},
        {"interval": set_wrongly},
        {"open": {"scorer": "text", "x": 1}},
    ):
        with pytest.raises(EvalFault):
            check_protocol({"scoring": scoring})
    check_protocol({"scoring": {"open": "judge/1", "interval": {"scorer": "interval/1", "correct_at": 0.3}}})
    check_protocol({})


@pytest.mark.usefixtures("third_party")
def test_another_package_adds_a_scorer_with_its_version_and_settings() -> None:
    score = score_value(OPEN, None, "HERE", protocol={"scoring": {"open": {"scorer": "shouting/3", "how": "loud"}}})
    assert (score.scorer, score.correct, score.details) == ("shouting/3", True, {"how": "loud"})
    assert "shouting" in scorer_names()


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize("worth", [7, -0.5, float("nan")])
def test_a_score_of_another_package_that_is_none_is_named(worth: float) -> None:
    with pytest.raises(EvalFault) as caught:
        score_value(OPEN, None, "HERE", protocol={"scoring": {"open": {"scorer": "shouting", "worth": worth}}})
    assert caught.value.code == "bad_score"


@pytest.mark.usefixtures("third_party")
def test_another_package_cannot_take_a_name_of_ours_and_one_that_fails_is_named() -> None:
    assert scorer_named("choice").whole_name == "choice/1"
    with pytest.raises(EvalFault) as caught:
        scorer_named("absent")
    assert caught.value.code == "scorer_not_loadable"


def answers(number: int) -> list[AnswerToScore]:
    return [AnswerToScore(item=OPEN, value=None, answer=f"answer {place}") for place in range(number)]


@pytest.mark.parametrize("workers", [1, 4])
def test_answers_are_judged_in_the_seeds_order_and_scored_in_their_own(workers: int) -> None:
    judge, again = Obliging(), Obliging()
    scores = score_all(answers(30), judge=judge, seed=5, workers=workers)
    assert [score.details["characters"] for score in scores] == [len(one.answer or "") for one in answers(30)]
    assert sorted(judge.seen) == sorted(one.answer or "" for one in answers(30))
    assert judge.seen != [one.answer for one in answers(30)]
    if workers == 1:
        score_all(answers(30), judge=again, seed=5)
        assert judge.seen == again.seen
        score_all(answers(30), judge=again, seed=6)
        assert again.seen[30:] != judge.seen


@pytest.mark.parametrize("workers", [1, 3])
def test_a_server_that_fails_ends_the_scoring_with_its_fault(workers: int) -> None:
    with pytest.raises(BackendFault, match="server failed"):
        score_all(
            [*answers(5), AnswerToScore(item=OPEN, value=None, answer="broken")], judge=Obliging(), workers=workers
        )
