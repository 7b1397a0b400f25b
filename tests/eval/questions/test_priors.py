"""Priors: they find what words give away, and find next to nothing in questions of made films."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from controller.answers import Question
from eval.questions import questions_of
from eval.questions.priors import Constant, TextPrior, chance_of, measure_priors
from eval.sandbox import tell

#: Of fewer questions than this a share is anything.
FEW = 200
COLOURS = ("red", "green", "blue", "yellow", "white", "black")


@lru_cache
def any_item() -> Any:
    return questions_of(tell(9110, 1, split="test").facts, seed=1, split="test")[0]


def made_item(**parts: Any) -> Any:
    return replace(any_item(), **{"domain": None, "content": None, "split": None, "spans": (), "labels": {}, **parts})


def choice(number: int, *, gives_away: bool) -> Any:
    """A question about a colour; where it is given away, the right option says a word that the wrong ones never say."""
    chance = random.Random(number)
    colours = chance.sample(COLOURS, 4)
    place = chance.randrange(4)
    options = [f"the {colour} cup" for colour in colours]
    if gives_away:
        options[place] += " indeed"
    question = Question(text="Which cup is it?", kind="choice", options=tuple(options))
    return made_item(
        id=f"i{number}", video_id=f"film{number // 10}", question=question, answer="ABCD"[place], template="cup/test/0",
        domain="A_locate_count",
    )  # fmt: skip


def test_words_that_give_answers_away_are_found() -> None:
    items = [choice(number, gives_away=True) for number in range(200)]
    line = measure_priors(items[:80], {}, others=items[80:])[-1]
    assert line.learned == 1.0
    assert line.chance == 0.25
    assert line.over_low is not None
    assert line.over_low > 0.5


def test_a_favourite_position_is_found_by_the_constant_guess() -> None:
    items = [replace(choice(number, gives_away=False), answer="C") for number in range(60)]
    line = measure_priors(items[:20], {}, others=items[20:])[-1]
    assert line.constant == line.learned == 1.0


def test_where_words_say_nothing_the_prior_is_near_chance() -> None:
    items = [choice(number, gives_away=False) for number in range(900)]
    line = measure_priors(items[:400], {}, others=items[400:])[-1]
    assert abs(line.over) < 0.07


def test_numbers_and_orders_that_words_give_away_are_found() -> None:
    counts = [
        made_item(
            id=f"c{number}", video_id=f"film{number // 10}", answer=number % 3, template="count/test/0",
            question=Question(text=f"How many {('keys', 'cups', 'hats')[number % 3]} are there?", kind="count"),
        )
        for number in range(120)
    ]  # fmt: skip
    orders = []
    for number in range(120):
        options = random.Random(number).sample(["somebody enters", "somebody waves", "somebody leaves"], 3)
        first_to_last = sorted(options)
        letters = ["ABC"[options.index(text)] for text in first_to_last]
        question = Question(text="In which order?", kind="order", options=tuple(options))
        orders.append(
            made_item(
                id=f"o{number}",
                video_id=f"film{number // 10}",
                question=question,
                answer=letters,
                template="order/test/0",
            )
        )
    for items in (counts, orders):
        prior = TextPrior(items[40:], {})
        assert [prior.guess(item) for item in items[:40]] == [item.answer for item in items[:40]]


def test_a_stretch_is_guessed_as_the_best_part_of_a_film() -> None:
    durations = {f"film{number}": 100.0 * (number + 1) for number in range(10)}
    items = [
        made_item(
            id=film, video_id=film, question=Question(text="When?", kind="interval"), template="when/test/0",
            answer={"start_time": 0.25 * length, "end_time": 0.5 * length},
        )
        for film, length in durations.items()
    ]  # fmt: skip
    assert Constant(items[2:], durations).guess(items[0]) == {"start_time": 25.0, "end_time": 50.0}


@pytest.mark.parametrize("gives_away", [True, False])
def test_words_that_tell_which_of_a_pair_is_about_something_absent_are_found(gives_away: bool) -> None:
    items = []
    for number in range(120):
        colours = random.Random(number).sample(COLOURS, 2)
        for place, colour in enumerate(colours):
            text = f"When does the {'odd ' if gives_away and place else ''}{colour} cup appear?"
            answer = "not_there" if place else {"start_time": 1.0, "end_time": 2.0}
            items.append(
                made_item(
                    id=f"i{number}.{place}", video_id=f"film{number // 10}", template="cup/test/0", answer=answer,
                    question=Question(text=text, kind="interval", may_abstain=True),
                    labels={"pair": f"i{number}.0"} if place else {},
                )
            )  # fmt: skip
    lengths = {item.video_id: 10.0 for item in items}
    line = next(line for line in measure_priors(items[:100], lengths, others=items[100:]) if line.type == "absence")
    assert (line.questions, line.chance) == (100, 0.5)
    assert line.learned == 1.0 if gives_away else abs(line.learned - 0.5) < 0.15


def test_chance_is_a_blind_draw() -> None:
    item = choice(1, gives_away=False)
    order = replace(item, question=Question(text="?", kind="order", options=("a", "b", "c")), answer=list("ABC"))
    number = replace(item, question=Question(text="?", kind="count"), answer=1)
    assert (chance_of(item), chance_of(order), chance_of(number)) == (0.25, pytest.approx(1 / 6), None)


def test_a_range_that_is_always_the_latest_is_found() -> None:
    items = []
    for number in range(200):
        chance = random.Random(number)
        starts = chance.sample(range(900), 4)
        options = tuple(f"between {start} and {start + 9} seconds" for start in starts)
        answer = "ABCD"[starts.index(max(starts))]
        question = Question(text="At what point?", kind="choice", options=options)
        items.append(
            made_item(
                id=f"r{number}",
                video_id=f"film{number // 10}",
                question=question,
                answer=answer,
                template="first/test/0",
            )
        )
    assert measure_priors(items[:80], {}, others=items[80:])[-1].learned > 0.9


def test_a_blind_number_is_drawn_among_those_that_occur_and_types_have_lines_of_their_own() -> None:
    items = [
        made_item(
            id=f"c{number}", video_id=f"film{number // 10}", answer=0 if number % 4 else 1, template="count/test/0",
            question=Question(text="How many?", kind="count"), domain="A_locate_count",
        )
        for number in range(120)
    ]  # fmt: skip
    lines = {(line.domain, line.type): line for line in measure_priors(items[:40], {}, others=items[40:])}
    line = lines["A_locate_count", "count"]
    assert (line.chance, line.constant) == (0.5, 0.75)


@pytest.mark.nightly
@pytest.mark.parametrize("split", ["induction", "development", "test"])
@pytest.mark.parametrize("minutes", [3, 10])
def test_a_prior_that_learned_from_other_films_is_near_chance_on_films_it_never_saw(
    film: Any, questions: Any, split: Any, minutes: float
) -> None:
    """Of options and orders words tell next to nothing: in all, by domain, by type.

    Of numbers some are more frequent than others in every film; there the prior is measured against the best constant guess.
    Of forty films a line may be far from chance by chance alone, so that a hundred are guessed at.
    """
    test, train = range(9500, 9600), range(9600, 9750)
    lengths = {film(seed, minutes, split).film: film(seed, minutes, split).duration for seed in (*test, *train)}
    items = [item for seed in test for item in questions(seed, minutes, split)]
    others = [item for seed in train for item in questions(seed, minutes, split)]
    chosen, learned = ([one for one in some if one.question.kind in ("choice", "order")] for some in (items, others))
    for line in measure_priors(chosen, lengths, others=learned):
        if line.questions < FEW:  # a handful tells nothing, whichever way it falls
            continue
        assert line.over_low is not None, line
        assert line.over_low < (0.05 if line.type or line.kind else 0.03), line
        assert line.over < (0.15 if line.type else 0.1), line
        if not (line.domain or line.kind or line.type):
            assert abs(line.over) < 0.04
    lines = measure_priors(items, lengths, others=others)
    for line in lines:
        if line.type in ("absence", "naming") and line.questions >= FEW:
            assert abs(line.over) < 0.1, line
            assert line.over_low is not None
            assert line.over_low < 0.03, line
    counts = next(line for line in lines if line.kind == "count")
    assert counts.low is not None
    assert counts.low - counts.constant < 0.05, counts
