"""Tool documents for Hypothesis that were sound until some places of them were damaged."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.support.tool_documents import Json, documents

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**18),
    st.floats(allow_nan=True),
    st.sampled_from(
        [
            "", "{{", "{{ }}", "{{ hits }}", "{{ nobody }}", "{{ item.start_time }}", "{{ query.__class__ }}",
            "{{ hits.candidates[0].start_time }}", "{{ 9 ** 9 }}", "query", "hits", "count", "item", "n1", "n2",
            "list_entities", "empty", "skip", "loop", "if", "tool_0", "list<Segment>", "optional<Time>",
        ]
    ),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([{"type": "set", "value": 1, "save_as": "junk"}]),
)  # fmt: skip


def _places(value: Json, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        found.extend(_places(item, (*path, key)))
    return found


@st.composite
def damaged(draw: Any, whole: st.SearchStrategy[list[Json]] | None = None) -> list[Json]:
    """A document in which up to three places were removed, replaced, doubled, renamed or exchanged."""
    document = copy.deepcopy(draw(documents(most_tools=2, most_steps=4) if whole is None else whole))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(document)
        path = draw(st.sampled_from(places))
        holder: Any = document
        for part in path[:-1]:
            holder = holder[part]
        kind = draw(st.sampled_from(["remove", "replace", "double", "rename", "exchange"]))
        if kind == "remove":
            del holder[path[-1]]
        elif kind == "double" and isinstance(holder, list):
            holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
        elif kind == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["extra", "save_as", "inputs", "api", "loop_over", "x y"]))] = holder.pop(
                path[-1]
            )
        elif kind == "exchange":
            other: Any = document
            source = draw(st.sampled_from(places))
            try:
                for part in source:
                    other = other[part]
            except (KeyError, IndexError, TypeError):
                continue
            holder[path[-1]] = copy.deepcopy(other)
        else:
            holder[path[-1]] = copy.deepcopy(draw(JUNK))
        if not document:
            break
    return document
