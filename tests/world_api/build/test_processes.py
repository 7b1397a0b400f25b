"""Stages in a process of their own: the same rows, named faults, and no process left behind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import cv2
import numpy as np
import pytest

from tests.support import decoders
from tests.support.building import Silent, StandingClock, made_clip
from tests.support.decoders import number_of
from tests.support.stages_apart import Brightness
from world_api import build_world as build_from_file
from world_api.build import processes as build_processes
from world_api.build.builder import BuildReport, Job, build_world
from world_api.build.processes import BuildProcesses, start_stage
from world_api.build.scheduler import opencv_on_one_thread
from world_api.build.stage import Recipe
from world_api.build.stage_process import RemoteStage
from world_api.core import VideoWorldError
from world_api.media.container import DEFAULT_LIMITS, Limits
from world_api.media.frames import Frame
from world_api.media.process import DecoderProcess, process_environment
from world_api.recipes import recipe_for

MakeFrames = Callable[..., list[Frame]]
MAKERS = "tests.support.stages_apart"


@pytest.fixture(autouse=True)
def several_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_processes, "_processors", lambda: 2)


def remote(maker: str) -> RemoteStage:
    name = f"{MAKERS}:{maker}"
    return RemoteStage(Brightness.spec, name, start_stage(name))


def build(video: Path, store: Path, apart: Mapping[str, str], *, recipe: Recipe | None = None) -> BuildReport:
    made = recipe or Recipe(profile="test", stages=lambda *_: [Brightness()], apart=apart)
    job = Job(video=video, store=store, name="film", recipe=made, force=False, progress=Silent(), clock=StandingClock())
    return build_world(job)


def test_a_stage_gives_the_same_rows_wherever_it_works(two_shots: Path, tmp_path: Path) -> None:
    here = build(two_shots, tmp_path / "here", {})
    there = build(two_shots, tmp_path / "there", {"brightness": f"{MAKERS}:Brightness"})
    assert there.world_hash == here.world_hash
    names = [sorted(path.name for path in (tmp_path / store).rglob("*.arrow")) for store in ("here", "there")]
    assert names[0] == names[1]


def test_pictures_of_any_width_reach_a_stage_in_its_process(make_video: Callable[..., Path], tmp_path: Path) -> None:
    noise = np.random.default_rng(3)
    video = make_video("odd.mkv", [noise.integers(0, 255, (90, 162, 3), dtype=np.uint8) for _ in range(20)])
    there = build(video, tmp_path / "there", {"brightness": f"{MAKERS}:Brightness"})
    assert there.world_hash == build(video, tmp_path / "here", {}).world_hash


def test_no_stage_can_change_the_picture_that_others_see(make_frames: MakeFrames) -> None:
    [frame] = make_frames(lambda _: np.zeros((8, 8, 3), dtype=np.uint8), start=0.0, end=0.2)
    with pytest.raises(ValueError, match="read-only"):
        frame.picture()[0, 0] = 255


def test_following_moving_things_gives_the_same_rows_wherever_it_works(two_shots: Path, tmp_path: Path) -> None:
    usual = recipe_for("classical", without=("screen_texts",))
    assert "moving_things" in usual.apart
    here = Recipe(profile=usual.profile, stages=usual.stages)
    assert (
        build(two_shots, tmp_path / "there", {}, recipe=usual).world_hash
        == build(two_shots, tmp_path / "here", {}, recipe=here).world_hash
    )


@pytest.mark.parametrize(
    ("maker", "code"),
    [("named", "out_of_order"), ("unnamed", "internal_fault"), ("dying", "stage_died"), ("nobody", "stage_died")],
)
def test_a_stage_that_fails_in_its_process_ends_the_build_by_name_and_another_goes_on(
    maker: str, code: str, two_shots: Path, tmp_path: Path
) -> None:
    with pytest.raises(VideoWorldError) as caught:
        build(two_shots, tmp_path, {"brightness": f"{MAKERS}:{maker}"})
    assert caught.value.code == code
    assert caught.value.hint
    assert build(two_shots, tmp_path, {}).changed


def test_a_frame_is_shown_once_to_all_clips_that_want_it(make_frames: MakeFrames) -> None:
    stage = remote("Brightness")
    workers = [stage.open(made_clip(number)) for number in range(2)]
    frames = make_frames(lambda t: np.full((90, 160, 3), int(t), dtype=np.uint8), start=0, end=60)
    for frame in frames:
        for worker in workers:
            worker.see(frame)
    told = [row["time"] for worker in workers for row in worker.finish()["cuts"]]
    assert told == [frame.time for frame in frames]
    stage.close()


def test_a_frame_keeps_its_pixels_until_its_stage_has_seen_it(
    make_frames: MakeFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[float] = []
    monkeypatch.setattr(Frame, "_free", lambda frame: freed.append(frame.time))
    stage = remote("Brightness")
    worker = stage.open(made_clip(0))
    first, second = make_frames(lambda t: np.full((90, 160, 3), int(t), dtype=np.uint8), start=0, end=2)[:2]
    for frame in (first, second):  # the second one is shown while the stage may still request pictures of the first
        worker.see(frame)
        frame.release()
    assert freed == [first.time]
    assert [row["time"] for row in worker.finish()["cuts"]] == [first.time, second.time]
    assert freed == [first.time, second.time]
    stage.close()


@pytest.mark.parametrize("maker", ["named", "dying"])
def test_a_stage_that_failed_holds_no_frame(
    maker: str, make_frames: MakeFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[float] = []
    monkeypatch.setattr(Frame, "_free", lambda frame: freed.append(frame.time))
    stage = remote(maker)
    worker = stage.open(made_clip(0))
    frames = make_frames(lambda t: np.full((90, 160, 3), int(t), dtype=np.uint8), start=0, end=3)[:3]
    with pytest.raises(VideoWorldError):
        for frame in frames:
            worker.see(frame)
    stage.close()
    for frame in frames:
        frame.release()
    assert sorted(freed) == [frame.time for frame in frames]


def test_on_one_processor_every_stage_works_where_the_build_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_processes, "_processors", lambda: 1)
    processes = BuildProcesses(DEFAULT_LIMITS, {"brightness": f"{MAKERS}:Brightness"})
    processes.start()
    stage = Brightness()
    assert processes.place([stage]) == [stage]
    processes.close()


def test_no_process_outlives_its_build() -> None:
    others = children()
    processes = BuildProcesses(DEFAULT_LIMITS, {"brightness": f"{MAKERS}:Brightness"})
    processes.start()
    processes.start()
    started = children() - others
    assert len(started) == 2
    processes.close()
    processes.close()
    assert not children() & started


def children() -> set[str]:
    """The numbers of this process's children, while they are told of."""
    found: set[str] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        found |= set(task.read_text(encoding="ascii").split())
    if not Path("/proc/self/task").is_dir():
        pytest.skip("this system does not tell of children")
    return found


