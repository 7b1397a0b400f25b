"""Detectors: what every one keeps to, the layouts of their outputs, and the files they are loaded from."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support.tiny_detectors import BLUE, CELL, CLASSES, RED, SIDE, picture, write_tiny
from world_api.core import BackendFault, Box, DetectedObject, Image, SceneDetector, hash_bytes
from world_api.perception import LAYOUTS, DetectorModel, OnnxDetector


def tiny(folder: Path, layout: str, /, **other: Any) -> OnnxDetector:
    path = write_tiny(folder, layout)
    facts = {
        "name": "tiny",
        "sha256": hash_bytes(path.read_bytes()),
        "side": SIDE,
        "labels": CLASSES,
        "sure": 0.5,
        "least": 0.2,
    }
    return OnnxDetector(DetectorModel(**{"path": path, "layout": layout, **facts, **other}))


class ByBrightness:
    """A detector without a model: a bright picture is one dog; a test's stand-in that keeps to the port."""

    producer, side, batch, sure = "by-brightness/1", 32, 3, 0.5
    missed: ClassVar[dict[str, tuple[int, int, int]]] = {}

    def categories(self) -> frozenset[str]:
        return frozenset({"dog"})

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        [found] = self.detect_all([image])
        return [item for item in found if item.category == category and item.confidence >= self.sure]

    def detect_all(self, images: Sequence[Image]) -> Sequence[Sequence[DetectedObject]]:
        return [
            [DetectedObject(category="dog", box=Box(x1=0, y1=0, x2=image.shape[1], y2=image.shape[0]), confidence=share)]
            if (share := round(float(image.mean()) / 255, 3)) > 0.2 else []
            for image in images
        ]  # fmt: skip


MAKERS: dict[str, Callable[[Path], SceneDetector]] = {
    "a stand-in": lambda folder: ByBrightness(),
    **{layout: (lambda folder, layout=layout: tiny(folder, layout)) for layout in LAYOUTS},
}
PICTURES = [
    picture((RED, 0, 0), (BLUE, 40, 24)),
    picture(),
    np.full((30, 90, 3), 200, dtype=np.uint8),
    picture((RED, 120, 40), width=300, height=100, side=40),
]


@pytest.fixture(params=list(MAKERS))
def detector(request: pytest.FixtureRequest, tmp_path: Path) -> SceneDetector:
    return MAKERS[request.param](tmp_path)


def test_a_detector_answers_for_each_picture_in_order(detector: SceneDetector) -> None:
    together = detector.detect_all(PICTURES)
    assert [list(found) for found in together] == [list(detector.detect_all([one])[0]) for one in PICTURES]
    assert any(together)
    assert detector.detect_all([]) == []


def test_a_detector_keeps_to_its_categories_to_the_picture_and_to_falling_confidence(detector: SceneDetector) -> None:
    for image, found in zip(PICTURES, detector.detect_all(PICTURES), strict=True):
        assert all(item.category in detector.categories() for item in found)
        assert all(0 < item.confidence <= 1 for item in found)
        assert [item.confidence for item in found] == sorted((item.confidence for item in found), reverse=True)
        for item in found:
            assert 0 <= item.box.x1 < item.box.x2 <= image.shape[1]
            assert 0 <= item.box.y1 < item.box.y2 <= image.shape[0]


def test_one_category_has_only_what_is_sure(detector: SceneDetector) -> None:
    for image, found in zip(PICTURES, detector.detect_all(PICTURES), strict=True):
        for category in detector.categories():
            sure = [item for item in found if item.category == category and item.confidence >= detector.sure]
            assert list(detector.detect(image, category)) == sure
        assert list(detector.detect(image, "unicorn")) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_finds_the_cell_of_a_colour(layout: str, tmp_path: Path) -> None:
    [found] = tiny(tmp_path, layout).detect_all([picture((RED, 16, 40))])
    [item] = found
    assert (item.category, item.box.rounded()) == ("dog", [16.0, 40.0, 16.0 + CELL, 40.0 + CELL])
    assert item.confidence == 1.0


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "yolo-end-to-end"])
def test_classes_are_told_by_their_labels(layout: str, tmp_path: Path) -> None:
    [found] = tiny(tmp_path, layout).detect_all([picture((RED, 0, 0), (BLUE, 40, 24))])
    assert {(item.category, item.box.x1) for item in found} == {("dog", 0.0), ("bottle", 40.0)}


