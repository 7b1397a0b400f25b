"""A cut is a shorter world: behind it every operation answers as on a world that holds the visible rows and no others.

The reader takes over from the whole world what a cut leaves as it is; these tests say that nobody can tell.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.made_worlds import Plan, write_world
from benchmarks.operation_calls import CASES, Draws
from world_api.api import open_session
from world_api.core import OperationFault
from world_api.operations import run
from world_api.search import passages_of, unchanged_segments
from world_api.session import Session
from world_api.world import (
    SCHEMA_VERSION,
    SESSION_TABLES,
    TABLES,
    Manifest,
    SourceFacts,
    VideoFacts,
    View,
    World,
    open_world,
    rows_from_records,
    world_hash,
    write_manifest,
    write_rows,
)

Rows = dict[str, list[dict[str, Any]]]
LENGTH = 900.0


def rows_of(world: World) -> Rows:
    return {name: world.rows(name).to_pylist() for name in TABLES if name not in SESSION_TABLES}


def as_made(rows: Rows) -> Rows:
    return rows


def in_one_take(rows: Rows) -> Rows:
    """No cut anywhere: one shot, one scene, texts that may stay on screen for long."""
    return {**rows, "cuts": [], "scene_cuts": []}


def with_a_long_track(rows: Rows) -> Rows:
    """Somebody is there all the time, changes clothes, and is followed over every join."""
    times = [t / 2 for t in range(int(LENGTH) * 2)]
    made = {"category": "person", "confidence": 0.7, "producer": "made/1"}
    long = [
        {"track": f"t{int(t // 30):04d}_99", "time": t, "x1": 5.0, "y1": 60.0, "x2": 90.0, "y2": 300.0, "known_at": t + 0.5,
         "colours": ["red"] if t < 500 else ["blue", "red"], **made}
        for t in times
    ]  # fmt: skip
    links = [
        {"earlier": f"t{n - 1:04d}_99", "later": f"t{n:04d}_99", "time": n * 30.0, "kind": "stitch", "score": 1.0,
         "known_at": n * 30.0 + 2.0, "producer": "made/1"}
        for n in range(1, int(LENGTH // 30))
    ]  # fmt: skip
    return {**rows, "sightings": rows["sightings"] + long, "track_links": rows["track_links"] + links}


def with_late_knowledge(rows: Rows) -> Rows:
    """Some captions and links are known long after what they are about, and two links contradict each other."""
    late = {**rows}
    late["captions"] = [
        {**row, "known_at": row["known_at"] + 400.0 * (n % 3)} for n, row in enumerate(rows["captions"])
    ]
    late["track_links"] = [
        {**row, "known_at": row["known_at"] + 300.0 * (n % 2)} for n, row in enumerate(rows["track_links"])
    ]
    if len(late["track_links"]) > 3:
        first, second = late["track_links"][1], late["track_links"][2]
        late["track_links"].append({**first, "earlier": second["earlier"], "known_at": first["known_at"] - 100.0})
    return late


def foretold(rows: Rows) -> Rows:
    """Lines, captions and actions are known as soon as they begin; a cut in the middle of one shortens it."""
    told = {
        name: [{**row, "known_at": row["start"]} for row in rows[name]] for name in ("speech", "captions", "actions")
    }
    return {**rows, **told}


def on_whole_seconds(rows: Rows) -> Rows:
    """All begins and ends on whole seconds, so that much begins at once and at the cut."""
    times = ("time", "start", "end", "known_at")
    made: Rows = {}
    for name, own in rows.items():
        rounded = [{**row, **{time: float(round(row[time])) for time in times if time in row}} for row in own]
        made[name] = list({tuple(str(row[key]) for key in TABLES[name].key): row for row in rounded}.values())
    return made


def as_recognised(rows: Rows) -> Rows:
    """Lines have words, each known when it was said; some rows of the camera and some cuts are known late."""
    words = [
        {"line_start": row["start"], "start": row["start"], "end": row["end"], "word": word, "confidence": 0.5,
         "known_at": row["start"] + 0.5 * number, "producer": "made/1"}
        for row in rows["speech"] for number, word in enumerate(dict.fromkeys(row["text"].split()))
    ]  # fmt: skip
    late = {
        name: [{**row, "known_at": row["known_at"] + 40.0 * (n % 7 == 3)} for n, row in enumerate(rows[name])]
        for name in ("camera", "cuts", "scene_cuts", "screen_texts")
    }
    return {**rows, **late, "words": words, "speech": [{**row, "source": "recognised"} for row in rows["speech"]]}


def with_sounds(rows: Rows) -> Rows:
    """Music that goes on for minutes, and a bark in every third second."""
    heard = [("Music", 0.48 * number) for number in range(1000)] + [("Bark", 3.0 * number) for number in range(250)]
    sounds = [
        {"start": start, "end": start + 0.975, "label": label, "score": 0.4 + 0.5 * (number % 7) / 7,
         "known_at": round(start + 0.975, 3), "producer": "made/1"}
        for number, (label, start) in enumerate(heard)
    ]  # fmt: skip
    return {**rows, "sounds": sounds}


def with_voices(rows: Rows) -> Rows:
    """Three voices in turn, one turn in four of no known voice, some judged only with a later one."""
    made: Rows = {"voice_turns": [], "voice_names": [], "voice_links": []}
    for number, row in enumerate(rows["speech"]):
        later = rows["speech"][min(number + number % 3, len(rows["speech"]) - 1)]
        known, facts = round(row["end"] + 1.5, 3), {"producer": "made/1"}
        judged = {"time": later["start"], "known_at": max(known, round(later["end"] + 1.5, 3)), **facts}
        made["voice_turns"].append(
            {
                "start": row["start"],
                "end": row["end"],
                "vector": [1.0] if number % 4 else [],
                "known_at": known,
                **facts,
            }
        )
        if number % 4:
            voice = f"voice_{number % 3 + 1:02}"
            made["voice_names"].append({"turn": row["start"], "voice": voice, "score": 0.9, **judged})
        if number == 7:
            made["voice_links"].append({"earlier": "voice_01", "later": "voice_03", "score": 0.7, **judged})
    return {**rows, **made}


VARIANTS = (
    as_made, in_one_take, with_a_long_track, with_late_knowledge, foretold, on_whole_seconds, as_recognised,
    with_sounds, with_voices,
)  # fmt: skip


def write(store: Path, rows: dict[str, pa.Table], duration: float) -> World:
    """A world of these rows, one file a table."""
    folder = store / "film"
    files = [write_rows(folder, table=name, clip=0, key="made", rows=own) for name, own in rows.items()]
    video = VideoFacts(
        duration=duration, frame_rate=25.0, width=1280, height=720, rotation=0, frames=1, codec="none", has_audio=True
    )
    source = SourceFacts(file_name="film", sha256="0" * 64, bytes=0, container="none")
    manifest = Manifest(
        schema_version=SCHEMA_VERSION, video_id="film", profile="made", title="film", built_at="", project_version="0",
        clip_seconds=duration, stages=[], losses=[], source=source, video=video, files=files, images=[],
        world_hash=world_hash(folder, video, files),
    )  # fmt: skip
    write_manifest(folder, manifest)
    return open_world(store, "film")


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    plan = Plan(seed=11, duration=LENGTH, file_seconds=3600.0)
    return rows_of(write_world(tmp_path_factory.mktemp("film"), "film", plan))


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda variant: variant.__name__)
def whole(request: pytest.FixtureRequest, film: Rows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of one variant of the film."""
    store = tmp_path_factory.mktemp("whole")
    write(store, {name: rows_from_records(name, own) for name, own in request.param(film).items()}, LENGTH)
    return store


