"""Films on which tools are tried share no theme and no plot with films on which they are measured."""

from __future__ import annotations

from eval.sandbox import tell

SEEDS = range(12)


def test_films_of_admission_have_themes_of_their_own() -> None:
    themes = {
        split: {tell(seed, 2.0, split=split).facts.extras["theme"] for seed in SEEDS}
        for split in ("induction", "admission", "development", "test")
    }
    assert len(themes["admission"]) > 1
    assert not themes["admission"] & (themes["induction"] | themes["development"] | themes["test"])


def test_what_other_films_are_about_does_not_happen_in_them() -> None:
    """No appointment, no cause, no rule: plots of other films bring these about."""
    others = [tell(seed, 6.0, split="test").facts for seed in SEEDS]
    own = [tell(seed, 6.0, split="admission").facts for seed in SEEDS]
    assert sum(len(film.causes) for film in others) > len(others)
    assert [film for film in own if film.causes] == []
    assert not {fact.kind for film in own for fact in film.facts} - {"habit"}


def test_much_happens_in_films_of_admission_of_any_length() -> None:
    for minutes in (1.0, 3.0, 12.0):
        for seed in SEEDS:
            film = tell(seed, minutes, split="admission").facts
            kinds = {event.kind for event in film.events}
            assert len(film.events) > 8 * minutes
            assert {"enters", "leaves", "says"} <= kinds
            assert abs(film.duration - 60 * minutes) <= 60
