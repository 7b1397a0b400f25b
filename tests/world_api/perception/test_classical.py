"""The adapters that need no download."""

from __future__ import annotations

import logging
from pathlib import Path

import cv2
import numpy as np
import pytest

from world_api.core import Box, Image
from world_api.media import VideoFrames
from world_api.perception import ClassicalDetector, RapidOcrReader


def card(*lines: str) -> Image:
    picture = np.full((180, 480, 3), 30, np.uint8)
    for number, line in enumerate(lines):
        cv2.putText(picture, line, (20, 60 + 60 * number), cv2.FONT_HERSHEY_SIMPLEX, 1.3, (240, 240, 240), 2)
    return picture


def test_lines_of_text_are_read_from_top_to_bottom_and_in_place(capfd: pytest.CaptureFixture[str]) -> None:
    lines = RapidOcrReader().read(card("HELLO WORLD", "ROOM 14"))
    assert [line.text for line in lines] == ["HELLO WORLD", "ROOM 14"]
    assert lines[0].box.y2 < lines[1].box.y1 + 15
    assert all(0 <= line.box.x1 < line.box.x2 <= 480 and line.confidence > 0.8 for line in lines)
    assert capfd.readouterr().out == ""
    assert logging.getLogger("RapidOCR").level >= logging.CRITICAL


def test_a_picture_without_text_gives_no_lines_and_no_places() -> None:
    reader = RapidOcrReader()
    flat = np.full((90, 160, 3), 120, np.uint8)
    assert list(reader.read(flat)) == []
    assert list(reader.locate(flat)) == []


def test_places_of_text_lie_where_it_is_read() -> None:
    reader = RapidOcrReader()
    picture = card("HELLO WORLD")
    (place,), (line,) = reader.locate(picture), reader.read(picture)
    assert place.iou(line.box) > 0.4


def test_a_category_it_does_not_know_gives_nothing() -> None:
    detector = ClassicalDetector()
    assert list(detector.detect(card("x"), "giraffe")) == []
    assert detector.categories() == {"person", "face"}


@pytest.mark.parametrize("shape", [(1, 1, 3), (8, 400, 3), (40, 30, 3)])
def test_tiny_pictures_do_no_harm(shape: tuple[int, int, int]) -> None:
    picture = np.zeros(shape, np.uint8)
    for category in ("person", "face"):
        assert list(ClassicalDetector().detect(picture, category)) == []


@pytest.mark.shared_data
@pytest.mark.media
def test_a_person_is_found_and_told_from_the_empty_room(shared_data: Path) -> None:
    frames = VideoFrames(shared_data / "video" / "composite_337s.mp4")
    detector = ClassicalDetector()
    someone = frames.pictures_played_at([62.0], None)[0]
    place = Box(x1=318, y1=0, x2=455, y2=320)
    assert detector.detect(someone, "person")[0].box.iou(place) > 0.4
    assert (
        detector.person_score(someone, place)
        > 0
        > detector.person_score(frames.pictures_played_at([33.0], None)[0], place)
    )


@pytest.mark.shared_data
def test_a_face_is_found(shared_data: Path) -> None:
    picture = cv2.imread(str(shared_data / "faces" / "test" / "obama1.jpg"))
    assert picture is not None
    found = ClassicalDetector().detect(np.asarray(picture, dtype=np.uint8), "face")
    assert found
    assert found[0].box.area > 1000