def visible(world: World, as_of: float) -> dict[str, pa.Table]:
    tables = {name: world.rows(name) for name in TABLES if name not in SESSION_TABLES}
    return {name: rows.filter(pc.less_equal(rows.column("known_at"), as_of)) for name, rows in tables.items()}


def told(view: View) -> dict[str, Any]:
    """What a view is put together to, in full."""
    return {
        "shots": list(view.shots),
        "scenes": list(view.scenes),
        "segments": list(view.segments),
        "speech": list(view.speech),
        "screen_texts": sorted((t.span, t.text, t.confidence, t.frame_time) for t in view.screen_texts),
        "captions": list(view.captions),
        "actions": list(view.actions),
        "sounds": list(view.sounds),
        "voices": list(view.voices.voices.values()),
        "tracks": [(t.entity_id, t.hint, t.appearances, t.times.tolist(), t.confidence) for t in view.tracks],
        "categories": view.tracks.categories,
        "camera": list(view.camera_movements),
        "passages": list(passages_of(view)),
    }


def read_through(session: Session) -> list[Any]:
    """What going through everything gives."""
    whole = {"start_time": 0.0, "end_time": session.view.duration}
    asked = (
        ("read_transcript", whole),
        ("read_transcript", {**whole, "start_time": session.view.duration * 0.9}),
        ("scan_segments", {"query": "person"}),
        ("scan_segments", {"query": "red", "min_confidence": 0.5, "time_range": whole}),
        ("scan_segments", {}),
        ("list_scenes", {"time_range": whole}),
        ("list_entities", {}),
    )
    return [run(session, name, {"video_id": "film", **arguments}) for name, arguments in asked]


