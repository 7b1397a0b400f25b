"""Tools that are measured, and a world for them that answers at once or after a nap."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Step = dict[str, Any]
ARGUMENTS = {"video_id": "film", "query": "somebody"}
#: How many steps or items of a kind one tool has.
MANY = 20
#: Items of a loop over slow operations, and independent steps that call them.
SLOW_ITEMS, SLOW_STEPS = 64, 32
_FOUND = 50


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A tool in which one kind of step is done ``MANY`` times; ``steps`` counts a loop's items, too."""

    name: str
    tools: tuple[Step, ...]
    steps: int
    waits: bool = False  #: by the declared price of what it calls


class World:
    """Answers like a world does, with the same answer every time; ``nap`` seconds later."""

    def __init__(self, nap: float = 0.0) -> None:
        self._nap = nap
        self._segments = [_segment(float(place)) for place in range(_FOUND)]

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a call."""
        if name == "search_segments_by_text":
            top = self._segments[: arguments["top_k"]]
            return _result([_evidence(item["start_time"]) for item in top[:8]], candidates=top)
        if self._nap:
            time.sleep(self._nap)
        if name == "detect_objects":
            at = arguments["timestamp"]
            return _result([_evidence(at)], detections=[_detection(at)])
        start, end = arguments["start_time"], arguments["end_time"]
        return _result([_evidence(start)], caption="a person in a red coat walks to the door", **_times(start, end))


def _times(start: float, end: float) -> dict[str, float]:
    return {"start_time": start, "end_time": end, "center_time": (start + end) / 2}


def _evidence(start: float) -> dict[str, Any]:
    more = {"source": "caption", "confidence": 0.9, "frame_time": start}
    return {"video_id": "film", "start_time": start, "end_time": start + 2.0, **more}


def _segment(start: float) -> dict[str, Any]:
    more = {"score": 0.5, "snippet": "what was said there", "source": "speech", "confidence": None}
    return {**_times(start, start + 2.0), "segment_id": f"seg_{start:g}", **more}


def _detection(start: float) -> dict[str, Any]:
    more = {"bbox": [10.0, 20.0, 60.0, 220.0], "category": "person", "confidence": 0.8}
    who = {"entity_hint": "person in red", "entity_id": "ent_1", "timestamp": start}
    return {**_times(start, start + 2.0), **more, **who}


def _result(evidence: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return {**fields, "evidence": evidence, "hint": ""}


def call(api: str, name: str, **params: Any) -> Step:
    """A call step."""
    return {"type": "call_world_api", "api": api, "params": {"video_id": "{{video_id}}", **params}, "save_as": name}


def tool(*steps: Step, name: str = "measured", found: int = 10) -> Step:
    """A tool that searches first and puts out how much was found."""
    return {
        "tool_name": name,
        "description": "A tool that is measured; use it for nothing else.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"n": {"type": "int", "from": "{{ hits | length }}"}},
        "steps": [call("search_segments_by_text", "hits", query="{{query}}", top_k=found), *steps],
    }


DETECT = call("detect_objects", "seen", timestamp="{{item.center_time}}", category="person")
INNER = tool(call("detect_objects", "seen", timestamp=1, category="person", text_query="{{query}}"), name="inner")
EACH: Step = {
    "type": "call_tool",
    "tool": "inner",
    "params": {"video_id": "{{video_id}}", "query": "{{item.segment_id}}"},
}


def _many(step: Step) -> list[Step]:
    return [{**step, "save_as": f"x{place}"} for place in range(MANY)]


def _block(*steps: Step) -> Step:
    return {"type": "loop", "loop_over": "hits", "do": list(steps), "save_as": "all"}


def plans() -> list[Measured]:
    """One tool for each kind of step."""
    describe = call("describe_segment", "text", start_time="{{item.start_time}}", end_time="{{item.end_time}}")
    describes = [call("describe_segment", f"x{n}", start_time=n, end_time=n + 1) for n in range(MANY)]
    ifs = [
        {"type": "if", "condition": f"{{{{ hits | length > {n} }}}}", "then": [_set(n)], "else": [_set(n)]}
        for n in range(MANY)
    ]
    requires = [{"type": "require", "condition": "{{ hits | length > 3 }}"}] * MANY
    filters = _many({"type": "filter", "inputs": "hits", "where": "{{ item.start_time > 4 }}"})
    projects = _many({"type": "project", "inputs": "hits", "fields": {"at": "{{ item.start_time }}"}})
    picks = _many({"type": "aggregate", "operation": "pick_earliest", "inputs": "hits"})
    sorts = _many({"type": "aggregate", "operation": "sort_by", "inputs": "hits", "params": {"key": "start_time"}})
    loop = {**DETECT, "loop_over": "hits"}
    return [
        _measured("calls", MANY, tool(*describes)),
        _measured("a loop over calls", MANY, tool({**describe, "loop_over": "hits"}, found=MANY)),
        _measured("a loop over blocks (a call and a value)", 3 * MANY, tool(_block(describe, _set(0)), found=MANY)),
        _measured("a loop over calls that wait", MANY, tool(loop, found=MANY), waits=True),
        _measured(
            "a loop over blocks (a call that waits and a value)",
            3 * MANY,
            tool(_block(DETECT, _set(0)), found=MANY),
            waits=True,
        ),
        _measured("values (`set`)", MANY, tool(*(_set(n) for n in range(MANY)))),
        _measured("branches with a value", 2 * MANY, tool(*ifs)),
        _measured("requirements", MANY, tool(*requires)),
        _measured("filters of 10 items", MANY, tool(*filters)),
        _measured("projections of 10 items", MANY, tool(*projects)),
        _measured("aggregates: `pick_earliest` of 10", MANY, tool(*picks)),
        _measured("aggregates: `sort_by` of 10", MANY, tool(*sorts)),
    ]


def _set(number: int) -> Step:
    return {"type": "set", "value": f"{{{{ hits | length + {number} }}}}", "save_as": f"v{number}"}


def _measured(name: str, steps: int, *tools: Step, waits: bool = False) -> Measured:
    return Measured(name=name, tools=tools, steps=steps, waits=waits)


def slow_plans() -> list[tuple[str, tuple[Step, ...]]]:
    """Tools that call slow operations which need not wait for each other."""
    items = {"loop_over": "hits", "max_items": SLOW_ITEMS}
    again = call("detect_objects", "also", timestamp="{{item.center_time}}", category="car")
    alone = [call("detect_objects", f"x{n}", timestamp=n, category="person") for n in range(SLOW_STEPS)]
    return [
        (f"a loop of {_FOUND} calls", (tool({**DETECT, **items}, found=_FOUND),)),
        (
            f"a loop of {_FOUND} blocks of two calls",
            (tool({**_block(DETECT, again), "max_items": 50}, found=_FOUND),),
        ),
        (f"a loop of {_FOUND} called tools", (INNER, tool({**EACH, **items, "save_as": "x"}, found=_FOUND))),
        (f"{SLOW_STEPS} steps that need not wait for each other", (tool(*alone),)),
    ]
