"""The generated film as a world, and its truth."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eval.sandbox import SampleFiles
from tests.support.building import Silent, made_once
from tool_induction import load_library, run_tool
from world_api import SystemClock
from world_api.api import BuildOptions, build_world, open_session
from world_api.operations import run

HAND_WRITTEN = ("hand_A", "hand_B", "hand_C")


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


@pytest.fixture(scope="session")
def sample_film(sample: SampleFiles, tmp_path_factory: pytest.TempPathFactory) -> Film:
    """The film that ships with the product."""

    def build(store: Path) -> None:
        options = BuildOptions(without=("screen_texts",))
        build_world(sample.video, store, progress=Silent(), clock=SystemClock(), options=options)

    store = made_once(tmp_path_factory, "sample-worlds", build)
    return Film(store, sample.video.stem, json.loads(sample.truth.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def composite(real_store: Path, shared_data: Path) -> Film:
    """A real recording: rooms, people who come and go, speech."""
    truth = shared_data / "video" / "composite_337s.truth.json"
    return Film(real_store, "composite_337s", json.loads(truth.read_text(encoding="utf-8")))
