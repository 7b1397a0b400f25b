"""Object detection with an ONNX model on ONNX Runtime: the layouts of YOLOX, YOLO 8 to 12, YOLO 26 and RT-DETR.

Sources: Ge et al., "YOLOX: Exceeding YOLO series in 2021" (2021); Zhao et al., "DETRs beat YOLOs on real-time object
detection" (2023); the layouts of Ultralytics' exports as its documentation describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.faults import BackendFault
from world_api.core.ports import DetectedObject, Image
from world_api.core.spans import Box

Floats = NDArray[np.float32]

#: Of boxes of one class that overlap this much (IoU) the most confident one is kept; likewise of several classes.
_OVERLAP, _SAME_PLACE = 0.5, 0.8
#: The grey level beside a picture that does not fill the model's input.
_GREY = 114
#: Sides of an input whose size is free are multiples of this.
_STRIDE = 32
#: Pictures of one call to a model that takes several: a CPU is no faster with more, a GPU is.
_BATCH = {"cpu": 1, "gpu": 16}
#: No more objects of one picture are returned.
_MOST = 100


class OnnxModel(Protocol):
    """A model file on this machine."""

    @property
    def name(self) -> str:
        """The name in the catalogue of models."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def sha256(self) -> str:
        """The hash that the file must have."""


