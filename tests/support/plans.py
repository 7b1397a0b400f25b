"""Small plans drawn at random, and a world that answers any call of them by its arguments alone."""

from __future__ import annotations

import hashlib
import json
import os
from threading import Lock
from typing import Any

from hypothesis import strategies as st

from world_api.core import OperationFault

Step = dict[str, Any]
ARGUMENTS = {"video_id": "film", "query": "somebody"}


def number_of(name: str, arguments: dict[str, Any]) -> int:
    """A number that hangs on a call and on nothing else."""
    text = json.dumps([name, arguments], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


class AnyWorld:
    """Answers by arguments (and by what was written, where an operation depends on that); may be called by many threads.

    Of every ``fails_every`` calls one fails. ``yields`` makes threads step aside, so that calls end in another order
    than they began. ``altered`` are numbers of calls (``number_of``) that answer something else.
    """

    def __init__(self, *, fails_every: int = 0, yields: bool = False) -> None:
        self.fails_every = fails_every
        self.yields = yields
        self.altered: frozenset[int] = frozenset()
        self.asked: list[int] = []
        self.memo_key = "any@all"
        self.revision = 0
        self.most = 0
        self.writing = False
        self.under_way = 0
        self._lock = Lock()

    @property
    def session_key(self) -> str:
        """What was written so far."""
        return str(self.revision)

    def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        number = number_of(name, arguments)
        with self._lock:
            assert not self.writing, "an operation ran beside one that writes"
            self.asked.append(number)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.writing = name == "write_memory"
            assert not self.writing or self.under_way == 1, "an operation wrote beside another"
        try:
            if self.yields:
                for _ in range(number % 7):
                    os.sched_yield()
            return self._answer(name, arguments, number)
        finally:
            with self._lock:
                self.under_way -= 1
                self.writing = False

    def _answer(self, name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
        if self.fails_every and number % self.fails_every == 0:
            raise OperationFault("frame_unreadable", f"call {number} failed")
        seed = number + 7919 * (number in self.altered)
        match name:
            case "search_segments_by_text":
                rows = [_segment((seed >> place) % 90) for place in range(min(arguments["top_k"], seed % 5))]
                return _result(candidates=rows, evidence=[_evidence(row["start_time"], "caption") for row in rows])
            case "detect_objects":
                start = float(seed % 50)
                rows = [_detection(start + place, seed % 97 / 100) for place in range(seed % 3)]
                return _result(detections=rows, evidence=[_evidence(row["start_time"], "detector") for row in rows])
            case "describe_segment":
                times = {"start_time": float(seed % 40), "end_time": seed % 40 + 2.0, "center_time": seed % 40 + 1.0}
                return _result(caption=f"words {seed % 11}", **times, evidence=[_evidence(times["start_time"], "look")])
            case "list_entities":
                return _result(entities=[{"entity_id": f"ent_{self.revision}_{seed % 5}"}] * (1 + self.revision % 3))
            case "write_memory":
                self.revision += 1
                return _result(memory_id=f"mem_{self.revision}")
        raise AssertionError(name)


def _result(**fields: Any) -> dict[str, Any]:
    return {"evidence": [], "hint": "", **fields}


def _times(start: float) -> dict[str, float]:
    return {"start_time": start, "end_time": start + 2.0, "center_time": start + 1.0}


def _segment(start: float) -> dict[str, Any]:
    beside = {"segment_id": f"s{start}", "score": 0.5, "snippet": "", "source": "caption", "confidence": None}
    return _times(start) | beside


def _detection(start: float, confidence: float) -> dict[str, Any]:
    beside = {"bbox": [0.0, 0.0, 1.0, 1.0], "category": "person", "entity_hint": "", "entity_id": None}
    return _times(start) | beside | {"timestamp": start, "confidence": confidence}


def _evidence(start: float, source: str) -> dict[str, Any]:
    times = {"start_time": start, "end_time": start + 2.0, "frame_time": start}
    return {"video_id": "film", "source": source, "confidence": 0.5, **times}


_LISTS = ["search", "detect"]
_KINDS = ["search", "detect", "describe", "each", "filter", "project", "pick", "sort", "count", "set"]


@st.composite
def drawn_steps(draw: st.DrawFn, *, depth: int, callee: bool, most: int = 5, writes: bool = True) -> list[Step]:
    """Steps that call, choose, stop, branch, repeat and write; names are given out by ``Writer``."""
    kinds = [*_KINDS, "require", *(["write", "entities"] if writes else []), *(["callee", "callees"] if callee else [])]
    chosen = draw(
        st.lists(st.sampled_from([*kinds, *(["if", "loop"] * 2 if depth else [])]), min_size=1, max_size=most)
    )
    return [
        {
            "kind": kind,
            "on_error": draw(st.sampled_from(["fail", "skip", "null"])),
            "limit": draw(st.integers(0, 3)),
            "pick": draw(st.integers(0, 9)),
            "until": draw(st.sampled_from([False, False, True])),
            "blocks": [draw(drawn_steps(depth=depth - 1, callee=callee, most=3, writes=writes)) for _ in range(2)]
            if kind in ("if", "loop")
            else [],
        }
        for kind in chosen
    ]


class Writer:
    """Turns drawn steps into a document."""

    def __init__(self) -> None:
        self._count = 0
        self._lists = ["first"]
        self._moment = "{{ first | length }}"

    def block(self, drawn: list[Step]) -> list[Step]:
        """Steps with names; lists that were bound may be used by those after them."""
        return [step for one in drawn for step in self._steps(one)]

    def _name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def _steps(self, drawn: Step) -> list[Step]:
        kind, name = drawn["kind"], self._name()
        rows = self._lists[drawn["pick"] % len(self._lists)]
        condition = f"{{{{ {rows} | length > {drawn['limit']} }}}}"
        loop: Step = {"on_error": drawn["on_error"], "max_items": 4}
        if drawn["until"]:
            loop["until"] = f"{{{{ {name} | length > {drawn['limit']} }}}}"
        match kind:
            case "if":
                return [self._branch(drawn, condition)]
            case "loop":
                return [self._loop(drawn, name, rows, loop)]
            case "require":
                return [{"type": "require", "condition": condition, "status": "ambiguous"}]
        return self._calls(drawn, name, rows, loop) or self._values(drawn, name, rows)

    def _calls(self, drawn: Step, name: str, rows: str, loop: Step) -> list[Step]:
        """A step that calls, or none."""
        match drawn["kind"]:
            case "search":
                self._lists.append(name)
                params = {"query": f"{{{{query}}}} {drawn['pick']} {{{{ {rows} | length }}}}", "top_k": 4}
                return [_call("search_segments_by_text", name, params)]
            case "detect":
                self._lists.append(name)
                return [_call("detect_objects", name, {"timestamp": self._moment, "category": "person"})]
            case "describe":
                params = {"start_time": 0, "end_time": f"{{{{ {rows} | length + 1 }}}}"}
                return [_call("describe_segment", name, params) | {"on_error": "fail"}]
            case "each":
                self._lists.append(name)
                params = {"timestamp": "{{ item.start_time }}", "category": f"{{{{ {rows} | length }}}} things"}
                return [_call("detect_objects", name, params) | loop | {"loop_over": rows}]
            case "entities":
                return [_call("list_entities", name, {})]
            case "write":
                params = {"level": "event", "time_range": {"start_time": 0, "end_time": 1}, "content": "x"}
                return [_call("write_memory", name, params)]
            case "callee":
                params = {"query": f"{{{{query}}}} {{{{ {rows} | length }}}}"}
                return [_callee(name, params) | {"on_error": drawn["on_error"]}]
            case "callees":
                return [_callee(name, {"query": "{{ item.start_time }} s"}) | loop | {"loop_over": rows}]
        return []

    def _values(self, drawn: Step, name: str, rows: str) -> list[Step]:
        """A step that computes."""
        match drawn["kind"]:
            case "filter":
                self._lists.append(name)
                where = f"{{{{ item.start_time > {drawn['limit'] * 10} }}}}"
                return [{"type": "filter", "inputs": rows, "where": where, "save_as": name}]
            case "project":
                fields = {"at": "{{ item.start_time }}", "of": f"{{{{ {rows} | length }}}}"}
                return [{"type": "project", "inputs": rows, "fields": fields, "save_as": name}]
            case "pick":
                operation = ["pick_earliest", "pick_latest", "pick_best", "first"][drawn["pick"] % 4]
                return [{"type": "aggregate", "operation": operation, "inputs": rows, "save_as": name}]
            case "sort":
                self._lists.append(name)
                params = {"key": "start_time", "descending": bool(drawn["pick"] % 2)}
                return [
                    {"type": "aggregate", "operation": "sort_by", "inputs": rows, "params": params, "save_as": name}
                ]
            case "count":
                return [{"type": "aggregate", "operation": "count", "inputs": rows, "save_as": name}]
            case "set":
                value = {"a": f"{{{{ {rows}[0].start_time | default(1) }}}}", "b": [f"{{{{ {rows} | length }}}}"]}
                return [{"type": "set", "value": value, "save_as": name}]
        raise AssertionError(drawn["kind"])

    def _branch(self, drawn: Step, condition: str) -> Step:
        before = list(self._lists)
        then = self.block(drawn["blocks"][0])
        self._lists = list(before)
        other = self.block(drawn["blocks"][1])
        self._lists = before
        named = [_bound(then), _bound(other)]
        for block, missing in ((then, named[1]), (other, named[0])):
            block.extend({"type": "set", "value": "{{ none }}", "save_as": name} for name in missing)
        return {"type": "if", "condition": condition, "then": then, "else": other}

    def _loop(self, drawn: Step, name: str, rows: str, loop: Step) -> Step:
        before, moment = list(self._lists), self._moment
        variable = f"v{name}"
        self._moment = f"{{{{ {variable}.start_time }}}}"
        body = [*self.block(drawn["blocks"][0]), _call("detect_objects", self._name(), {"timestamp": self._moment})]
        body[-1]["params"]["category"] = "person"
        self._lists, self._moment = before, moment
        return {"type": "loop", "loop_over": rows, "as": variable, "do": body, **loop, "save_as": name}


def _call(api: str, name: str, params: Step) -> Step:
    return {"type": "call_world_api", "api": api, "params": {"video_id": "{{video_id}}", **params}, "save_as": name}


def _callee(name: str, params: Step) -> Step:
    return {"type": "call_tool", "tool": "inner", "params": {"video_id": "{{video_id}}", **params}, "save_as": name}


def _bound(block: list[Step]) -> list[str]:
    names: list[str] = []
    for step in block:
        if step["type"] == "if":
            names.extend(_bound(step["then"]))
        elif "save_as" in step:
            names.append(step["save_as"])
    return names


def document(name: str, drawn: list[Step]) -> Step:
    """A tool that searches, does the drawn steps, and puts out everything it bound."""
    first = _call("search_segments_by_text", "first", {"query": "{{query}}", "top_k": 4})
    steps = [first, *Writer().block(drawn)]
    bound = list(dict.fromkeys(_bound(steps)))
    outputs = {f"o_{item}": {"type": "any", "from": f"{{{{ {item} }}}}"} for item in bound[:20]}
    return {
        "tool_name": name,
        "description": "A tool that a test drew to see how it runs.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": outputs,
        "steps": steps,
    }
