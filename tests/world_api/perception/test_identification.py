"""The contracts of body, face and voice models: a fake, small models made here, and the real weights where they are."""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.tiny_onnx import Node, write_onnx
from world_api.core import BackendFault, BodyEmbedder, Box, Face, FaceDetector, FaceEmbedder, Image, Samples, Vectors
from world_api.perception import (
    ArcFaceEmbedder,
    IdentityModel,
    ModelFolder,
    ModelPart,
    OnnxVoiceEncoder,
    OsnetEmbedder,
    PictureModel,
    ResemblyzerEncoder,
    ScrfdDetector,
    SFaceEmbedder,
    VoiceOptions,
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


# --- voices -------------------------------------------------------------------------------------------------------------

RATE = 16_000


def buzz(pitch: float, seconds: float = 2.0) -> Samples:
    time = np.arange(round(seconds * RATE)) / RATE
    return sum(0.1 * np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 15)).astype(np.float32)  # type: ignore[union-attr]


def voice_model(path: Path, **options: Any) -> PictureModel[VoiceOptions]:
    part = ModelPart(name="voices", path=path, sha256=sha256(path.read_bytes()).hexdigest())
    return PictureModel(name="voices", parts=(part,), options=VoiceOptions(sure=0.8, doubtful=0.6, **options))


def loudest_bands(path: Path, bands: int | str = 80) -> Path:
    """A speaker encoder whose vector is the greatest energy of each band."""
    nodes: list[Node] = [("ReduceMax", ["feats"], "embs", {"axes": [1]})]
    return write_onnx(path, nodes, given={"feats": ["b", "frames", bands]}, made={"embs": ["b", 1, bands]})


class Storage:
    """What torch calls a storage: values that several tensors may share."""

    def __init__(self, key: str, values: NDArray[np.float32]) -> None:
        self.key, self.values = key, values