@dataclass(frozen=True, kw_only=True)
class DetectorModel:
    """An ONNX detector on this machine and how it is used.

    Attributes:
        name: The name in the catalogue of models.
        path, sha256: The file, and its hash.
        layout: The layout of its output, a key of ``LAYOUTS``.
        side: Longer side of its input in pixels, if the file leaves it free.
        labels: The categories of its classes, in order.
        sure: The least confidence of a detection that counts by itself.
        least: The least confidence of one that continues an earlier one.
        missed: Category -> how many sightings were missed of the smallest things of which this was measured, of how many, and
            their least height in pixels of its input. Of other categories nothing shows that they are not there.
    """

    name: str
    path: Path
    sha256: str
    layout: str
    side: int
    labels: tuple[str, ...]
    sure: float
    least: float
    missed: Mapping[str, tuple[int, int, int]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a family of models takes pictures and returns boxes.

    ``scores(outputs, side)`` returns for a batch the boxes (B x N x 4: x1, y1, x2, y2 in pixels of the input, in shares of it
    with ``in_shares``) and the scores of the classes (B x N x C). ``is_stretched``: a picture is scaled to the input without its
    proportions. ``overlaps``: several boxes of one object are usual.
    """

    decode: Callable[[Sequence[Floats], tuple[int, int]], tuple[Floats, Floats]]
    is_rgb: bool = True
    scale: float = 1 / 255
    is_stretched: bool = False
    in_shares: bool = False
    overlaps: bool = True


def _corners(boxes: Floats) -> Floats:
    """Return boxes given by centre and size as corners, on the last axis."""
    middle, half = boxes[..., :2], boxes[..., 2:4] / 2
    return np.concatenate([middle - half, middle + half], axis=-1)


def _yolox(outputs: Sequence[Floats], size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Decode B x N x (5 + C): offsets in cells of three grids, logarithms of sizes, objectness, classes."""
    rows = outputs[0]
    grids = []
    for stride in (8, 16, 32):
        y, x = np.mgrid[: size[0] // stride, : size[1] // stride]
        grids.append(np.stack([x.ravel(), y.ravel(), np.full(x.size, stride)], axis=1))
    grid = np.concatenate(grids).astype(np.float32)
    centre = (rows[..., :2] + grid[:, :2]) * grid[:, 2:]
    boxes = _corners(np.concatenate([centre, np.exp(rows[..., 2:4]) * grid[:, 2:]], axis=-1))
    return boxes, rows[..., 4:5] * rows[..., 5:]


def _yolo(outputs: Sequence[Floats], _size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Decode B x (4 + C) x N: centre, size, classes."""
    rows = outputs[0].transpose(0, 2, 1)
    return _corners(rows), rows[..., 4:]


def _end_to_end(outputs: Sequence[Floats], _size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Decode B x N x 6: corners, score, number of the class. The scores are as wide as the largest number."""
    rows = outputs[0]
    numbers = rows[..., 5].astype(np.int64)
    classes = np.arange(int(numbers.max(initial=0)) + 1)
    return rows[..., :4], np.where(numbers[..., None] == classes, rows[..., 4:5], 0.0).astype(np.float32)


def _detr(outputs: Sequence[Floats], _size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Decode B x N x (4 + C), centre, size and scores; or two outputs, B x N x C logits and B x N x 4 centres and sizes."""
    if len(outputs) == 1:
        return _corners(outputs[0]), outputs[0][..., 4:]
    logits, boxes = sorted(outputs[:2], key=lambda output: output.shape[-1] == 4)
    return _corners(boxes), (1 / (1 + np.exp(-logits))).astype(np.float32)


LAYOUTS: Mapping[str, Layout] = {
    "yolox": Layout(decode=_yolox, is_rgb=False, scale=1.0),
    "yolo": Layout(decode=_yolo),
    "yolo-end-to-end": Layout(decode=_end_to_end, overlaps=False),
    "rt-detr": Layout(decode=_detr, is_stretched=True, in_shares=True, overlaps=False),
}


@dataclass(frozen=True, kw_only=True)
class _Fitted:
    """A picture in the form of the model's input, and what its pixels are multiplied by (across, down)."""

    pixels: Image
    scale: tuple[float, float]


class OnnxDetector:
    """Detects objects of all classes of an ONNX model (``SceneDetector``); the model is loaded at the first detection.

    It runs on a GPU where ONNX Runtime has one, else on the CPU. Threads may share it.
    """

    def __init__(self, model: DetectorModel) -> None:
        self._model = model
        self._layout = LAYOUTS[model.layout]
        self.producer = f"{model.name}-{model.sha256[:16]}/1/{model.sure:g}/{model.least:g}"
        self.sure = model.sure
        self.missed = model.missed
        self.side = model.side

    @cached_property
    def batch(self) -> int:
        """The number of pictures of one call; 1 for a model that takes one at a time."""
        return self._own_batch

    def categories(self) -> frozenset[str]:
        """Return the categories of its classes."""
        return frozenset(self._model.labels)

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Return the objects of a category in a BGR picture by falling confidence, all at least ``sure``."""
        [found] = self.detect_all([image])
        return [item for item in found if item.category == category and item.confidence >= self.sure]

    def detect_all(self, images: Sequence[Image]) -> Sequence[Sequence[DetectedObject]]:
        """Return the objects in each BGR picture by falling confidence, all at least ``least``.

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
        """
        size = self._input_size(images)
        fitted = [self._fit(image, size) for image in images]
        found: list[Sequence[DetectedObject]] = []
        for first in range(0, len(images), self.batch):
            part = fitted[first : first + self.batch]
            boxes, scores = self._run(np.stack([one.pixels for one in part]), size)
            for i, one in enumerate(part):
                found.append(self._objects(boxes[i] / np.array(one.scale * 2), scores[i], images[first + i]))
        return found

    @cached_property
    def _session(self) -> Any:
        return open_session(self._model)

    @cached_property
    def _shape(self) -> list[int | None]:
        """The shape of the input: batch, channels, height, width; None where the file leaves it free."""
        shape = self._session.get_inputs()[0].shape
        if len(shape) != 4 or len(self._session.get_inputs()) != 1:
            raise unusable(self._model, f"its input has the shape {shape} instead of batch x 3 x height x width")
        return [side if isinstance(side, int) else None for side in shape]

    @cached_property
    def _own_batch(self) -> int:
        on_gpu = "CUDAExecutionProvider" in self._session.get_providers()
        return self._shape[0] or _BATCH["gpu" if on_gpu else "cpu"]

    def _input_size(self, images: Sequence[Image]) -> tuple[int, int]:
        """Return height and width of the input: the file's, else the smallest that holds the pictures at ``side`` pixels."""
        _, _, height, width = self._shape
        if height and width:
            return height, width
        if self._layout.is_stretched:
            return self.side, self.side
        sides = [
            max((image.shape[axis] * self.side / max(image.shape[:2]) for image in images), default=1.0)
            for axis in (0, 1)
        ]
        down, across = (max(1, round(side / _STRIDE + 0.499)) * _STRIDE for side in sides)
        return down, across

    def _fit(self, image: Image, size: tuple[int, int]) -> _Fitted:
        """Scale a picture into the model's input; what it does not fill, to the right and below, is grey."""
        height, width = image.shape[:2]
        if self._layout.is_stretched:
            inner = size
        else:
            scale = min(size[0] / height, size[1] / width)
            inner = max(1, round(height * scale)), max(1, round(width * scale))
        is_smaller = inner[0] < height
        if inner != (height, width):
            image = cv2.resize(image, inner[::-1], interpolation=cv2.INTER_AREA if is_smaller else cv2.INTER_LINEAR)
        pixels = np.full((*size, 3), _GREY, dtype=np.uint8)
        pixels[: inner[0], : inner[1]] = image[..., ::-1] if self._layout.is_rgb else image
        across, down = inner[1] / width, inner[0] / height
        if self._layout.in_shares:
            across, down = 1 / width, 1 / height
        return _Fitted(pixels=pixels, scale=(across, down))

    def _run(self, pixels: Image, size: tuple[int, int]) -> tuple[Floats, Floats]:
        given = pixels.transpose(0, 3, 1, 2).astype(np.float32)
        if self._layout.scale != 1.0:
            given *= np.float32(self._layout.scale)
        count, fixed = len(given), self._shape[0]
        if fixed and count < fixed:  # a file with a fixed batch takes no fewer
            given = np.concatenate([given, np.zeros((fixed - count, *given.shape[1:]), dtype=np.float32)])
        name = self._session.get_inputs()[0].name
        try:
            outputs = self._session.run(None, {name: given})
            boxes, scores = self._layout.decode(outputs, size)
        except Exception as error:
            raise unusable(
                self._model, f"it does not fit the layout {self._model.layout} ({str(error)[:200]})"
            ) from error
        if scores.shape[-1] == 0:
            raise unusable(self._model, "its output has no classes")
        if boxes.shape[-1] != 4 or scores.shape[:2] != boxes.shape[:2] or scores.shape[2] > len(self._model.labels):
            what = f"its output does not fit the layout {self._model.layout} with {len(self._model.labels)} labels"
            raise unusable(self._model, what)
        return boxes[:count], scores[:count]

    def _objects(self, boxes: Floats, scores: Floats, image: Image) -> list[DetectedObject]:
        """Return the objects of one picture from boxes (N x 4, its pixels) and scores (N x C)."""
        number, score = scores.argmax(axis=1), scores.max(axis=1)
        kept = np.flatnonzero((score >= self._model.least) & np.isfinite(boxes).all(axis=1))
        if not len(kept):
            return []
        boxes, number, score = boxes[kept], number[kept], score[kept]
        if self._layout.overlaps:
            sides = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1).astype(np.float64).tolist()
            chosen = cv2.dnn.NMSBoxesBatched(sides, score.tolist(), number.tolist(), self._model.least, _OVERLAP)
            first = np.asarray(chosen, dtype=np.int64).ravel()
            boxes, number, score = boxes[first], number[first], score[first]
        height, width = image.shape[:2]
        whole = Box(x1=0.0, y1=0.0, x2=float(width), y2=float(height))
        found: list[DetectedObject] = []
        for i in np.lexsort((boxes[:, 0], -score))[:_MOST].tolist():
            x1, y1, x2, y2 = (float(value) for value in boxes[i])
            box = Box(x1=x1, y1=y1, x2=max(x1, x2), y2=max(y1, y2)).common(whole)
            if box is None or any(box.iou(other.box) > _SAME_PLACE for other in found):
                continue
            confidence = round(min(1.0, float(score[i])), 3)
            found.append(DetectedObject(category=self._model.labels[number[i]], box=box, confidence=confidence))
        return found


def open_session(model: OnnxModel) -> Any:
    """Return a session of ONNX Runtime with a model, on a GPU where it has one.

    Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
    """
    import onnxruntime

    check_file(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Threads that wait busily would take the processors from the other stages.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    able = onnxruntime.get_available_providers()
    providers = [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in able]
    try:
        return onnxruntime.InferenceSession(str(model.path), options, providers=providers)
    except Exception as error:  # its exceptions have no common class
        raise unusable(model, str(error).splitlines()[0][:200]) from error


def try_detector(model: DetectorModel) -> None:
    """Load a detector and run it once on a grey picture.

    Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
    """
    try:
        OnnxDetector(model).detect_all([np.full((180, 320, 3), 128, dtype=np.uint8)])
    except BackendFault:
        raise
    except Exception as error:  # a file may make the code that reads its output raise anything
        raise unusable(model, f"a picture cannot be given to it ({str(error)[:200]})") from error


def check_file(model: OnnxModel) -> None:
    """Raise ``model_missing`` or ``model_damaged`` unless the file of a model is the one that the catalogue describes."""
    try:
        content = model.path.read_bytes()
    except OSError as error:
        raise BackendFault(
            "model_missing",
            f"the model {model.name} is not on this machine",
            hint=f"`videoworld models pull {model.name}` fetches it, or `videoworld models pull {model.name} --from FOLDER`",
        ) from error
    if sha256(content).hexdigest() != model.sha256:
        raise BackendFault(
            "model_damaged",
            f"{model.path.name} is not the file of the model {model.name}: its hash differs",
            hint=f"`videoworld models check` lists what is wrong; `videoworld models pull {model.name}` fetches it again",
        )


def unusable(model: OnnxModel, why: str) -> BackendFault:
    """Return the fault that a model is of no use, and why."""
    return BackendFault(
        "model_unusable",
        f"the model {model.name} cannot be used: {why}",
        hint="`videoworld models check` tries every model; `videoworld models add PATH --layout ...` states another layout",
    )


def described_by_file(path: Path) -> tuple[dict[str, Any], str]:
    """Return the options of a detector that an ONNX file shows, and the licence in its notes (empty: none)."""
    import ast

    import onnxruntime

    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common class
        what = f"{path.name} cannot be used: {str(error).splitlines()[0][:200]}"
        raise BackendFault("model_unusable", what, hint="give an ONNX file of a detector") from error
    if len(session.get_inputs()) != 1 or len(session.get_inputs()[0].shape) != 4:
        what = f"{path.name} is no detector: it does not take pictures (batch x 3 x height x width) and nothing else"
        raise BackendFault("model_unusable", what, hint="give an ONNX file of a detector")
    notes = session.get_modelmeta().custom_metadata_map
    shapes = [output.shape for output in session.get_outputs()]
    options: dict[str, Any] = {}
    with suppress(ValueError, SyntaxError, AttributeError, TypeError):
        names = ast.literal_eval(notes.get("names", ""))
        options["labels"] = [str(names[number]) for number in sorted(names)] if isinstance(names, dict) else list(names)
    with suppress(KeyError, ValueError, SyntaxError, TypeError):
        options["side"] = int(max(ast.literal_eval(notes["imgsz"])))
    height = session.get_inputs()[0].shape[-1]
    if isinstance(height, int):
        options["side"] = height
    options["layout"] = _layout_of(shapes, len(options.get("labels", ())))
    options.setdefault("labels", "coco")
    return {key: value for key, value in options.items() if value is not None}, notes.get("license", "")


def _layout_of(shapes: Sequence[Sequence[Any]], classes: int) -> str | None:
    """Return the layout that the shapes of the outputs show; None if they show none, or several.

    ``classes``: the number of labels that the file lists, 0 if it lists none, which is taken for the 80 of COCO.
    """
    classes = classes or 80
    if len(shapes) >= 2 and {shape[-1] for shape in shapes[:2]} == {4, classes}:
        return "rt-detr"
    if not shapes or len(shapes[0]) != 3:
        return None
    _, second, third = shapes[0]
    lengths = {"yolox": classes + 5, "yolo-end-to-end": 6, "rt-detr": classes + 4}
    found = [name for name, length in lengths.items() if third == length] + ["yolo"] * (second == classes + 4)
    return found[0] if len(found) == 1 else None