SECRETS = {
    "OPENAI_API_KEY": "sk-not-for-children",
    "AWS_SECRET_ACCESS_KEY": "sk-not-for-children",
    "HF_TOKEN": "sk-not-for-children",
    "MY_OWN_PASSWORD": "sk-not-for-children",
    "FFREPORT": "file=sk-not-for-children.log",
}
PROXY = {"http_proxy": "http://user:pass@proxy.example:3128", "no_proxy": "localhost"}
ROOT = Path(__file__).resolve().parents[3]
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system has no /proc")


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | PROXY).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_TIME", "C")


def environment_of(number: int) -> dict[str, str]:
    raw, give_up = "", monotonic() + 5
    # A process that was just started reads as empty until the kernel has laid out its memory.
    while not raw and monotonic() < give_up:
        raw = Path(f"/proc/{number}/environ").read_bytes().decode()
    return dict(entry.split("=", 1) for entry in raw.split("\0") if entry)


@pytest.mark.usefixtures("secrets")
@needs_proc
@pytest.mark.parametrize("network", [False, True])
def test_a_decoding_process_gets_no_key_and_a_proxy_only_where_streams_are_allowed(network: bool) -> None:
    process = DecoderProcess(Limits(network=network))
    try:
        given = environment_of(number_of(process))
    finally:
        process.end()
    assert not SECRETS.keys() & given.keys()
    assert (given.keys() & PROXY.keys() == PROXY.keys()) is network
    assert given["LC_TIME"] == "C"
    assert "PATH" in given


def test_a_process_starts_no_blas_threads_unless_a_person_has_set_a_number() -> None:
    variable = "OPENBLAS_NUM_THREADS"
    assert process_environment({"HOME": "here"}).items() >= {"HOME": "here", variable: "1"}.items()
    assert process_environment({variable: "3"})[variable] == "3"


@pytest.mark.usefixtures("secrets")
@needs_proc
def test_the_process_of_a_stage_gets_no_key() -> None:
    process = start_stage("tests.support.stages_apart:Brightness")
    try:
        given = environment_of(number_of(process))
    finally:
        process.end()
    assert not (SECRETS | PROXY).keys() & given.keys()


@pytest.mark.usefixtures("secrets")
@needs_proc
def test_no_process_that_a_build_starts_holds_a_key(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.building import StandingClock

    monkeypatch.setattr(build_processes, "_processors", lambda: 2)
    started: list[dict[str, str]] = []

    class Watching:
        def __getattr__(self, _: str) -> Any:
            return lambda *arguments, **options: started.extend(environment_of(child) for child in decoders.children())

    build_from_file(two_shots, tmp_path, progress=Watching(), clock=StandingClock())
    assert started
    assert not [given for given in started if any("sk-not-for-children" in value for value in given.values())]


def test_every_process_that_the_package_starts_is_given_a_restricted_environment() -> None:
    bare = []
    for path in sorted((ROOT / "world_api").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("subprocess.", "multiprocessing.")):
                given = [ast.unparse(word.value) for word in node.keywords if word.arg == "env"]
                if not (given and given[0].startswith(("process_environment(", "restricted_environment("))):
                    bare.append(f"{path.relative_to(ROOT)}: {ast.unparse(node.func)}")
    assert bare == []


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    before = cv2.getNumThreads()
    cv2.setNumThreads(3)
    yield
    cv2.setNumThreads(before)


def test_opencv_works_on_one_thread_meanwhile_and_on_as_many_as_before_afterwards() -> None:
    with opencv_on_one_thread():
        assert cv2.getNumThreads() == 1

    assert cv2.getNumThreads() == 3


def test_a_build_that_fails_brings_the_threads_back() -> None:
    with pytest.raises(ValueError, match="broken"), opencv_on_one_thread():
        raise ValueError("broken")

    assert cv2.getNumThreads() == 3
