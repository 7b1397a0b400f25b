"""Photos of named people: who is on a photo, by the models and the clustering that worlds are built with."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import pytest

from world_api.build import IdentityLimits, Sighted, find_matches
from world_api.core import FaceDetector, Vectors
from world_api.perception import ArcFaceEmbedder, IdentityModel, ScrfdDetector, YunetDetector

pytestmark = [pytest.mark.shared_data, pytest.mark.media]

#: What the file names of the test photos say, from left to right.
TRUTH = {
    "alex_lacamoire1.jpg": ["alex_lacamoire"],
    "johnsnow_test1.jpg": ["kit_harington"],
    "kit_with_rose.jpg": ["rose_leslie", "kit_harington"],
    "obama1.jpg": ["obama"],
    "obama_and_biden.jpg": ["biden", "obama"],
}


class SeenFace(NamedTuple):
    """A face on a photo: where its middle is (pixels), and its vector."""

    x: float
    vector: Vectors


def model(shared_data: Path, name: str, **options: float) -> IdentityModel:
    path = shared_data / "models" / name
    return IdentityModel(name=path.stem, path=path, sha256=sha256(path.read_bytes()).hexdigest(), **options)


@pytest.fixture(scope="module", params=["scrfd_2.5g_bnkps.onnx", "face_detection_yunet_2026may.onnx"])
def detector(request: pytest.FixtureRequest, shared_data: Path) -> FaceDetector:
    kind = ScrfdDetector if "scrfd" in request.param else YunetDetector
    return kind(model(shared_data, request.param, least=0.6 if kind is ScrfdDetector else 0.8))


@pytest.fixture(scope="module")
def embedder(shared_data: Path) -> ArcFaceEmbedder:
    return ArcFaceEmbedder(model(shared_data, "mobilefacenet.onnx", sure=0.5, doubtful=0.38, clear=12.0))


@pytest.fixture(scope="module")
def photos(shared_data: Path, detector: FaceDetector, embedder: ArcFaceEmbedder) -> dict[str, list[SeenFace]]:
    """The clear faces of each photo, by its path inside the folder of faces, from left to right."""
    found = {}
    for path in sorted((shared_data / "faces").rglob("*.jp*g")):
        image = cv2.imread(str(path))
        faces = detector.faces(image)
        seen = [
            SeenFace(face.box.center[0], vector)
            for face, vector in zip(faces, embedder.embed(image, faces), strict=True)
            if vector.any()
        ]
        found[path.relative_to(shared_data / "faces").as_posix()] = sorted(seen, key=lambda face: face.x)
    return found


def sighted(name: str, time: float, vectors: list[Vectors]) -> Sighted:
    times = np.full(len(vectors), time)
    return Sighted(track=name, seen=times, seen_known=times, known={"face": times}, vectors={"face": np.array(vectors)})


def named(photos: dict[str, list[SeenFace]], photo: str, *, without: str = "") -> list[str]:
    """The names of the faces on a test photo, the people of the train photos being known except one."""
    known: dict[str, list[Vectors]] = {}
    for path, faces in photos.items():
        folder, _, rest = path.partition("/")
        if folder == "train" and (name := rest.split("/")[0]) != without:
            known.setdefault(name, []).extend(face.vector for face in faces)
    people = [sighted(name, 0.0, vectors) for name, vectors in known.items()]
    people += [sighted(f"face {n}", 100.0, [face.vector]) for n, face in enumerate(photos[f"test/{photo}"])]
    limits = {"face": IdentityLimits(sure=0.5, doubtful=0.38)}
    links, names = [], []
    for person in people[len(known) :]:
        found = find_matches(person, people, links, limits, 200.0)
        links += [{"earlier": match.track, "later": person.track, "known_at": 100.0} for match in found if match.sure]
        names.append(next((match.track for match in found if match.sure), "nobody" if not found else "may be"))
    return names


def test_every_face_on_a_test_photo_gets_the_right_name(photos: dict[str, list[SeenFace]]) -> None:
    assert {photo: named(photos, photo) for photo in TRUTH} == TRUTH


def test_whose_photos_are_left_out_is_nobody_and_all_others_keep_their_names(
    photos: dict[str, list[SeenFace]],
) -> None:
    for left_out in sorted({name for names in TRUTH.values() for name in names}):
        for photo, names in TRUTH.items():
            expected = ["nobody" if name == left_out else name for name in names]
            assert named(photos, photo, without=left_out) == expected, (left_out, photo)


def test_nobody_is_on_a_photo_twice(photos: dict[str, list[SeenFace]]) -> None:
    [one, *_] = photos["test/obama1.jpg"]
    doubled = photos | {"test/doubled.jpg": [one, one]}
    assert named(doubled, "doubled.jpg") == ["obama", "nobody"]


def test_the_limits_separate_the_pairs_of_train_photos(photos: dict[str, list[SeenFace]]) -> None:
    faces = [
        (path.split("/")[1], face.vector) for path, own in photos.items() if path.startswith("train") for face in own
    ]
    pairs = [
        (one == other, float(first @ second))
        for place, (one, first) in enumerate(faces)
        for other, second in faces[place + 1 :]
    ]
    same = [value for is_same, value in pairs if is_same]
    different = [value for is_same, value in pairs if not is_same]
    assert (len(same), len(different)) == (4, 32)
    assert min(same) >= 0.5
    assert max(different) < 0.38
