"""Words: English verb forms and plurals, Chinese sentences made from the parts of an event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eval.questions.phrasing import Unsayable, wording
from eval.sandbox import FilmFacts


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("put the cup on the desk", "putting the cup on the desk"),
        ("sit down on the chair", "sitting down on the chair"),
        ("give the key to Ann", "giving the key to Ann"),
        ("wave", "waving"),
        ("open the drawer", "opening the drawer"),
        ("enter the kitchen", "entering the kitchen"),
        ("pick up the hat", "picking up the hat"),
        ("leave", "leaving"),
        ('say "no"', 'saying "no"'),
        ("see it", "seeing it"),
    ],
)
def test_a_verb_gets_its_ing(film: Any, base: str, expected: str) -> None:
    facts: FilmFacts = film(9120, 3, "test")
    event = replace(facts.events[0], verb_phrase=base)
    assert wording("en", facts).doing(event).endswith(f" {expected}")


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("folder", "folders"),
        ("box", "boxes"),
        ("key", "keys"),
        ("scarf", "scarves"),
        ("party", "parties"),
        ("glass", "glasses"),
    ],
)
def test_a_noun_gets_its_plural(film: Any, noun: str, expected: str) -> None:
    assert wording("en", film(9120, 3, "test")).kind_of_thing(noun) == expected


def test_events_can_be_said_in_both_languages(film: Any) -> None:
    facts: FilmFacts = film(9120, 15, "test")
    english, chinese = wording("en", facts), wording("zh", facts)
    said = 0
    for event in facts.events:
        assert english.doing(event).startswith(english.clause(event).split(" coat ")[0])
        try:
            words = chinese.clause(event)
        except Unsayable:
            continue
        said += 1
        assert not any(sign.isascii() and sign.isalpha() for sign in words)
    acts = [event for event in facts.events if event.kind != "says"]
    assert said >= 0.9 * len(acts)


def test_what_would_sound_alike_is_not_said_in_chinese(film: Any) -> None:
    facts: FilmFacts = film(9120, 3, "test")
    first = facts.people[0]
    twin = replace(facts.people[1], looks={**facts.people[1].looks, "coat": first.looks["coat"]})
    chinese = wording("zh", replace(facts, people=(first, twin, *facts.people[2:])))
    with pytest.raises(Unsayable):
        chinese.name(first)


def test_a_word_that_is_not_known_is_not_said_in_chinese(film: Any) -> None:
    facts: FilmFacts = film(9120, 3, "test")
    chinese = wording("zh", facts)
    with pytest.raises(Unsayable):
        chinese.kind_of_thing("theodolite")
    assert chinese.name(replace(facts.places[0], name="office 14")) == "14号办公室"
