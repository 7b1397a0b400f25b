"""What is stored lasts: a full disk, another process at the same world, a stage that changed, rows that were spoilt."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.building import Broken, Listener, StandingClock
from tests.support.decoders import children, decoder_of
from world_api.build import (
    BuildReport,
    Clip,
    Job,
    KeyFrames,
    Recipe,
    Record,
    Records,
    Sampling,
    Stage,
    StageSpec,
    build_world,
)
from world_api.core import Image, MediaFault, StoreFault, TimeSpan, world_lock
from world_api.media import DEFAULT_LIMITS, Frame, Limits, VideoPass
from world_api.world import check_world, open_world

pytestmark = pytest.mark.media


class Seeing:
    """A stage on frames: a cut a clip, whose score is its parameter."""

    def __init__(self, score: float = 1.0) -> None:
        self.score = score
        self.opened: list[int] = []
        self.spec = StageSpec(
            name="seeing", version=1, tables=("cuts",), parameters={"score": score},
            sampling=Sampling(fps=1.0, max_side=16, warm_up=5.0, look_ahead=2.0),
        )  # fmt: skip

    def open(self, clip: Clip) -> Worker:
        self.opened.append(clip.number)
        return Worker({"cuts": [{**row(clip, self.spec.name), "score": self.score, "kind": "cut"}]})


class Counting:
    """A stage on the rows of the one before: a scene cut a clip, as strong as the cuts of this and the next clip."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        self.spec = StageSpec(name="counting", version=1, tables=("scene_cuts",), needs=("seeing",), rows_ahead=30.0)

    def make_rows(self, clip: Clip) -> Records:
        self.opened.append(clip.number)
        cuts = clip.rows("cuts", TimeSpan(start=clip.span.start, end=clip.span.end + 30.0))
        strength = sum(cuts.column("score").to_pylist()) / 4
        return {"scene_cuts": [{**row(clip, self.spec.name), "strength": strength}]}