def drawn_cuts(world: World, seed: int, count: int) -> list[float]:
    """Moments inside the film: any, and such at which something begins, ends or becomes known."""
    draws = random.Random(seed)
    moments = [draws.uniform(0.01, LENGTH - 0.01) for _ in range(count // 2)]
    while len(moments) < count:
        rows = world.rows(draws.choice(("cuts", "sightings", "screen_texts", "speech", "captions", "track_links")))
        columns = [name for name in ("time", "start", "end", "known_at") if name in rows.column_names]
        if rows.num_rows:
            moment = rows.column(draws.choice(columns))[draws.randrange(rows.num_rows)].as_py()
            moments += [moment] if 0.0 < moment < LENGTH else []
    return moments


def answers(session: Session, seed: int, calls: int) -> list[Any]:
    found = []
    for case in CASES:
        draws = Draws(session, seed)
        for _ in range(calls):
            arguments: dict[str, Any] = {}
            try:
                arguments = case.draw(draws)
                found.append(
                    (case.name, arguments, run(session, case.operation, {"video_id": session.video_id, **arguments}))
                )
            except OperationFault as fault:
                found.append((case.name, arguments, fault.code))
    return found


@pytest.mark.parametrize(
    "as_of", [3.0, 433.21, 899.2, *(pytest.param(s, marks=pytest.mark.nightly) for s in (61.37, 760.5))]
)
def test_a_cut_and_a_world_of_the_visible_rows_answer_alike(whole: Path, tmp_path: Path, as_of: float) -> None:
    behind = open_session(whole, "film", as_of=as_of, name=None)
    write(tmp_path, visible(behind.view.world, as_of), as_of)
    fresh = open_session(tmp_path, "film", name=None)
    assert told(behind.view) == told(fresh.view)
    for session in (behind, fresh):
        for number in range(4):
            span = {"start_time": 0.0, "end_time": 1.0 + number / 2}
            event = {"level": "event", "time_range": span, "content": f"something red {number}"}
            run(session, "write_memory", {"video_id": "film", **event})
    for got, expected in zip(answers(behind, seed=5, calls=4), answers(fresh, seed=5, calls=4), strict=True):
        assert got == expected


@pytest.mark.parametrize(("seed", "count"), [(3, 8), pytest.param(4, 40, marks=pytest.mark.nightly)])
def test_at_any_moment_a_view_is_that_of_a_world_of_the_visible_rows(
    whole: Path, tmp_path: Path, seed: int, count: int
) -> None:
    for number, as_of in enumerate(drawn_cuts(open_world(whole, "film"), seed=seed, count=count)):
        behind = open_session(whole, "film", as_of=as_of, name=None, groups=("inspect",))
        write(tmp_path / str(number), visible(behind.view.world, as_of), as_of)
        fresh = open_session(tmp_path / str(number), "film", name=None, groups=("inspect",))
        assert told(behind.view) == told(fresh.view), as_of
        assert read_through(behind) == read_through(fresh), as_of


def test_cuts_one_after_the_other_do_not_change_what_earlier_ones_see(whole: Path) -> None:
    cuts = drawn_cuts(open_world(whole, "film"), seed=8, count=6)
    views = [View(open_world(whole, "film"), as_of) for as_of in cuts]
    before = [told(view) for view in views]
    assert [told(View(open_world(whole, "film"), as_of)) for as_of in reversed(cuts)] == before[::-1]
    assert [told(view) for view in views] == before


def test_most_of_a_cut_is_taken_over_from_the_whole_world(film: Rows, tmp_path: Path) -> None:
    write(tmp_path, {name: rows_from_records(name, own) for name, own in film.items()}, LENGTH)
    view = open_session(tmp_path, "film", as_of=850.0, name=None).view
    assert unchanged_segments(view) > 0.8 * len(view.segments)
