"""Everything the systems are tried with: a film that tells the time by its brightness, a model that does what it can."""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from controller.systems import ENTRY_POINT_GROUP
from world_api.chat import Call, completion
from world_api.core import hash_file
from world_api.world import World, write_manifest

THIRD_PARTY = "asked_once"
SECONDS = 60
#: What each second adds to the brightness of the film's frames.
STEP = 4
DARKEST = 8
FOUND = "locate_first_appearance"

DOCUMENT = {
    "tool_name": "find_talk",
    "description": "Finds what is said. Use for words. Not for looks.",
    "inputs": {"video_id": "string", "words": "string"},
    "outputs": {"hits": {"type": "list<record>", "from": "{{ hits.candidates }}"}},
    "steps": [
        {
            "type": "call_world_api",
            "api": "search_segments_by_text",
            "params": {"video_id": "{{video_id}}", "query": "{{words}}", "top_k": 5},
            "save_as": "hits",
        }
    ],
}

_SECONDS = re.compile(r"(\d+(?:\.\d+)?) ?s\b")


class Willing:
    """A model that uses what it is offered: it writes a tool, else calls one of the library, else searches; then it answers."""

    def __init__(self, *, words: str = "folder", name: str = "willing") -> None:
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self._words = words

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(copy.deepcopy(request))
        offered = {tool["function"]["name"] for tool in request.get("tools", ())}
        if not offered:
            return completion(model=self.name, content="In the room.", usage=(100, 5))
        results = [message for message in request["messages"] if message["role"] == "tool"]
        call = self._call(offered) if not results else None
        if call is None:
            arguments = {"answer": "In the room.", "spans": _first_span(results)}
            call = Call(tool="submit_answer", arguments=arguments, id="end")
        return completion(model=self.name, calls=[call], usage=(100, 5))

    def _call(self, offered: set[str]) -> Call | None:
        video = {"video_id": "made"}
        choices: list[tuple[str, dict[str, Any]]] = [
            ("compose_tool", {"document": DOCUMENT, "arguments": {**video, "words": self._words}}),
            (FOUND, {**video, "person_query": "person in red"}),
            ("search_segments_by_text", {**video, "query": self._words, "top_k": 5}),
        ]
        return next((Call(tool=name, arguments=given, id="c1") for name, given in choices if name in offered), None)


def _first_span(results: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    for value in _walk([json.loads(message["content"]) for message in results]):
        span = {key: value.get(key) for key in ("start_time", "end_time")} if isinstance(value, dict) else {}
        if span and all(isinstance(time, float | int) for time in span.values()):
            return [span]
    return []


def _walk(value: Any) -> Iterator[Any]:
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _walk(item)


def data_in(request: dict[str, Any]) -> list[Any]:
    """Everything that a request marks as data from the video."""
    found = []
    for message in request["messages"]:
        for line in text_of(message).splitlines():
            if line.startswith("{") and '"data_from_video"' in line:
                value = json.loads(line)
                if isinstance(value, dict) and "data_from_video" in value:
                    found.append(value["data_from_video"])
    return found


def words_beside_data(request: dict[str, Any]) -> str:
    """Every word of a request that is not marked as data from the video, the calls the model made left aside."""
    lines = [line for message in request["messages"] for line in text_of(message).splitlines()]
    return "\n".join(line for line in lines if "data_from_video" not in line or not line.startswith("{"))


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return str(content)


def times_in(value: Any) -> list[float]:
    """Everything that is a time or a length of time, by its name, at any depth; and all that a text gives in seconds."""
    named = [item for part in _walk(value) if isinstance(part, dict) for item in part.items()]
    times = [item for key, item in named if ("time" in key or "duration" in key) and isinstance(item, int | float)]
    told = [float(found) for part in _walk(value) if isinstance(part, str) for found in _SECONDS.findall(part)]
    return [*times, *told]


def pictures_in(request: dict[str, Any]) -> list[np.ndarray]:
    """The pictures of a request, decoded."""
    import cv2

    urls = [
        part["image_url"]["url"]
        for message in request["messages"]
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    heads, bodies = zip(*(url.split(",", 1) for url in urls), strict=True) if urls else ((), ())
    assert set(heads) <= {"data:image/jpeg;base64"}
    return [cv2.imdecode(np.frombuffer(base64.b64decode(body), np.uint8), cv2.IMREAD_COLOR) for body in bodies]


def seconds_shown(pictures: Sequence[np.ndarray]) -> list[int]:
    """Which second of the film each picture shows. The way through H.264 makes its greys about 3 darker."""
    return [round((float(picture.mean()) + 3 - DARKEST) / STEP) for picture in pictures]


def draw_film(path: Path) -> Path:
    """A film of 160 x 90, one frame a second, each a little brighter than the one before."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=1, options={"preset": "veryfast", "crf": "10"})
        stream.pix_fmt, stream.width, stream.height, stream.gop_size = "yuv420p", 160, 90, 10
        stream.thread_count = 1
        for second in range(SECONDS):
            picture = np.full((90, 160, 3), DARKEST + STEP * second, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            frame.pts, frame.time_base = second, Fraction(1, 1)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def add_film(world: World, film: Path) -> None:
    """Put a film behind a made world."""
    (world.folder / "local.json").write_text(json.dumps({"source_path": str(film)}))
    source = world.manifest.source.model_copy(update={"bytes": film.stat().st_size, "sha256": hash_file(film)})
    write_manifest(world.folder, world.manifest.model_copy(update={"source": source}))


def entry_points_of(*points: metadata.EntryPoint) -> Any:
    """``importlib.metadata.entry_points`` as it is where packages have added these systems."""
    real = metadata.entry_points

    def entry_points(**chosen: Any) -> Any:
        return metadata.EntryPoints(points) if chosen.get("group") == ENTRY_POINT_GROUP else real(**chosen)

    return entry_points