class Tensor:
    """A whole storage in a shape, which pickles as torch's tensors do."""

    def __init__(self, storage: Storage, shape: tuple[int, ...], *, offset: int = 0) -> None:
        self.storage, self.shape, self.offset = storage, shape, offset

    def __reduce__(self) -> tuple[Any, ...]:
        strides = tuple(int(np.prod(self.shape[at + 1 :])) for at in range(len(self.shape)))
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (self.storage, self.offset, self.shape, strides, False, OrderedDict())


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes checkpoints in the format of torch before 1.6, as the package Resemblyzer has one."""
    torch, utils = ModuleType("torch"), ModuleType("torch._utils")

    def _rebuild_tensor_v2() -> None: ...

    class FloatStorage: ...

    for made, module, name in ((_rebuild_tensor_v2, utils, "torch._utils"), (FloatStorage, torch, "torch")):
        made.__module__, made.__qualname__ = name, made.__name__
        setattr(module, made.__name__, made)
        monkeypatch.setitem(sys.modules, name, module)

    def write(state: dict[str, Any]) -> Path:
        content, storages = BytesIO(), dict[str, Storage]()

        class Pickler(pickle.Pickler):
            def persistent_id(self, one: Any) -> Any:
                if not isinstance(one, Storage):
                    return None
                storages[one.key] = one
                return ("storage", FloatStorage, one.key, "cuda:0", len(one.values), None)

        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(value, content, protocol=2)
        Pickler(content, protocol=2).dump({"step": 1, "model_state": state})
        pickle.dump(sorted(storages), content, protocol=2)
        for key in sorted(storages):
            content.write(struct.pack("<q", len(storages[key].values)) + storages[key].values.astype("<f4").tobytes())
        path = tmp_path / "voices.pt"
        path.write_bytes(content.getvalue())
        return path

    return write


def weights() -> dict[str, NDArray[np.float32]]:
    """Weights of the network's shapes."""
    random = np.random.default_rng(3)
    shapes = {
        f"lstm.{kind}_l{layer}": shape
        for layer in range(3)
        for kind, shape in (
            ("weight_ih", (1024, 256 if layer else 40)), ("weight_hh", (1024, 256)), ("bias_ih", (1024,)), ("bias_hh", (1024,)),
        )
    } | {"linear.weight": (256, 256), "linear.bias": (256,)}  # fmt: skip
    return {name: random.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def tensors(values: dict[str, NDArray[np.float32]]) -> dict[str, Tensor]:
    return {name: Tensor(Storage(name, one.ravel()), one.shape) for name, one in values.items()}


@pytest.fixture(params=["onnx", "onnx, free bands", "resemblyzer"])
def voice_embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "resemblyzer":
        write = request.getfixturevalue("checkpoint")
        return ResemblyzerEncoder(voice_model(write(tensors(weights())), kind="resemblyzer"))
    bands: int | str = 80 if request.param == "onnx" else "bands"
    return OnnxVoiceEncoder(voice_model(loudest_bands(tmp_path / "voice.onnx", bands), bins=80))


def test_a_voice_embedder_gives_a_unit_vector_per_piece_that_does_not_depend_on_the_others(voice_embedder: Any) -> None:
    pieces = [buzz(110), buzz(230, 3.1), buzz(110, 0.5)]
    vectors = voice_embedder.embed(pieces)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert voice_embedder.embed(pieces[1:2])[0] == pytest.approx(vectors[1], abs=1e-5)
    assert np.array_equal(voice_embedder.embed(pieces), vectors)
    assert not np.allclose(vectors[0], vectors[1])


def test_of_silence_and_of_a_moment_there_is_no_voice(voice_embedder: Any) -> None:
    vectors = voice_embedder.embed([np.zeros(RATE, np.float32), buzz(110, 0.2)])
    assert vectors.shape == (2, voice_embedder.embed([buzz(110)]).shape[1])
    assert not vectors.any()


def test_the_lstm_computes_what_its_definition_says(checkpoint: Callable[..., Path]) -> None:
    values, encoder = weights(), ResemblyzerEncoder(voice_model(checkpoint(tensors(weights())), kind="resemblyzer"))
    given = np.random.default_rng(5).random((2, 160, 40), dtype=np.float32)

    def sigmoid(one: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / (1 + np.exp(-one))

    for window, vector in zip(given, encoder._of_windows(given), strict=True):
        sequence = window.astype(np.float64)
        for layer in range(3):
            hidden, cell, outputs = np.zeros(256), np.zeros(256), []
            for frame in sequence:
                gates = values[f"lstm.weight_ih_l{layer}"] @ frame + values[f"lstm.bias_ih_l{layer}"]
                gates = gates + values[f"lstm.weight_hh_l{layer}"] @ hidden + values[f"lstm.bias_hh_l{layer}"]
                cell = sigmoid(gates[256:512]) * cell + sigmoid(gates[:256]) * np.tanh(gates[512:768])
                hidden = sigmoid(gates[768:]) * np.tanh(cell)
                outputs.append(hidden)
            sequence = np.stack(outputs)
        raw = np.maximum(values["linear.weight"] @ sequence[-1] + values["linear.bias"], 0)
        assert vector == pytest.approx(raw / np.linalg.norm(raw), abs=1e-4)


class Command:
    """What a file may not make its reader do."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("state", [{"linear.weight": Command()}, {}, {"lstm.weight_ih_l0": 3}])
def test_a_checkpoint_with_anything_else_than_its_tensors_is_refused(
    checkpoint: Callable[..., Path], state: dict[str, Any]
) -> None:
    with pytest.raises(BackendFault, match="does not have the weights"):
        ResemblyzerEncoder(voice_model(checkpoint(state), kind="resemblyzer")).embed([buzz(110)])


class Nested:
    """A tensor whose storage is another tensor, which claims more values than there are."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (self.inner, 0, (10**10,), (1,), False, OrderedDict())


class Repeated(Tensor):
    """A tensor that repeats one value ten thousand million times."""

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (self.storage, 0, (10**10,), (0,), False, OrderedDict())


@pytest.mark.parametrize("kind", ["tensor", "bytes", "list"])
def test_a_tensor_of_anything_but_a_storage_is_refused(checkpoint: Callable[..., Path], kind: str) -> None:
    values = weights()
    repeated = Repeated(Storage("x", values["linear.bias"]), (1,))
    inner = {"tensor": repeated, "bytes": b"x" * 4096, "list": [0.0] * 256}[kind]
    state = tensors(values) | {"linear.bias": Nested(inner)}
    with pytest.raises(BackendFault, match="does not have the weights"):
        ResemblyzerEncoder(voice_model(checkpoint(state), kind="resemblyzer")).embed([buzz(110)])


@pytest.mark.parametrize("name", ["lstm.bias_hh_l2", "lstm.weight_ih_l1", "linear.bias"])
def test_layers_of_other_shapes_are_refused(checkpoint: Callable[..., Path], name: str) -> None:
    values = weights() | {name: np.zeros((7, 3), np.float32)}
    with pytest.raises(BackendFault, match="does not have the weights"):
        ResemblyzerEncoder(voice_model(checkpoint(tensors(values)), kind="resemblyzer")).embed([buzz(110)])


def test_a_tensor_outside_its_storage_is_refused(checkpoint: Callable[..., Path]) -> None:
    values = weights()
    outside = Tensor(Storage("x", values["linear.bias"]), (1024, 40), offset=1)
    with pytest.raises(BackendFault, match="does not have the weights"):
        ResemblyzerEncoder(
            voice_model(checkpoint(tensors(values) | {"lstm.weight_ih_l0": outside}), kind="resemblyzer")
        ).embed([buzz(110)])


def test_a_speaker_encoder_of_a_user_is_added_and_used_and_one_without_limits_is_not(tmp_path: Path) -> None:
    path, folder = loudest_bands(tmp_path / "mine.onnx"), ModelFolder(tmp_path / "models")
    assert folder.voice_embedder() is None
    with pytest.raises(BackendFault, match="sure"):
        folder.add(path, name=None, options={}, licence="", task="voice_embedder")
    folder.add(path, name=None, options={"sure": 0.7, "doubtful": 0.5}, licence="MIT", task="voice_embedder")
    found = folder.voice_embedder()
    assert found is not None
    assert (found.sure, found.doubtful, found.producer.partition("-")[0]) == (0.7, 0.5, "mine")
    (tmp_path / "models" / "mine.onnx").write_bytes(b"damaged")
    with pytest.raises(BackendFault, match="mine"):
        folder.voice_embedder()


def test_real_voices_are_nearer_their_own_speech_than_that_of_others(shared_data: Path) -> None:
    from world_api.media import read_audio

    folder = ModelFolder(Path(os.environ.get("VIDEOWORLD_TEST_MODELS", "no-models")))
    if not folder.is_present(folder.find("resemblyzer")) or not (shared_data / "speech").is_dir():
        pytest.skip("resemblyzer is not in VIDEOWORLD_TEST_MODELS, or there is no speech")
    embedder = folder.voice_embedder_of(folder.find("resemblyzer"))
    readers = sorted((shared_data / "speech" / "librivox").glob("*.wav"))[:2]
    pieces = [read_audio(path, 0.2, 3.2) for path in readers]
    pieces += [read_audio(shared_data / "speech" / "sample.wav", start, start + 3) for start in (11.1, 18.6)]
    alike = (vectors := embedder.embed(pieces)) @ vectors.T
    assert min(alike[0, 1], alike[2, 3]) > 0.8
    assert alike[:2, 2:].max() < embedder.doubtful
