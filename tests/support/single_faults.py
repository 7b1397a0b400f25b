"""Tools of the hand-written libraries with one fault in one of their steps, in whatever loop or branch it stands."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tool_induction.compiler.compilation import calls_of
from tool_induction.language.diagnostics import Findings, Path as Place
from tool_induction.language.model import read_tool

Json = Any
LIBRARIES = Path(__file__).resolve().parents[2] / "toollibs"


def documents() -> list[list[Json]]:
    """One document for each tool of the libraries: the tools that it calls, and the tool itself as the last one."""
    made = []
    for name in ("hand_A", "hand_B", "hand_C"):
        tools = {one["tool_name"]: one for one in json.loads((LIBRARIES / name / "library.json").read_text())["tools"]}
        for tool in tools.values():
            called = calls_of(read_tool(tool, (), Findings()))
            made.append([*(tools[target] for target in called), tool])
    return made


def steps_of(block: list[Json], place: Place) -> Iterator[tuple[Place, Json]]:
    """All steps of a block, also those inside of steps, with their places."""
    for number, step in enumerate(block):
        yield (*place, number), step
        for key in ("do", "then", "else"):
            yield from steps_of(step.get(key, []), (*place, number, key))


#: keys of a step whose value is an expression
_VALUES = ("loop_over", "condition", "where", "inputs", "value", "until")


def faults(step: Json, taken: list[str]) -> Iterator[tuple[str, Json]]:
    """What can be wrong in a step, with the step that has just this fault. ``taken``: the names bound before it."""
    for key in (key for key in _VALUES if key in step):
        for wrong in ("{{ nobody }}", "{{ 1 + }}", *([5] if key != "value" else [])):
            yield f"{key} is {wrong}", step | {key: wrong}
    for holder in (key for key in ("params", "fields") if step.get(key)):
        for key in step[holder]:
            rest = {other: value for other, value in step[holder].items() if other != key}
            if holder == "params":
                yield f"{key} is misspelt", step | {holder: rest | {f"{key}_x": step[holder][key]}}
            yield f"{key} is unknown", step | {holder: rest | {key: "{{ nobody }}"}}
    for key in (key for key in ("api", "tool", "operation", "type") if key in step):
        yield f"{key} is misspelt", step | {key: f"{step[key]}_x"}
    if step["type"] == "aggregate" and step["operation"] in ("sort_by", "min", "max", "pick_best", "sum"):
        yield "no such key", step | {"params": step.get("params", {}) | {"key": "nothing_like_it"}}
    for key in (key for key in ("else", "loop_over", "inputs", "save_as") if key in step):
        yield f"without {key}", {other: value for other, value in step.items() if other != key}
    for name in taken[:1] + taken[-1:] if "save_as" in step else []:
        yield f"{name} is saved again", step | {"save_as": name}


def single_faults() -> Iterator[tuple[str, list[Json], Place, Json]]:
    """Every fault of every step, with the sound document, the place of the step and the faulty step."""
    for document in documents():
        for number, tool in enumerate(document):
            taken = list(tool["inputs"])
            for place, step in steps_of(tool["steps"], (number, "steps")):
                for what, wrong in faults(step, taken):
                    yield f"{tool['tool_name']}: {what}", document, place, wrong
                taken += [step["save_as"]] if len(place) == 3 and "save_as" in step else []


def planted(document: list[Json], place: Place, step: Json) -> list[Json]:
    """The document with another step at a place."""
    made = copy.deepcopy(document)
    holder: Any = made
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = step
    return made