@pytest.mark.parametrize("layout", ["yolox", "yolo"])
def test_a_wide_picture_keeps_its_proportions_and_boxes_are_in_its_own_pixels(layout: str, tmp_path: Path) -> None:
    wide = picture((RED, 128, 32), width=256, height=64, side=32)  # a quarter of its size in the model
    [found] = tiny(tmp_path, layout).detect_all([wide])
    assert [item.box.rounded() for item in found] == [[128.0, 32.0, 160.0, 64.0]]


def test_a_stretched_picture_has_boxes_in_its_own_pixels(tmp_path: Path) -> None:
    wide = picture((RED, 128, 32), width=256, height=64, side=32)
    boxes = [item.box for item in tiny(tmp_path, "rt-detr").detect_all([wide])[0]]
    assert boxes
    assert all(128.0 <= box.x1 < box.x2 <= 160.0 and 32.0 <= box.y1 < box.y2 <= 64.0 for box in boxes)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_pictures_of_one_call_change_nothing(count: int, tmp_path: Path) -> None:
    detector = tiny(tmp_path, "yolo")
    alone = [detector.detect_all([one])[0] for one in PICTURES]
    detector.__dict__["batch"] = count
    assert list(detector.detect_all(PICTURES)) == alone


def test_a_file_with_room_for_one_picture_says_so(tmp_path: Path) -> None:
    assert tiny(tmp_path, "yolox").batch == 1


def test_the_producer_names_the_file_and_the_thresholds(tmp_path: Path) -> None:
    first = tiny(tmp_path, "yolo")
    assert first.producer != tiny(tmp_path, "yolo", sure=0.6).producer
    assert first.producer != tiny(tmp_path, "yolox").producer


def test_a_missing_file_is_a_fault_that_names_the_command(tmp_path: Path) -> None:
    detector = tiny(tmp_path, "yolo", path=tmp_path / "gone.onnx")
    with pytest.raises(BackendFault) as caught:
        detector.detect_all([picture()])
    assert caught.value.code == "model_missing"
    assert "models pull tiny" in caught.value.hint


def test_another_file_under_that_name_is_not_run(tmp_path: Path) -> None:
    detector = tiny(tmp_path, "yolo", sha256="0" * 64)
    with pytest.raises(BackendFault) as caught:
        detector.detect_all([picture()])
    assert caught.value.code == "model_damaged"


@pytest.mark.parametrize(
    ("layout", "other"),
    [("yolo", {"layout": "yolox"}), ("yolox", {"layout": "yolo"}), ("yolo", {"labels": ("dog",)})],
)
def test_a_layout_or_labels_that_do_not_fit_are_a_fault(layout: str, other: dict[str, Any], tmp_path: Path) -> None:
    detector = tiny(tmp_path, layout, **other)
    with pytest.raises(BackendFault) as caught:
        detector.detect_all([picture((RED, 0, 0))])
    assert caught.value.code == "model_unusable"


def test_a_file_that_is_no_model_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "no.onnx").write_bytes(b"not a model")
    detector = tiny(tmp_path, "yolo", path=tmp_path / "no.onnx", sha256=hash_bytes(b"not a model"))
    with pytest.raises(BackendFault) as caught:
        detector.detect_all([picture()])
    assert caught.value.code == "model_unusable"


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["yolox-nano", "yolo11n"])
def test_the_detectors_of_the_catalogue_find_people_and_bottles(name: str, shared_data: Path) -> None:
    """With trained weights, where they are: those beside the films, or in the folder that ``make test-neural`` fills."""
    from world_api.media import VideoFrames
    from world_api.perception import ModelFolder

    folders = [shared_data / "models", Path(os.environ.get("VIDEOWORLD_TEST_MODELS", "no-models"))]
    here = [folder for each in folders if (folder := ModelFolder(each)).is_present(folder.find(name))]
    if not here:
        pytest.skip(f"the weights of {name} are not here")
    model = here[0].detector(name)
    assert model is not None
    detector = OnnxDetector(model)
    for film, time, category, count in (("people_one_by_one", 30.0, "person", 1), ("bottles", 1.0, "bottle", 3)):
        [frame] = VideoFrames(shared_data / "video" / f"{film}.mp4").pictures_played_at([time], None)
        assert [item.category for item in detector.detect(frame, category)] == [category] * count
