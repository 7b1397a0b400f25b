"""Worlds from anywhere: whatever somebody put into their files, it is answered, or named, within a time, and nobody dies of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.ipc
import pytest

from tests.conftest import WorldMaker, made_rows
from tests.support.command_line import Cli
from tests.support.damaged_rows import manifest, replace_file, write_manifest
from tests.support.damaged_worlds import KINDS, UNCHECKED
from tests.support.trying_worlds import FINE, make_base
from world_api.api import open_session, source_path, text_embedder
from world_api.build.builder import find_predecessor
from world_api.build.source import remember_source
from world_api.core import StoreFault, hash_bytes
from world_api.operations import run
from world_api.search import prepare
from world_api.world import World, check_apart, has_image, open_world, read_arrow, read_image, verification

ROOT = Path(__file__).resolve().parents[3]
#: Outcomes that are no fault, or one that says what is wrong.
NAMED = {FINE, "world_damaged", "other_schema_version", "session_damaged", "unknown_entity", "nothing_matches"}


def try_seeds(folder: Path, first: int, end: int) -> None:
    """Try the worlds of some seeds in a process of their own; nothing may end that, and everything has a name."""
    command = [sys.executable, "-m", "tests.support.trying_worlds", str(folder), str(first), str(end)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, told[-1:], done.stderr[-2000:])
    worlds = [line for line in told if "found" in line]
    assert [line["seed"] for line in worlds] == list(range(first, end))
    for line in worlds:
        unnamed = {act: outcome for act, outcome in line["found"].items() if outcome not in NAMED}
        assert unnamed == {}, (line["seed"], line["kind"])
        assert line["checked"] or line["kind"] in UNCHECKED, (line["seed"], line["kind"])


@pytest.mark.parametrize("part", range(4))
def test_a_world_of_any_kind_of_damage_is_answered_or_named(part: int, tmp_path: Path) -> None:
    edges = [len(KINDS) * number // 4 for number in range(5)]
    try_seeds(tmp_path, edges[part], edges[part + 1])


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(10))
def test_many_damaged_worlds_are_answered_or_named(batch: int, tmp_path: Path) -> None:
    first = len(KINDS) * (batch + 1)
    try_seeds(tmp_path, first, first + len(KINDS))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The folder of a sound world with the id ``base``; its store is the folder above."""
    return make_base(tmp_path / "store")


def spoil(base: Path, kind: str, seed: int = 1) -> Path:
    KINDS[kind](base, Random(seed))
    return base.parent


def test_offsets_that_do_not_fit_are_named_by_the_check_and_by_operations(base: Path, cli: Cli) -> None:
    store = spoil(base, "offsets of lists behind the data")
    checked = cli("inspect", "base", "--check", store=store)
    assert checked.status != 0 and "world_damaged" in checked.err and "offsets" in checked.err
    called = cli("call", "list_entities", "--video", "base", store=store)
    assert called.status != 0 and "world_damaged" in called.err


def test_a_sound_world_passes_the_check(base: Path, cli: Cli) -> None:
    assert check_apart(base.parent, "base") == []
    assert cli("inspect", "base", "--check", store=base.parent).status == 0


@pytest.mark.parametrize("kind", ["rows up the folder", "rows at a place of their own", "images elsewhere"])
@pytest.mark.parametrize("seed", range(4))
def test_a_path_out_of_the_folder_is_named_and_not_followed(base: Path, kind: str, seed: int) -> None:
    (base.parent / "secret.arrow").write_bytes(next(base.glob("rows/cuts/*")).read_bytes())
    with pytest.raises(StoreFault) as caught:
        open_world(spoil(base, kind, seed), "base")
    assert caught.value.code == "world_damaged"
    assert "files." in caught.value.message or "images." in caught.value.message


@pytest.mark.parametrize(
    "place", ["rows/cuts/more.arrow", "images/a.jpg", "local.json", "sessions/default.jsonl", "more"]
)
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_what_is_no_file_is_named_before_anything_opens_it(base: Path, place: str, what: str, tmp_path: Path) -> None:
    (base / place).parent.mkdir(exist_ok=True)
    (base / place).unlink(missing_ok=True)
    mine = tmp_path / "mine"
    mine.write_text("half a line")
    if what == "link":
        (base / place).symlink_to(mine)
    else:
        os.mkfifo(base / place)
    with pytest.raises(StoreFault) as caught:
        open_session(base.parent, "base", name="default")
    assert caught.value.code == "world_damaged" and place in caught.value.message
    assert mine.read_text() == "half a line"


