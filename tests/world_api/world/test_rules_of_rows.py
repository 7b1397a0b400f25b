"""What no video can have in a world whose hashes all fit is named by ``inspect --check``; what builders write is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from tests.conftest import WorldMaker
from tests.support.building import made_clip
from tests.support.command_line import Cli
from tests.support.damaged_rows import manifest, write_manifest
from tests.support.trying_worlds import make_base
from world_api.api import open_session
from world_api.build.camera_motion import CameraKind
from world_api.build.truth import Oracle
from world_api.core import BackendFault, StoreFault, hash_bytes
from world_api.media.subtitles import SubtitleSource
from world_api.operations import run
from world_api.session import commit_session
from world_api.session.session import Level
from world_api.world import TABLES, check_world, open_world, read_manifest, world_hash, write_image

Row = dict[str, Any]
Rows = dict[str, list[Row]]
MEMORY = {"number": 1, "memory_id": "mem_2", "level": "event", "start": 1.0, "end": 5.0, "content": "x", "parts": []}
MEMORY |= {"known_at": 60.0, "producer": "session/1"}


@pytest.fixture(scope="module")
def base_rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    world = open_world(make_base(tmp_path_factory.mktemp("base")).parent, "base")
    return {name: world.rows(name).to_pylist() for name in TABLES} | {"key_frames": []}


@pytest.fixture
def rows(base_rows: Rows) -> Rows:
    """Rows of every table, as records; see ``make_base``."""
    return deepcopy(base_rows)


def say(table: str, number: int = 0, **values: Any) -> Callable[[Rows], None]:
    return lambda rows: rows[table][number].update(values)


def add(table: str, *more: Row) -> Callable[[Rows], None]:
    """Add rows: the first one of the table with other values, or whole ones."""
    return lambda rows: rows[table].extend({**(rows[table] or [{}])[0], **row} for row in more)


WRONG = {
    "a sighting after the end": (say("sightings", time=500.0, known_at=500.0), "sightings: time"),
    "a cut after the end": (say("cuts", time=60.5, known_at=70.0), "cuts: time"),
    "a look after the end": (say("looks", time=500.0, known_at=500.0), "looks: time"),
    "a text after the end": (say("screen_texts", time=500.0, known_at=500.0), "screen_texts: time"),
    "a registration known before": (say("registrations", time=500.0, known_at=60.0), "registrations: known_at"),
    "a link after the end": (say("track_links", time=500.0, known_at=500.0), "track_links: time"),
    "a sighting known before": (say("sightings", known_at=0.0), "sightings: known_at"),
    "a line known before its end": (say("speech", known_at=23.0), "speech: known_at"),
    "a memory known before its end": (add("memories", {**MEMORY, "known_at": 2.0}), "memories: known_at"),
    "a reversed line": (say("speech", start=25.0, end=22.0), "speech: end"),
    "a reversed word": (say("words", start=33.0, end=30.0), "words: end"),
    "a reversed caption": (say("captions", start=9.0, end=1.0), "captions: end"),
    "a reversed action": (say("actions", start=28.0, end=22.0), "actions: end"),
    "a reversed box": (say("screen_texts", y1=5000.0), "screen_texts: y2"),
    "a box beside the picture": (say("sightings", x1=5000.0, x2=5100.0), "sightings: x1"),
    "a box below the picture": (say("screen_texts", y1=5000.0, y2=5100.0), "screen_texts: y1"),
    "a sighting twice": (add("sightings", {"x1": 0.0}), "track, time of another"),
    "a cut twice": (add("cuts", {}), "time of another"),
    "a line twice": (add("speech", {}), "start, end, text, speaker of another"),
    "a memory twice": (add("memories", {"number": 1}), "memory_id of another"),
    "a number twice": (add("memories", {**MEMORY, "number": 0}), "number of another"),
    "a level that is none": (add("memories", {**MEMORY, "level": "galaxy"}), "memories: level"),
    "memories of one another": (
        add(
            "memories",
            {**MEMORY, "parts": ["mem_3"]},
            {**MEMORY, "number": 2, "memory_id": "mem_3", "parts": ["mem_2"]},
        ),
        "lead back",
    ),
    "a memory of none": (add("memories", {**MEMORY, "parts": ["mem_9"]}), "memories: parts"),
    "a memory of three that are none": (add("memories", {**MEMORY, "parts": ["a", "b", "c"]}), "parts of 3 of 3 is"),
    "a link to no track": (say("track_links", later="t9999_99"), "track_links: later"),
    "a link to nothing": (say("track_links", later=""), "track_links: later"),
    "a link to itself": (add("track_links", {"later": "t0001_01"}), "lead back"),
    "links in a circle": (add("track_links", {"earlier": "t0001_02", "later": "t0001_01"}), "lead back"),
    "a similar track that is none": (say("look_links", earlier="t9999_99"), "look_links: earlier"),
    "a look of no track": (say("track_looks", track="t9999_99"), "track_looks: track"),
    "a word of no line": (say("words", line_start=29.0), "words: line_start"),
    "a scene that no cut begins": (say("scene_cuts", time=33.3, known_at=34.0), "scene_cuts: time"),
    "a source that is none": (say("speech", source=""), "speech: source"),
    "a camera that explodes": (say("camera", kind="explode"), "camera: kind"),
    "a track id with a NUL": (say("sightings", track="t\0"), "sightings: track"),
    "a track without an id": (say("sightings", track=""), "sightings: track"),
    "a path that is no id": (say("sightings", track="../x"), "sightings: track"),
    "a text that is no id": (say("sightings", track="z" * 300), "sightings: track"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_rows_that_break_a_rule_of_their_table_are_named(kind: str, rows: Rows, make_world: WorldMaker) -> None:
    change, told = WRONG[kind]
    change(rows)
    wrong = check_world(make_world(rows))
    assert any(told in line for line in wrong), wrong


#: Kinds that a row shows by itself; ``inspect --check`` alone compares rows with others, and when they were known.
SHOWN = [
    kind
    for kind in WRONG
    if kind.startswith(("a reversed", "a box"))
    or kind.endswith(("after the end", "is none", "NUL", "an id", "explodes"))
    if kind != "a similar track that is none"
]


@pytest.mark.parametrize("kind", SHOWN)
def test_rows_that_no_video_can_have_are_named_by_commands_that_read_them(
    kind: str, rows: Rows, make_world: WorldMaker, cli: Cli
) -> None:
    change, told = WRONG[kind]
    change(rows)
    make_world(rows)
    shown = cli("inspect", "made", store=make_world.store)
    assert shown.status == 1 and "world_damaged" in shown.err and told in shown.err and not shown.out


def test_operations_name_rows_that_no_video_can_have(rows: Rows, make_world: WorldMaker, cli: Cli) -> None:
    say("speech", start=25.0, end=22.0)(rows)
    make_world(rows)
    asked = cli("call", "search_segments_by_text", "--video", "made", "query=folder", "top_k=3", store=make_world.store)
    assert asked.status == 1 and "speech: end" in asked.err


def test_rows_of_every_table_are_sound(rows: Rows, make_world: WorldMaker) -> None:
    assert check_world(make_world(rows)) == []


def test_a_negative_number_is_named_when_it_is_read(rows: Rows, make_world: WorldMaker) -> None:
    rows["memories"][0]["number"] = -1
    with pytest.raises(StoreFault, match="column number"):
        make_world(rows)


def test_a_duration_shorter_than_the_rows_is_named(rows: Rows, make_world: WorldMaker, cli: Cli) -> None:
    world = make_world(rows, duration=5.0)
    checked = cli("inspect", "made", "--check", store=world.folder.parent)
    assert checked.status != 0 and "after the 5.0 s of the video" in checked.err


def test_what_is_known_late_or_goes_on_beyond_the_end_is_sound(rows: Rows, make_world: WorldMaker) -> None:
    rows["sightings"][0]["known_at"] = 90.0
    rows["speech"][0].update(start=59.0, end=200.0, known_at=200.0)  # subtitles of a longer version
    rows["speech"] += [{**rows["speech"][0], "speaker": "Ann"}]
    rows["words"] += [dict(rows["words"][0])] * 2  # "ha ha ha"
    rows["cuts"][0].update(time=60.001, known_at=60.001)
    rows["scene_cuts"] = []
    assert check_world(make_world(rows)) == []


def test_what_sessions_wrote_of_a_longer_video_is_sound(rows: Rows, make_world: WorldMaker) -> None:
    say("registrations", time=500.0, known_at=500.0)(rows)
    later = {**MEMORY, "number": 2, "memory_id": "mem_3", "start": 500.0, "end": 510.0, "known_at": 510.0}
    add("memories", {**MEMORY, "end": 500.0, "known_at": 500.0}, later)(rows)
    assert check_world(make_world(rows)) == []


def test_kinds_of_camera_and_sources_of_speech_are_those_that_builds_write() -> None:
    assert TABLES["camera"].rules.choices["kind"] == get_args(CameraKind)
    assert set(get_args(get_type_hints(SubtitleSource)["kind"])) < set(TABLES["speech"].rules.choices["source"])


def test_levels_of_memories_are_those_that_sessions_write() -> None:
    assert TABLES["memories"].rules.choices["level"] == get_args(Level)


def test_a_world_with_merged_memories_is_sound(make_world: WorldMaker) -> None:
    make_world()
    session, video = open_session(make_world.store, "made", name="first"), {"video_id": "made"}
    written = [
        run(session, "write_memory", {**video, "level": "event", "time_range": span, "content": "somebody came in"})
        for span in ({"start_time": 3.0, "end_time": 9.0}, {"start_time": 9.0, "end_time": 60.0})
    ]
    ids = [one["memory_id"] for one in written]
    run(session, "merge_events", {**video, "event_ids": ids})
    commit_session(make_world.store, "made", "first")
    assert check_world(open_world(make_world.store, "made")) == []


@pytest.mark.parametrize(("start", "end"), [(500.0, None), (500.0, 600.0), (50.0, 1.0), (-5.0, 3.0), (None, -1.0)])
def test_a_loss_that_is_no_part_of_the_video_is_named(make_world: WorldMaker, start: Any, end: Any) -> None:
    lose(make_world().folder, start, end)
    with pytest.raises(StoreFault, match=r"losses\.0: from"):
        open_world(make_world.store, "made")


@pytest.mark.parametrize(("start", "end"), [(None, None), (0.0, None), (2.0, 2.0), (60.0, 1e9)])
def test_a_loss_of_what_the_file_promised_is_sound(make_world: WorldMaker, start: Any, end: Any) -> None:
    lose(make_world().folder, start, end)
    assert check_world(open_world(make_world.store, "made")) == []


def test_a_loss_at_the_end_is_shown_however_the_end_is_rounded(make_world: WorldMaker, cli: Cli) -> None:
    world = make_world(duration=59.9996)
    lose(world.folder, 60.0, 90.0)
    assert [loss["end_time"] for loss in cli("inspect", "made", "--json", store=make_world.store).json["losses"]] == [
        90.0
    ]


def lose(folder: Path, start: float | None, end: float | None) -> None:
    record = manifest(folder)
    record["losses"] = [{"code": "ends_early", "message": "x", "start_time": start, "end_time": end}]
    write_manifest(folder, record)


@pytest.mark.parametrize("rate", [25.0, 1000.0, 12.0])
def test_a_rate_that_may_give_the_frames_is_sound(make_world: WorldMaker, rate: float) -> None:
    count_frames(make_world().folder, rate, complete=True)
    assert check_world(open_world(make_world.store, "made")) == []


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_a_rate_that_does_not_give_the_frames_is_named(make_world: WorldMaker, rate: float) -> None:
    folder = make_world().folder
    with pytest.raises(StoreFault, match=r"video\.frame_rate"):
        count_frames(folder, rate, complete=True)


def test_frames_of_a_growing_video_may_be_counted_ahead_of_its_time(make_world: WorldMaker) -> None:
    count_frames(make_world().folder, 1e-3, complete=False)
    assert check_world(open_world(make_world.store, "made")) == []


def count_frames(folder: Path, rate: float, *, complete: bool) -> None:
    record = manifest(folder) | {"complete": complete}
    record["video"] |= {"frame_rate": rate, "frames": 1500}
    write_manifest(folder, record)
    written = read_manifest(folder)
    write_manifest(folder, record | {"world_hash": world_hash(folder, written.video, written.files)})


def test_the_number_of_damaged_places_is_told(rows: Rows, make_world: WorldMaker, cli: Cli) -> None:
    say("sightings", known_at=0.0)(rows)
    make_world(rows)
    assert "is damaged in 1 place: " in cli("inspect", "made", "--check", store=make_world.store).err


def test_a_missing_file_is_named_also_where_its_rows_are_stored_elsewhere(make_world: WorldMaker, cli: Cli) -> None:
    folder = make_world().folder
    assert cli("inspect", "made", store=make_world.store).status == 0
    (missing := next(folder.glob("rows/sightings/*.arrow"))).unlink()
    told = cli("inspect", "made", store=make_world.store)
    assert told.status == 1 and missing.name in told.err and "world_damaged" in told.err


@pytest.mark.parametrize("levels", [250, 900])
def test_parameters_too_deep_to_be_written_are_named(make_world: WorldMaker, cli: Cli, levels: int) -> None:
    folder = make_world().folder
    record = manifest(folder)
    stage = {"name": "cuts", "version": "1", "key": "made", "tables": ["cuts"], "parameters": {"a": 1}}
    write_manifest(folder, record | {"stages": [stage]})
    assert cli("inspect", "made", "--check", "--json", store=folder.parent).status == 0
    text = json.dumps(record | {"stages": [stage]})
    deep = '{"a": ' * levels + "1" + "}" * levels
    (folder / "world.json").write_text(text.replace('{"a": 1}', deep))
    for command in (["inspect", "made"], ["inspect", "made", "--check"]):
        told = cli(*command, store=folder.parent)
        assert told.status != 0 and "stages.0.parameters: " in told.err and "levels deep" in told.err


@pytest.mark.parametrize("jpeg", [b"\x89PNG\r\n" + b"x" * 500, b""])
def test_an_image_that_is_no_jpeg_is_named(tmp_path: Path, jpeg: bytes) -> None:
    base = make_base(tmp_path / "store")
    record = manifest(base)
    path = write_image(base, jpeg)
    record["images"].append({"path": path, "sha256": hash_bytes(jpeg), "bytes": len(jpeg)})
    write_manifest(base, record)
    (line,) = check_world(open_world(base.parent, "base"))
    assert path in line and "no JPEG" in line


def test_another_number_of_bytes_of_an_image_is_named(tmp_path: Path) -> None:
    base = make_base(tmp_path / "store")
    record = manifest(base)
    record["images"][0]["bytes"] += 1
    write_manifest(base, record)
    (line,) = check_world(open_world(base.parent, "base"))
    assert record["images"][0]["path"] in line and "bytes" in line


def test_what_a_truth_file_says_twice_is_one_row(tmp_path: Path) -> None:
    seen = {"time": 1.0, "box": [30, 40, 10, 20]}
    line = {"start": 1.0, "end": 2.0, "text": "Yes."}
    truth = {
        "schema_version": 1, "cuts": [5.0, 5.0001, 3.0], "tracks": [{"track": "a", "category": "person", "sightings": [seen, seen]}],
        "speech": [line, line, {**line, "speaker": "Ann"}],
    }  # fmt: skip
    (tmp_path / "film.truth.json").write_text(json.dumps(truth))
    oracle = Oracle(tmp_path / "film.mp4")
    made = oracle.make_rows(made_clip())
    assert [row["time"] for row in made["cuts"]] == [3.0, 5.0]
    assert [row["speaker"] for row in made["speech"]] == ["", "Ann"]
    (row,) = made["sightings"]
    assert (row["x1"], row["y1"], row["x2"], row["y2"]) == (10, 20, 30, 40)


def test_what_a_truth_file_says_beside_the_picture_and_after_the_end_gives_a_sound_world(
    two_shots: Path, tmp_path: Path, cli: Cli
) -> None:
    boxes = [[-50, 0, -9, 9], [0, 1e6, 9, 1.1e6], [-5, -5, 5, 5], [0, 0, 1e7, 1e7]]
    seen = [{"time": 1.0 + number, "box": box} for number, box in enumerate(boxes)]
    track = {"track": "a", "category": "person", "sightings": [*seen, {"time": 80.0, "box": boxes[2]}]}
    texts = [{"start": 0.0, "end": 1.0, "text": "x", "box": box} for box in boxes]
    truth = {"schema_version": 1, "tracks": [track], "screen_text": texts}
    two_shots.with_name("two_shots.truth.json").write_text(json.dumps(truth))
    assert cli("build", str(two_shots), "--profile", "oracle", store=tmp_path / "store").status == 0
    world = open_world(tmp_path / "store", "two_shots")
    assert world.rows("sightings").column("time").to_pylist() == [3.0, 4.0, 80.0]
    assert world.rows("screen_texts").num_rows == 2
    assert check_world(world) == []


@pytest.mark.parametrize(
    ("track", "side"),
    [("", 0), ("a\0", 0), ("a\n", 0), ("a\x7f", 0), ("../a", 0), ("a" * 201, 0), ("a", float("nan")), ("a", 1e300)],
)
def test_ids_and_boxes_that_no_world_has_are_refused_in_a_truth_file(tmp_path: Path, track: str, side: float) -> None:
    seen = {"time": 1.0, "box": [0, 0, side, 9]}
    truth = {"schema_version": 1, "tracks": [{"track": track, "category": "person", "sightings": [seen]}]}
    (tmp_path / "film.truth.json").write_text(json.dumps(truth))
    with pytest.raises(BackendFault) as caught:
        Oracle(tmp_path / "film.mp4")
    assert caught.value.code == "bad_truth"
