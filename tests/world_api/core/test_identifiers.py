"""Identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from world_api.core import StoreFault, TimeSpan, check_video_id, is_name, segment_id, video_id_from_file_name


def test_a_segment_id_names_its_span() -> None:
    assert segment_id(TimeSpan(start=123.0, end=131.0)) == "seg_0001230_0001310"


@pytest.mark.parametrize(
    "video_id", ["../etc", "a/b", "a" * 300, "", ".", "..", "A", "a b", "a..b", "-a", "a\n", "視頻"]
)
def test_an_id_that_could_leave_the_store_is_refused(video_id: str) -> None:
    with pytest.raises(StoreFault) as caught:
        check_video_id(video_id)
    assert caught.value.code == "bad_video_id"
    assert caught.value.hint
    assert len(caught.value.message) < 200


@given(st.text(max_size=200))
def test_every_file_name_folds_to_a_legal_id(stem: str) -> None:
    assert is_name(video_id_from_file_name(stem))


def test_two_names_that_ids_cannot_spell_stay_apart() -> None:
    assert video_id_from_file_name("我的视频") != video_id_from_file_name("你的视频")
    assert video_id_from_file_name("My Film (1)") == "my-film-1"
