"""The contracts of body and face models: a fake, small models made here, and the real weights where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.tiny_onnx import Node, write_onnx
from world_api.core import BackendFault, BodyEmbedder, Box, Face, FaceDetector, FaceEmbedder, Image, Vectors
from world_api.perception import (
    ArcFaceEmbedder,
    IdentityModel,
    OsnetEmbedder,
    ScrfdDetector,
    SFaceEmbedder,
    YunetDetector,
)


def model_of(path: Path, **options: float) -> IdentityModel:
    return IdentityModel(name=path.stem.casefold(), path=path, sha256=sha256(path.read_bytes()).hexdigest(), **options)


def mean_colour(path: Path, *, batch: int | str, side: tuple[int, int]) -> Path:
    """A model whose vector is the mean of each channel."""
    nodes: list[Node] = [("GlobalAveragePool", ["input"], "pooled"), ("Flatten", ["pooled"], "output")]
    return write_onnx(path, nodes, given={"input": [batch, 3, *side]}, made={"output": [batch, 3]})


def one_face(path: Path) -> Path:
    """A face detector for pictures of 64 x 64 that always finds one face, twice, from (16, 16) to (48, 48)."""
    constants: dict[str, NDArray[np.float32]] = {}
    nodes: list[Node] = []
    scores = [np.zeros((size, 1), np.float32) for size in (128, 32, 8)]
    sides = [np.zeros((size, 4), np.float32) for size in (128, 32, 8)]
    points = [np.zeros((size, 10), np.float32) for size in (128, 32, 8)]
    cell = (2 * 4 + 2) * 2  # the cell of the grid of stride 16 that begins at (32, 32), first anchor
    for anchor, score in ((cell, 0.9), (cell + 1, 0.8)):
        scores[1][anchor], sides[1][anchor] = score, 1.0
        points[1][anchor] = np.array([-0.5, -0.5, 0.5, -0.5, 0, 0, -0.4, 0.5, 0.4, 0.5])
    for number, values in enumerate([*scores, *sides, *points]):
        constants[f"c{number}"] = values
        nodes.append(("Identity", [f"c{number}"], f"o{number}"))
    made = {f"o{number}": list(constants[f"c{number}"].shape) for number in range(9)}
    return write_onnx(path, nodes, given={"input": [1, 3, 64, 64]}, made=made, constants=constants)


class FakeEmbedder:
    """The fake of both embedders: the mean colour."""

    producer, sure, doubtful = "mean-colour/1", 0.95, 0.8

    def embed(self, images: Sequence[Image] | Image, faces: Sequence[Face] | None = None) -> Vectors:
        parts = images if faces is None else [_part(images, face.box) for face in faces]  # type: ignore[arg-type]
        vectors = np.array([part.mean(axis=(0, 1)) for part in parts], dtype=np.float32).reshape(-1, 3)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _part(image: Image, box: Box) -> Image:
    return image[int(box.y1) : int(box.y2), int(box.x1) : int(box.x2)]


def plain(colour: tuple[int, int, int], height: int = 96, width: int = 48) -> Image:
    return np.full((height, width, 3), colour, dtype=np.uint8)


RED, BLUE = plain((20, 20, 200)), plain((200, 20, 20))
FACE = Face(
    box=Box(x1=8, y1=8, x2=40, y2=40),
    confidence=0.9,
    landmarks=np.float32([[16, 18], [32, 18], [24, 26], [18, 32], [30, 32]]),
)


@pytest.fixture(params=["fake", "one at a time", "free batch"])
def body(request: pytest.FixtureRequest, tmp_path: Path) -> BodyEmbedder:
    if request.param == "fake":
        return FakeEmbedder()
    batch: int | str = 1 if request.param == "one at a time" else "n"
    return OsnetEmbedder(
        model_of(mean_colour(tmp_path / "body.onnx", batch=batch, side=(64, 32)), sure=0.95, doubtful=0.8)
    )


@pytest.fixture(params=["fake", "arcface", "sface"])
def face_embedder(request: pytest.FixtureRequest, tmp_path: Path) -> FaceEmbedder:
    if request.param == "fake":
        return FakeEmbedder()
    if request.param == "sface":
        return SFaceEmbedder(model_of(mean_colour(tmp_path / "s.onnx", batch=1, side=(112, 112))))
    return ArcFaceEmbedder(model_of(mean_colour(tmp_path / "f.onnx", batch="n", side=(112, 112)), sure=0.9, clear=0.1))


def test_a_body_embedder_gives_a_unit_vector_per_picture_that_does_not_depend_on_the_others(body: BodyEmbedder) -> None:
    both = body.embed([RED, BLUE])
    assert both.shape[0] == 2
    assert np.allclose(np.linalg.norm(both, axis=1), 1.0, atol=1e-5)
    assert np.allclose(both[1], body.embed([BLUE])[0], atol=1e-6)
    assert float(both[0] @ both[1]) < 0.5
    assert float(both[0] @ body.embed([plain((20, 20, 200), 200, 70)])[0]) > 0.99


def test_of_no_pictures_there_are_no_vectors(body: BodyEmbedder, face_embedder: FaceEmbedder) -> None:
    assert len(body.embed([])) == 0
    assert len(face_embedder.embed(RED, [])) == 0


def test_a_face_embedder_gives_a_unit_vector_per_face(face_embedder: FaceEmbedder) -> None:
    vectors = face_embedder.embed(RED, [FACE, FACE])
    assert len(vectors) == 2
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors, face_embedder.embed(RED, [FACE, FACE]))


def test_a_face_that_shows_too_little_has_the_vector_zero(tmp_path: Path) -> None:
    path = mean_colour(tmp_path / "f.onnx", batch="n", side=(112, 112))
    assert not ArcFaceEmbedder(model_of(path, clear=100.0)).embed(RED, [FACE]).any()


def test_scrfd_outputs_are_decoded_to_one_face_with_landmarks(tmp_path: Path) -> None:
    detector = ScrfdDetector(model_of(one_face(tmp_path / "scrfd.onnx"), least=0.5))
    [face] = detector.faces(plain((0, 0, 0), 128, 128))  # twice as large as the input
    assert face.box.rounded() == [32.0, 32.0, 96.0, 96.0]
    assert face.confidence == pytest.approx(0.9)
    assert face.landmarks.tolist()[0] == [48.0, 48.0]
    assert detector.faces(plain((0, 0, 0), 8, 8)) == []


MAKERS: dict[str, Callable[[IdentityModel], object]] = {
    "body": lambda model: OsnetEmbedder(model).embed([RED]),
    "face": lambda model: ArcFaceEmbedder(model).embed(RED, [FACE]),
    "sface": lambda model: SFaceEmbedder(model).embed(RED, [FACE]),
    "scrfd": lambda model: ScrfdDetector(model).faces(RED),
    "yunet": lambda model: YunetDetector(model).faces(RED),
}


@pytest.mark.parametrize("use", MAKERS.values(), ids=MAKERS)
def test_a_missing_a_damaged_and_an_unusable_file_are_faults_with_a_hint(
    use: Callable[[IdentityModel], object], tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    good = model_of(path)
    for model, code in (
        (good, "model_unusable"),
        (IdentityModel(name="m", path=path, sha256="0" * 64), "model_damaged"),
    ):
        with pytest.raises(BackendFault) as raised:
            use(model)
        assert raised.value.code == code
        assert "videoworld models" in raised.value.hint
    path.unlink()
    with pytest.raises(BackendFault) as raised:
        use(good)
    assert raised.value.code == "model_missing"


def test_a_model_with_other_outputs_is_unusable_and_not_misread(tmp_path: Path) -> None:
    path = mean_colour(tmp_path / "m.onnx", batch=1, side=(64, 64))
    with pytest.raises(BackendFault) as raised:
        ScrfdDetector(model_of(path)).faces(RED)
    assert raised.value.code == "model_unusable"


@pytest.fixture(params=["scrfd_2.5g_bnkps.onnx", "face_detection_yunet_2026may.onnx"])
def real_detector(request: pytest.FixtureRequest, shared_data: Path) -> FaceDetector:
    model = model_of(shared_data / "models" / request.param, least=0.6)
    return (ScrfdDetector if "scrfd" in request.param else YunetDetector)(model)


@pytest.mark.shared_data
def test_real_face_detectors_find_the_faces_of_photos_at_any_size(
    real_detector: FaceDetector, shared_data: Path
) -> None:
    image = cv2.imread(str(shared_data / "faces" / "test" / "kit_with_rose.jpg"))
    for scale in (1.0, 0.5):
        small = cv2.resize(image, None, fx=scale, fy=scale)
        faces = sorted(real_detector.faces(small), key=lambda face: face.box.x1)
        assert [round(face.box.center[0] / scale, -1) for face in faces] == [120, pytest.approx(300, abs=10)]
        for face in faces:
            left, right = face.landmarks[0], face.landmarks[1]
            assert left[0] < right[0]
            assert all(face.box.holds((float(x), float(y))) for x, y in face.landmarks)
