"""Questions about one video, as a person writes them: in the project's own format, where most may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.datasets.files import numbered_lines
from eval.datasets.items import SCHEMA_VERSION, BadItem, Item, item_from_record
from world_api.core.faults import EvalFault

_MOST_TOLD = 8
_HINT = 'one question a line, such as {"question": "When does somebody enter?", "kind": "interval"}'


def own_questions(path: Path, video_id: str) -> list[Item]:
    """The questions of a file, all about one video.

    A line needs a ``question``. Without an ``id`` it is numbered, without a ``kind`` it is ``choice`` where it has options and
    ``open`` otherwise, without an ``answer`` nobody knows the answer and it is not scored. Questions about other videos
    are left out.

    Raises:
        EvalFault: ``dataset_unreadable``, ``dataset_too_large``; ``bad_dataset``, with the lines of up to eight faults.
    """
    items: list[Item] = []
    faults: list[str] = []
    first: dict[str, int] = {}
    for line in numbered_lines(path):
        try:
            item = _item(line.value, line.fault, line.number, video_id)
        except BadItem as error:
            faults += [f"line {line.number}: {fault}" for fault in error.faults]
            continue
        if item.id in first:
            faults.append(f"line {line.number}: the id {item.id!r} stands on line {first[item.id]} too")
        elif item.video_id == video_id:
            first[item.id] = line.number
            items.append(item)
    if not items and not faults:
        faults.append(f"it holds no question about {video_id!r}")
    if faults:
        more = f"; and {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
        raise EvalFault("bad_dataset", f"{path.name}: " + "; ".join(faults[:_MOST_TOLD]) + more, hint=_HINT)
    return items


def _item(value: Any, fault: str, number: int, video_id: str) -> Item:
    """The question of a line.

    Raises:
        BadItem: with everything that is wrong.
    """
    if fault:
        raise BadItem([fault])
    if not isinstance(value, Mapping):
        raise BadItem(["it is not a JSON object"])
    if "question" not in value:
        raise BadItem(["it has no `question`"])
    usual = {
        "schema_version": SCHEMA_VERSION,
        "id": f"q{number}",
        "video": video_id,
        "kind": "choice" if value.get("options") else "open",
        "answer": None,
    }
    return item_from_record({**usual, **value})
