"""The command line on what stores and worlds hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command_line import Cli
from world_api.world import write_manifest


def test_the_worlds_of_a_store_are_listed(cli: Cli) -> None:
    [entry] = cli("worlds", "--json").json["worlds"]
    assert (entry["video_id"], entry["duration"], entry["profile"]) == ("made", 60.0, "classical")
    assert "made" in cli("worlds").out


def test_a_world_whose_id_says_little_is_listed_with_its_title(cli: Cli, make_world: Any) -> None:
    world = make_world(video_id="video-5866f3a9")
    write_manifest(world.folder, world.manifest.model_copy(update={"title": "花园 里"}))
    world = make_world(video_id="garden")
    write_manifest(world.folder, world.manifest.model_copy(update={"title": "Garden"}))
    lines = {line.split()[0]: line for line in cli("worlds").out.splitlines()}
    assert lines["video-5866f3a9"].endswith("  花园 里")
    assert "Garden" not in lines["garden"]


def test_a_world_that_still_grows_is_shown_so(cli: Cli, make_world: Any) -> None:
    assert cli("worlds", "--json").json["worlds"][0]["complete"] is True
    assert cli("inspect", "made", "--json").json["complete"] is True
    assert "growing" not in cli("worlds").out + cli("inspect", "made").out
    world = make_world()
    write_manifest(world.folder, world.manifest.model_copy(update={"complete": False}))
    assert cli("worlds", "--json").json["worlds"][0]["complete"] is False
    assert cli("inspect", "made", "--json").json["complete"] is False
    assert "still growing" in cli("worlds").out
    assert "still growing" in cli("inspect", "made").out


def test_a_store_without_worlds_says_how_to_make_one(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("worlds", store=tmp_path / "nothing")
    assert outcome.status == 0
    assert "videoworld build" in outcome.out


def test_a_world_is_laid_open(cli: Cli) -> None:
    record = cli("inspect", "made", "--json").json
    assert [shot["start_time"] for shot in record["shots"]] == [0.0, 20.0, 30.0, 40.0]
    assert [scene["scene_id"] for scene in record["scenes"]] == ["scene_0000", "scene_0001", "scene_0002"]
    assert [track["hint"] for track in record["tracks"]] == [
        "person in black",
        "person in red and white",
        "person in black",
    ]
    assert record["screen_texts"][0]["text"] == "THE LONG WALK"
    text = cli("inspect", "made").out
    assert "THE LONG WALK" in text
    assert "person in red and white" in text


def test_a_track_is_told_of_from_its_first_clear_sighting_to_its_last(cli: Cli, make_world: Any) -> None:
    boxes = [[0, 50, 8, 150], *([x, 50, x + 60, 150] for x in range(0, 240, 60)), [312, 50, 320, 150]]
    sightings = [
        {
            "track": "t0000_01", "time": 5.0 + number, "category": "person", "confidence": 0.9, "colours": [],
            **dict(zip(("x1", "y1", "x2", "y2"), map(float, box), strict=True)), "known_at": 5.0 + number,
            "producer": "tracker/1",
        }
        for number, box in enumerate(boxes)
    ]  # fmt: skip
    make_world({"sightings": sightings}, video_id="slivers")
    [track] = cli("inspect", "slivers", "--json").json["tracks"]
    assert track["start_time"] == track["appearances"][0]["start_time"] == 6.0
    assert track["end_time"] == track["appearances"][-1]["end_time"]


def test_a_world_is_checked_against_its_hashes(cli: Cli, make_world: Any) -> None:
    assert cli("inspect", "made", "--check").status == 0
    [path] = [
        file for file in (make_world.store / "made" / "rows" / "speech").iterdir() if b"folder" in file.read_bytes()
    ]
    path.write_bytes(path.read_bytes().replace(b"folder", b"bolder"))
    error = cli("inspect", "made", "--check", "--json").json["error"]
    assert error["code"] == "world_damaged"
    assert path.name in error["message"]


def test_inspecting_behind_a_cut_tells_nothing_of_what_follows(cli: Cli) -> None:
    record = cli("inspect", "made", "--as-of", "30", "--json").json
    assert record["video"]["duration"] == 30.0
    assert [track["track_id"] for track in record["tracks"]] == ["t0000_01"]
    assert "花园" not in json.dumps(record, ensure_ascii=False)
