"""The generated film as a world, and its truth."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tool_induction import load_library, run_tool
from world_api.api import open_session
from world_api.operations import run

HAND_WRITTEN = ("hand_A", "hand_B", "hand_C")


class Silent:
    """Progress nobody watches."""

    def update(self, stage: str, done: float, total: float) -> None:
        """Nothing to draw."""

    def say(self, text: str) -> None:
        """Nobody listens."""


class Film(NamedTuple):
    """A store that holds a world, its id, and what is true of it."""

    store: Path
    video_id: str
    truth: dict[str, Any]

    def run(self, library: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool of a packaged library, run on the world."""
        session = open_session(self.store, self.video_id, name=None)
        given = {"video_id": self.video_id, **arguments}
        return run_tool(load_library(library).tools, tool, given, call=partial(run, session), world=session)


def _built(video: Path, store: Path, truth: Path) -> Film:
    from world_api import SystemClock
    from world_api.api import BuildOptions, build_world

    options = BuildOptions(without=("screen_texts",))
    build_world(video, store, progress=Silent(), clock=SystemClock(), options=options)
    return Film(store, video.stem, json.loads(truth.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def sample_film(tmp_path_factory: pytest.TempPathFactory) -> Film:
    """The film that ships with the product."""
    from eval.sandbox import make_sample

    folder = tmp_path_factory.mktemp("film")
    made = make_sample(folder / "sample")
    return _built(made.video, folder / "worlds", made.truth)


@pytest.fixture(scope="session")
def composite(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Film:
    """A real recording: rooms, people who come and go, speech."""
    video = shared_data / "video" / "composite_337s.mp4"
    return _built(video, tmp_path_factory.mktemp("composite") / "worlds", video.with_suffix(".truth.json"))
