"""Worlds made by hand: exact rows, no video, so that a test says what is there and what must come out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from world_api.session import Session
from world_api.world import (
    SCHEMA_VERSION,
    FileEntry,
    Manifest,
    SourceFacts,
    StageFacts,
    VideoFacts,
    World,
    open_world,
    rows_from_records,
    world_hash,
    write_manifest,
    write_rows,
)

pytest_plugins = (
    "tests.support.browser",
    "tests.support.chat_server",
    "tests.support.command_line",
    "tests.support.numbered_film",
    "tests.support.offline",
    "tests.support.vision_server",
)

CLIP_SECONDS = 30.0
Rows = dict[str, list[dict[str, Any]]]

# A busy machine must not fail a property, and a failure must come again: no deadlines, no random seed.
settings.register_profile("project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")

# No test may find model files of this machine by accident: the folder of models is one that does not exist.
os.environ["VIDEOWORLD_MODELS"] = str(Path(__file__).with_name("no-models"))

# No machine loses its power here: waiting for the disk, a file at a time, takes longer than writing and checking all the rest.
os.fsync = os.fstat  # type: ignore[assignment]  # refuses a closed handle, too

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of real data are skipped by name where the data is not."""
    if DATA.is_dir():
        return
    for item in items:
        if "shared_data" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="the real videos (../shared/data) are not here"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real videos, speech and annotations."""
    return DATA


@pytest.fixture(scope="session")
def real_store(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Worlds of two real films; one without the texts on screen, which take a second per frame."""
    from tests.support.building import Silent, made_once

    def build(folder: Path) -> None:
        from world_api import BuildOptions, SystemClock, build_world

        for name, without in (("composite_337s", ()), ("people_one_by_one", ("screen_texts",))):
            path, options = shared_data / "video" / f"{name}.mp4", BuildOptions(without=without)
            build_world(path, folder, progress=Silent(), clock=SystemClock(), options=options)

    return made_once(tmp_path_factory, "real-worlds", build)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The film that the product makes of itself."""
    from eval.sandbox import SampleFiles, make_sample
    from tests.support.building import made_once

    folder = made_once(tmp_path_factory, "sample", make_sample)
    return SampleFiles(
        video=folder / "sample.mp4",
        subtitles=folder / "sample.srt",
        truth=folder / "sample.truth.json",
        questions=folder / "sample.questions.json",
    )


def sightings(
    track: str, times: list[float], *, x: float = 100.0, step: float = 10.0, **facts: Any
) -> list[dict[str, Any]]:
    """Sightings of one track: a person walking to the right."""
    base = {"category": "person", "confidence": 0.8, "colours": ["black"], "producer": "made/1", **facts}
    return [
        {
            "track": track,
            "time": t,
            "x1": x + step * i,
            "y1": 60.0,
            "x2": x + 60 + step * i,
            "y2": 260.0,
            "known_at": t,
            **base,
        }
        for i, t in enumerate(times)
    ]


def steps(start: float, end: float, step: float = 0.5) -> list[float]:
    """Times from start to end."""
    return [round(start + step * i, 3) for i in range(int((end - start) / step) + 1)]


def look(time: float, direction: int) -> dict[str, Any]:
    """A look that points along one axis."""
    vector = [0.0] * 128
    vector[direction] = 1.0
    return {"time": time, "vector": vector, "known_at": time, "producer": "made/1"}


def made_rows() -> Rows:
    """A minute: a title card (0-20), a room a person in black crosses and one in red follows (20-40), a garden (40-60)."""
    made = {"producer": "made/1"}
    line = {"speaker": "", "language": "en", "source": "sidecar", "confidence": 1.0, **made}
    return {
        "cuts": [{"time": t, "score": 1.0, "kind": "cut", "known_at": t, **made} for t in (20.0, 30.0, 40.0)],
        "scene_cuts": [{"time": t, "strength": s, "known_at": t, **made} for t, s in ((20.0, 0.9), (40.0, 0.5))],
        "looks": [look(t + 0.5, 0 if t < 20 else 1 if t < 40 else 2) for t in range(60)],
        "screen_texts": [
            {
                "time": t,
                "text": "THE LONG WALK",
                "x1": 10,
                "y1": 10,
                "x2": 90,
                "y2": 30,
                "confidence": 0.9,
                "known_at": t,
                **made,
            }
            for t in (2.0, 4.0)
        ],
        "speech": [
            {"start": 22.0, "end": 25.0, "text": "Where did you put the blue folder?", "known_at": 25.0, **line},
            {"start": 45.0, "end": 49.0, "text": "今天的花园很安静", "known_at": 49.0, **line},
        ],
        "sightings": [
            *sightings("t0000_01", steps(22.0, 28.0)),
            *sightings("t0001_01", steps(32.0, 38.0), colours=["red", "white"], step=-2.0, x=200.0),
            *sightings("t0001_02", steps(50.0, 55.0), colours=["black"], x=0.0),
        ],
    }


class WorldMaker:
    """Writes worlds from rows, as the builder would: clip files first, the manifest last."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def __call__(
        self,
        rows: Rows | None = None,
        *,
        video_id: str = "made",
        duration: float = 60.0,
        profile: str = "classical",
        stages: Sequence[StageFacts] = (),
        has_audio: bool = True,
    ) -> World:
        folder = self.store / video_id
        # A stage writes a file for each clip, also where there is nothing.
        every: dict[int, list[dict[str, Any]]] = {number: [] for number in range(math.ceil(duration / CLIP_SECONDS))}
        whole = {table: every for stage in stages for table in stage.tables}
        files = [
            self._write(folder, table, clip, records)
            for table, records in ({table: [] for table in whole} | (rows if rows is not None else made_rows())).items()
            for clip, records in {**whole.get(table, {}), **_by_clip(records)}.items()
        ]
        video = VideoFacts(
            duration=duration, frame_rate=25.0, width=640, height=360, rotation=0, frames=int(duration * 25),
            codec="h264", has_audio=has_audio,
        )  # fmt: skip
        manifest = Manifest(
            schema_version=SCHEMA_VERSION, video_id=video_id, profile=profile, title=f"{video_id}.mp4",
            built_at="2026-01-01T00:00:00+00:00", project_version="0", clip_seconds=CLIP_SECONDS, stages=list(stages), losses=[],
            source=SourceFacts(file_name=f"{video_id}.mp4", sha256="0" * 64, bytes=1, container="mp4"),
            video=video, files=files, images=[], world_hash=world_hash(folder, video, files),
        )  # fmt: skip
        write_manifest(folder, manifest)
        return open_world(self.store, video_id)

    def _write(self, folder: Path, table: str, clip: int, records: list[dict[str, Any]]) -> FileEntry:
        return write_rows(folder, table=table, clip=clip, key="made", rows=rows_from_records(table, records))


def _by_clip(records: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    clips: dict[int, list[dict[str, Any]]] = {}
    for record in records:
        time = record.get("time", record.get("start", 0.0))
        clips.setdefault(int(time // CLIP_SECONDS), []).append(record)
    return clips


#: What profile classical does not know where it finds nobody.
STILL = "person that was not detected (what never moves is not tracked)"


@pytest.fixture
def make_world(tmp_path: Path) -> WorldMaker:
    """Writes a world into a fresh store."""
    return WorldMaker(tmp_path / "worlds")


@pytest.fixture
def minute_rows() -> Rows:
    """The rows of the made minute, for a test to change."""
    return made_rows()


@pytest.fixture
def open_made(make_world: WorldMaker) -> Callable[..., Session]:
    """Opens sessions on the made minute."""
    from world_api.api import open_session

    make_world()

    def opened(*, as_of: float | None = None, name: str | None = None, groups: frozenset[str] = frozenset()) -> Session:
        return open_session(make_world.store, "made", as_of=as_of, name=name, groups=groups)

    return opened
