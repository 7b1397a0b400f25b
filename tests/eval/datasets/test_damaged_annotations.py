"""Files of annotations that are damaged: a named fault, or a dataset that says what it left out; never anything else."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from eval.datasets import ADAPTERS, load_dataset
from tests.support import published_files
from world_api.core import EvalFault

NAMES = sorted(ADAPTERS)
JSON_NAMES = [name for name in NAMES if name not in ("nextqa", "videomme")]
ODD: list[Any] = [
    None, True, -1, 10**40, 1e300, "", " ", "x" * 30_000, "\ud800", [], [[]], {}, {"a": 1}, [None], "A", "../..", "\0", 2.5,
]  # fmt: skip


def outcome(name: str, path: Path) -> EvalFault | int:
    """How many questions there are, or the fault."""
    try:
        data = load_dataset(name, annotations=path, videos=path.parent)
    except EvalFault as fault:
        assert fault.message
        return fault
    assert data.items
    return len(data.items)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in inner for place in places(item, (*at, key)))]


def put(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """The value with something else in one place."""
    if not place:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(value[place[0]], place[1:], odd)
    return copy


@pytest.mark.parametrize("name", JSON_NAMES)
def test_anything_may_stand_in_any_place(tmp_path: Path, name: str) -> None:
    given_path = published_files.FILES[name](tmp_path)
    path = given_path if given_path.is_file() else sorted(given_path.glob("*.json"))[0]
    good = json.loads(path.read_text())
    drawn = random.Random(name)
    where = places(good)
    for _ in range(250):
        odd = drawn.choice(ODD)
        path.write_text(json.dumps(put(good, drawn.choice(where), odd)), encoding="utf-8")
        outcome(name, given_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_be_cut_off_or_have_a_changed_byte(tmp_path: Path, name: str) -> None:
    given_path = published_files.FILES[name](tmp_path)
    path = given_path if given_path.is_file() else sorted(given_path.glob("*.json"))[0]
    whole = path.read_bytes()
    drawn = random.Random(name)
    for _ in range(40):
        at = drawn.randrange(len(whole))
        path.write_bytes(
            whole[:at] + (bytes([drawn.randrange(256)]) + whole[at + 1 :] if drawn.random() < 0.6 else b"")
        )
        outcome(name, given_path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 100_000, b"PK\x03\x04", b"1"])
def test_a_file_that_is_something_else_is_refused_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "annotations.json"
    path.write_bytes(content)
    (tmp_path / "subset_answers.json").write_text("{}")
    assert isinstance(outcome(name, path), EvalFault)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_without_annotations_and_no_file_at_all_are_named(tmp_path: Path, name: str) -> None:
    for path in (tmp_path, tmp_path / "nothing.json"):
        fault = outcome(name, path)
        assert isinstance(fault, EvalFault)
        assert fault.code in ("no_annotations", "dataset_unreadable", "no_answers")


def test_an_archive_that_grows_when_it_is_unpacked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.datasets.files.MAX_FILE_BYTES", 10_000)
    path = tmp_path / "locomo10.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.json", b" " * 1_000_000)
    fault = outcome("locomo", path)
    assert isinstance(fault, EvalFault)
    assert fault.code == "dataset_too_large"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_no_byte_of_an_archive_that_is_another_is_a_traceback(tmp_path: Path, method: int) -> None:
    path = tmp_path / "locomo10.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("1.json", json.dumps([{"sample_id": str(n), "qa": []} for n in range(40)]))
    whole = path.read_bytes()
    codes = set()
    for place in range(len(whole)):
        for flip in (0x01, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            try:
                load_dataset("locomo", annotations=path)
            except EvalFault as fault:
                codes.add(fault.code)
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(EvalFault):
            load_dataset("locomo", annotations=path)
    assert "bad_dataset" in codes and codes <= {
        "bad_dataset",
        "dataset_unreadable",
        "dataset_too_large",
        "no_annotations",
    }


def test_no_file_of_an_archive_is_lost_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "locomo10.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a/1.json", "b/1.json"):
            archive.writestr(name, "[]")
    with pytest.raises(EvalFault, match=r"two files named '1\.json'"):
        load_dataset("locomo", annotations=path)
    monkeypatch.setattr("eval.datasets.files.MAX_FILES", 1)
    with pytest.raises(EvalFault, match="more than 1 entries"):
        load_dataset("locomo", annotations=path)


ROWS = st.text(alphabet=st.characters(codec="utf-8"), max_size=200)


@given(ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_text_breaks_the_reader_of_csv(tmp_path: Path, text: str) -> None:
    path = tmp_path / "val.csv"
    head = "video,frame_count,width,height,question,answer,qid,type,a0,a1,a2,a3,a4\n"
    path.write_text(head + text, encoding="utf-8", newline="")
    outcome("nextqa", path)
