"""Files, hashes and manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from world_api.core import StoreFault, write_atomically
from world_api.world import (
    StageFacts,
    find_rows,
    hash_rows,
    list_worlds,
    open_world,
    rows_from_records,
    world_folder,
    world_hash,
    write_rows,
)


def cut(time: float, score: float = 1.0) -> dict[str, Any]:
    return {"time": time, "score": score, "kind": "cut", "known_at": time, "producer": "made/1"}


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = rows_from_records("cuts", [cut(1.0), cut(2.0)])
    entry = write_rows(tmp_path, table="cuts", clip=3, key="k", rows=rows)
    assert find_rows(tmp_path, table="cuts", key="k") == {3: entry}
    assert find_rows(tmp_path, table="cuts", key="other") == {}
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("change", [lambda data: data[:40], lambda data: data[:-9] + b"?" + data[-8:]])
def test_a_torn_or_changed_file_of_rows_counts_as_not_written(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    entry = write_rows(tmp_path, table="cuts", clip=0, key="k", rows=rows_from_records("cuts", [cut(1.0)]))
    path = tmp_path / entry.path
    path.write_bytes(change(path.read_bytes()))
    assert find_rows(tmp_path, table="cuts", key="k") == {}


def test_the_hash_of_rows_knows_values_and_not_chunks_or_order() -> None:
    whole = rows_from_records("cuts", [cut(1.0), cut(2.0), cut(3.0)])
    pieces = pa.concat_tables([whole.slice(2, 1), whole.slice(0, 2)])
    assert hash_rows([("cuts", whole)]) == hash_rows([("cuts", pieces)])
    assert hash_rows([("cuts", whole)]) != hash_rows(
        [("cuts", rows_from_records("cuts", [cut(1.0), cut(2.0), cut(3.5)]))]
    )


def test_the_hash_of_rows_sees_lists_and_strings_apart() -> None:
    def sighting(colours: list[str], category: str) -> dict[str, Any]:
        box = {"x1": 0, "y1": 0, "x2": 1, "y2": 1}
        return {
            "track": "t",
            "time": 1.0,
            **box,
            "category": category,
            "confidence": 0.5,
            "colours": colours,
            "known_at": 1.0,
            "producer": "m",
        }

    hashes = {
        hash_rows([("sightings", rows_from_records("sightings", [sighting(colours, category)]))])
        for colours, category in ((["ab"], "c"), (["a", "b"], "c"), (["a"], "bc"), ([], "abc"))
    }
    assert len(hashes) == 4


def test_the_same_rows_make_the_same_world_hash(make_world: Any) -> None:
    assert make_world(video_id="one").manifest.world_hash == make_world(video_id="two").manifest.world_hash


def test_the_hash_covers_what_a_detector_can_judge(make_world: Any) -> None:
    """Worlds from before the misses of detectors were noted keep their hash."""
    world = make_world()

    def hashed(**parameters: Any) -> str:
        stage = StageFacts(name="detections", version="1", key="k", parameters=parameters, tables=["sightings"])
        return world_hash(world.folder, world.manifest.video, world.manifest.files, [stage])

    assert hashed(categories=["person"]) == world.manifest.world_hash
    missed = {(hashed(categories=["person"], missed=each)) for each in ({}, {"person": [3, 207, 0.12]})}
    assert len({*missed, world.manifest.world_hash}) == 3


def test_a_world_of_another_schema_version_is_refused_with_what_to_do(make_world: Any) -> None:
    path = make_world().folder / "world.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 99}))
    with pytest.raises(StoreFault) as caught:
        open_world(make_world.store, "made")
    assert caught.value.code == "other_schema_version"
    assert "99" in caught.value.message
    assert "build" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "Expecting value"),
        (b"not json", "Expecting value"),
        (b"[]", "it is no JSON object"),
        (b'"text"', "it is no JSON object"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a": ' * 100_000, "it is nested too deeply"),
        (b"{}", "it has no schema_version"),
        (b'{"schema_version": 2}', "Field required"),
        (b'{"schema_version": 2, "video_id": 3}', "video_id"),
    ],
)
def test_a_damaged_manifest_is_named(make_world: Any, content: bytes, told: str) -> None:
    (make_world().folder / "world.json").write_bytes(content)
    with pytest.raises(StoreFault) as caught:
        open_world(make_world.store, "made")
    assert caught.value.code == "world_damaged"
    assert caught.value.message.startswith("the manifest of world 'made' cannot be read: ")
    assert told in caught.value.message


def test_a_missing_file_of_rows_is_named_when_it_is_read(make_world: Any) -> None:
    world = make_world()
    (world.folder / world.manifest.files_of("cuts")[0].path).unlink()
    with pytest.raises(StoreFault) as caught:
        world.rows("cuts")
    assert caught.value.code == "world_damaged"


def test_a_link_out_of_the_store_is_not_followed(make_world: Any, tmp_path: Path) -> None:
    make_world()
    (tmp_path / "elsewhere").mkdir()
    (make_world.store / "sneaky").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreFault) as caught:
        world_folder(make_world.store, "sneaky")
    assert caught.value.code == "bad_video_id"


def test_worlds_without_a_manifest_are_not_there(make_world: Any) -> None:
    make_world()
    (make_world.store / "half-built").mkdir()
    assert list_worlds(make_world.store) == ["made"]
    assert list_worlds(make_world.store / "absent") == []


def test_a_place_that_cannot_be_written_is_a_named_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreFault) as caught:
        write_atomically(tmp_path / "file" / "below", b"x")
    assert caught.value.code == "store_not_writable"
