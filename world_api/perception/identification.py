"""Models that tell people apart: vectors of bodies and faces, and face detectors, on ONNX Runtime and OpenCV.

Sources: Zhou et al., "Omni-scale feature learning for person re-identification" (2019); Guo et al., "Sample and computation
redistribution for efficient face detection" (SCRFD, 2021); Deng et al., "ArcFace" (2019), for the alignment of faces; Wu et
al., "YuNet" (2023). SCRFD and ArcFace files of InsightFace's model folders have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import BodyEmbedder, Face, FaceDetector, FaceEmbedder, Image, Vectors
from world_api.core.spans import Box
from world_api.perception.detector import check_file, open_session, unusable

Floats = NDArray[np.float32]

#: Mean and standard deviation of ImageNet's colours (RGB, 0 to 1), with which re-identification models are trained.
_MEAN, _DEVIATION = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], dtype=np.float32)
#: Height and width of a body's picture, where the file leaves them free.
_BODY = (256, 128)
#: The most pictures of one call, for a file with a free batch.
_BATCH = 32
#: The side of an aligned face, and the places of its landmarks (Deng et al., 2019).
_FACE = 112
_LANDMARKS = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]],
    dtype=np.float32,
)
#: The longest side of a picture in which faces are looked for. SCRFD's input is a multiple of its coarsest grid.
_LOOKED_AT, _GRID = 640, 32
_STRIDES = (8, 16, 32)
#: Two detected faces that overlap this much are one.
_OVERLAP = 0.4


@dataclass(frozen=True, kw_only=True)
class IdentityModel:
    """A model file, found by its hash, with its limits. ``sure`` and ``doubtful``: see ``FaceEmbedder``.

    ``least``: the least confidence of a detected face. ``clear``: the least length of a raw face vector; blurred faces, and
    pictures that show none, have shorter ones.
    """

    name: str
    path: Path
    sha256: str
    sure: float = 1.0
    doubtful: float = 1.0
    least: float = 0.6
    clear: float = 0.0

    @property
    def producer(self) -> str:
        """The name of the model, the hash of its file and all options that its vectors depend on."""
        return f"{self.name}-{self.sha256[:16]}/1/{self.least:g}/{self.clear:g}"


class _Network:
    """An ONNX file with one input, batch x 3 x height x width; it is loaded at the first run. Threads may share it."""

    def __init__(self, model: IdentityModel) -> None:
        self.model = model

    @cached_property
    def session(self) -> Any:
        return open_session(self.model)

    @cached_property
    def shape(self) -> list[int | None]:
        """Batch, channels, height and width of the input; None for what the file leaves free."""
        shape = self.session.get_inputs()[0].shape
        if len(shape) != 4:
            raise unusable(self.model, f"its input has the shape {shape} instead of batch x 3 x height x width")
        return [side if isinstance(side, int) and side > 0 else None for side in shape]

    def run(self, pixels: Floats) -> list[Floats]:
        """Return the outputs for pictures, n x height x width x 3, run in batches that the file allows."""
        step = self.shape[0] or _BATCH
        name = self.session.get_inputs()[0].name
        parts: list[list[Floats]] = []
        for first in range(0, len(pixels), step):
            part = pixels[first : first + step].transpose(0, 3, 1, 2)
            missing = (self.shape[0] or len(part)) - len(part)
            if missing:
                part = np.concatenate([part, np.zeros((missing, *part.shape[1:]), dtype=np.float32)])
            try:
                outputs = self.session.run(None, {name: np.ascontiguousarray(part, dtype=np.float32)})
            except Exception as error:  # as above
                raise unusable(self.model, str(error).splitlines()[0]) from error
            parts.append(outputs if step == 1 or not missing else [output[: len(part) - missing] for output in outputs])
        return [np.concatenate(outputs) for outputs in zip(*parts, strict=True)]

    def vectors(self, pixels: Floats) -> Floats:
        """Return the only output, one vector per picture, as the model gives it."""
        outputs = self.run(pixels)
        if len(outputs) != 1 or outputs[0].ndim != 2 or len(outputs[0]) != len(pixels):
            raise unusable(self.model, "it does not give one vector per picture")
        return outputs[0]


def _unit(vectors: Floats) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 1e-6)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=usable)
    return unit


class OsnetEmbedder:
    """Embeds pictures of whole people with OSNet or another re-identification model (``BodyEmbedder``)."""

    def __init__(self, model: IdentityModel) -> None:
        self._network = _Network(model)
        self.producer, self.sure, self.doubtful = model.producer, model.sure, model.doubtful

    def embed(self, images: Sequence[Image]) -> Vectors:
        """Return one unit vector per BGR picture, shape (n, dimension of the model)."""
        if not images:
            return np.zeros((0, 0), dtype=np.float32)
        height, width = self._network.shape[2] or _BODY[0], self._network.shape[3] or _BODY[1]
        resized = np.stack([cv2.resize(image, (width, height)) for image in images])
        pixels = (resized[..., ::-1].astype(np.float32) / np.float32(255) - _MEAN) / _DEVIATION
        return _unit(self._network.vectors(pixels))


class ArcFaceEmbedder:
    """Embeds aligned faces with an ArcFace-style model of any dimension (``FaceEmbedder``)."""

    def __init__(self, model: IdentityModel) -> None:
        self._network = _Network(model)
        self._clear = model.clear
        self.producer, self.sure, self.doubtful = model.producer, model.sure, model.doubtful

    def embed(self, image: Image, faces: Sequence[Face]) -> Vectors:
        """Return one unit vector per face; zero for a blurred face, and for one turned so far that it cannot be aligned."""
        if not faces:
            return np.zeros((0, 0), dtype=np.float32)
        places = [_alignment(face.landmarks) for face in faces]
        crops = np.stack([cv2.warpAffine(image, place, (_FACE, _FACE)) for place in places])
        raw = self._network.vectors((crops[..., ::-1].astype(np.float32) - np.float32(127.5)) / np.float32(127.5))
        raw[np.linalg.norm(raw, axis=1) < self._clear] = 0.0
        return _unit(raw)


def _alignment(landmarks: Floats) -> NDArray[np.float64]:
    """Return the similarity transform (2 x 3) that moves landmarks nearest to their places (Umeyama, 1991)."""
    source, target = landmarks.astype(np.float64), _LANDMARKS.astype(np.float64)
    centre, to = source.mean(axis=0), target.mean(axis=0)
    left, scales, right = np.linalg.svd((target - to).T @ (source - centre) / len(source))
    signs = np.array([1.0, np.sign(np.linalg.det(left) * np.linalg.det(right))])
    turn = left @ np.diag(signs) @ right
    turn *= (scales * signs).sum() / max(float(((source - centre) ** 2).sum(axis=1).mean()), 1e-9)
    return np.hstack([turn, (to - turn @ centre)[:, None]])


class SFaceEmbedder:
    """Embeds faces with SFace and OpenCV's own alignment (``FaceEmbedder``). It was never run with trained weights here."""

    def __init__(self, model: IdentityModel) -> None:
        self._model = model
        self._lock = Lock()  # OpenCV's networks keep the picture as state
        self.producer, self.sure, self.doubtful = model.producer, model.sure, model.doubtful

    @cached_property
    def _recogniser(self) -> Any:
        check_file(self._model)
        try:
            return cv2.FaceRecognizerSF.create(str(self._model.path), "")
        except cv2.error as error:
            raise unusable(self._model, str(error)) from error

    def embed(self, image: Image, faces: Sequence[Face]) -> Vectors:
        """Return one unit vector per face, shape (n, 128)."""
        vectors: list[Floats] = []
        with self._lock:
            for face in faces:
                box = face.box
                row = np.array(
                    [box.x1, box.y1, box.width, box.height, *face.landmarks.ravel(), face.confidence], np.float32
                )
                try:
                    vectors.append(self._recogniser.feature(self._recogniser.alignCrop(image, row)).ravel().copy())
                except cv2.error as error:
                    raise unusable(self._model, str(error)) from error
        return _unit(np.stack(vectors)) if vectors else np.zeros((0, 0), dtype=np.float32)


