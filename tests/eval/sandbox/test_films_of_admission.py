"""Films on which tools are tried share no theme and no plot with films on which they are measured."""

from __future__ import annotations

from eval.sandbox import ADMISSION_PLOTS, ADMISSION_THEMES, PLOTS, THEMES, tell

SEEDS = range(12)


def test_no_plot_and_no_theme_is_of_both_kinds() -> None:
    assert not {plot for plot, _, _ in ADMISSION_PLOTS} & {plot for plot, _, _ in PLOTS}
    assert not {*ADMISSION_THEMES} & {*THEMES}


def test_films_of_admission_have_their_own_themes_and_those_of_other_splits_the_others() -> None:
    tried = {tell(seed, 2.0, split="admission").facts.extras["theme"] for seed in SEEDS}
    assert tried == {*ADMISSION_THEMES}
    for split in ("induction", "development", "test"):
        themes = {tell(seed, 2.0, split=split).facts.extras["theme"] for seed in SEEDS}
        assert themes <= {*THEMES}
        assert len(themes) > 1


def test_much_happens_in_films_of_admission_of_any_length() -> None:
    for minutes in (1.0, 3.0, 12.0):
        for seed in SEEDS:
            film = tell(seed, minutes, split="admission").facts
            kinds = {event.kind for event in film.events}
            assert len(film.events) > 8 * minutes
            assert {"enters", "leaves", "says"} <= kinds
            assert abs(film.duration - 60 * minutes) <= 60
