"""A video that is still being written: asked meanwhile, and in the end the world of the whole file."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import av
import pytest

from tests.support.building import Broken, Listener, Silent, StandingClock, talking_film, voices_job
from tests.support.decoders import decoding_that_dies_at, killing
from world_api.api import build_world as build, open_session, source_path
from world_api.build import Following, Job, build_world, follow_world
from world_api.core import MediaFault, StoreFault, hash_bytes
from world_api.media import VideoPass
from world_api.operations import run
from world_api.options import BuildOptions, Listening
from world_api.recipes import recipe_for
from world_api.world import World, check_world, list_worlds, open_world

pytestmark = pytest.mark.media

QUIET = Listening(speech="off", subtitles="none")
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov"}
SETTLED = 1.0


#: Stages that most tests leave out, since they take the longest.
SLOW = ("screen_texts", "moving_things", "stitches", "look_links")


def job(video: Path, store: Path, *, force: bool = False, without: Sequence[str] = SLOW) -> Job:
    recipe = recipe_for("classical", QUIET, without=without)
    return Job(
        video=video, store=store, name="film", recipe=recipe, force=force, progress=Listener(), clock=StandingClock()
    )


def remuxed(video: Path, target: Path, options: dict[str, str] | None = None) -> Path:
    with av.open(str(video)) as source, av.open(str(target), "w", options=options or {}) as out:
        stream = source.streams.video[0]
        copy = out.add_stream_from_template(stream)
        for packet in source.demux(stream):
            if packet.dts is not None:
                packet.stream = copy
                out.mux(packet)
    return target


class Writer:
    """Writes a file in steps. Its ``.part`` file is there until the last one, so no pause of a busy machine is its end."""

    def __init__(self, whole: Path, growing: Path, *, steps: int = 6) -> None:
        data = whole.read_bytes()
        size = -(-len(data) // steps)
        self._pieces = [data[start : start + size] for start in range(0, len(data), size)]
        self._growing, self._mark = growing, growing.with_name(f"{growing.name}.part")
        self._mark.touch()
        growing.write_bytes(self._pieces.pop(0))
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pieces.clear()
        self._thread.join()

    def _write(self) -> None:
        while self._pieces:
            sleep(0.3 * SETTLED)
            with self._growing.open("ab") as file:
                file.write(b"".join(self._pieces[:1]))
            del self._pieces[:1]
        self._mark.unlink()


def rows(world: World, until: float) -> dict[str, list[dict[str, Any]]]:
    """What was known by a time."""
    tables = {entry.table for entry in world.manifest.files}
    return {name: [row for row in world.rows(name).to_pylist() if row["known_at"] <= until] for name in sorted(tables)}


@pytest.mark.parametrize(
    ("suffix", "options", "without"),
    [
        pytest.param(".mkv", None, ("screen_texts",), id="matroska"),
        pytest.param(".ts", None, SLOW, id="transport", marks=pytest.mark.nightly),
        pytest.param(".mp4", FRAGMENTED, SLOW, id="fragments", marks=pytest.mark.nightly),
    ],
)
def test_a_file_appended_in_steps_ends_as_the_world_of_the_whole_and_shows_its_beginning_meanwhile(
    suffix: str, options: dict[str, str] | None, without: Sequence[str], two_shots: Path, tmp_path: Path
) -> None:
    whole, growing = remuxed(two_shots, tmp_path / f"whole{suffix}", options), tmp_path / f"growing{suffix}"
    batch = build_world(job(whole, tmp_path / "batch", without=without))
    beginnings: list[tuple[float, World, Any]] = []

    def published(seconds: float) -> None:
        world = open_world(tmp_path / "store", "film")
        assert not world.manifest.complete
        assert world.manifest.video.duration == seconds
        assert check_world(world) == []
        session = open_session(tmp_path / "store", "film", as_of=seconds - 5.0, name=None)
        beginnings.append((seconds, world, run(session, "list_scenes", {"video_id": "film"})))
        rows(world, seconds)  # read now: its files may be replaced later

    with Writer(whole, growing):
        report = follow_world(
            job(growing, tmp_path / "store", without=without), Following(settled=SETTLED, published=published)
        )
    assert report.world_hash == batch.world_hash
    final = open_world(tmp_path / "store", "film")
    assert final.manifest.complete
    assert check_world(final) == []
    # A busy machine may publish two clips at once, or the whole world before the second.
    assert [seconds for seconds, _, _ in beginnings] in ([30.0, 60.0], [30.0], [60.0])
    assert {world.manifest.video.frame_rate for _, world, _ in beginnings} == {final.manifest.video.frame_rate}
    for seconds, world, scenes in beginnings:
        known, later = rows(world, seconds - 0.001), rows(final, seconds - 0.001)
        assert known == {name: later[name] for name in known}
        session = open_session(tmp_path / "store", "film", as_of=seconds - 5.0, name=None)
        assert run(session, "list_scenes", {"video_id": "film"}) == scenes


VOICES = ("voice_turns", "voice_names", "voice_links")


def voices(world: World, until: float) -> dict[str, list[dict[str, Any]]]:
    return {name: [row for row in world.rows(name).to_pylist() if row["known_at"] <= until] for name in VOICES}


def test_voices_of_a_growing_file_are_those_of_the_whole(tmp_path: Path) -> None:
    whole, growing = talking_film(tmp_path / "whole.mkv"), tmp_path / "growing.mkv"
    batch = build_world(voices_job(whole, tmp_path / "batch"))
    meanwhile: list[list[dict[str, Any]]] = []

    def published(seconds: float) -> None:
        world = open_world(tmp_path / "store", "x")
        session = open_session(tmp_path / "store", "x", name=None)
        assert not session.view.judges_speakers  # sound is read when the file has ended
        meanwhile.append(world.rows("voice_turns").to_pylist())

    with Writer(whole, growing):
        report = follow_world(voices_job(growing, tmp_path / "store"), Following(settled=SETTLED, published=published))
    assert report.world_hash == batch.world_hash
    assert meanwhile and not any(meanwhile)
    assert check_world(open_world(tmp_path / "store", "x")) == []


def test_a_cut_shows_the_voices_of_the_shorter_video(tmp_path: Path) -> None:
    build_world(voices_job(talking_film(tmp_path / "whole.mkv"), tmp_path / "whole"))
    for seconds in (18.2, 27.4, 38.0, 58.6):
        short, cut = talking_film(tmp_path / f"{seconds}.mkv", seconds), seconds - 0.2
        build_world(voices_job(short, tmp_path / str(seconds)))
        stores = (tmp_path / "whole", tmp_path / str(seconds))
        of_whole, of_beginning = (voices(open_world(store, "x"), seconds) for store in stores)
        assert of_whole == of_beginning
        seen, expected = (open_session(store, "x", as_of=cut, name=None).view.voices.voices for store in stores)
        assert seen == expected
        assert list(seen) == [f"voice_{number + 1:02}" for number in range({18.2: 0, 58.6: 4}.get(seconds, 3))]


def test_what_was_made_while_it_grew_is_not_made_again(two_shots: Path, tmp_path: Path) -> None:
    whole, growing = remuxed(two_shots, tmp_path / "whole.mkv"), tmp_path / "growing.mkv"
    with Writer(whole, growing):
        report = follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED))
    stages = len(open_world(tmp_path / "store", "film").manifest.stages)
    assert (report.clips_made, report.clips_reused) == (3, 3 * (stages - 1))  # subtitles wait for the whole file
    assert not list((tmp_path / "store" / "film").glob("growing*"))


@pytest.mark.parametrize("how", ["replaced", pytest.param("written over", marks=pytest.mark.nightly)])
def test_a_file_that_turns_into_another_on_the_way_is_built_as_what_it_is_in_the_end(
    how: str, two_shots: Path, tmp_path: Path, other_shots: Path
) -> None:
    growing, store = tmp_path / "growing.mkv", tmp_path / "store"
    other = remuxed(other_shots, tmp_path / "other.mkv")
    growing.write_bytes(remuxed(two_shots, tmp_path / "whole.mkv").read_bytes())

    def turn(seconds: float) -> None:
        if growing.read_bytes() == other.read_bytes():
            return
        if how == "replaced":
            shutil.copy(other, tmp_path / "copy.mkv").replace(growing)
        else:
            growing.write_bytes(other.read_bytes())

    report = follow_world(job(growing, store), Following(settled=SETTLED, published=turn))
    assert report.world_hash == build_world(job(other, tmp_path / "batch")).world_hash
    assert check_world(open_world(store, "film")) == []


@pytest.mark.nightly
def test_following_that_breaks_off_after_a_false_end_keeps_no_clip_that_was_cut_short(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, growing, store = remuxed(two_shots, tmp_path / "whole.ts"), tmp_path / "growing.ts", tmp_path / "store"
    data = whole.read_bytes()
    growing.write_bytes(data[: len(data) * 2 // 3])

    def break_off(video: Path) -> str:
        raise Broken

    with monkeypatch.context() as patch, pytest.raises(Broken):
        patch.setattr("world_api.build.builder.hash_source", break_off)
        follow_world(job(growing, store), Following(settled=SETTLED))
    growing.write_bytes(data)
    report = follow_world(job(growing, store), Following(settled=SETTLED))
    assert report.world_hash == build_world(job(whole, tmp_path / "batch")).world_hash


def test_following_that_breaks_off_before_the_first_clip_is_told_as_unfinished(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing, store = remuxed(two_shots, tmp_path / "growing.mkv"), tmp_path / "store"

    def break_off(*_: object, **__: object) -> None:
        raise Broken

    with monkeypatch.context() as patch, pytest.raises(Broken):
        patch.setattr("world_api.build.following.describe", break_off)
        follow_world(job(growing, store), Following(settled=SETTLED))
    with pytest.raises(StoreFault, match="not finished") as caught:
        open_world(store, "film")
    assert str(growing) in caught.value.hint
    report = follow_world(job(growing, store), Following(settled=SETTLED))
    assert open_world(store, "film").manifest.world_hash == report.world_hash


def test_following_goes_on_after_a_break(two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("world_api.build.following._BLOCK", 4096)  # the file is longer than what is read at once
    whole, growing = remuxed(two_shots, tmp_path / "whole.mkv"), tmp_path / "growing.mkv"
    beginning = tmp_path / "beginning.mkv"
    beginning.write_bytes(whole.read_bytes()[: whole.stat().st_size * 19 // 20])

    def break_off(seconds: float) -> None:
        raise Broken

    with Writer(beginning, growing), pytest.raises(Broken):
        follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED, published=break_off))
    made = {path: path.stat().st_ino for path in (tmp_path / "store" / "film" / "rows").rglob("000000-*")}
    assert made
    assert not open_world(tmp_path / "store", "film").manifest.complete
    growing.write_bytes(whole.read_bytes())
    report = follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED))
    world = open_world(tmp_path / "store", "film")
    kept = {(world.folder / entry.path).stat().st_ino for entry in world.manifest.files}
    assert set(made.values()) <= kept
    assert report.world_hash == build_world(job(whole, tmp_path / "batch")).world_hash


def test_a_file_that_is_shorter_than_the_world_of_its_beginning_is_another_one(two_shots: Path, tmp_path: Path) -> None:
    growing = remuxed(two_shots, tmp_path / "growing.mkv")
    size = growing.stat().st_size

    def break_off(seconds: float) -> None:
        raise Broken

    with pytest.raises(Broken):
        follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED, published=break_off))
    world = open_world(tmp_path / "store", "film")
    assert world.manifest.source.bytes == size
    with growing.open("ab") as file:
        file.write(b"more")
    assert source_path(world) == growing
    os.truncate(growing, size - 1)
    assert source_path(world) is None


@pytest.mark.nightly
def test_another_recording_under_the_same_name_begins_anew(two_shots: Path, tmp_path: Path, other_shots: Path) -> None:
    growing = tmp_path / "growing.mkv"

    def break_off(seconds: float) -> None:
        raise Broken

    growing.write_bytes(remuxed(two_shots, tmp_path / "whole.mkv").read_bytes())
    with pytest.raises(Broken):
        follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED, published=break_off))
    growing.write_bytes(remuxed(other_shots, tmp_path / "other.mkv").read_bytes())
    report = follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED))
    assert report.world_hash == build_world(job(tmp_path / "other.mkv", tmp_path / "batch")).world_hash


def test_what_a_foreign_world_notes_of_a_growing_file_and_its_rows_are_not_believed(
    two_shots: Path, tmp_path: Path, other_shots: Path
) -> None:
    foreign, mine, store = tmp_path / "foreign.mkv", tmp_path / "mine.mkv", tmp_path / "store"

    def break_off(seconds: float) -> None:
        raise Broken

    foreign.write_bytes(remuxed(two_shots, tmp_path / "whole.mkv").read_bytes())
    with pytest.raises(Broken):
        follow_world(job(foreign, store), Following(settled=SETTLED, published=break_off))
    folder = store / "film"
    (folder / "local.json").write_text(json.dumps({"source_path": str(mine)}))
    noted = json.loads((folder / "growing.json").read_text())
    (folder / "growing.json").write_text(json.dumps({**noted, "bytes": 0, "sha256": hash_bytes(b"")}))
    mine.write_bytes(remuxed(other_shots, tmp_path / "other.mkv").read_bytes())
    report = follow_world(job(mine, store), Following(settled=SETTLED))
    assert report.world_hash == build_world(job(tmp_path / "other.mkv", tmp_path / "batch")).world_hash


def test_sessions_stay_when_the_writer_completes_the_header_of_a_file_that_is_followed(
    two_shots: Path, tmp_path: Path
) -> None:
    growing, store = tmp_path / "growing.mkv", tmp_path / "store"
    data = remuxed(two_shots, tmp_path / "whole.mkv").read_bytes()
    growing.write_bytes(data)

    published = []

    def complete(seconds: float) -> None:
        published.append(seconds)
        words = {"video_id": "film", "level": "segment", "time_range": {"start_time": 1.0, "end_time": 2.0}}
        run(open_session(store, "film"), "write_memory", {**words, "content": f"seen up to {seconds}"})
        with growing.open("r+b") as file:
            file.write(data.replace(b"Lavf", b"Xavf"))

    report = follow_world(job(growing, store), Following(settled=SETTLED, published=complete))
    assert report.losses == ()
    asked = {"video_id": "film", "level": "segment", "query": "seen", "top_k": 5}
    assert len(run(open_session(store, "film"), "read_memory", asked)["memories"]) == len(published) > 0


@pytest.fixture
def other_shots(make_video: Callable[..., Path], empty_room: Any) -> Path:
    return make_video("other_shots.mp4", [255 - empty_room] * 100, rate=2)


def test_sessions_on_a_growing_world_stay_with_the_whole_one(two_shots: Path, tmp_path: Path) -> None:
    growing = tmp_path / "growing.mkv"
    growing.write_bytes(remuxed(two_shots, tmp_path / "whole.mkv").read_bytes())
    store = tmp_path / "store"
    published = []  # a busy machine may publish two clips at once

    def remember(seconds: float) -> None:
        published.append(seconds)
        session = open_session(store, "film")
        words = {"video_id": "film", "level": "segment", "time_range": {"start_time": 1.0, "end_time": 2.0}}
        run(session, "write_memory", {**words, "content": f"seen up to {seconds}"})

    follow_world(job(growing, store), Following(settled=SETTLED, published=remember))
    found = run(
        open_session(store, "film"),
        "read_memory",
        {"video_id": "film", "level": "segment", "query": "seen", "top_k": 5},
    )
    assert len(found["memories"]) == len(published) > 0


def test_a_format_that_cannot_be_followed_is_built_once_it_is_whole(two_shots: Path, tmp_path: Path) -> None:
    growing = tmp_path / "growing.mp4"
    whole = build_world(job(two_shots, tmp_path / "batch"))
    following = job(growing, tmp_path / "store")
    with Writer(two_shots, growing):
        report = follow_world(following, Following(settled=SETTLED))
    assert report.world_hash == whole.world_hash
    assert isinstance(following.progress, Listener)
    assert "cannot be followed" in following.progress.said[0]


def test_a_world_of_another_video_stays_until_the_followed_one_is_complete(
    two_shots: Path, tmp_path: Path, other_shots: Path
) -> None:
    store, growing = tmp_path / "store", tmp_path / "growing.mkv"
    old = build_world(job(other_shots, store))
    growing.write_bytes(remuxed(two_shots, tmp_path / "whole.mkv").read_bytes())
    with pytest.raises(StoreFault) as caught:
        follow_world(job(growing, store), Following(settled=SETTLED))
    assert caught.value.code == "world_exists"
    seen: list[str] = []
    follow_world(
        job(growing, store, force=True),
        Following(settled=SETTLED, published=lambda _: seen.append(open_world(store, "film").manifest.world_hash)),
    )
    assert seen == []
    assert open_world(store, "film").manifest.world_hash != old.world_hash


def test_a_file_that_never_appears_is_named(tmp_path: Path) -> None:
    with pytest.raises(MediaFault) as caught:
        follow_world(job(tmp_path / "never.mkv", tmp_path / "store"), Following(settled=0.3))
    assert caught.value.code == "no_such_file"


@pytest.fixture
def address(two_shots: Path, tmp_path: Path) -> Iterator[str]:
    """A loopback server that gives a transport stream in pieces."""
    data = remuxed(two_shots, tmp_path / "served.ts").read_bytes()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            for start in range(0, len(data), 20_000):
                self.wfile.write(data[start : start + 20_000])

        def log_message(self, *_: object) -> None:  # type: ignore[override]  # its name for the format hides a builtin
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/camera.ts"
        server.shutdown()


def options(**facts: Any) -> BuildOptions:
    return BuildOptions(listening=QUIET, without=SLOW, following=Following(settled=SETTLED), **facts)


def test_a_stream_is_recorded_and_followed_once_the_network_is_allowed(address: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(MediaFault) as caught:
        build(address, store, progress=Silent(), clock=StandingClock(), options=options())
    assert caught.value.code == "network_not_allowed"
    assert list_worlds(store) == []
    allowed = options()
    allowed = replace(allowed, limits=replace(allowed.limits, network=True), record=tmp_path / "kept.mkv")
    report = build(address, store, progress=Silent(), clock=StandingClock(), options=allowed)
    assert report.video_id == "camera"
    assert report.duration == pytest.approx(70.0, abs=0.5)
    batch = build_world(job(tmp_path / "kept.mkv", tmp_path / "batch"))
    assert batch.world_hash == report.world_hash
    place = json.loads((store / "camera" / "local.json").read_text())["source_path"]
    assert Path(place) == tmp_path / "kept.mkv"


def test_a_stream_that_is_not_there_is_named(tmp_path: Path) -> None:
    allowed = replace(options(), limits=replace(options().limits, network=True), record=tmp_path / "kept.mkv")
    with pytest.raises(MediaFault) as caught:
        build("http://127.0.0.1:9/x.ts", tmp_path, progress=Silent(), clock=StandingClock(), options=allowed)
    assert caught.value.code == "stream_not_reached"


def test_a_recording_that_dies_is_not_begun_anew(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaths = killing(monkeypatch, "capture", times=9)
    allowed = replace(options(), limits=replace(options().limits, network=True), record=tmp_path / "kept.mkv")
    with pytest.raises(MediaFault, match=r"kept\.mkv failed: it was ended by SIGKILL"):
        build(address, tmp_path, progress=Silent(), clock=StandingClock(), options=allowed)
    assert len(deaths) == 1


def test_an_address_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(MediaFault) as caught:
        build("rtsp://127.0.0.1/x", tmp_path, progress=Silent(), clock=StandingClock())
    assert "--follow" in caught.value.hint


def test_a_world_that_still_grows_says_what_was_not_decoded_so_far(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, growing = remuxed(two_shots, tmp_path / "whole.mkv"), tmp_path / "growing.mkv"
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(10.0, 11.0))
    told: list[list[str]] = []

    def published(seconds: float) -> None:
        world = open_world(tmp_path / "store", "film")
        assert check_world(world) == []
        told.append([loss.code for loss in world.manifest.losses])

    with Writer(whole, growing):
        report = follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED, published=published))
    assert told and all(codes == ["not_decoded"] for codes in told)
    assert [loss.code for loss in report.losses] == ["not_decoded"]


def test_the_header_of_a_video_that_still_grows_does_not_say_where_a_hole_ends(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, growing = remuxed(two_shots, tmp_path / "whole.mkv"), tmp_path / "growing.mkv"
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(30.1, 1000.0))
    told: list[tuple[str, float | None]] = []

    def published(seconds: float) -> None:
        losses = open_world(tmp_path / "store", "film").manifest.losses
        told.extend((loss.code, loss.end_time) for loss in losses)

    with Writer(whole, growing):
        report = follow_world(job(growing, tmp_path / "store"), Following(settled=SETTLED, published=published))
    assert told == [("decoder_died", None)]
    assert [(loss.code, loss.end_time) for loss in report.losses] == [("not_decoded", 70.0)]
