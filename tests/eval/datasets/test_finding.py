"""Finding videos by name, in any layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.datasets import VideoFolder


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


@pytest.mark.parametrize("place", ["a.mp4", "a.MKV", "deep/er/a.webm", "deep/A.mov", ".hidden/a.mp4"])
def test_a_video_is_found_at_any_depth_with_any_ending(tmp_path: Path, place: str) -> None:
    there = file(tmp_path / place)
    found = VideoFolder(tmp_path).find("a")
    assert found == (None if place.startswith(".") else there)


def test_a_name_may_have_its_ending_and_its_folders(tmp_path: Path) -> None:
    there = file(tmp_path / "films" / "a.mkv")
    folder = VideoFolder(tmp_path)
    assert folder.find("a.mp4") == there  # another ending than the annotations say
    assert folder.find("elsewhere/a.mp4") == there
    assert folder.find("b", "films/a.mkv") == there


def test_of_two_the_more_similar_folder_counts_then_case_then_the_ending(tmp_path: Path) -> None:
    one, other = file(tmp_path / "count" / "1.mp4"), file(tmp_path / "order" / "1.mp4")
    folder = VideoFolder(tmp_path)
    assert (folder.find("order/1.mp4"), folder.find("count/1.mp4")) == (other, one)
    upper, lower = file(tmp_path / "x" / "AbC.mkv"), file(tmp_path / "y" / "abc.mp4")
    assert (VideoFolder(tmp_path).find("AbC"), VideoFolder(tmp_path).find("abc")) == (upper, lower)
    better = file(tmp_path / "z" / "v.mp4")
    file(tmp_path / "z" / "v.mkv")
    assert VideoFolder(tmp_path).find("v") == better


def test_what_is_no_video_is_not_one(tmp_path: Path) -> None:
    file(tmp_path / "a.json")
    file(tmp_path / "a.part")
    (tmp_path / "b.mp4").mkdir()
    assert VideoFolder(tmp_path).find("a", "b", "a.json") is None


@pytest.mark.parametrize("name", ["", "..", "../a", "/etc/passwd", "a\0b", "\ud800", "x" * 5000, "a/../../b"])
def test_no_name_leads_out_of_the_folder_or_breaks_the_search(tmp_path: Path, name: str) -> None:
    file(tmp_path.parent / "a.mp4")
    assert VideoFolder(tmp_path).find(name) is None


def test_a_folder_that_is_a_link_is_gone_into_and_a_circle_ends(tmp_path: Path) -> None:
    there = file(tmp_path / "disk" / "deep" / "a.mp4")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "videos").symlink_to(there.parent)
    (tmp_path / "data" / "circle").symlink_to(tmp_path / "data")
    assert VideoFolder(tmp_path / "data").find("a") is not None


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert VideoFolder(tmp_path / "nothing").find("a") is None
