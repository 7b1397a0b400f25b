"""Faults for sound tools: steps that end with a list or an item called ``made``, and how each fault is planted into them."""

import copy
from typing import Any

from hypothesis import strategies as st

from tests.support.tool_documents import documents

Json = Any
VIDEO = {"video_id": "{{video_id}}"}


def search(save_as: str, **params: Json) -> Json:
    given = {**VIDEO, "query": "{{query}}", "top_k": 9, **params}
    return {"type": "call_world_api", "api": "search_segments_by_text", "params": given, "save_as": save_as}


def aggregate(operation: str, save_as: str, **params: Json) -> Json:
    return {"type": "aggregate", "operation": operation, "inputs": "found", "params": params, "save_as": save_as}


def swap(step: Json, old: str, new: str, value: Json) -> None:
    step["params"] = {new if key == old else key: item for key, item in step["params"].items()} | {new: value}


def beside(step: Json, key: str) -> None:
    """A parameter stands beside 'params'."""
    step[key] = step["params"].pop(key)


SORT = aggregate("sort_by", "made", key="start_time", descending=True)
RISING = aggregate("sort_by", "made", key="start_time", descending=False)
RISING_ALONE = aggregate("sort_by", "made", key="start_time")
#: a fault -> sound steps that end with a list or an item called 'made', and how the fault is planted into them
PLANTS: dict[str, tuple[list[Json], Any]] = {
    "descendng": ([search("found"), SORT], lambda steps: swap(steps[-1], "descending", "descendng", True)),
    "the key as an expression": (
        [search("found"), aggregate("sort_by", "made", key="end_time")],
        lambda steps: swap(steps[-1], "key", "key", "{{ item.end_time }}"),
    ),
    "the key called by": ([search("found"), SORT], lambda steps: swap(steps[-1], "key", "by", "start_time")),
    "the key beside params": ([search("found"), SORT], lambda steps: beside(steps[-1], "key")),
    "the only parameter beside params": (
        [search("found"), aggregate("top_k", "made", k=2)],
        lambda steps: steps[-1].update(k=steps[-1].pop("params")["k"]),
    ),
    "a bound of the search beside params": ([search("found"), SORT], lambda steps: beside(steps[0], "top_k")),
    "a key of what has no fields": (
        [
            {"type": "set", "value": [4, 9, 2], "save_as": "found"},
            aggregate("max", "made"),
        ],
        lambda steps: steps[-1].update(params={"key": "start_time"}),
    ),
    "a truth in quotes": ([search("found"), RISING], lambda steps: swap(steps[-1], "descending", "descending", "false")),
    "a misspelt aggregate": ([search("found"), SORT], lambda steps: steps[-1].update(operation="sort_byy")),
    "a misspelt operation": ([search("found"), SORT], lambda steps: steps[0].update(api="search_segment_by_text")),
    "a misspelt parameter": ([search("found"), SORT], lambda steps: swap(steps[0], "query", "qery", "{{query}}")),
    "a misspelt name": ([search("found"), SORT], lambda steps: steps[-1].update(inputs="foundd")),
    "a number in quotes": ([search("found"), SORT], lambda steps: steps[0]["params"].update(top_k="9")),
    "a computed number that is not whole": (
        [search("found", top_k="{{ (9 / 2) | round }}"), SORT],
        lambda steps: steps[0]["params"].update(top_k="{{ 9 / 2 }}"),
    ),
    "an operation as a type": (
        [search("found"), SORT],
        lambda steps: steps[0].update(type=steps[0].pop("api")),
    ),
    "an aggregate as a type": (
        [search("found"), SORT],
        lambda steps: steps[-1].update(type=steps[-1].pop("operation")),
    ),
    "an operation called as a tool": (
        [search("found"), SORT],
        lambda steps: steps[0].update(type="call_tool", tool=steps[0].pop("api")),
    ),
}  # fmt: skip


def tool(steps: list[Json]) -> Json:
    return {
        "tool_name": "find_what_is_made",
        "description": "What a search gives, in one order or another, to look at one fault.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"made": {"type": "any", "from": "{{ made }}"}},
        "steps": copy.deepcopy(steps),
    }


#: names that suggestions like to give to new steps, taken before a fault and after it
NAMINGS: list[tuple[list[str], list[str]]] = [
    ([], []),
    (["found_all", "best"], ["known", "value", "part"]),
    (["known", "value", "part"], ["found_all", "best"]),
]


def placed(steps: list[Json], place: str) -> list[Json]:
    """Steps as they are, or in a branch, or in a loop; what comes of them is saved as ``made``."""
    if place == "loop":
        return [
            {"type": "loop", "loop_over": "hits", "as": "each", "max_items": 2, "do": steps, "save_as": "made_each"}
        ]
    if place == "steps":
        return steps
    other = [{"type": "set", "value": None, "save_as": step["save_as"]} for step in steps]
    then, otherwise = (steps, other) if place == "then" else (other, steps)
    return [{"type": "if", "condition": "{{ query != 'rain' }}", "then": then, "else": otherwise}]


@st.composite
def planted_documents(draw: Any) -> tuple[list[Json], list[Json]]:
    """A sound document, and the same with one fault in its last tool: anywhere in it, and whatever its names are."""
    sound = draw(documents(most_tools=2, most_steps=3))
    steps, plant = PLANTS[draw(st.sampled_from(sorted(PLANTS)))]
    place = draw(st.integers(1, len(sound[-1]["steps"])))
    block = draw(st.sampled_from(["steps", "then", "else", "loop"]))
    sound[-1]["outputs"]["made"] = {"type": "any?", "from": "{{ made_each }}" if block == "loop" else "{{ made }}"}
    before, after = (
        [{"type": "set", "value": 1, "save_as": name} for name in names] for names in draw(st.sampled_from(NAMINGS))
    )
    sound[-1]["steps"] = [*before, *sound[-1]["steps"], *after]
    place += len(before)
    planted, broken = copy.deepcopy(steps), copy.deepcopy(sound)
    plant(planted)
    sound[-1]["steps"][place:place] = placed(copy.deepcopy(steps), block)
    broken[-1]["steps"][place:place] = placed(planted, block)
    return sound, broken