class ScrfdDetector:
    """Detects faces with SCRFD files that give landmarks: nine outputs, three grids, two anchors a cell (``FaceDetector``)."""

    def __init__(self, model: IdentityModel) -> None:
        self._network = _Network(model)
        self._least = model.least
        self.producer = model.producer

    def faces(self, image: Image) -> Sequence[Face]:
        """Return the faces in a BGR picture of at least 16 pixels a side, the most confident first."""
        height, width = image.shape[:2]
        if min(height, width) < 2 * _STRIDES[0]:
            return []
        size = self._input_size(height, width)
        scale = min(size[0] / height, size[1] / width)
        inner = max(1, round(width * scale)), max(1, round(height * scale))
        pixels = np.zeros((*size, 3), dtype=np.uint8)
        pixels[: inner[1], : inner[0]] = cv2.resize(image, inner)
        outputs = self._network.run(
            ((pixels[None, ..., ::-1].astype(np.float32)) - np.float32(127.5)) / np.float32(128)
        )
        outputs = [output.reshape(-1, output.shape[-1]) for output in outputs]
        if [output.shape[1] for output in outputs] != [1, 1, 1, 4, 4, 4, 10, 10, 10]:
            raise unusable(self._network.model, "it has not the nine outputs of an SCRFD file with landmarks")
        return _faces([self._grid(outputs, level, size) for level in range(3)], scale, image, self._least)

    def _input_size(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width of the input: the file's, else the smallest multiples of 32 for at most 640 pixels a side."""
        _, _, own_height, own_width = self._network.shape
        if own_height and own_width:
            return own_height, own_width
        scale = min(1.0, _LOOKED_AT / max(height, width))
        down, across = (-int(-side * scale // _GRID) * _GRID for side in (height, width))
        return down, across

    def _grid(self, outputs: Sequence[Floats], level: int, size: tuple[int, int]) -> Floats:
        """Return score, box corners and landmarks (n x 15, pixels of the input) of one grid."""
        stride = _STRIDES[level]
        scores, sides, points = (outputs[level + offset] for offset in (0, 3, 6))
        y, x = np.mgrid[: size[0] // stride, : size[1] // stride]
        cells = np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), len(scores) // max(1, x.size), axis=0) * stride
        if len(cells) != len(scores):
            raise unusable(self._network.model, f"its grid of stride {stride} has {len(scores)} anchors")
        boxes = np.concatenate([cells - sides[:, :2] * stride, cells + sides[:, 2:] * stride], axis=1)
        return np.concatenate([scores, boxes, points * stride + np.tile(cells, 5)], axis=1).astype(np.float32)


class YunetDetector:
    """Detects faces with YuNet and OpenCV (``FaceDetector``)."""

    def __init__(self, model: IdentityModel) -> None:
        self._model = model
        self._lock = Lock()  # OpenCV's networks keep the size of the picture as state
        self.producer = model.producer

    @cached_property
    def _detector(self) -> Any:
        check_file(self._model)
        try:
            return cv2.FaceDetectorYN.create(str(self._model.path), "", (320, 320), self._model.least, _OVERLAP)
        except cv2.error as error:
            raise unusable(self._model, str(error)) from error

    def faces(self, image: Image) -> Sequence[Face]:
        """Return the faces in a BGR picture of at least 16 pixels a side, the most confident first."""
        if min(image.shape[:2]) < 2 * _STRIDES[0]:
            return []
        scale = min(1.0, _LOOKED_AT / max(image.shape[:2]))
        small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else image
        with self._lock:
            try:
                self._detector.setInputSize(small.shape[1::-1])
                rows = self._detector.detect(small)[1]
            except cv2.error as error:
                raise unusable(self._model, str(error)) from error
        if rows is None:
            return []
        found = np.concatenate([rows[:, 14:], rows[:, :2], rows[:, :2] + rows[:, 2:4], rows[:, 4:14]], axis=1)
        return _faces([found], scale, image, self._model.least)


def _faces(found: Sequence[Floats], scale: float, image: Image, least: float) -> list[Face]:
    """Return the faces of rows (score, four corners, ten landmark coordinates in pixels of a scaled picture) without doubles."""
    rows = np.concatenate(found)
    rows = rows[(rows[:, 0] >= least) & np.isfinite(rows).all(axis=1)]
    rows = rows[np.lexsort((rows[:, 1], -rows[:, 0]))]
    whole = Box(x1=0.0, y1=0.0, x2=float(image.shape[1]), y2=float(image.shape[0]))
    faces: list[Face] = []
    for row in rows:
        x1, y1, x2, y2 = (float(value) for value in row[1:5] / scale)
        if x2 <= x1 or y2 <= y1 or (box := Box(x1=x1, y1=y1, x2=x2, y2=y2).common(whole)) is None:
            continue
        if all(box.iou(other.box) < _OVERLAP for other in faces):
            landmarks = (row[5:] / np.float32(scale)).reshape(5, 2)
            faces.append(Face(box=box, confidence=round(min(1.0, float(row[0])), 3), landmarks=landmarks))
    return faces


#: task of the catalogue of models -> kind of model -> adapter.
ADAPTERS: Mapping[str, Mapping[str, type[Any]]] = {
    "body_embedder": {"osnet": OsnetEmbedder},
    "face_detector": {"yunet": YunetDetector, "scrfd": ScrfdDetector},
    "face_embedder": {"arcface": ArcFaceEmbedder, "sface": SFaceEmbedder},
}


@dataclass(frozen=True, kw_only=True)
class PeopleModels:
    """The models that tell people apart, as far as they are on this machine."""

    body_embedder: BodyEmbedder | None = None
    face_detector: FaceDetector | None = None
    face_embedder: FaceEmbedder | None = None
