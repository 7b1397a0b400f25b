"""What facts say of a story holds, in words that are English and of ids that tell nothing."""

from __future__ import annotations

import re

import pytest

from eval.questions import questions_of
from eval.sandbox import Story, plan_of, tell


@pytest.fixture(scope="module", params=[1.0, 3.0, 10.0])
def stories(request: pytest.FixtureRequest) -> list[Story]:
    """Stories of one length."""
    return [tell(seed, request.param, split="development") for seed in range(701, 709)]


def test_a_thing_with_a_label_never_lies_where_the_rule_does_not_say(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        labelled = {item.id for item in facts.things if item.marks}
        lying = [item for item in facts.relations if item.kind in {"on", "inside"} and item.subject in labelled]
        assert [item for item in lying if item.kind == "on"] == []
        for fact in facts.facts:
            if fact.kind == "rule":
                own = {
                    item.id
                    for item in facts.things
                    if item.category == fact.values["category"]
                    and any(f"{fact.values['label']} label" in mark for mark in item.marks)
                }
                assert {item.object for item in lying if item.subject in own} <= {fact.values["target"]}


def test_no_two_facts_say_different_things_of_the_same(stories: list[Story]) -> None:
    for story in stories:
        told = [fact.text.rsplit(" is ", 1)[0] for fact in story.facts.facts if fact.kind == "number"]
        assert len(told) == len(set(told)), story.facts.film
        for fact in story.facts.facts:
            assert fact.spans
            assert len(set(fact.spans)) == len(fact.spans)


def test_furniture_that_several_rooms_have_is_one_of_several_in_words(stories: list[Story]) -> None:
    several = 0
    for story in stories:
        facts = story.facts
        rooms = {shot.room.name: plan_of(shot.room.kind, shot.room.variant) for _, shot in story.film.shots()}
        drawers = sum(any(item.name == "the left drawer" for item in plan.openings) for plan in rooms.values())
        for event in facts.events:
            if event.target == "the left drawer" and drawers > 1:
                several += 1
                assert "the left drawer" not in event.clause + event.verb_phrase
                assert "a left drawer" in event.clause
    assert several


def test_what_is_said_and_written_is_english(stories: list[Story]) -> None:
    for story in stories:
        facts = story.facts
        words = [event.clause for event in facts.events] + [fact.text for fact in facts.facts]
        words += [mark for thing in facts.things for mark in thing.marks]
        wrong = [text for text in words if re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiouh]", text)]
        assert wrong == []


def test_the_tracks_of_the_truth_are_numbers_that_the_facts_explain(stories: list[Story]) -> None:
    for story in stories:
        facts, tracks = story.facts, story.facts.extras["tracks"]
        shown = {visit.subject for visit in facts.visits}
        assert shown <= tracks.keys() <= {item.id for item in (*facts.people, *facts.things)}
        assert sorted(tracks.values()) == [f"s{number:04d}" for number in range(1, len(tracks) + 1)]


def test_most_films_of_three_minutes_show_a_rule_or_a_cause_to_ask_about() -> None:
    asked = 0
    for seed in range(880, 904):
        items = questions_of(tell(seed, 3, split="test").facts, seed=seed, split="test")
        asked += any(item.labels["type"] in {"cause", "consequence", "general_rule"} for item in items)
    assert asked > 12