def test_nothing_is_built_through_a_link_not_even_by_force(tmp_path: Path) -> None:
    video, store, mine = tmp_path / "base.mp4", tmp_path / "store", tmp_path / "mine"
    video.write_bytes(b"no video")
    mine.mkdir()
    make_base(store)
    (store / "base" / "rows" / "cuts").rename(tmp_path / "cuts")
    (store / "base" / "rows" / "cuts").symlink_to(mine)
    with pytest.raises(StoreFault) as caught:
        find_predecessor(store / "base", video, force=True)
    assert "rows/cuts" in caught.value.message
    assert list(mine.iterdir()) == []


@pytest.mark.parametrize("fact", ["duration", "frame_rate"])
@pytest.mark.parametrize("value", [1e308, 1e12, float("nan"), float("inf"), -1.0])
def test_a_duration_or_rate_no_video_has_is_named(base: Path, fact: str, value: float) -> None:
    record = manifest(base)
    record["video"][fact] = value
    write_manifest(base, record)
    with pytest.raises(StoreFault) as caught:
        open_world(base.parent, "base")
    assert caught.value.code == "world_damaged" and f"video.{fact}" in caught.value.message


@pytest.mark.parametrize(
    ("duration", "is_sound"), [(60.0, True), (31.0, True), (60.1, False), (9.9e6, False), (29.0, False)]
)
def test_a_video_is_as_long_as_the_clips_that_its_stages_stored(
    base: Path, duration: float, is_sound: bool, cli: Cli
) -> None:
    record = manifest(base)
    stage = {"name": "colours", "version": "1", "key": "made", "parameters": {}, "tables": ["sightings"]}
    assert [entry["clip"] for entry in record["files"] if entry["table"] == "sightings"] == [0, 1]
    record["stages"], record["video"]["duration"] = [stage], duration
    write_manifest(base, record)
    called = cli("call", "list_scenes", "--video", "base", store=base.parent)
    assert ("video.duration" not in called.err) is is_sound
    if not is_sound:
        assert called.status != 0 and "world_damaged" in called.err
        assert "world_damaged" in cli("inspect", "base", "--check", store=base.parent).err


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "kind", ["a time that is none", "other columns", "nothing in a column", "a bomb", "another number of rows"]
)
def test_rows_that_are_none_are_named_with_their_file(base: Path, kind: str, seed: int) -> None:
    world = open_world(spoil(base, kind, seed), "base")
    with pytest.raises(StoreFault) as caught:
        world.verify()
    assert caught.value.code == "world_damaged" and "rows/" in caught.value.message


@pytest.mark.parametrize("is_file", [True, False])
def test_a_store_without_the_world_is_named(tmp_path: Path, is_file: bool) -> None:
    store = tmp_path / "store"
    if is_file:
        store.write_text("no folder")
    with pytest.raises(StoreFault) as caught:
        open_world(store, "made")
    assert caught.value.code == "no_such_world" and str(store) in caught.value.message


def test_a_manifest_without_a_version_is_damage(base: Path) -> None:
    write_manifest(base, {"format": "another"})
    with pytest.raises(StoreFault, match="it has no schema_version") as caught:
        open_world(base.parent, "base")
    assert caught.value.code == "world_damaged"


def test_a_row_that_was_known_before_the_video_began_is_named(make_world: WorldMaker) -> None:
    rows = made_rows()
    rows["sightings"][0]["known_at"] = -1.0
    with pytest.raises(StoreFault, match="known_at") as caught:
        make_world(rows).verify()
    assert caught.value.code == "world_damaged"


