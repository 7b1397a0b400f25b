"""Does what a diagnostic suggests: its edits, or, for ``did you mean 'x'?``, the word in place of the one that was found."""

from __future__ import annotations

import copy
import re
from typing import Any

from tool_induction import Diagnostic, compile_document

Json = Any
_MEANT = re.compile(r"did you mean '([^']+)'\?")
#: how a suggestion begins that says what to do, and not what there is to choose from
INSTRUCTION = re.compile(
    r"(it is an? \w+: |\w+ is what it goes by: )?(write [\[{\"0-9-]|leave it out$|move it|declare it)"
)


def patched(document: Json, patch: list[Json]) -> Json:
    """A document after a JSON Patch (RFC 6902) of the operations that diagnostics use."""
    made = copy.deepcopy(document)
    for change in patch:
        holder, key = _place(made, change["path"])
        if change["op"] == "remove":
            del holder[key]
        elif change["op"] == "add" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(change["value"]))
        elif change["op"] == "add":
            holder[key] = copy.deepcopy(change["value"])
        else:
            assert change["op"] == "replace", change
            assert key in holder if isinstance(holder, dict) else 0 <= key < len(holder)
            holder[key] = copy.deepcopy(change["value"])
    return made


def _place(document: Json, pointer: str) -> tuple[Json, Any]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    holder = document
    for part in parts[:-1]:
        holder = holder[int(part) if isinstance(holder, list) else part]
    return holder, int(parts[-1]) if isinstance(holder, list) else parts[-1]


def obeyed(document: Json, item: Diagnostic) -> Json | None:
    """The document after doing what a diagnostic says; None if it only asks or leaves a choice."""
    if item.edits:
        return patched(document, item.record()["edits"])
    meant = _MEANT.fullmatch(item.suggestion)
    if meant is None:
        return None
    made = copy.deepcopy(document)
    holder = made
    for part in item.path[:-1]:
        holder = holder[part]
    key = item.path[-1]
    if key == item.found:
        holder[meant[1]] = holder.pop(key)
    elif holder[key] == item.found:
        holder[key] = meant[1]
    else:
        holder[key] = re.sub(rf"\b{re.escape(item.found)}\b", meant[1], holder[key])
    return made


def mended(document: Json, *, rounds: int = 4) -> Json:
    """The document after doing, one after the other, what the first fault of each compilation suggests."""
    told = []
    for _ in range(rounds):
        faults = [item for item in compile_document(document).diagnostics if item.severity == "error"]
        if not faults:
            return document
        told.append(faults[0].record())
        document = obeyed(document, faults[0])
        assert document is not None, told
    raise AssertionError(told)
