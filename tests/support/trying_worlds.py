"""Trying what reads worlds on damaged ones: ``python -m tests.support.trying_worlds STORE FIRST END``.

The worlds of these seeds are made one after another. Before each a line of JSON is written, and one with what came of it after it,
so that a process that dies leaves the name of what it died of.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import cv2
import numpy as np

from tests.conftest import WorldMaker, made_rows
from tests.support.damaged_rows import manifest, write_manifest
from tests.support.damaged_worlds import KINDS
from world_api.api import open_session, source_path, text_embedder
from world_api.core import INTERNAL_FAULT, VideoWorldError, hash_bytes, internal_fault
from world_api.operations import run
from world_api.search import prepare
from world_api.session import commit_session, list_sessions
from world_api.world import check_world, open_world, write_image

#: An outcome that is no fault.
FINE = "fine"


def make_base(store: Path) -> Path:
    """A sound world of a minute with rows in every table, an image, and what a session committed."""
    folder = store / "base"
    rows, made = made_rows(), {"producer": "made/1"}
    image = write_image(folder, cv2.imencode(".jpg", np.zeros((18, 32, 3), np.uint8))[1].tobytes())
    rows["key_frames"] = [{"time": t, "image": image, "sharpness": 9.0, "known_at": t, **made} for t in (5.0, 35.0)]
    rows["captions"] = [{"start": 1.0, "end": 9.0, "text": "a title", "confidence": 0.9, "known_at": 9.0, **made}]
    act = {"label": "walks", "subject": "t0000_01", "confidence": 0.7, "known_at": 28.0, **made}
    rows["actions"] = [
        {"start": 22.0, "end": 28.0, **act},
        {"start": 50.0, "end": 55.0, **act, "subject": "t0001_02", "known_at": 55.0},
    ]
    rows["camera"] = [
        {"time": float(t), "kind": "pan_left", "strength": 0.2, "known_at": t, **made} for t in range(41, 50)
    ]
    link = {"time": 32.0, "score": 0.8, "known_at": 33.0, **made}
    rows["track_links"] = [{"earlier": "t0001_01", "later": "t0001_02", "kind": "stitch", **link, "known_at": 52.0}]
    rows["look_links"] = [{"earlier": "t0000_01", "later": "t0001_01", **link}]
    rows["track_looks"] = [{"track": "t0000_01", "time": 23.0, "vector": [0.1] * 76, "known_at": 23.0, **made}]
    rows["speech"].append({**rows["speech"][0], "start": 30.0, "end": 33.0, "known_at": 33.0, "source": "recognised"})
    word = {"line_start": 30.0, "confidence": 0.6, "known_at": 33.0, **made}
    rows["words"] = [
        {"start": 30.0 + n, "end": 30.5 + n, "word": name, **word} for n, name in enumerate(["blue", "folder"])
    ]
    WorldMaker(store)(rows, video_id="base")
    record = manifest(folder)
    data = (folder / image).read_bytes()
    record["images"] = [{"path": image, "sha256": hash_bytes(data), "bytes": len(data)}]
    write_manifest(folder, record)
    session, video = open_session(store, "base", name="first"), {"video_id": "base"}
    span = {"start_time": 3.0, "end_time": 9.0}
    run(session, "write_memory", {**video, "level": "event", "time_range": span, "content": "somebody came in"})
    run(session, "register_entity", {**video, "timestamp": 24.0, "entity_hint": "person in black"})
    commit_session(store, "base", "first")
    return folder


def damaged(base: Path, store: Path, seed: int) -> tuple[str, str]:
    """Put a damaged copy of a world into a store: its id and the kind of damage."""
    names = list(KINDS)
    kind, video_id = names[seed % len(names)], f"d{seed}"
    folder = store / f"s{seed}" / video_id
    shutil.copytree(base, folder)
    KINDS[kind](folder, Random(seed))
    return video_id, kind


def _calls(video_id: str) -> dict[str, dict[str, Any]]:
    video, span = {"video_id": video_id}, {"start_time": 3.0, "end_time": 40.0}
    return {
        "list_scenes": video,
        "get_segment": {**video, **span},
        "search_segments_by_text": {**video, "query": "the blue folder", "top_k": 5},
        "describe_segment": {**video, **span},
        "detect_objects": {**video, "timestamp": 24.0, "category": "person"},
        "recognize_actions": {**video, **span},
        "register_entity": {**video, "timestamp": 24.0, "entity_hint": "a person"},
        "get_entity_trajectory": {**video, "entity_id": "ent_t0000_01"},
        "query_entity_state": {**video, "entity_id": "ent_t0000_01", "time": 24.0, "query": "where is it"},
        "search_segments_by_semantics": {**video, "query": "somebody walks", "top_k": 5},
        "search_similar_to_example": {**video, "example_segment": span, "top_k": 5},
        "write_memory": {
            **video,
            "level": "event",
            "time_range": {"start_time": 1.0, "end_time": 2.0},
            "content": "it rains",
        },
        "read_memory": {**video, "level": "event", "query": "came in", "top_k": 5},
        "list_entities": video,
        "get_video_metadata": video,
    }


def outcomes(store: Path, video_id: str) -> dict[str, str]:
    """What each of what reads worlds says of one: ``fine`` or the code of a fault."""
    from world_api.commands.worlds import inspection, inspection_text

    def verify() -> None:
        world = open_world(store, video_id)
        world.verify()
        source_path(world)

    def look() -> None:
        inspection_text(inspection(open_world(store, video_id), None))

    acts: dict[str, Callable[[], object]] = {
        "verify": verify,
        "inspect": look,
        "sessions": lambda: list_sessions(store, video_id),
    }
    for as_of in (None, 53.3):
        for name, arguments in _calls(video_id).items():
            acts[f"{name}@{as_of}"] = lambda name=name, arguments=arguments, as_of=as_of: run(
                open_session(store, video_id, as_of=as_of, name="default"), name, arguments
            )
    acts["reindex"] = lambda: prepare(store, video_id, text_embedder(), rebuild=True)
    acts["verify again"] = verify
    return {name: _outcome(act) for name, act in acts.items()}


def _outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except VideoWorldError as fault:
        return fault.code
    # Anything else is what must not be, whatever it is.
    except Exception as error:  # noqa: BLE001 - see above
        return f"{INTERNAL_FAULT}: {internal_fault(error).message}: {str(error)[:100]}"
    return FINE


def checked(store: Path, video_id: str) -> list[str]:
    """What checking says of a world."""
    try:
        return check_world(open_world(store, video_id))
    except VideoWorldError as fault:
        return [f"{fault.code}: {fault.message}"]


def _say(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def main(place: str, first: str, end: str) -> None:
    """Try the worlds of some seeds."""
    folder = Path(place)
    base = make_base(folder / "base")
    for seed in range(int(first), int(end)):
        video_id, kind = damaged(base, folder, seed)
        _say({"seed": seed, "kind": kind})
        store = folder / f"s{seed}"
        found = outcomes(store, video_id)
        _say({"seed": seed, "kind": kind, "found": found, "checked": checked(store, video_id)})


if __name__ == "__main__":
    main(*sys.argv[1:])
