"""A recipe without some of its stages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from world_api.core import BackendFault, Image
from world_api.media import MediaWorker
from world_api.recipes import recipe_for

pytestmark = pytest.mark.media

Names = Callable[..., list[str]]


@pytest.fixture
def names(make_video: Callable[..., Path], empty_room: Image) -> Names:
    """The names of the stages of one small film, without some."""
    film = make_video("film.mp4", [empty_room] * 3)

    def of(*without: str) -> list[str]:
        with closing(MediaWorker()) as worker:
            return [stage.spec.name for stage in recipe_for("classical", without=without).stages(film, worker)]

    return of


def test_stages_that_are_left_out_are_not_there_and_the_others_keep_their_order(names: Names) -> None:
    whole = names()
    assert {"screen_texts", "moving_things"} < set(whole)
    assert names("screen_texts") == [name for name in whole if name != "screen_texts"]


def test_a_stage_that_does_not_exist_is_named_with_those_that_do(names: Names) -> None:
    with pytest.raises(BackendFault) as caught:
        names("screen_text")
    assert caught.value.code == "no_such_stage"
    assert "'screen_text'" in caught.value.message
    assert "screen_texts" in caught.value.hint


def test_a_stage_whose_rows_are_needed_goes_only_with_those_that_need_them(names: Names) -> None:
    with pytest.raises(BackendFault) as caught:
        names("cuts")
    assert caught.value.code == "stage_needed"
    assert [name for name in ("scene_cuts", "stitches", "look_links") if repr(name) not in caught.value.hint] == []
    assert "cuts" not in names("cuts", "scene_cuts", "stitches", "look_links")