class Apart:
    """A stage that needs neither."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        self.spec = StageSpec(name="apart", version=1, tables=("looks",), sampling=Sampling(fps=1.0, max_side=16))

    def open(self, clip: Clip) -> Worker:
        self.opened.append(clip.number)
        return Worker({"looks": [{**row(clip, self.spec.name), "vector": [1.0] + [0.0] * 127}]})


class Worker:
    def __init__(self, records: Records) -> None:
        self.records = records

    def see(self, frame: Frame) -> None:
        frame.picture(16)

    def finish(self) -> Records:
        return self.records


class CountingWorker(Worker):
    """Counts the frames it is shown."""

    seen = 0

    def see(self, frame: Frame) -> None:
        self.seen += 1

    def finish(self) -> Records:
        return {"cuts": [{**cut, "score": self.seen / 100} for cut in self.records["cuts"]]}


def row(clip: Clip, producer: str) -> Record:
    return {"time": clip.span.start + 1.0, "known_at": clip.span.end, "producer": f"{producer}/1"}


def build(
    video: Path,
    store: Path,
    *stages: Stage,
    force: bool = False,
    listener: Listener | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> BuildReport:
    return build_world(
        Job(
            video=video, store=store, name="film", recipe=Recipe(profile="test", stages=lambda *_: list(stages)),
            force=force, progress=listener or Listener(), clock=StandingClock(), waits=listener is not None,
            limits=limits,
        )
    )  # fmt: skip


@pytest.fixture
def film(make_video: Callable[..., Path], empty_room: Image) -> Path:
    """A hundred seconds: four clips."""
    return make_video("film.mp4", [empty_room] * 200, rate=2)


def test_a_stage_on_rows_sees_the_rows_of_the_next_clip_while_the_pass_goes_on(film: Path, tmp_path: Path) -> None:
    build(film, tmp_path, Seeing(), Counting())
    strengths = open_world(tmp_path, "film").rows("scene_cuts").column("strength").to_pylist()
    assert strengths == [0.5, 0.5, 0.5, 0.25]


def test_a_changed_parameter_makes_that_stage_again_and_what_rests_on_it_and_nothing_else(
    film: Path, tmp_path: Path
) -> None:
    build(film, tmp_path, Seeing(), Counting(), Apart())
    seeing, counting, apart = Seeing(0.5), Counting(), Apart()
    report = build(film, tmp_path, seeing, counting, apart)
    assert (seeing.opened, counting.opened, apart.opened) == ([0, 1, 2, 3], [0, 1, 2, 3], [])
    assert (report.clips_made, report.clips_reused) == (8, 4)
    world = open_world(tmp_path, "film")
    assert world.rows("scene_cuts").column("strength").to_pylist() == [0.25, 0.25, 0.25, 0.125]
    assert check_world(world) == []


def test_rows_that_were_spoilt_are_made_again(film: Path, tmp_path: Path) -> None:
    whole = build(film, tmp_path / "whole", Seeing(), Counting())
    build(film, tmp_path / "spoilt", Seeing(), Counting())
    folder = tmp_path / "spoilt" / "film"
    (folder / "world.json").unlink()
    spoilt = sorted((folder / "rows" / "cuts").iterdir())[2]
    data = bytearray(spoilt.read_bytes())
    data[len(data) // 2] ^= 1
    spoilt.write_bytes(data)
    seeing = Seeing()
    assert build(film, tmp_path / "spoilt", seeing, Counting()).world_hash == whole.world_hash
    assert seeing.opened == [2]
    assert check_world(open_world(tmp_path / "spoilt", "film")) == []


@pytest.mark.parametrize("torn", [b"", b"{", b'{"of": "another"}\n', b"\xff\xfe"])
def test_a_log_of_decoding_that_cannot_be_read_costs_time_and_nothing_else(
    torn: bytes, film: Path, tmp_path: Path
) -> None:
    whole = build(film, tmp_path, Seeing(), Apart())
    folder = tmp_path / "film"
    (folder / "world.json").unlink()
    sorted((folder / "rows" / "cuts").iterdir())[3].unlink()
    (folder / "decoding.jsonl").write_bytes(torn)
    assert build(film, tmp_path, Seeing(), Apart()).world_hash == whole.world_hash


@pytest.mark.parametrize(
    "write",
    [2, 10, 18, *(pytest.param(write, marks=pytest.mark.nightly) for write in (0, 4, 6, 8, 12, 14, 16, 17))],
)  # the last of them are those of the manifest
def test_a_full_disk_is_named_and_the_world_before_stays_as_it_was(
    write: int, film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = build(film, tmp_path, Seeing(), Apart())
    before = {path: path.read_bytes() for path in (tmp_path / "film" / "rows").rglob("*.arrow")}
    left = [write]

    def full(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return step(*arguments)

        return stepping

    with monkeypatch.context() as patch, pytest.raises(StoreFault) as caught:
        for owner, name in ((os, "fsync"), (Path, "replace")):
            patch.setattr(owner, name, full(getattr(owner, name)))
        build(film, tmp_path, Seeing(0.5), Counting(), Apart())
    assert caught.value.code == "disk_full"
    world = open_world(tmp_path, "film")
    assert world.manifest.world_hash == old.world_hash
    assert check_world(world) == []
    assert {path: path.read_bytes() for path in before} == before
    assert not list(tmp_path.rglob("*.part"))
    after = build(film, tmp_path, Seeing(0.5), Counting(), Apart())
    assert after.world_hash == build(film, tmp_path / "other", Seeing(0.5), Counting(), Apart()).world_hash


def test_rows_are_on_the_disk_before_the_manifest_names_them(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    before_manifest: set[int] = set()
    sync, replace = os.fsync, Path.replace

    def noting(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        sync(handle)

    def renaming(path: Path, target: Path) -> Path:
        if target.name == "world.json":
            before_manifest.update(synced)
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(Path, "replace", renaming)
    build(film, tmp_path, Seeing(), Counting())
    rows = list((tmp_path / "film" / "rows").rglob("*.arrow"))
    places = [*rows, *{path.parent for path in rows}]
    assert len(rows) > 4
    assert {path.stat().st_ino for path in places} <= before_manifest

    synced.clear()
    before_manifest.clear()
    rows[0].unlink()
    rows[1].write_bytes(b"cut off")
    build(film, tmp_path, Seeing(), Counting())  # what is made again has the same name as before
    again = {path.stat().st_ino for path in (rows[0], rows[1], rows[0].parent, rows[1].parent)}
    assert again <= before_manifest
    assert rows[2].stat().st_ino not in synced


def test_rows_that_cannot_be_synced_are_not_taken_for_whole_later(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[int] = []

    def failing(handle: int) -> None:
        number = os.fstat(handle).st_ino
        if not failed and any(path.stat().st_ino == number for path in tmp_path.rglob("*.arrow")):
            failed.append(number)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch, pytest.raises(StoreFault):
        patch.setattr(os, "fsync", failing)
        build(film, tmp_path, Seeing())
    left = {path.stat().st_ino for path in (tmp_path / "film").rglob("*.arrow")}
    assert left
    assert not left & set(failed)
    assert check_world(open_world(tmp_path, build(film, tmp_path, Seeing()).video_id)) == []


def test_rows_that_cannot_be_opened_to_be_synced_are_kept(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def too_many(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if str(path).endswith(".arrow") and flags == os.O_RDONLY:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, flags, *rest, **options)

    with monkeypatch.context() as patch, pytest.raises(StoreFault):
        patch.setattr(os, "open", too_many)
        build(film, tmp_path, Seeing())
    made = {path: path.stat().st_ino for path in (tmp_path / "film" / "rows").rglob("*.arrow")}
    build(film, tmp_path, Seeing())
    assert len(made) == len(list((tmp_path / "film" / "rows").rglob("*.arrow"))) > 0
    assert {path: path.stat().st_ino for path in made} == made


def test_limits_that_cut_a_video_make_another_world(film: Path, tmp_path: Path) -> None:
    whole = build(film, tmp_path / "whole", Seeing())
    cut = build(film, tmp_path, Seeing(), limits=Limits(duration=40.0))
    assert cut.duration <= 40.0
    assert [loss.code for loss in cut.losses] == ["longer_than_limit"]
    assert build(film, tmp_path, Seeing()).world_hash == whole.world_hash


def test_slides_that_limits_cut_are_as_long_as_the_limit(tmp_path: Path, make_video: Callable[..., Path]) -> None:
    pictures = [np.full((48, 64, 3), 20 * number, np.uint8) for number in range(12)]
    slides = make_video("slides.mp4", pictures, times=[10.0 * number for number in range(12)])
    build(slides, tmp_path / "whole", Seeing())
    cut = build(slides, tmp_path / "cut", Seeing(), limits=Limits(duration=7.2))
    assert cut.duration == 7.2
    assert [loss.code for loss in cut.losses] == ["longer_than_limit"]
    rates = [open_world(tmp_path / name, cut.video_id).manifest.video.frame_rate for name in ("whole", "cut")]
    assert rates[0] == rates[1] > 0


def test_a_source_that_changes_while_it_is_built_is_named(
    film: Path, tmp_path: Path, make_video: Callable[..., Path], empty_room: Image
) -> None:
    other = make_video("other.mp4", [255 - empty_room] * 200, rate=2).read_bytes()

    class Meddling(Seeing):
        def open(self, clip: Clip) -> Worker:
            if clip.number == 2:
                film.with_name("copy.mp4").write_bytes(other)
                film.with_name("copy.mp4").replace(film)
            return super().open(clip)

    with pytest.raises(MediaFault) as caught:
        build(film, tmp_path / "store", Meddling())
    assert caught.value.code == "source_changed"
    again = build(film, tmp_path / "store", Seeing())
    assert again.world_hash == build(film, tmp_path / "other", Seeing()).world_hash


def test_an_image_that_was_spoilt_is_made_again(film: Path, tmp_path: Path) -> None:
    build(film, tmp_path, KeyFrames())
    folder = tmp_path / "film"
    image = next((folder / "images").iterdir())
    for spoilt in (b"", b"no picture"):
        image.write_bytes(spoilt)
        assert check_world(open_world(tmp_path, "film"))
        build(film, tmp_path, KeyFrames(), force=True)
        assert check_world(open_world(tmp_path, "film")) == []
        image.write_bytes(spoilt)
        (folder / "world.json").unlink()
        build(film, tmp_path, KeyFrames())
        assert check_world(open_world(tmp_path, "film")) == []


def test_a_world_that_lost_a_file_is_made_whole(film: Path, tmp_path: Path) -> None:
    whole = build(film, tmp_path, Seeing())
    next((tmp_path / "film" / "rows" / "cuts").iterdir()).unlink()
    report = build(film, tmp_path, Seeing())
    assert (report.changed, report.clips_made, report.world_hash) == (True, 1, whole.world_hash)


def test_a_changed_figure_in_the_log_of_decoding_is_not_believed(film: Path, tmp_path: Path) -> None:
    whole = build(film, tmp_path, Seeing())
    log = tmp_path / "film" / "decoding.jsonl"
    (tmp_path / "film" / "world.json").unlink()
    changed = log.read_bytes().replace(b'"frames": 200', b'"frames": 150')
    assert changed != log.read_bytes()
    log.write_bytes(changed)
    assert build(film, tmp_path, Seeing()).world_hash == whole.world_hash


class Counted(Seeing):
    """A stage whose row says how many frames it saw, and that may break in its third clip."""

    def __init__(self, *, breaks: bool = False) -> None:
        super().__init__()
        self.breaks = breaks

    def open(self, clip: Clip) -> Worker:
        if self.breaks and clip.number == 2:
            raise Broken
        return CountingWorker(super().open(clip).records)


def decoding_that_dies(start: float, end: float) -> Callable[..., Iterator[Frame]]:
    """Decoding whose process is killed at every frame of an interval (seconds)."""
    decoded = VideoPass._decoded

    def dying(self: VideoPass, *, skip: float) -> Iterator[Frame]:
        for frame in decoded(self, skip=skip):
            if start <= frame.time < end and (number := decoder_of(self)) is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            yield frame

    return dying


def test_rows_made_while_the_decoder_died_are_not_kept_by_a_build_that_was_broken_off(
    film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(film, tmp_path / "whole", Counted())
    with monkeypatch.context() as patch, pytest.raises(Broken):
        patch.setattr(VideoPass, "_decoded", decoding_that_dies(10.0, 13.0))
        build(film, tmp_path / "store", Counted(breaks=True))
    report = build(film, tmp_path / "store", Counted())
    assert (report.world_hash, report.losses) == (whole.world_hash, ())


@pytest.mark.parametrize("clip", [0, -1])
def test_what_was_lost_is_still_noted_after_one_clip_is_made_again(
    clip: int, film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(VideoPass, "_decoded", decoding_that_dies(10.0, 10.2))
        first = build(film, tmp_path, Seeing(), Apart())
    assert [lost.code for lost in first.losses] == ["decoder_restarted"]
    (tmp_path / "film" / "world.json").unlink()
    sorted((tmp_path / "film" / "rows" / "cuts").iterdir())[clip].unlink()
    again = build(film, tmp_path, Seeing(), Apart())
    assert (again.clips_made, again.losses, again.world_hash) == (1, first.losses, first.world_hash)


def test_a_second_process_waits_for_the_first_and_finds_its_world(film: Path, tmp_path: Path) -> None:
    listener, reports, store = Listener(), [], tmp_path / "store"
    build(film, tmp_path / "made", Seeing())
    thread = threading.Thread(target=lambda: reports.append(build(film, store, Seeing(), listener=listener)))
    with world_lock(store, "film"):
        thread.start()
        assert listener.spoke.wait(timeout=60.0)
        assert not reports
        shutil.copytree(tmp_path / "made" / "film", store / "film", dirs_exist_ok=True)
    thread.join()
    assert "film" in listener.said[0]
    assert [report.changed for report in reports] == [False]


def test_a_world_that_is_up_to_date_is_found_while_another_process_writes_it(film: Path, tmp_path: Path) -> None:
    build(film, tmp_path, Seeing())
    with world_lock(tmp_path, "film"):
        assert not build(film, tmp_path, Seeing()).changed


class Failing(Seeing):
    """A stage that fails in its second clip."""

    def open(self, clip: Clip) -> Worker:
        if clip.number == 1:
            raise Broken
        return super().open(clip)


def test_a_stage_that_fails_ends_the_build_and_leaves_no_thread_and_no_process(film: Path, tmp_path: Path) -> None:
    threads, others = threading.active_count(), children()
    with pytest.raises(Broken):
        build(film, tmp_path, Failing(), Apart())
    assert threading.active_count() == threads
    assert not children() - others