def test_a_compressed_file_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "small.arrow"
    rows = pa.table({"text": pa.array(["a" * 1_000_000] * 50)})
    with pa.ipc.new_file(str(path), rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(rows)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(ValueError, match="compressed"):
        read_arrow(path)


def test_a_check_that_dies_is_a_finding(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -SEGV $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(verification.sys, "executable", str(dying))
    assert check_apart(base.parent, "base") == ["a process that read it was ended by SIGSEGV"]


def test_a_check_that_does_not_end_is_a_finding(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = tmp_path / "python"
    waiting.write_text("#!/bin/sh\nexec sleep 600\n")
    waiting.chmod(0o755)
    monkeypatch.setattr(verification.sys, "executable", str(waiting))
    monkeypatch.setattr(verification, "_SECONDS", 0.2)
    (line,) = check_apart(base.parent, "base")
    assert "did not end within" in line


def test_the_process_of_a_check_is_told_no_keys(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    telling = tmp_path / "python"
    telling.write_text(f"#!/bin/sh\nenv > {tmp_path}/told\n")
    telling.chmod(0o755)
    monkeypatch.setattr(verification.sys, "executable", str(telling))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    check_apart(base.parent, "base")
    assert "sk-secret" not in (tmp_path / "told").read_text()


def give_video(base: Path, video: Path, *, complete: bool = True, content: bytes | None = None) -> World:
    """Let a world say that a file is its video, of this content."""
    data = content if content is not None else video.read_bytes()
    record = manifest(base)
    record["source"] |= {"bytes": len(data), "sha256": hash_bytes(data)}
    record["complete"] = complete
    write_manifest(base, record)
    (base / "local.json").write_text(json.dumps({"source_path": str(video)}))
    return open_world(base.parent, "base")


@pytest.mark.parametrize("complete", [True, False])
def test_another_video_of_the_same_size_is_not_the_worlds(base: Path, tmp_path: Path, complete: bool) -> None:
    private = tmp_path / "private.mp4"
    private.write_bytes(b"private" * 2000)
    world = give_video(base, private, complete=complete, content=b"foreign" * 2000)
    assert source_path(world) is None
    stamp = {"inode": 1, "size": 14000, "written": 1}
    (base / "local.json").write_text(json.dumps({"source_path": str(private), "stamp": stamp, "head": None}))
    assert source_path(world) is None


def test_the_worlds_own_video_is_found_wherever_the_world_was_made_and_noted(base: Path, tmp_path: Path) -> None:
    video = tmp_path / "film.mp4"
    video.write_bytes(b"a film" * 2000)
    world = give_video(base, video)
    assert source_path(world) == video
    assert set(json.loads((base / "local.json").read_text())) == {"source_path", "stamp", "head"}
    os.utime(video, (1, 1))
    assert source_path(world) == video
    video.write_bytes(b"A FILM" * 2000)
    assert source_path(world) is None


@pytest.mark.parametrize("place", ["/dev/zero", "/", "film.mp4", "", "/nowhere/film.mp4", "\0"])
def test_a_place_that_holds_no_video_is_none(base: Path, place: str) -> None:
    record = manifest(base)
    record["source"]["bytes"] = 0
    write_manifest(base, record)
    (base / "local.json").write_text(json.dumps({"source_path": place}))
    assert source_path(open_world(base.parent, "base")) is None


def sparse(path: Path, size: int) -> None:
    """Make a file as large without storing a byte."""
    with path.open("r+b") as file:
        file.truncate(size)


@pytest.mark.parametrize("size", [20 << 20, 1 << 30, 8 << 40])
def test_a_sparse_file_of_rows_is_named_before_it_is_read(base: Path, size: int) -> None:
    path = next(entry["path"] for entry in manifest(base)["files"] if entry["table"] == "cuts")
    sparse(base / path, size)
    with pytest.raises(StoreFault) as caught:
        open_world(base.parent, "base").rows("cuts")
    assert caught.value.code == "world_damaged" and path in caught.value.message and str(size) in caught.value.message
    (line,) = check_apart(base.parent, "base")
    assert path in line and str(size) in line


def test_a_sparse_image_is_named_before_it_is_read(base: Path) -> None:
    path = manifest(base)["images"][0]["path"]
    sparse(base / path, 8 << 40)
    (line,) = check_apart(base.parent, "base")
    assert path in line and str(8 << 40) in line
    assert read_image(base, path) is None and not has_image(base, path)


def test_sparse_rows_kept_beside_a_world_are_not_read(base: Path) -> None:
    rows = open_world(base.parent, "base").rows("cuts")
    prepare(base.parent, "base", text_embedder(), rebuild=True)
    (path,) = (base.parent / ".derived").rglob("rows.cuts.arrow")
    sparse(path, 8 << 40)
    world = World(base, open_world(base.parent, "base").manifest)
    assert world.derived.damaged("rows.cuts")
    assert world.rows("cuts").equals(rows)


def test_a_sparse_file_grants_a_check_no_time(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "more").touch()
    sparse(base / "more", 8 << 40)
    granted = []

    def run_apart(*_: object, timeout: float, **__: object) -> subprocess.CompletedProcess[bytes]:
        granted.append(timeout)
        return subprocess.CompletedProcess([], 0, stdout=b'{"wrong": [], "fault": null}')

    monkeypatch.setattr(verification.subprocess, "run", run_apart)
    check_apart(base.parent, "base")
    assert granted[0] < 200.0


@pytest.mark.parametrize("far", [-1e9, -3000.0, 700.0, 9e8])
def test_a_box_that_no_picture_holds_is_named(base: Path, far: float) -> None:
    set_boxes(base, far)
    with pytest.raises(StoreFault) as caught:
        open_world(base.parent, "base").rows("sightings")
    assert caught.value.code == "world_damaged" and "x1" in caught.value.message


@pytest.mark.parametrize("far", [-9.0, 639.0])
def test_a_box_that_exceeds_the_picture_is_at_its_edge(base: Path, far: float) -> None:
    set_boxes(base, far)
    session = open_session(base.parent, "base", name=None)
    told = run(session, "get_entity_trajectory", {"video_id": "base", "entity_id": "ent_t0000_01"})
    assert ("left" if far < 0 else "right") in json.dumps(told)
    assert "middle" not in json.dumps(told)


def test_a_line_before_the_start_of_the_video_is_named(base: Path) -> None:
    change_rows(base, "speech", start=-5.0)
    with pytest.raises(StoreFault, match="column start"):
        open_world(base.parent, "base").rows("speech")


def set_boxes(base: Path, far: float) -> None:
    """Put all things that were followed so far to the side (pixels)."""
    change_rows(base, "sightings", x1=far, x2=far + 10.0)


def change_rows(base: Path, table: str, **values: float) -> None:
    """Give all rows of a table these values, and the manifest the new hashes of its files."""
    for entry in [entry for entry in manifest(base)["files"] if entry["table"] == table]:
        rows = read_arrow(base / entry["path"])
        records = [row | values for row in rows.to_pylist()]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(pa.Table.from_pylist(records, schema=rows.schema))
        replace_file(base, entry["path"], bytes(sink.getvalue().to_pybytes()))


def test_a_foreign_world_that_says_to_grow_is_not_taken_for_a_file_of_the_user(base: Path, tmp_path: Path) -> None:
    video = tmp_path / "mine.mp4"
    video.write_bytes(b"a film" * 2000)
    give_video(base, video, complete=False, content=b"foreign" * 1000)
    profile = manifest(base)["profile"]
    old = find_predecessor(base, video, force=False)
    assert not old.is_same_growing and old.committed(hash_bytes(video.read_bytes())) == []
    with pytest.raises(StoreFault) as caught:  # it holds memories
        old.refuse_other(profile=profile, source_hash=hash_bytes(video.read_bytes()))
    assert caught.value.code == "world_exists"
    remember_source(base, video)
    assert find_predecessor(base, video, force=False).is_same_growing


def test_an_image_that_is_not_what_its_name_says_is_not_decoded(base: Path) -> None:
    path = manifest(base)["images"][0]["path"]
    assert read_image(base, path) is not None
    (base / path).write_bytes(b"\xff\xd8 another")
    assert read_image(base, path) is None
    assert read_image(base, "images/none.jpg") is None


def test_key_frames_are_images_that_the_manifest_lists(base: Path) -> None:
    record = manifest(base)
    record["images"] = []
    write_manifest(base, record)
    assert any("is none of the images" in line for line in check_apart(base.parent, "base"))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, -1, -6, -100])
def test_a_file_of_rows_that_is_cut_off_is_named(base: Path, size: int) -> None:
    path = next(entry["path"] for entry in manifest(base)["files"] if entry["table"] == "cuts")
    replace_file(base, path, (base / path).read_bytes()[:size])
    with pytest.raises(StoreFault) as caught:
        open_world(base.parent, "base").rows("cuts")
    assert caught.value.code == "world_damaged" and path in caught.value.message


def test_a_session_that_is_a_folder_is_named(base: Path) -> None:
    (base / "sessions" / "default.jsonl").mkdir(parents=True)
    session = open_session(base.parent, "base", name="default")
    with pytest.raises(StoreFault) as caught:
        run(session, "read_memory", {"video_id": "base", "level": "event", "query": "rain", "top_k": 3})
    assert caught.value.code == "session_damaged"


def test_a_session_of_twenty_gigabytes_is_named(base: Path) -> None:
    log = base / "sessions" / "default.jsonl"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as file:
        file.truncate(20 << 30)  # no such bytes are stored
    session = open_session(base.parent, "base", name="default")
    with pytest.raises(StoreFault) as caught:
        run(session, "read_memory", {"video_id": "base", "level": "event", "query": "rain", "top_k": 3})
    assert caught.value.code == "session_damaged" and "larger than" in caught.value.message


def test_flipped_bits_leave_the_rest_of_the_world_to_be_asked(base: Path) -> None:
    (path,) = [entry["path"] for entry in manifest(base)["files"] if entry["table"] == "captions"]
    replace_file(base, path, b"ARROW1\0\0")
    session = open_session(base.parent, "base", name=None)
    assert run(session, "list_entities", {"video_id": "base"})["entities"]
    with pytest.raises(StoreFault):
        run(session, "describe_segment", {"video_id": "base", "start_time": 1.0, "end_time": 9.0})


@pytest.mark.media
def test_a_world_that_was_built_here_keeps_its_video(built_film: tuple[Path, Path], film_store: Path) -> None:
    assert source_path(open_world(film_store, "film")) == built_film[0].resolve()
