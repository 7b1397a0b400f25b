"""Systems on the made minute, with its film beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.episode import Budget
from controller.systems import ENTRY_POINT_GROUP, SystemContext, build_system
from tests.support.systems import THIRD_PARTY, Willing, add_film, draw_film, entry_points_of
from tool_induction import ToolLibrary, load_library
from tool_induction.domains import load_domain
from world_api.api import open_session


def reviewed_library() -> ToolLibrary:
    """The library hand_A as if it had been induced with a review."""
    plain = load_library("hand_A")
    return replace(plain, manifest={**plain.manifest, "induction": {"review": "A call, and what is true of 视频 7."}})


Play = Callable[..., Any]


class Played:
    """An episode and what the model was asked."""

    def __init__(self, episode: Any, model: Any) -> None:
        self.episode = episode
        self.model = model

    @property
    def requests(self) -> list[dict[str, Any]]:
        return list(self.model.requests)


@pytest.fixture
def context(stepping_clock: Any) -> Callable[..., SystemContext]:
    """A context in which every system can be built."""

    def made(**chosen: Any) -> SystemContext:
        given = {
            "model": Willing(),
            "clock": stepping_clock(),
            "budget": Budget(),
            "library": reviewed_library(),
            "domain": load_domain("A_locate_count"),
            "takes_images": True,
            **chosen,
        }
        return SystemContext(**given)

    return made


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The film of the made minute; its frames tell the time by their brightness."""
    return draw_film(tmp_path_factory.mktemp("film") / "made.mp4")


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> str:
    """A system that another package has added by entry point; its name."""
    point = metadata.EntryPoint(
        name=THIRD_PARTY, value="tests.support.third_party_system:build", group=ENTRY_POINT_GROUP
    )
    monkeypatch.setattr(metadata, "entry_points", entry_points_of(point))
    return THIRD_PARTY


@pytest.fixture
def film_store(make_world: Any, film: Path) -> Callable[..., Path]:
    """A store with the made minute and its film."""

    def made(rows: Any = None) -> Path:
        add_film(make_world(rows), film)
        store: Path = make_world.store
        return store

    return made


@pytest.fixture
def play(context: Any, film_store: Any) -> Play:
    """Runs a system on a question; ``rows`` are those of the world, ``as_of`` where it is cut."""

    def played(
        name: str,
        text: str = "Where is the folder?",
        *,
        as_of: float | None = None,
        rows: Any = None,
        question: Question | None = None,
        **chosen: Any,
    ) -> Played:
        given = context(**chosen)
        session = open_session(film_store(rows), "made", as_of=as_of, name=None)
        asked = question or Question(text=text, as_of=as_of)
        return Played(build_system(name, given).answer(asked, session), given.model)

    return played
