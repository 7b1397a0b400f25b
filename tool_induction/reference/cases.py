"""What a diagnostic's example is made of: a small document with one fault, and the change that mends it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from tool_induction.language.diagnostics import Code, Path

Json = Any
#: places and their new values; ``...`` takes a place away
Changes = tuple[tuple[Path, Json], ...]

SEARCH: Json = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 5},
    "save_as": "hits",
}
EARLIEST: Json = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first_hit"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One code: when it is said, a document of which it is said, and how that is mended."""

    code: Code
    when: str
    example: Json  #: a document, or JSON text where the fault lies in the text
    mended: Changes | str
    entities: tuple[str, ...] = ()

    @property
    def sound(self) -> Json:
        """The mended document."""
        return self.mended if isinstance(self.mended, str) else changed(self.example, self.mended)


def changed(document: Json, changes: Changes) -> Json:
    """A document with other values at some places; a place one past a list's end is added."""
    made = copy.deepcopy(document)
    for path, value in changes:
        holder = made
        for part in path[:-1]:
            holder = holder[part]
        if value is ...:
            del holder[path[-1]]
        elif isinstance(holder, list) and path[-1] == len(holder):
            holder.append(value)
        else:
            holder[path[-1]] = value
    return made


def tool(*steps: Json, **parts: Json) -> Json:
    """A small tool: a search, then the steps. ``inputs`` are added to the usual two; other keys replace."""
    whole = {
        "tool_name": "find_first_hit",
        "description": "Finds when something that is said or described comes first.",
        "inputs": {"video_id": "string", "query": "string"} | parts.pop("inputs", {}),
        "outputs": {"start_time": "Time"},
        "steps": [SEARCH, *(steps or (EARLIEST,))],
    }
    return whole | parts
