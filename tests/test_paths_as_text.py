"""Public functions that take a path take it as text, too."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

import tool_induction
import world_api
from controller import Budget, Journal, Question, SystemContext, answer_recorded, build_system
from eval.runs import open_ladder
from eval.sandbox import FilmFiles, work_folder
from tests.support.building import Silent
from world_api import SystemClock
from world_api.chat import RuleBasedChatModel

ROOT = Path(__file__).resolve().parents[1]
#: Surfaces that scripts of users call; those of other areas are for code that extends the project, which is given paths.
SURFACES = (
    "videoworld", "world_api", "world_api.operations", "tool_induction", "tool_induction.domains", "controller",
    "controller.systems", "eval.questions", "eval.sandbox",
)  # fmt: skip


def public_functions() -> list[tuple[str, Any]]:
    """Functions and methods of everything that a surface names in ``__all__``; constructors of records left out."""
    found: list[tuple[str, Any]] = []
    for surface in SURFACES:
        module = importlib.import_module(surface)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                found.append((f"{module.__name__}.{name}", thing))
            elif inspect.isclass(thing):
                members = {key: getattr(thing, key) for key in vars(thing) if key == "__init__" or key[:1] != "_"}
                if is_dataclass(thing):
                    members.pop("__init__", None)
                found += [(f"{module.__name__}.{name}.{key}", item) for key, item in members.items() if callable(item)]
    return found


def test_no_public_function_takes_a_path_object_only() -> None:
    only = []
    for name, function in public_functions():
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        written = [(item.name, str(item.annotation)) for item in parameters]
        only += [f"{name}({key})" for key, kind in written if re.search(r"\bPath\b", kind) and "str" not in kind]
    assert only == []


def test_a_world_is_opened_asked_and_recorded_by_paths_written_as_text(make_world: Any, tmp_path: Path) -> None:
    make_world()
    store = str(make_world.store)
    assert world_api.list_worlds(store) == ["made"]
    assert world_api.open_world(store, "made").manifest.video_id == "made"
    assert world_api.ensure_world("made", store, progress=Silent(), clock=SystemClock()) == "made"
    session = world_api.open_session(store, "made", name="text")
    stretch = {"start_time": 0, "end_time": 5}
    memory = {"video_id": "made", "level": "event", "time_range": stretch, "content": "a card"}
    world_api.run(session, "write_memory", memory)
    assert (Path(store) / "made" / "sessions" / "text.jsonl").is_file()
    assert open_ladder(store, "made", "list_entities", oracle=store).stand_ins
    context = SystemContext(model=RuleBasedChatModel(), clock=SystemClock(), budget=Budget(rounds=2))
    recorded = answer_recorded(
        Question(text="How many people?", kind="count"),
        session,
        system="flat",
        context=context,
        journal=Journal(str(tmp_path / "episodes")),
    )
    assert build_system("flat", context)
    assert (tmp_path / "episodes" / "episodes.jsonl").is_file(), recorded


@pytest.mark.media
def test_a_video_is_built_by_paths_written_as_text(built_film: tuple[Path, Path], tmp_path: Path) -> None:
    video, store = built_film[0], str(tmp_path / "worlds")
    options = world_api.BuildOptions(without=("screen_texts",))
    report = world_api.build_world(
        str(video), store, progress=Silent(), clock=SystemClock(), video_id="film", options=options
    )
    assert world_api.list_worlds(store) == [report.video_id] == ["film"]
    named = world_api.ensure_world(video, store, progress=Silent(), clock=SystemClock())
    assert named in world_api.list_worlds(store)


def test_a_library_is_frozen_and_films_are_found_by_paths_written_as_text(tmp_path: Path) -> None:
    tools = tool_induction.load_library("hand_A").tools
    origin = tool_induction.Origin(how="hand", date="2026-01-01", domain=None)
    frozen = tool_induction.freeze_library(tools, str(tmp_path / "mine"), name="mine", origin=origin)
    assert tool_induction.load_library(str(tmp_path / "mine")).hash == frozen.hash
    assert FilmFiles.of(str(tmp_path), "film").video == tmp_path / "film.mp4"
    assert work_folder(str(tmp_path)).parent == tmp_path
