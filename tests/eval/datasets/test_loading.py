"""Loading: folders, files, adapters by name, and small YAML files that describe them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.datasets import load_dataset
from world_api.core import EvalFault

QUESTION = {
    "schema_version": 1, "id": "q1", "video": "kitchen", "question": "How many?", "kind": "count", "answer": 3,
}  # fmt: skip
ROBOT = {
    "hall": {
        "video_path": "data/videos/robot/hall.mp4",
        "qa_list": [
            {"question": "Where is it?", "answer": "Here.", "question_id": "h1", "type": ["Multi-Hop Reasoning"], "before_clip": 1},
            {"question": "Who is she?", "answer": "Ann.", "question_id": "h2", "type": ["Person Understanding"], "before_clip": 0},
        ],
    }
}  # fmt: skip


def folder(tmp_path: Path, *, record: Any = None, questions: list[dict[str, Any]] | None = None) -> Path:
    """A dataset of one question in the project's own format."""
    given = {"schema_version": 1, "name": "mine", "videos": {"kitchen": {"file": "films/kitchen.mp4"}}}
    (tmp_path / "dataset.json").write_text(json.dumps(given if record is None else record))
    lines = [json.dumps(item) for item in (questions or [QUESTION])]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    return tmp_path


def refused(named: str | Path, **options: Any) -> EvalFault:
    """The fault that loading ends with."""
    with pytest.raises(EvalFault) as caught:
        load_dataset(named, **options)
    return caught.value


def test_a_folder_and_its_file_are_the_same_dataset(tmp_path: Path) -> None:
    one, other = load_dataset(folder(tmp_path)), load_dataset(tmp_path / "dataset.json")
    assert one == other
    assert one.name == "mine"
    assert one.videos["kitchen"].path == tmp_path / "films/kitchen.mp4"
    assert one.missing == ("kitchen",)


def test_videos_elsewhere_are_found_by_name(tmp_path: Path) -> None:
    there = tmp_path / "elsewhere" / "deep"
    there.mkdir(parents=True)
    (there / "Kitchen.MKV").write_bytes(b"x")
    data = load_dataset(folder(tmp_path), videos=tmp_path / "elsewhere")
    assert data.videos["kitchen"].path == there / "Kitchen.MKV"
    assert data.missing == ()


def test_the_hash_covers_items_and_protocol_and_no_videos(tmp_path: Path) -> None:
    first = load_dataset(folder(tmp_path)).hash
    (tmp_path / "films").mkdir()
    (tmp_path / "films/kitchen.mp4").write_bytes(b"x")
    assert load_dataset(tmp_path).hash == first
    assert load_dataset(folder(tmp_path, questions=[{**QUESTION, "answer": 4}])).hash != first
    record = {
        "schema_version": 1,
        "name": "mine",
        "videos": {"kitchen": {"file": "k.mp4"}},
        "protocol": {"scoring": {}},
    }
    assert load_dataset(folder(tmp_path, record=record)).hash != first


@pytest.mark.parametrize(
    ("record", "code", "told"),
    [
        ([], "bad_dataset", "should be a valid dictionary"),
        ({"schema_version": 7}, "other_schema_version", "version 7"),
        ({"schema_version": 1, "name": "a b"}, "bad_dataset", "name: "),
        ({"schema_version": 1, "name": "a", "vidoes": {}}, "bad_dataset", "vidoes is not a key"),
        ({"schema_version": 1, "name": "a", "questions": "../q.jsonl"}, "bad_dataset", "inside this folder"),
        ({"schema_version": 1, "name": "a", "questions": "/q.jsonl"}, "bad_dataset", "inside this folder"),
        ({"schema_version": 1, "name": "a", "videos": []}, "bad_dataset", "videos: "),
        ({"schema_version": 1, "name": "a", "videos": {"K": {"file": "k"}}}, "bad_dataset", "not a video id"),
        ({"schema_version": 1, "name": "a", "videos": {"k": {"file": "../../k.mp4"}}}, "bad_dataset", "inside this folder"),
        ({"schema_version": 1, "name": "a", "videos": {"k": {"path": "k.mp4"}}}, "bad_dataset", "videos.k.file is missing"),
        ({"schema_version": 1, "name": "a", "videos": {"hall": {"file": "h.mp4"}}}, "bad_dataset", "does not name the videos"),
        ({"schema_version": 1, "name": "a", "protocol": 3}, "bad_dataset", "protocol: "),
    ],
)  # fmt: skip
def test_a_dataset_file_that_is_wrong_is_refused_by_name(tmp_path: Path, record: Any, code: str, told: str) -> None:
    fault = refused(folder(tmp_path, record=record))
    assert fault.code == code
    assert told in fault.message


