"""The project's own dataset format: a folder with ``dataset.json`` and ``questions.jsonl``, or a bare file of questions.

::

    FOLDER/dataset.json      {"schema_version": 1, "name": "mine", "questions": "questions.jsonl",
                              "videos": {"kitchen": {"file": "kitchen.mp4"}}}
    FOLDER/questions.jsonl   one item a line (``items.py``)
    FOLDER/kitchen.mp4

A file of questions without a ``dataset.json`` has its videos beside it. ``docs/datasets.md`` shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from eval.datasets.files import VideoFolder, bad, numbered_lines, read_json
from eval.datasets.items import (
    SCHEMA_VERSION,
    BadItem,
    Dataset,
    Item,
    VideoFile,
    is_item_id,
    item_from_record,
    item_record,
)
from world_api.core.canonical import content_hash
from world_api.core.faults import EvalFault
from world_api.core.identifiers import is_name

DATASET_FILE, QUESTIONS_FILE = "dataset.json", "questions.jsonl"
MAX_ITEMS = 500_000
_MANIFEST_BYTES = 64 * 2**20
_MOST_TOLD = 8
_SHAPE = "docs/datasets.md shows the format"


@dataclass(frozen=True, kw_only=True)
class _Described:
    """What ``dataset.json`` says."""

    name: str
    questions: Path
    files: Mapping[str, str] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)


def dataset_hash(items: tuple[Item, ...], protocol: Mapping[str, Any]) -> str:
    """The hash of a dataset: its items and its protocol."""
    return content_hash({"items": [item_record(item) for item in items], "protocol": dict(protocol)})


def load_folder(folder: Path, *, videos: Path | None = None) -> Dataset:
    """The dataset of a folder with ``dataset.json``; videos are where it says, or in ``videos``.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``, ``other_schema_version``.
    """
    described = _describe(folder / DATASET_FILE)
    items = read_items(described.questions)
    unknown = sorted({item.video_id for item in items} - set(described.files)) if described.files else []
    if unknown:
        raise bad(
            f"{DATASET_FILE} does not name the videos that are asked about: {', '.join(unknown[:_MOST_TOLD])}",
            "name each under videos",
        )
    own, found = VideoFolder(folder), VideoFolder(videos) if videos is not None else None
    files = {}
    for video_id in sorted({*described.files, *(item.video_id for item in items)}):
        name = described.files.get(video_id, video_id)
        path: Path | None = folder / name if video_id in described.files else own.find(video_id)
        if found is not None and (path is None or not path.is_file()):
            path = found.find(name, video_id) or path
        files[video_id] = VideoFile(video_id=video_id, path=path)
    return Dataset(
        name=described.name,
        items=items,
        videos=files,
        protocol=described.protocol,
        hash=dataset_hash(items, described.protocol),
    )


def load_questions(path: Path, *, videos: Path | None = None) -> Dataset:
    """The dataset of a bare file of questions; videos lie beside it, or in ``videos``, under their ids.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``, ``bad_dataset``, ``other_schema_version``.
    """
    items = read_items(path)
    folder = VideoFolder(videos if videos is not None else path.parent)
    ids = sorted({item.video_id for item in items})
    return Dataset(
        name=path.stem,
        items=items,
        videos={video_id: VideoFile(video_id=video_id, path=folder.find(video_id)) for video_id in ids},
        hash=dataset_hash(items, {}),
    )


def read_items(path: Path) -> tuple[Item, ...]:
    """The items of a file, in its order.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``; ``bad_dataset``, with the lines of up to eight faults.
    """
    items: list[Item] = []
    first: dict[str, int] = {}
    faults: list[str] = []
    for line in numbered_lines(path):
        wrong = [line.fault] if line.fault else []
        if not wrong:
            try:
                item = item_from_record(line.value)
                if item.id in first:
                    wrong = [f"the id {item.id!r} stands here a second time (first on line {first[item.id]})"]
                else:
                    first[item.id] = line.number
                    items.append(item)
            except BadItem as error:
                wrong = error.faults
        faults += [f"line {line.number}: {fault}" for fault in wrong]
        if len(items) > MAX_ITEMS:
            raise EvalFault("dataset_too_large", f"{path.name} has more than {MAX_ITEMS:,} questions", hint="split it")
    if faults:
        more = f"; and {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
        raise bad(f"{path.name}: " + "; ".join(faults[:_MOST_TOLD]) + more, _SHAPE)
    if not items:
        raise bad(f"{path.name} holds no question", _SHAPE)
    return tuple(items)


def _describe(path: Path) -> _Described:
    value = read_json(path, most=_MANIFEST_BYTES)
    if not isinstance(value, dict):
        raise bad(f"{path.name} is not a JSON object", _SHAPE)
    version = value.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise EvalFault(
            "other_schema_version",
            f"{path.name} has schema version {version!r}; this program reads {SCHEMA_VERSION}",
            hint="write it in the form that docs/datasets.md shows",
        )
    unknown = sorted(set(value) - {"schema_version", "name", "questions", "videos", "protocol"})
    if unknown:
        raise bad(f"{path.name}: {unknown[0][:60]!r} is not a key here", _SHAPE)
    name, questions = value.get("name"), value.get("questions", QUESTIONS_FILE)
    if not isinstance(name, str) or not is_item_id(name):
        raise bad(f"{path.name}: name is not a name of letters, digits and ._+-", _SHAPE)
    if not is_inside(questions):
        raise bad(f"{path.name}: questions is not a file of this folder", _SHAPE)
    protocol = value.get("protocol", {})
    if not isinstance(protocol, dict):
        raise bad(f"{path.name}: protocol is not a JSON object", _SHAPE)
    return _Described(
        name=name,
        questions=path.parent / questions,
        files=_files(value.get("videos", {}), path.name),
        protocol=protocol,
    )


def _files(value: object, name: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise bad(f'{name}: videos is not an object such as {{"kitchen": {{"file": "kitchen.mp4"}}}}', _SHAPE)
    for video_id, entry in value.items():
        if not is_name(video_id):
            raise bad(f"{name}: {video_id[:60]!r} is not a video id", "use 1 to 64 of a-z 0-9 . _ -")
        if not isinstance(entry, dict) or set(entry) != {"file"} or not is_inside(entry["file"]):
            raise bad(f'{name}: {video_id!r} is not {{"file": "a path inside this folder"}}', _SHAPE)
    return {video_id: entry["file"] for video_id, entry in value.items()}


def is_inside(path: object) -> bool:
    """Whether it is a relative path that does not lead out of its folder."""
    if not isinstance(path, str) or not path or "\\" in path or "\0" in path or len(path) > 1000:
        return False
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts
