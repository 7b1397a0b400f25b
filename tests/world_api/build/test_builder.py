"""Building worlds: whole, again, interrupted, refused, locked."""

from __future__ import annotations

import json
import shlex
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.building import Broken, Silent, StandingClock
from tests.support.command_line import Cli
from tests.support.decoders import with_damage
from world_api.api import source_path
from world_api.build import BuildReport, Clip, Job, Recipe, Record, Records, Sampling, Stage, StageSpec, build_world
from world_api.core import BackendFault, Image, MediaFault, StoreFault, hash_bytes, world_lock
from world_api.media import Frame, MediaWorker
from world_api.recipes import recipe_for
from world_api.world import open_world

pytestmark = pytest.mark.media


def without_text(video: Path, worker: MediaWorker) -> Sequence[Stage]:
    """The classical recipe less the one stage that takes a second a frame."""
    return [stage for stage in recipe_for("classical").stages(video, worker) if stage.spec.name != "screen_texts"]


#: Options of a build that leave out what takes long.
FASTEST = ("--speech", "off", "--without", "screen_texts", "--without", "moving_things", "--without", "stitches",
           "--without", "look_links")  # fmt: skip
CLASSICAL = Recipe(profile="classical", stages=without_text)


def build(
    video: Path, store: Path, *, recipe: Recipe = CLASSICAL, force: bool = False, video_id: str | None = None
) -> BuildReport:
    name = video_id if video_id is not None else video.stem
    return build_world(
        Job(video=video, store=store, name=name, recipe=recipe, force=force, progress=Silent(), clock=StandingClock())
    )


class Marking:
    """A stage that writes one cut a clip, and breaks at a clip when told to."""

    def __init__(self, *, version: int = 1, breaks_at: int | None = None) -> None:
        self.spec = StageSpec(
            name="marking", version=version, tables=("cuts",), sampling=Sampling(fps=1.0, max_side=16, warm_up=5.0, look_ahead=2.0)
        )  # fmt: skip
        self.breaks_at = breaks_at
        self.windows: dict[int, list[float]] = {}

    def open(self, clip: Clip) -> MarkingWorker:
        return MarkingWorker(self, clip)


class MarkingWorker:
    def __init__(self, stage: Marking, clip: Clip) -> None:
        self.stage, self.clip = stage, clip
        stage.windows[clip.number] = []

    def see(self, frame: Frame) -> None:
        if self.stage.breaks_at == self.clip.number and frame.time > self.clip.span.start:
            raise Broken
        self.stage.windows[self.clip.number].append(frame.time)

    def finish(self) -> Records:
        time = self.clip.span.start + 1.0
        row: Record = {
            "time": time,
            "score": 1.0,
            "kind": "cut",
            "known_at": time,
            "producer": self.stage.spec.producer,
        }
        return {"cuts": [row]}


def recipe_of(*stages: Stage) -> Recipe:
    return Recipe(profile="test", stages=lambda *_: list(stages))


def all_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_a_video_becomes_a_world_with_shots_scenes_and_tracks(two_shots: Path, tmp_path: Path) -> None:
    report = build(two_shots, tmp_path / "store")
    assert report.changed
    world = open_world(tmp_path / "store", "two_shots")
    assert world.manifest.video.duration == pytest.approx(70.0, abs=0.01)
    assert (world.manifest.video.width, world.manifest.video.height, world.manifest.video.frames) == (320, 180, 350)
    assert world.rows("cuts").column("time").to_pylist() == pytest.approx([40.0], abs=0.25)
    assert world.rows("scene_cuts").column("time").to_pylist() == pytest.approx([40.0], abs=0.25)
    seen = world.rows("sightings").column("time").to_numpy()
    assert 8.0 <= seen.min() <= 9.5
    assert 12.5 <= seen.max() <= 14.5
    assert world.rows("looks").num_rows == 70
    for image in world.rows("key_frames").column("image").to_pylist():
        assert (world.folder / image).read_bytes().startswith(b"\xff\xd8")
    assert json.loads((world.folder / "local.json").read_text())["source_path"] == str(two_shots.resolve())


def test_every_row_lies_in_its_clip_and_is_known_in_time(two_shots: Path, tmp_path: Path) -> None:
    build(two_shots, tmp_path / "store")
    world = open_world(tmp_path / "store", "two_shots")
    for name in ("cuts", "scene_cuts", "looks", "key_frames", "sightings"):
        for row in world.rows(name).to_pylist():
            assert row["time"] <= row["known_at"] <= 70.0, (name, row)
            assert "/" in row["producer"]


def test_building_again_changes_nothing(two_shots: Path, tmp_path: Path) -> None:
    first = build(two_shots, tmp_path / "store")
    before = all_files(tmp_path / "store")
    second = build(two_shots, tmp_path / "store")
    assert not second.changed
    assert second.world_hash == first.world_hash
    assert all_files(tmp_path / "store") == before


def test_building_again_makes_damaged_rows_and_images_again(two_shots: Path, tmp_path: Path) -> None:
    first = build(two_shots, tmp_path / "store")
    before = all_files(tmp_path / "store")
    for pattern in ("rows/sightings/*", "rows/looks/000001-*", "images/*"):
        for path in (tmp_path / "store" / "two_shots").glob(pattern):
            path.write_bytes(path.read_bytes()[:100])
    second = build(two_shots, tmp_path / "store")
    assert second.changed
    assert second.world_hash == first.world_hash
    rows = {name: data for name, data in before.items() if "/rows/" in name or "/images/" in name}
    assert rows
    assert {name: data for name, data in all_files(tmp_path / "store").items() if name in rows} == rows


def test_two_builds_give_the_same_rows(two_shots: Path, tmp_path: Path) -> None:
    assert build(two_shots, tmp_path / "a").world_hash == build(two_shots, tmp_path / "b").world_hash


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["rows/[!l]*/000001-*"], id="the same clip of most stages"),
        pytest.param(["rows/cuts/000000-*", "rows/sightings/000002-*"], id="another clip of each stage"),
    ],
)
def test_a_build_that_lost_files_makes_those_again_and_equals_the_whole(
    two_shots: Path, tmp_path: Path, names: list[str]
) -> None:
    whole = build(two_shots, tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    folder = tmp_path / "b" / "two_shots"
    (folder / "world.json").unlink()
    lost = [path for name in names for path in folder.glob(name)]
    for path in lost:
        path.unlink()
    resumed = build(two_shots, tmp_path / "b")
    assert lost
    assert resumed.world_hash == whole.world_hash
    assert 0 < resumed.clips_made <= len(lost)
    assert resumed.clips_reused > resumed.clips_made


def test_an_interrupted_command_says_what_is_kept_and_the_command_that_resumes(
    two_shots: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    command = ("build", str(two_shots), "--without", "screen_texts")

    class Interrupting:
        def say(self, text: str) -> None: ...

        def update(self, stage: str, done: float, total: float) -> None:
            if list(store.glob("*/rows/*/000000-*")):
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("world_api.commands.build.progress_bars", lambda: nullcontext(Interrupting()))
        broken = cli(*command, store=store)
    assert broken.status == 130
    assert broken.err.startswith("interrupted; what is done is kept: `videoworld build ")
    assert f"{two_shots} --store {store} --id two_shots` continues" in broken.err
    assert len(broken.err.splitlines()) == 1
    assert "resumed: " in cli(*command, store=store).out


def test_a_broken_build_leaves_no_world_and_goes_on_where_it_stopped(two_shots: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(Broken):
        build(two_shots, store, recipe=recipe_of(Marking(breaks_at=2)))
    with pytest.raises(StoreFault):
        open_world(store, "two_shots")
    again = Marking()
    report = build(two_shots, store, recipe=recipe_of(again))
    assert sorted(again.windows) == [1, 2]
    assert (report.clips_made, report.clips_reused) == (2, 1)


def test_a_build_that_goes_on_after_a_break_tells_of_damage_before_it(two_shots: Path, tmp_path: Path) -> None:
    def recipe(*, breaks_at: int | None = None) -> Recipe:
        stage = Marking(breaks_at=breaks_at)
        stage.spec = replace(stage.spec, sampling=Sampling(fps=1.0, max_side=16))  # only the last clip is missing
        return recipe_of(stage)

    damaged = with_damage(two_shots, tmp_path / "damaged.mp4", (6.0, 7.0))
    whole = build(damaged, tmp_path / "whole", recipe=recipe())
    assert [loss.code for loss in whole.losses] == ["damaged_frames"]
    with pytest.raises(Broken):
        build(damaged, tmp_path / "store", recipe=recipe(breaks_at=2))
    report = build(damaged, tmp_path / "store", recipe=recipe())
    assert (report.clips_made, report.clips_reused) == (1, 2)
    assert (report.losses, report.world_hash) == (whole.losses, whole.world_hash)


@pytest.mark.parametrize("breaks_at", [0, 2])
def test_every_command_tells_of_a_broken_build_and_how_it_continues(
    breaks_at: int, two_shots: Path, tmp_path: Path, cli: Cli
) -> None:
    store = tmp_path / "the store"
    with pytest.raises(Broken):
        build(two_shots, store, recipe=recipe_of(Marking(breaks_at=breaks_at)), video_id="film.2")
    continues = shlex.join(
        ["videoworld", "build", str(two_shots.resolve()), "--store", str(store.resolve()), "--id", "film.2"]
    )
    for words in (["inspect", "film.2"], ["inspect", "film.2", "--check"], ["ask", "film.2", "when?"],
                  ["call", "list_scenes", "--video", "film.2"], ["session", "list", "film.2"]):  # fmt: skip
        error = cli(*words, "--json", store=store).json["error"]
        assert (error["code"], "not finished" in error["message"]) == ("no_such_world", True), words
        assert f"`{continues}`" in error["hint"]
    [entry] = cli("worlds", "--json", store=store).json["worlds"]
    assert (entry["video_id"], entry["error"]["hint"]) == ("film.2", error["hint"])
    assert "not finished" in cli("worlds", store=store).out
    assert cli(*shlex.split(continues)[1:], *FASTEST, store=None).status == 0
    assert cli("inspect", "film.2", store=store).status == 0


def test_a_build_of_an_unknown_file_is_told_of_too_and_an_unknown_world_is_not_one(
    two_shots: Path, tmp_path: Path
) -> None:
    with pytest.raises(Broken):
        build(two_shots, tmp_path, recipe=recipe_of(Marking(breaks_at=2)))
    no_path: list[object] = [
        "v.mp4",
        "--force",
        "/v.mp4\n  hint: `run this`",
        "/a`b",
        "/a\u202eb",
        "/\udcff",
        "/" * 9999,
        None,
        5,
    ]
    for record in ([], *({"source_path": path} for path in no_path)):
        (tmp_path / "two_shots" / "local.json").write_text(json.dumps(record))
        with pytest.raises(StoreFault, match="not finished") as caught:
            open_world(tmp_path, "two_shots")
        assert "videoworld build FILE --store" in caught.value.hint
    (tmp_path / "nothing" / "rows").mkdir(parents=True)
    with pytest.raises(StoreFault, match="there is no world 'nothing'"):
        open_world(tmp_path, "nothing")


def test_a_broken_build_beside_an_existing_world_leaves_the_path_of_its_video(
    two_shots: Path, tmp_path: Path, make_video: Callable[..., Path], empty_room: Image
) -> None:
    build(two_shots, tmp_path / "store", recipe=recipe_of(Marking()), video_id="film")
    other = make_video("other.mp4", [empty_room] * 20)
    with pytest.raises(Broken):
        build(other, tmp_path / "store", recipe=recipe_of(Marking(breaks_at=0)), video_id="film", force=True)
    assert source_path(open_world(tmp_path / "store", "film")) == two_shots.resolve()


def test_a_stage_that_has_seen_no_frame_is_said_to_have_done_nothing(two_shots: Path, tmp_path: Path) -> None:
    told: list[float] = []
    is_told = threading.Event()

    class Told(Silent):
        def update(self, stage: str, done: float, total: float) -> None:
            told.append(done)
            is_told.set()

    class Waiting(Marking):
        def open(self, clip: Clip) -> MarkingWorker:
            assert is_told.wait(timeout=60)
            return super().open(clip)

    recipe = recipe_of(Waiting())
    job = Job(
        video=two_shots, store=tmp_path / "store", name="film", recipe=recipe, force=False, progress=Told(),
        clock=StandingClock(),
    )  # fmt: skip
    build_world(job)
    assert told[0] == 0.0
    assert told == sorted(told)


def test_each_clip_sees_its_window_once_and_no_more(two_shots: Path, tmp_path: Path) -> None:
    stage = Marking()
    build(two_shots, tmp_path / "store", recipe=recipe_of(stage))
    assert stage.windows[0] == pytest.approx([float(second) for second in range(32)], abs=0.01)
    assert stage.windows[1] == pytest.approx([float(second) for second in range(25, 62)], abs=0.01)
    assert stage.windows[2] == pytest.approx([float(second) for second in range(55, 70)], abs=0.01)


def test_another_video_is_refused_and_force_replaces_it(
    two_shots: Path, tmp_path: Path, make_video: Callable[..., Path], empty_room: Image
) -> None:
    store = tmp_path / "store"
    old = build(two_shots, store, recipe=recipe_of(Marking()), video_id="film")
    other = make_video("other.mp4", [empty_room] * 20)
    with pytest.raises(StoreFault) as caught:
        build(other, store, recipe=recipe_of(Marking()), video_id="film")
    assert caught.value.code == "world_exists"
    assert "--force" in caught.value.hint
    assert open_world(store, "film").manifest.world_hash == old.world_hash
    new = build(other, store, recipe=recipe_of(Marking()), video_id="film", force=True)
    world = open_world(store, "film")
    assert world.manifest.world_hash == new.world_hash != old.world_hash
    assert {path.relative_to(world.folder).as_posix() for path in world.folder.rglob("*.arrow")} == {
        entry.path for entry in world.manifest.files
    }


def test_a_file_that_changed_since_is_called_so_and_one_of_the_same_name_is_told_from_it(
    tmp_path: Path, make_video: Callable[..., Path], empty_room: Image
) -> None:
    store, recipe = tmp_path / "store", recipe_of(Marking())
    film = make_video("film.mp4", [empty_room] * 20)
    build(film, store, recipe=recipe)
    make_video("film.mp4", [empty_room] * 21)
    with pytest.raises(StoreFault, match=r"film\.mp4 before that file changed"):
        build(film, store, recipe=recipe)
    (tmp_path / "elsewhere").mkdir()
    namesake = make_video("elsewhere/film.mp4", [empty_room] * 22)
    with pytest.raises(StoreFault, match="another file of the same name"):
        build(namesake, store, recipe=recipe)
    other = make_video("other.mp4", [empty_room] * 23)
    with pytest.raises(StoreFault, match=r"another file \(film\.mp4\)"):
        build(other, store, recipe=recipe, video_id="film")


def test_the_old_world_stays_until_the_new_one_is_complete(
    two_shots: Path, tmp_path: Path, make_video: Callable[..., Path], empty_room: Image
) -> None:
    store = tmp_path / "store"
    other = make_video("other.mp4", [empty_room] * 20)
    old = build(other, store, recipe=recipe_of(Marking()), video_id="film")
    with pytest.raises(Broken):
        build(two_shots, store, recipe=recipe_of(Marking(breaks_at=1)), video_id="film", force=True)
    world = open_world(store, "film")
    assert world.manifest.world_hash == old.world_hash
    assert world.rows("cuts").num_rows == 1


def test_a_damaged_world_is_left_alone_until_force_replaces_it(two_shots: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    whole = build(two_shots, store, recipe=recipe_of(Marking()))
    manifest = store / "two_shots" / "world.json"
    manifest.write_text("{")
    with pytest.raises(StoreFault) as caught:
        build(two_shots, store, recipe=recipe_of(Marking()))
    assert caught.value.code == "world_damaged"
    assert manifest.read_text() == "{"
    assert build(two_shots, store, recipe=recipe_of(Marking()), force=True).world_hash == whole.world_hash


def test_a_new_version_of_a_stage_is_run_without_asking(two_shots: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(two_shots, store, recipe=recipe_of(Marking()))
    report = build(two_shots, store, recipe=recipe_of(Marking(version=2)))
    assert report.changed
    assert set(open_world(store, "two_shots").rows("cuts").column("producer").to_pylist()) == {"marking/2"}


def test_a_world_that_another_build_holds_is_locked(two_shots: Path, tmp_path: Path) -> None:
    with world_lock(tmp_path / "store", "two_shots"), pytest.raises(StoreFault) as caught:
        build(two_shots, tmp_path / "store")
    assert caught.value.code == "world_locked"


def test_a_video_that_changed_while_another_build_was_waited_for_is_built_as_it_is_now(
    two_shots: Path, make_video: Callable[..., Path], empty_room: Image, tmp_path: Path
) -> None:
    other = make_video("other.mp4", [empty_room] * 30)
    with ExitStack() as held:

        class Waited(Silent):
            def say(self, text: str) -> None:
                shutil.copy2(other, two_shots)
                held.close()

        job = Job(
            video=two_shots, store=tmp_path / "store", name="film", recipe=recipe_of(Marking()), force=False,
            progress=Waited(), clock=StandingClock(), waits=True,
        )  # fmt: skip
        held.enter_context(world_lock(tmp_path / "store", "film"))
        report = build_world(job)
    assert report.duration == pytest.approx(3.0)
    assert open_world(tmp_path / "store", "film").manifest.source.sha256 == hash_bytes(other.read_bytes())


def test_a_store_that_cannot_be_written_is_named(two_shots: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(StoreFault) as caught:
        build(two_shots, blocked)
    assert caught.value.code == "store_not_writable"


def test_an_id_that_is_no_name_is_refused_before_anything_is_written(two_shots: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreFault) as caught:
        build(two_shots, tmp_path / "store", video_id="../out")
    assert caught.value.code == "bad_video_id"
    assert not (tmp_path / "store").exists()


def test_a_truncated_file_builds_what_decodes(make_video: Callable[..., Path], tmp_path: Path) -> None:
    noise = np.random.default_rng(0)
    path = make_video("film.mkv", [noise.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(100)])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    report = build(path, tmp_path / "store")
    assert [loss.code for loss in report.losses] == ["ends_early"]
    assert 2.0 < report.duration < 8.0


def test_what_is_no_video_leaves_no_store(tmp_path: Path) -> None:
    path = tmp_path / "notes.mp4"
    path.write_text("hello")
    with pytest.raises(MediaFault):
        build(path, tmp_path / "store")
    assert not (tmp_path / "store").exists()


TRUTH: dict[str, Any] = {
    "schema_version": 1,
    "title": "made",
    "cuts": [40.0],
    "scenes": [{"start": 0.0, "end": 40.0, "caption": "a room"}, {"start": 40.0, "end": 70.0, "caption": "another"}],
    "tracks": [
        {
            "track": "block", "category": "person", "colours": ["black"], "label": "the block",
            "sightings": [{"time": 8.0, "box": [1, 2, 3, 4]}, {"time": 31.0, "box": [5, 6, 7, 8]}],
        }
    ],
    "speech": [{"start": 29.0, "end": 32.0, "text": "over the join", "speaker": "Ann"}],
    "screen_text": [{"start": 1.0, "end": 4.0, "text": "EXIT", "box": [0, 0, 9, 9]}],
    "actions": [{"start": 8.0, "end": 14.0, "label": "crosses", "track": "block"}],
    "captions": [{"start": 8.0, "end": 14.0, "text": "A block crosses."}],
}  # fmt: skip


def test_the_oracle_writes_what_the_truth_says(two_shots: Path, tmp_path: Path) -> None:
    two_shots.with_name("two_shots.truth.json").write_text(json.dumps(TRUTH))
    build(two_shots, tmp_path / "store", recipe=recipe_for("oracle"))
    world = open_world(tmp_path / "store", "two_shots")
    assert world.rows("scene_cuts").column("time").to_pylist() == [40.0]
    assert world.rows("sightings").column("time").to_pylist() == [8.0, 31.0]
    assert world.rows("screen_texts").column("time").to_pylist() == [1.0, 3.0]
    (line,) = world.rows("speech").to_pylist()
    assert (line["start"], line["end"], line["known_at"], line["speaker"]) == (29.0, 32.0, 32.0, "Ann")
    assert world.rows("captions").column("text").to_pylist() == ["a room", "A block crosses.", "another"]
    assert world.rows("actions").column("subject").to_pylist() == ["block"]
    assert set(world.rows("sightings").column("producer").to_pylist()) == {"oracle/1"}


@pytest.mark.parametrize(
    ("content", "code"), [(None, "no_truth"), ('{"schema_version": 2}', "bad_truth"), ("[", "bad_truth")]
)
def test_missing_or_strange_truth_is_named(two_shots: Path, tmp_path: Path, content: str | None, code: str) -> None:
    if content is not None:
        two_shots.with_name("two_shots.truth.json").write_text(content)
    with pytest.raises(BackendFault) as caught:
        build(two_shots, tmp_path / "store", recipe=recipe_for("oracle"))
    assert caught.value.code == code


def test_the_neural_profile_says_that_its_weights_are_missing() -> None:
    with pytest.raises(BackendFault) as caught:
        recipe_for("neural")
    assert caught.value.code == "profile_not_ready"
    assert "models pull" in caught.value.hint


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(BackendFault) as caught:
        recipe_for("magic")
    assert caught.value.code == "no_such_profile"


class StepClock(StandingClock):
    """A clock on which each reading takes a second."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds


def test_a_world_says_what_building_it_took_and_whether_that_is_all(two_shots: Path, tmp_path: Path) -> None:
    def build_with(stage: Marking) -> Any:
        recipe = Recipe(profile="classical", stages=lambda path, worker: [stage])
        build_world(
            Job(
                video=two_shots,
                store=tmp_path,
                name="film",
                recipe=recipe,
                force=False,
                progress=Silent(),
                clock=StepClock(),
            )
        )
        return open_world(tmp_path, "film").manifest.took

    with pytest.raises(Broken):
        build_with(Marking(breaks_at=2))
    resumed = build_with(Marking())
    assert (resumed.seconds >= 1.0, resumed.requests, resumed.tokens, resumed.whole) == (True, 0, 0, False)
    again = build_with(Marking(version=2))
    assert again.whole
