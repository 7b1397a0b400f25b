"""Identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from world_api.core.faults import OperationFault, StoreFault
from world_api.core.identifiers import (
    check_video_id,
    is_name,
    parse_segment_id,
    segment_id,
    video_id_from_file_name,
)
from world_api.core.spans import TimeSpan


def test_a_segment_id_names_its_span() -> None:
    assert segment_id(TimeSpan(start=123.0, end=131.0)) == "seg_0001230_0001310"


@given(st.integers(0, 10**7), st.integers(0, 10**5))
def test_a_segment_id_reads_back(start: int, length: int) -> None:
    span = TimeSpan(start=start / 10, end=(start + length) / 10)
    assert segment_id(parse_segment_id(segment_id(span))) == segment_id(span)


@pytest.mark.parametrize("text", ["seg_1_2", "seg_0000020_0000010", "scene_0001", ""])
def test_what_is_no_segment_id_is_refused(text: str) -> None:
    with pytest.raises(OperationFault):
        parse_segment_id(text)


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
