"""Documents of at most a megabyte, each made to be as much work as it can be."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
_MEGABYTE = 1_000_000


def search(save_as: str = "hits", **more: Any) -> Document:
    params = {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 5}
    return {"type": "call_world_api", "api": "search_segments_by_text", "params": params, "save_as": save_as, **more}


def tool(*steps: Any, name: str = "a_tool", **more: Any) -> Document:
    return {
        "tool_name": name,
        "description": "A tool that a test made to be a burden.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"found": {"type": "int", "from": "{{ hits | length }}"}},
        "steps": [search(), *steps],
        **more,
    }


def let(value: Any, name: str = "x") -> Document:
    return {"type": "set", "value": value, "save_as": name}


def _filled(piece: Callable[[int], Any], *, most: int = 10**9, room: int = _MEGABYTE - 20_000) -> list[Any]:
    """As many pieces as fit in a megabyte."""
    done: list[Any] = []
    size = 0
    while len(done) < most:
        one = piece(len(done))
        size += len(json.dumps(one)) + 2
        if size > room:
            break
        done.append(one)
    return done


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


def _nested_blocks(depth: int, leaves: list[Document]) -> list[Document]:
    for _ in range(depth):
        leaves = [{"type": "if", "condition": "hits | length > 1", "then": leaves, "else": leaves}]
    return leaves


def _doubling() -> Document:
    steps = [let({"a": 1, "b": "two"}, "v0")]
    steps += [let({"a": f"{{{{ v{n} }}}}", "b": f"{{{{ v{n} }}}}"}, f"v{n + 1}") for n in range(50)]
    return tool(*steps)


def _doubling_conditions() -> Document:
    """A saved boolean made of the last one, twice, and so on."""
    steps = [let("{{ hits.candidates | length > 0 }}", "b0")]
    steps += [let(f"{{{{ b{n} and b{n} }}}}", f"b{n + 1}") for n in range(50)]
    return tool(*steps, {"type": "require", "condition": "{{ b50 }}"})


def _full_tools(step: Callable[[int], Document]) -> list[Document]:
    """Tools of sixty steps until the megabyte is full."""
    steps = _filled(step, most=64 * 59, room=_MEGABYTE - 70_000)
    groups = [steps[start : start + 59] for start in range(0, len(steps), 59)]
    return [tool(*group, name=f"t{place}") for place, group in enumerate(groups)]


def _calls_of_all(count: int) -> list[Document]:
    def call(name: str, place: int) -> Document:
        params = {"video_id": "{{video_id}}", "query": "{{query}}"}
        return {"type": "call_tool", "tool": name, "params": params, "save_as": f"r{place}"}

    return [
        tool(*[call(f"t{other}", other) for other in range(count) if other != own][:55], name=f"t{own}")
        for own in range(count)
    ]


BOMBS: dict[str, Callable[[], bytes]] = {
    "one long expression": lambda: _written(tool(let("{{ " + "query + " * 120_000 + "query }}"))),
    "one long sum without braces": lambda: _written(tool({"type": "require", "condition": "1+" * 480_000 + "1 > 0"})),
    "an attribute chain": lambda: _written(tool(let("{{ hits" + ".a" * 480_000 + " }}"))),
    "open braces": lambda: _written(tool(let("{{" * 490_000))),
    "open parentheses": lambda: _written(tool(let("{{ " + "(" * 980_000 + " }}"))),
    "parentheses within bounds": lambda: _written(
        _full_tools(lambda n: let("{{ " + "(" * 240 + "1" + ")" * 240 + " }}", f"n{n}"))
    ),
    "many large expressions": lambda: _written(
        _full_tools(lambda n: let("{{ " + " + ".join(["(hits | length)"] * 20) + " }}", f"n{n}"))
    ),
    "many conditions on null": lambda: _written(
        _full_tools(
            lambda n: let("{{ " + " and ".join(["(hits.hint is not none or hits is none)"] * 9) + " }}", f"n{n}")
        )
    ),
    "many choices": lambda: _written(
        _full_tools(lambda n: let("{{ " + "1 if query == 'a' else " * 10 + "2 }}", f"n{n}"))
    ),
    "names that are almost right": lambda: _written(_full_tools(lambda n: let("{{ hitss }}", f"hitz{n}"))),
    "ten thousand steps": lambda: _written(tool(*_filled(lambda n: let(n, f"n{n}"), most=10_000))),
    "ten thousand operations that do not exist": lambda: _written(
        _full_tools(lambda n: search(f"n{n}") | {"api": f"search_segment_by_texts{n}"})
    ),
    "brackets": lambda: b"[" * 500_000 + b"]" * 499_000,
    "objects in objects": lambda: b'{"a":' * 160_000 + b"1" + b"}" * 160_000,
    "deep values": lambda: _written(_full_tools(lambda n: let(json.loads("[" * 25 + "1" + "]" * 25), f"n{n}"))),
    "brackets in a string": lambda: _written(tool(let("[" * 900_000))),
    "a key fifty thousand times": lambda: b'{"tools": [], ' + b", ".join([b'"a": 1'] * 110_000) + b"}",
    "many keys": lambda: _written(tool(search("x") | {f"k{n}": n for n in range(40_000)})),
    "many parameters": lambda: _written(tool(search("x") | {"params": {f"k{n}": n for n in range(45_000)}})),
    "many fields": lambda: _written(
        tool({"type": "project", "inputs": "hits", "fields": {f"k{n}": n for n in range(45_000)}, "save_as": "x"})
    ),
    "a record of many keys": lambda: _written(tool(let({f"k{n}": n for n in range(45_000)}))),
    "a record of many records": lambda: _written(
        tool(let({f"k{n}": {"a": n} for n in range(40_000)}), let("{{ x.k1 }}", "y"))
    ),
    "a long list of different records": lambda: _written(tool(let([{f"k{n}": n} for n in range(40_000)]))),
    "a long list": lambda: _written(tool(let(list(range(120_000))))),
    "a long list of texts": lambda: _written(tool(let(["{{ query }}"] * 50_000))),
    "a long description": lambda: _written(tool(description="a " * 490_000)),
    "many inputs": lambda: _written(tool(inputs={f"i{n}": "string" for n in range(40_000)})),
    "many outputs": lambda: _written(tool(outputs={f"o{n}": "{{ hits }}" for n in range(40_000)})),
    "a condition that doubles": lambda: _written(_doubling_conditions()),
    "a type of types": lambda: _written(tool(outputs={"o": "list<" * 130_000 + "int" + ">" * 130_000})),
    "types within bounds": lambda: _written(
        [tool(name=f"t{n}", outputs={f"o{m}": "list<" * 12 + "int" + ">" * 12 for m in range(24)}) for n in range(60)]
    ),
    "a record that doubles": lambda: _written(_doubling()),
    "sixty-four tools that call each other": lambda: _written(_calls_of_all(60)),
    "sixty-four tools of one name": lambda: _written([tool(*[let(n, f"n{n}") for n in range(55)]) for _ in range(64)]),
    "tools that are full": lambda: _written(
        [tool(*[search(f"n{n}") for n in range(58)], name=f"t{place}") for place in range(64)][:64]
    ),
    "blocks in blocks": lambda: _written(tool(*_nested_blocks(11, [let(1)]))),
    "a long name": lambda: _written(tool(let("{{ " + "a" * 980_000 + " }}"))),
    "long words": lambda: _written(_full_tools(lambda n: search("n" * 60 + str(n)) | {"api": "s" * 3_000})),
    "digits": lambda: b'{"a": ' + b"9" * 990_000 + b"}",
    "escapes": lambda: b'{"a": "' + b"\\u0041" * 160_000 + b'"}',
    "backslashes": lambda: _written(tool(let("\\" * 490_000))),
    "filters": lambda: _written(tool(let("{{ hits" + " | length" * 100_000 + " }}"))),
    "marks on one letter": lambda: _written(tool(let("a" + "\u0301" * 150_000))),
    "statements": lambda: _written(tool(let("{% for a in hits %}" * 50_000))),
    "comments": lambda: _written(tool(let("{#" * 490_000))),
}
