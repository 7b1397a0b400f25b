"""A recipe without some of its stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from world_api.core.faults import BackendFault
from world_api.recipes import recipe_for

FILM = Path("film.mp4")


def names(*without: str) -> list[str]:
    return [stage.spec.name for stage in recipe_for("classical", without=without).stages(FILM)]


def test_stages_that_are_left_out_are_not_there_and_the_others_keep_their_order() -> None:
    whole = names()
    assert {"screen_texts", "moving_things"} < set(whole)
    assert names("screen_texts") == [name for name in whole if name != "screen_texts"]


def test_a_stage_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(BackendFault) as caught:
        names("screen_text")
    assert caught.value.code == "no_such_stage"
    assert "'screen_text'" in caught.value.message
    assert "screen_texts" in caught.value.hint


def test_a_stage_whose_rows_are_needed_goes_only_with_those_that_need_them() -> None:
    with pytest.raises(BackendFault) as caught:
        names("cuts")
    assert caught.value.code == "stage_needed"
    assert "scene_cuts" in caught.value.hint
    assert "cuts" not in names("cuts", "scene_cuts")
