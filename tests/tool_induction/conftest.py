"""What the tests of the tool language share: the seed document and a scripted world."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tool_induction import Compilation, compile_document
from world_api.core import OperationFault

DATA = Path(__file__).parent / "data"
Document = dict[str, Any]


def evidence(start: float, end: float, source: str = "caption") -> dict[str, Any]:
    return {
        "video_id": "film",
        "start_time": start,
        "end_time": end,
        "source": source,
        "confidence": 0.9,
        "frame_time": start,
    }


def stretch(start: float, end: float) -> dict[str, Any]:
    return {"start_time": start, "end_time": end, "center_time": (start + end) / 2}


def result(**fields: Any) -> dict[str, Any]:
    return {"evidence": [], "hint": "", **fields}


class ScriptedWorld:
    """Answers operations from a script and notes what it was asked. Times in ``fails`` cannot be looked at."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.segments: list[tuple[float, float]] = [(60, 70), (10, 20), (30, 40)]
        self.seen: list[float] = [65, 35]
        self.fails: list[float] = []
        self.memo_key = "world@all"
        self.revision = 0

    @property
    def session_key(self) -> str:
        return str(self.revision)

    def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((name, arguments))
        return getattr(self, "_" + name)(arguments)  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]

    def _search_segments_by_text(self, arguments: dict[str, Any]) -> dict[str, Any]:
        hits = [
            stretch(start, end)
            | {
                "segment_id": f"seg_{start}",
                "score": 1 - place / 10,
                "snippet": f"words at {start}",
                "source": "caption",
                "confidence": None,
            }
            for place, (start, end) in enumerate(self.segments)
        ][: arguments["top_k"]]
        return result(candidates=hits, evidence=[evidence(start, end) for start, end in self.segments])

    _search_segments_by_semantics = _search_segments_by_text

    def _detect_objects(self, arguments: dict[str, Any]) -> dict[str, Any]:
        time = arguments["timestamp"]
        if time in self.fails:
            raise OperationFault("frame_unreadable", f"the frame at {time} cannot be read", hint="try another time")
        if time not in self.seen:
            return result(detections=[])
        seen = stretch(time - 1, time + 2) | {
            "bbox": [0.0, 0.0, 10.0, 20.0],
            "category": arguments["category"],
            "confidence": 0.8,
            "entity_hint": f"somebody at {time}",
            "entity_id": None,
            "timestamp": time,
        }
        return result(detections=[seen], evidence=[evidence(time - 1, time + 2, "detector")])

    def _describe_segment(self, arguments: dict[str, Any]) -> dict[str, Any]:
        start, end = arguments["start_time"], arguments["end_time"]
        if start in self.fails:
            raise OperationFault("no_caption", "nothing can be said", hint="")
        return result(caption=f"what happens from {start}", **stretch(start, end), evidence=[evidence(start, end)])

    def _get_video_metadata(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return result(
            duration=100.0,
            frame_rate=25.0,
            resolution={"width": 640, "height": 360},
            title="",
            has_audio=True,
            has_speech_text=True,
            profile="scripted",
        )

    def _register_entity(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.revision += 1
        return result(entity_id="ent_1", hint=arguments["entity_hint"], already_known=False, confidence=0.7)

    def _list_entities(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return result(entities=[])

    def _write_memory(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.revision += 1
        return result(memory_id=f"mem_{self.revision}")


@pytest.fixture
def world() -> ScriptedWorld:
    return ScriptedWorld()


@pytest.fixture
def seed_text() -> str:
    return (DATA / "seed.json").read_text(encoding="utf-8")


@pytest.fixture
def seed(seed_text: str) -> Document:
    return json.loads(seed_text)  # type: ignore[no-any-return]


@pytest.fixture
def search() -> Document:
    """A step that searches; most small documents begin with it."""
    return {
        "type": "call_world_api",
        "api": "search_segments_by_text",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 5},
        "save_as": "hits",
    }


@pytest.fixture
def document(search: Document) -> Callable[..., Document]:
    """Makes a small document: a search, then the given steps; outputs default to the number of hits."""

    def make(*steps: Document, outputs: Any = None, inputs: Any = None, name: str = "small_tool") -> Document:
        return {
            "tool_name": name,
            "description": "A small tool that a test made to look at one thing only.",
            "inputs": {"video_id": "string", "query": "string", **(inputs or {})},
            "outputs": outputs or {"found": {"type": "int", "from": "{{ hits | length }}"}},
            "steps": [search, *steps],
        }

    return make


@pytest.fixture
def codes() -> Callable[[Compilation], set[tuple[str, str]]]:
    """The errors of a compilation as (code, JSON path)."""

    def of(compilation: Compilation) -> set[tuple[str, str]]:
        return {(item.code, item.json_path) for item in compilation.diagnostics if item.severity == "error"}

    return of


@pytest.fixture
def compiled() -> Callable[..., Any]:
    """Compiles documents that must have no faults; the tools by name."""

    def make(*documents: Document) -> Any:
        compilation = compile_document(list(documents))
        assert compilation.ok, [item.record() for item in compilation.diagnostics if item.severity == "error"]
        return compilation.tools

    return make
