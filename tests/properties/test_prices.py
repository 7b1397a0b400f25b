"""Whatever a tool is made of and whatever the world answers: a run costs no less and no more than was said."""

from typing import Any

from hypothesis import given, settings, strategies as st

from tool_induction import compile_document, run_tool

PARTS = ("calls", "model_calls", "tokens", "seconds")


def segment(start: float) -> dict[str, Any]:
    times = {"start_time": start, "end_time": start + 1, "center_time": start + 0.5}
    return {**times, "segment_id": f"s{start}", "score": 0.5, "snippet": "", "source": "caption", "confidence": None}


class World:
    """Finds a given number of stretches, and nothing in them."""

    def __init__(self, found: int) -> None:
        self._found = found

    def __call__(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        common = {"evidence": [], "hint": ""}
        match name:
            case "search_segments_by_text":
                return {"candidates": [segment(place) for place in range(self._found)][: arguments["top_k"]], **common}
            case "detect_objects":
                return {"detections": [], **common}
        return {"duration": 10.0, "frame_rate": 25.0, "title": "", **common}


def search(name: str) -> dict[str, Any]:
    params = {"video_id": "{{video_id}}", "query": "q", "top_k": 4}
    return {"type": "call_world_api", "api": "search_segments_by_text", "params": params, "save_as": name}


def metadata(name: str) -> dict[str, Any]:
    return {
        "type": "call_world_api",
        "api": "get_video_metadata",
        "params": {"video_id": "{{video_id}}"},
        "save_as": name,
    }


def detect(name: str, **loop: Any) -> dict[str, Any]:
    params = {"video_id": "{{video_id}}", "timestamp": 1, "category": "person"}
    return {"type": "call_world_api", "api": "detect_objects", "params": params, "save_as": name, **loop}


@st.composite
def blocks(draw: st.DrawFn, depth: int, callee: bool) -> list[dict[str, Any]]:
    """Steps that call, stop, branch and repeat; names are given out afterwards."""
    kinds = ["search", "metadata", "detect", "each", "require", *(["callee"] if callee else [])]
    steps = []
    for kind in draw(st.lists(st.sampled_from([*kinds, *(["if", "loop"] if depth else [])]), min_size=1, max_size=3)):
        step: dict[str, Any] = {"kind": kind, "on_error": draw(st.sampled_from(["fail", "skip", "null"]))}
        step["limit"] = draw(st.integers(0, 4))
        step["blocks"] = [draw(blocks(depth - 1, callee)) for _ in range(2)] if kind in ("if", "loop") else []
        steps.append(step)
    return steps


class Writer:
    """Turns drawn steps into a document."""

    def __init__(self) -> None:
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def block(self, drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [step for one in drawn for step in self.step(one)]

    def step(self, drawn: dict[str, Any]) -> list[dict[str, Any]]:
        condition = f"{{{{ first | length > {drawn['limit']} }}}}"
        match drawn["kind"]:
            case "search":
                return [search(self.name())]
            case "metadata":
                return [metadata(self.name())]
            case "detect":
                return [detect(self.name())]
            case "each":
                return [detect(self.name(), loop_over="first", on_error=drawn["on_error"])]
            case "require":
                return [{"type": "require", "condition": condition}]
            case "callee":
                params = {"video_id": "{{video_id}}"}
                name = self.name()
                return [
                    {
                        "type": "call_tool",
                        "tool": "inner",
                        "params": params,
                        "on_error": drawn["on_error"],
                        "save_as": name,
                    }
                ]
            case "if":
                then, other = (self.block(block) for block in drawn["blocks"])
                named = [self._bound(block) for block in (then, other)]
                for block, missing in ((then, named[1]), (other, named[0])):
                    block.extend({"type": "set", "value": "{{ none }}", "save_as": name} for name in missing)
                return [{"type": "if", "condition": condition, "then": then, "else": other}]
        body = [*self.block(drawn["blocks"][0]), {"type": "set", "value": 1, "save_as": self.name()}]
        variable = f"v{self.name()}"
        loop = {"type": "loop", "loop_over": "first", "as": variable, "on_error": drawn["on_error"], "do": body}
        return [{**loop, "save_as": self.name()}]

    def _bound(self, block: list[dict[str, Any]]) -> list[str]:
        names = []
        for step in block:
            if step["type"] == "if":
                names.extend(self._bound(step["then"]))
            elif "save_as" in step:
                names.append(step["save_as"])
        return names


def tool(name: str, drawn: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "tool_name": name,
        "description": "A tool that a test made to see what it costs.",
        "inputs": {"video_id": "string"},
        "outputs": {"n": {"type": "int", "from": "{{ first | length }}"}},
        "steps": [search("first"), *Writer().block(drawn)],
    }


@settings(max_examples=80, deadline=None)
@given(inner=blocks(1, False), outer=blocks(2, True), found=st.integers(0, 4))
def test_a_run_costs_at_least_and_at_most_what_was_said(inner: Any, outer: Any, found: int) -> None:
    compilation = compile_document([tool("inner", inner), tool("outer", outer)])
    for name, compiled in compilation.tools.items():
        result = run_tool(compilation.tools, name, {"video_id": "film"}, call=World(found))
        if "error" in result or result["status"] == "budget_exhausted":
            continue
        price = compiled.price.record()
        for part in PARTS:
            assert price["min"][part] - 1e-9 <= result["cost"][part] <= price["max"][part] + 1e-9, (name, part)
            assert price["expected"][part] <= price["max"][part] + 1e-9
