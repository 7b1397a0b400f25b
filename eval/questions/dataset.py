"""``questions.jsonl`` and ``dataset.json`` of a folder of films: one dataset, to which each film adds its questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.datasets.items import SCHEMA_VERSION, Item, item_record
from eval.datasets.loading import DATASET_FILE, QUESTIONS_FILE, load_folder
from eval.questions.generator import PROTOCOL
from world_api.world.files import exclusive, hash_bytes, write_atomically

NAME = "sandbox"


def add_questions(
    folder: Path | str, video: Path | str, video_id: str, items: Sequence[Item], *, work: Path | str
) -> int:
    """Write a film's questions into the dataset of its folder, in place of those it has there; returns how many there are in all.

    A film without questions is in the dataset nevertheless, once another has some. ``work`` is where films that are made at
    the same time wait for each other.

    Raises:
        EvalFault: ``bad_dataset``, ``dataset_unreadable``, ``other_schema_version``: what is there cannot be added to.
        StoreFault: ``store_not_writable``.
    """
    folder, video, work = Path(folder), Path(video), Path(work)
    with exclusive(work, hash_bytes(DATASET_FILE.encode())):
        name, protocol = NAME, dict(PROTOCOL)
        videos: dict[str, Any] = {}
        kept: list[Item] = []
        if (folder / DATASET_FILE).is_file():
            there = load_folder(folder)
            name, protocol = there.name, dict(there.protocol)
            kept = [item for item in there.items if item.video_id != video_id]
            videos = {
                key: {"file": found.path.relative_to(folder).as_posix()}
                for key, found in there.videos.items()
                if found.path is not None
            }
        everything = sorted([*kept, *items], key=lambda item: item.video_id)
        if not everything:
            return 0
        videos[video_id] = {"file": video.name}
        manifest: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "questions": QUESTIONS_FILE,
            "videos": dict(sorted(videos.items())),
        }
        if protocol:
            manifest["protocol"] = protocol
        lines = [json.dumps(item_record(item), ensure_ascii=False) + "\n" for item in everything]
        write_atomically(folder / QUESTIONS_FILE, "".join(lines).encode())
        write_atomically(folder / DATASET_FILE, (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())
    return len(everything)
