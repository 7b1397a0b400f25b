"""Questions from facts: answerable in one way only, in the words of their split, balanced, the same for the same film."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import product
from typing import Any

import pytest

from controller.answers import ABSTENTIONS, NOT_THERE, UNDETERMINABLE
from eval.questions import MAKERS, questions_of
from eval.questions.generator import CHINESE_SHARE
from eval.sandbox import FilmFacts
from tests.support.answer_checker import check_items
from tool_induction.domains import PlannedQuestion, SplitName, leaks, load_domain
from world_api.core import content_words

SPLITS: tuple[SplitName, ...] = ("induction", "development", "test")
SEEDS = range(9100, 9106)


def every(questions: Any, *, minutes: tuple[float, ...] = (1, 3), seeds: Any = SEEDS) -> Iterator[Any]:
    for split in SPLITS:
        for seed in seeds:
            for length in minutes:
                yield from questions(seed, length, split)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("minutes", [1, 3, 15])
def test_every_answer_is_found_again_along_another_way(
    film: Any, questions: Any, split: SplitName, minutes: int
) -> None:
    for seed in SEEDS:
        assert check_items(questions(seed, minutes, split), film(seed, minutes, split)) == []


def test_a_film_of_three_minutes_has_questions_of_all_domains_in_every_split(questions: Any) -> None:
    for split in SPLITS:
        asked = Counter(item.domain for seed in SEEDS for item in questions(seed, 3, split))
        assert set(asked) == set(MAKERS)
        assert min(asked.values()) >= 3 * len(SEEDS)


def test_the_words_belong_to_the_split_and_to_no_other(questions: Any) -> None:
    domains = {name: load_domain(name) for name in MAKERS}
    for split in SPLITS:
        for seed in SEEDS:
            items = questions(seed, 3, split)
            assert {item.split for item in items} == {split}
            for name, domain in domains.items():
                asked = [
                    PlannedQuestion(video_id=item.video_id, question=item.question.text, template=item.template)
                    for item in items
                    if item.domain == name
                ]
                assert leaks(domain, split, asked) == []


def test_a_split_without_templates_has_no_questions(film: Any) -> None:
    assert questions_of(film(9100, 3, "admission"), seed=1, split="admission") == ()


def test_the_same_film_gives_the_same_questions_and_another_seed_others(film: Any) -> None:
    facts = film(9101, 3, "test")
    once, again = (questions_of(facts, seed=4, split="test") for _ in range(2))
    assert once == again
    assert {item.question.text for item in questions_of(facts, seed=5, split="test")} != {
        item.question.text for item in once
    }


def test_the_options_of_a_filing_rule_are_of_one_room(film: Any, questions: Any) -> None:
    """Most rules are about the main room of a film: among options of other rooms it would be a good guess."""
    asked = 0
    for seed, minutes in product(SEEDS, (1, 3, 15)):
        rooms = {place.name for place in film(seed, minutes, "test").places}
        for item in questions(seed, minutes, "test"):
            if item.labels["type"] == "general_rule" and item.labels["language"] == "en":
                assert len({room for option in item.question.options for room in rooms if room in option}) == 1
                asked += 1
    assert asked > 1


def test_yes_and_no_and_the_places_of_right_options_come_equally_often(questions: Any) -> None:
    fixed: Counter[str] = Counter()
    places: dict[int, Counter[str]] = {3: Counter(), 4: Counter()}
    for item in every(questions, seeds=range(9200, 9225)):
        options = item.question.options
        if item.question.kind != "choice" or item.answer in ABSTENTIONS:
            continue
        if options in (("Yes", "No"), ("是", "否")):
            fixed[item.answer] += 1
        elif len(options) in places:
            places[len(options)][item.answer] += 1
    for shares in (fixed, *places.values()):
        whole = sum(shares.values())
        assert whole > 100
        for number in shares.values():
            assert abs(number / whole - 1 / len(shares)) < 4 * (0.25 / whole) ** 0.5


def test_all_options_share_the_same_of_the_questions_words(questions: Any) -> None:
    # In the others the options are two things crossed, each of which stands in two, or the two that the question names.
    crossed = {"comparison", "followed_thing", "pair_order"}
    seen = 0
    for item in every(questions, seeds=range(9200, 9210)):
        if item.question.kind != "choice" or len(item.question.options) < 3 or item.labels["type"] in crossed:
            continue
        asked = set(content_words(item.question.text))
        shared = {frozenset(asked & set(content_words(option))) for option in item.question.options}
        assert len(shared) == 1, item
        seen += 1
    assert seen > 200


@pytest.mark.parametrize("kind", ["first_appearance", "last_appearance", "visible_duration"])
def test_the_right_number_is_the_least_as_often_as_any_other(questions: Any, kind: str) -> None:
    ranks: Counter[tuple[int, int]] = Counter()
    for seed in range(9200, 9260):
        for item in questions(seed, 3, "development"):
            if item.labels["type"] == kind and item.question.kind == "choice" and item.answer not in ABSTENTIONS:
                numbers = [int(re.findall(r"\d+", option)[0]) for option in item.question.options]
                right = numbers[item.question.letters.index(item.answer)]
                ranks[len(numbers), sum(number < right for number in numbers)] += 1
    for size in (3, 4):
        found = [ranks[size, rank] for rank in range(size)]
        share = 4 * (sum(found) / size * (1 - 1 / size)) ** 0.5
        assert all(abs(number - sum(found) / size) <= share for number in found), found


def test_a_sixth_or_more_of_each_domain_is_about_what_is_not_in_the_film_and_differs_in_one_thing(
    questions: Any,
) -> None:
    whole, absent = Counter[Any](), Counter[Any]()
    for split in SPLITS:
        for seed in SEEDS:
            by_id = {item.id: item for item in questions(seed, 3, split)}
            for item in by_id.values():
                whole[item.domain] += 1
                if (original := by_id.get(item.labels.get("pair"))) is None:
                    continue
                absent[item.domain] += 1
                assert item.answer == (0 if item.question.kind == "count" else NOT_THERE)
                assert original.answer not in (0, *ABSTENTIONS)
                assert (item.template, len(item.question.options)) == (
                    original.template,
                    len(original.question.options),
                )
                assert SequenceMatcher(None, item.question.text, original.question.text).ratio() > 0.5
    assert all(absent[domain] / whole[domain] >= 0.15 for domain in MAKERS), (absent, whole)


def test_a_name_that_nobody_says_cannot_be_told_and_comes_as_often_as_one_that_is_said(
    film: Any, questions: Any
) -> None:
    named: Counter[str] = Counter()
    for split in SPLITS:
        for seed in range(9200, 9220):
            for item in questions(seed, 3, split):
                if "named" in item.labels:
                    named[item.labels["named"]] += 1
                    assert (item.answer == UNDETERMINABLE) == (item.labels["named"] == "unknown")
                else:
                    assert item.answer != UNDETERMINABLE
    assert named["known"] == named["unknown"] > 10


def test_numbers_are_spread(questions: Any) -> None:
    answers = Counter(
        item.answer for item in every(questions, seeds=range(9200, 9225)) if item.question.kind == "count"
    )
    assert len(answers) >= 6
    assert max(answers.values()) / sum(answers.values()) < 0.45


def test_a_share_is_asked_in_chinese_with_chinese_options(questions: Any) -> None:
    items = list(every(questions, seeds=range(9200, 9225)))
    chinese = [item for item in items if item.labels["language"] == "zh"]
    assert CHINESE_SHARE - 0.1 < len(chinese) / len(items) <= CHINESE_SHARE + 0.05
    for item in chinese:
        assert any("一" <= sign <= "鿿" for sign in item.question.text)
        assert not any(word in option for option in item.question.options for word in ("the ", "person"))


def test_ids_are_the_films_own_and_no_text_stands_twice(questions: Any) -> None:
    for seed in SEEDS:
        items = questions(seed, 15, "test")
        assert len({item.id for item in items}) == len({item.question.text for item in items}) == len(items)
        assert all(item.id.startswith(f"sandbox-test-{seed:04d}.") for item in items)


def test_evidence_lies_in_the_film_and_shows_what_happens(film: Any, questions: Any) -> None:
    facts: FilmFacts = film(9102, 15, "test")
    for item in questions(9102, 15, "test"):
        assert all(0 <= span.start < span.end <= facts.duration for span in item.spans)
        is_absent = item.answer in (0, *ABSTENTIONS) or item.question.options in (("Yes", "No"), ("是", "否"))
        assert item.spans or is_absent, item.id


def test_a_film_has_so_many_questions_a_domain_as_are_wanted(film: Any) -> None:
    facts = film(9103, 15, "test")
    for wanted in (0, 1, 5):
        asked = Counter(item.domain for item in questions_of(facts, seed=1, split="test", per_domain=wanted))
        assert all(number == wanted for number in asked.values())
        assert len(asked) == (3 if wanted else 0)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_films_with_hardly_anybody_are_asked_about_without_fault(film: Any, kept: int) -> None:
    facts: FilmFacts = film(9104, 3, "test")
    people = facts.people[:kept]
    names = {item.id for item in people} | {item.id for item in facts.things}
    events = tuple(item for item in facts.events if item.actor in names and (not item.other or item.other in names))
    left = replace(
        facts,
        people=people,
        visits=tuple(item for item in facts.visits if item.subject in names),
        events=events,
        relations=tuple(
            item for item in facts.relations if item.kind not in ("holds", "wears") or item.subject in names
        ),
        causes=(),
        facts=(),
    )
    for split in SPLITS:
        assert all(item.video_id == facts.film for item in questions_of(left, seed=1, split=split))


def test_a_film_in_which_nothing_happens_has_no_questions_that_need_events() -> None:
    nothing = FilmFacts(
        film="sandbox-test-9999",
        seed=1,
        duration=60.0,
        people=(),
        things=(),
        places=(),
        scenes=(),
        visits=(),
        events=(),
    )
    assert {item.answer for item in questions_of(nothing, seed=1, split="test")} <= {0}


@pytest.mark.parametrize("split", SPLITS)
def test_what_has_no_single_answer_in_an_hour_is_asked_of_a_part_that_the_question_names(
    film: Any, questions: Any, split: SplitName
) -> None:
    facts, items = film(9100, 60, split), questions(9100, 60, split)
    assert check_items(items, facts) == []
    domains = {name: load_domain(name) for name in MAKERS}
    parts = {}
    for item in items:
        found = re.match(r"(?:Consider only the part of the video from|只看视频的)\D*(\d+)\D+(\d+)", item.question.text)
        if found is None:
            continue
        start, end = parts[item.id] = float(found[1]), float(found[2])
        assert 0 <= start < end <= facts.duration
        assert all(start <= span.start and span.end <= end for span in item.spans)
        asked = PlannedQuestion(video_id=item.video_id, question=item.question.text, template=item.template)
        assert leaks(domains[item.domain or ""], split, [asked]) == []
    assert parts
    if split == "test":
        assert len(set(parts.values())) == 3  # the whole hour


def test_a_question_of_another_part_than_its_own_is_found_out(film: Any, questions: Any) -> None:
    facts = film(9100, 60, "test")
    item = next(item for item in questions(9100, 60, "test") if item.question.text.startswith("Consider only the part"))
    text = re.sub(r"\d+ s to", "17 s to", item.question.text, count=1)
    assert check_items([replace(item, question=replace(item.question, text=text))], facts) != []


def test_films_shorter_than_an_hour_are_asked_about_as_a_whole(questions: Any) -> None:
    texts = [item.question.text for split in SPLITS for item in questions(9101, 50, split)]
    assert texts
    assert not any(text.startswith(("Consider only the part", "只看视频的")) for text in texts)


@pytest.mark.nightly
def test_ten_hours_have_as_many_questions_as_a_film_may_have(film: Any, questions: Any) -> None:
    items = questions(9105, 600, "test")
    assert Counter(item.domain for item in items) == dict.fromkeys(MAKERS, 40)
    assert check_items(items, film(9105, 600, "test")) == []