@pytest.mark.parametrize("named", ["nothing", "", "videomme", "nope:file.json", "x" * 5000, "a\0b"])
def test_what_is_no_dataset_is_named(named: str) -> None:
    assert refused(named).code == "no_such_dataset"


def test_an_adapter_is_named_before_its_file(tmp_path: Path) -> None:
    (tmp_path / "robot.json").write_text(json.dumps(ROBOT))
    one = load_dataset(f"m3bench-robot:{tmp_path / 'robot.json'}")
    other = load_dataset("m3bench-robot", annotations=tmp_path / "robot.json")
    assert one == other
    assert [item.question.as_of for item in one.items] == [60.0, 30.0]
    assert load_dataset("m3bench-robot", annotations=tmp_path) == one


def described(tmp_path: Path, **changes: Any) -> Path:
    """A YAML file beside annotations."""
    (tmp_path / "robot.json").write_text(json.dumps(ROBOT))
    given = {"schema_version": 1, "adapter": "m3bench-robot", "annotations": "robot.json", **changes}
    path = tmp_path / "robot.yaml"
    path.write_text(json.dumps(given))  # JSON is YAML
    return path


def test_a_yaml_file_tells_adapter_files_and_what_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(json.dumps({"h1": "B_order_cause"}))
    (tmp_path / "films" / "robot").mkdir(parents=True)
    (tmp_path / "films" / "robot" / "hall.mp4").write_bytes(b"x")
    path = described(
        tmp_path,
        name="hops",
        videos="films",
        only={"type": ["Multi-Hop Reasoning"]},
        domains="labels.json",
    )
    data = load_dataset(path)
    assert data.name == "hops"
    assert [(item.id, item.domain) for item in data.items] == [("h1", "B_order_cause")]
    assert data.videos["hall"].path == tmp_path / "films" / "robot" / "hall.mp4"
    assert data.protocol["only"] == {"type": ["Multi-Hop Reasoning"]}


def test_domain_labels_may_stand_in_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,domain\nh2,C_summary_multihop\n")
    data = load_dataset(described(tmp_path, domains="labels.csv"))
    assert {item.id: item.domain for item in data.items} == {"h1": "A_locate_count", "h2": "C_summary_multihop"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"adapter": "m3"}, "there is no adapter 'm3'"),
        ({"schema_version": 2}, "schema_version"),
        ({"annotation": "x"}, "annotation is not a key here"),
        ({"annotations": None}, "annotations"),
        ({"only": {"type": "x"}}, "only.type"),
        ({"annotations": "missing.json"}, "cannot be read"),
        ({"domains": "missing.json"}, "cannot be read"),
        ({"only": {"type": ["nothing"]}}, "no question can be asked"),
    ],
)
def test_a_yaml_file_that_is_wrong_is_refused_by_name(tmp_path: Path, changes: Any, told: str) -> None:
    assert told in refused(described(tmp_path, **changes)).message


def test_yaml_that_is_no_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("schema_version: 1\nadapter: [\n")
    assert "line" in refused(path).message
    path.write_bytes(b"")
    assert refused(path).code == "bad_dataset"
