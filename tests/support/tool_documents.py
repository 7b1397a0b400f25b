"""Tool documents for Hypothesis: sound ones, of every kind of step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.support.drawn_words import CONDITIONS, KINDS, LIST_AGGREGATES, LISTS, NUMBERS, ON_ERROR, PAIRS, PICKS

Json = Any
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Writer:
    """Writes one tool. ``lists`` are names of lists of things with times, ``items`` of one such thing, or nothing."""

    def __init__(self, draw: Draw, callees: list[Json]) -> None:
        self._draw = draw
        self._callees = [tool["tool_name"] for tool in callees]
        self._timed = {tool["tool_name"] for tool in callees if "start_time" in tool["outputs"]}
        self._count = 0
        self.lists = ["hits"]
        self.items: list[str] = []
        self.numbers: list[str] = []
        #: texts that may be null or empty, and saved booleans
        self.texts: list[str] = []
        self.flags: list[str] = []
        self._said: list[str] = []

    def choose(self, options: Any) -> Any:
        return self._draw(st.sampled_from(list(options)))

    def name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def steps(self, most: int) -> list[Json]:
        return [step for _ in range(self._draw(st.integers(0, most))) for step in self.step()]

    def step(self, *, inside: bool = False) -> list[Json]:
        kinds = list(KINDS)
        kinds += ["call", "calls"] * 2 if self._callees else []
        kinds += ["picked"] if self._callees and not inside else []
        kinds += [] if inside else ["if", "if", "loop", "write", "entities"]
        kind = self.choose(kinds)
        return list(getattr(self, "_block" if kind == "loop" else f"_{kind}")())

    def _api(self, api: str, save_as: str, **params: Json) -> Json:
        return {
            "type": "call_world_api",
            "api": api,
            "params": {"video_id": "{{video_id}}", **params},
            "save_as": save_as,
        }

    def _search(self) -> list[Json]:
        name = self.name()
        self.lists.append(name)
        api = self.choose(["search_segments_by_text", "search_segments_by_semantics", "read_memory", "similar"])
        top_k = self._draw(st.integers(1, 8))
        if api == "similar":
            example = {"start_time": 10, "end_time": 20}
            return [self._api("search_similar_to_example", name, example_segment=example, top_k=top_k)]
        more = {"level": "event"} if api == "read_memory" else {}
        return [self._api(api, name, query=self.choose(["{{query}}", "about {{query}}", "rain"]), top_k=top_k, **more)]

    def _list(self) -> list[Json]:
        name = self.name()
        self.lists.append(name)
        return [self._api("list_scenes", name)]

    def _entities(self) -> list[Json]:
        known, tracks = self.name(), self.name()
        look = self._api("get_entity_trajectory", tracks, entity_id="{{item.entity_id}}")
        return [self._api("list_entities", known), look | self._loop(known, most=4)]

    def _loop(self, over: str, *, most: int | None = None, variable: str = "item") -> Json:
        loop: Json = {"loop_over": over, "on_error": self.choose(ON_ERROR)}
        loop |= {"as": variable} if variable != "item" else {}
        limit = self._draw(st.integers(1, 5)) if most is None else most
        return loop | {"max_items": limit}

    def _look(self) -> list[Json]:
        over, name = self.choose(self.lists), self.name()
        stretch = {"start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"}
        step = self.choose(
            [
                self._api("detect_objects", name, timestamp="{{item.start_time}}", category="person"),
                self._api("describe_segment", name, start_time="{{item.start_time}}", end_time="{{item.end_time + 1}}"),
                self._api("recognize_actions", name, **stretch),
                self._api("get_segment", name, **stretch),
            ]
        )
        self.lists.append(name)
        step |= self._loop(over)
        if self._draw(st.booleans()):
            step["until"] = f"{name} | length > 2"
        return [step]

    def _write(self) -> list[Json]:
        name = self.name()
        span = {"start_time": 5, "end_time": 9}
        if self._draw(st.booleans()):
            return [self._api("write_memory", name, level="event", time_range=span, content="seen: {{query}}")]
        return [self._api("register_entity", name, timestamp=30, entity_hint="{{query}}") | {"on_error": "null"}]

    def _aggregate(self) -> list[Json]:
        operation, name = self.choose(LIST_AGGREGATES), self.name()
        step = {
            "type": "aggregate",
            "operation": operation,
            "inputs": self.choose(self.lists),
            "params": LIST_AGGREGATES[operation],
            "save_as": name,
        }
        if operation in PICKS:
            self.items.append(name)
        elif operation in LISTS:
            self.lists.append(name)
        elif operation in NUMBERS:
            self.numbers.append(name)
        return [step]

    def _pair(self) -> list[Json]:
        operation, name = self.choose(PAIRS), self.name()
        sides = {"a": self.choose(self.lists), "b": self.choose(self.lists)}
        if operation != "ordered_pair":
            self.lists.append(name)
        return [
            {"type": "aggregate", "operation": operation, "inputs": sides, "params": PAIRS[operation], "save_as": name}
        ]

    def _order(self) -> list[Json]:
        if not self.items:
            return []
        names = [self.choose(self.items), self.choose(self.items)]
        return [{"type": "aggregate", "operation": "order_check", "inputs": names, "save_as": self.name()}]

    def _sample(self) -> list[Json]:
        params = {"interval": {"start_time": 0, "end_time": 60}, "step": 20, "max_items": 4}
        return [{"type": "aggregate", "operation": "sample_times", "params": params, "save_as": self.name()}]

    def _filter(self) -> list[Json]:
        over, name = self.choose(self.lists), self.name()
        self.lists.append(name)
        return [{"type": "filter", "inputs": over, "where": self.choose(CONDITIONS), "save_as": name}]

    def _project(self) -> list[Json]:
        over, name = self.choose(self.lists), self.name()
        self.lists.append(name)
        fields = {"label": "{{query}} at {{item.start_time}}", "length": "{{item.end_time - item.start_time}}"}
        return [{"type": "project", "inputs": over, "fields": fields, "save_as": name}]

    def _set(self) -> list[Json]:
        name = self.name()
        values = [
            "{{ 1 + 2 * 3 }}",
            "{{query}} and more",
            {"a": "{{ query }}", "b": [1, 2]},
            "{{ hits.candidates | length }}",
        ]
        values += [f"{{{{ {number} / 2 }}}}" for number in self.numbers[-2:]]
        values += [f"{{{{ {item}.start_time | default(0) }}}}" for item in self.items[-1:]]
        return [{"type": "set", "value": self.choose(values), "save_as": name}]

    def condition(self) -> str:
        """Of a list, of something picked, of a text, of a count; or a saved one, or two together."""
        options = [f"{self.choose(self.lists)} | length > 0", f"{self.choose(self.lists)} | length < 2"]
        options += [f"{item} is not none" for item in self.items[-2:]]
        options += [f"{text} != ''" for text in self.texts[-2:]]
        options += [f"not ({text} == '')" for text in self.texts[-1:]]
        options += [f"{number} > 0" for number in self.numbers[-2:]]
        options += self.flags[-2:] * 2
        first = str(self.choose(options))
        match self.choose(["plain", "plain", "not", "and", "or"]):
            case "not":
                return f"not ({first})"
            case "and":
                return f"({first}) and ({self.choose(options)})"
            case "or":
                return f"({first}) or ({self.choose(options)})"
        return first

    def _flag(self) -> list[Json]:
        name, condition = self.name(), self.condition()
        self.flags.append(name)
        return [{"type": "set", "value": f"{{{{ {condition} }}}}", "save_as": name}]

    def _join(self) -> list[Json]:
        name = self.name()
        self.texts.append(name)
        params = {"key": "snippet", "sep": " "}
        return [{"type": "aggregate", "operation": "concat_text", "inputs": "hits", "params": params, "save_as": name}]

    def _use(self) -> list[Json]:
        """A look at something that was picked, which may be nothing."""
        if not self.items:
            return []
        item = self.choose(self.items)
        ends = self.choose([f"{{{{{item}.end_time}}}}", f"{{{{{item}.start_time + 5}}}}"])
        return [self._api("describe_segment", self.name(), start_time=f"{{{{{item}.start_time}}}}", end_time=ends)]

    def _ask(self) -> list[Json]:
        """A search for a text that may be nothing."""
        if not self.texts:
            return []
        name, text = self.name(), self.choose(self.texts)
        self.lists.append(name)
        query = self.choose([f"{{{{ {text} }}}}", f"{{{{ {text} | default('x') }}}}", f"about {{{{ {text} }}}}"])
        return [self._api("search_segments_by_text", name, query=query, top_k=3)]

    def _calls(self) -> list[Json]:
        """Another tool for each of a list: a list of records, maybe with nulls."""
        name, over = self.name(), self.choose(self.lists)
        self.lists.append(name)
        params = {"video_id": "{{video_id}}", "query": self.choose(["{{query}}", "at {{item.start_time}}"])}
        step = {"type": "call_tool", "tool": self.choose(self._callees), "params": params, "save_as": name}
        steps = [step | self._loop(over)]
        if self._draw(st.booleans()):
            kept = self.name()
            self.lists.append(kept)
            where = self.choose(["item.words != ''", "item is not none", "item.words is not none"])
            fields = {"said": self.choose(["{{ item.words }}", "{{ item.words | upper }}"])}
            steps += [{"type": "filter", "inputs": name, "where": where, "save_as": kept}]
            steps += [{"type": "project", "inputs": kept, "fields": fields, "save_as": self.name()}]
        return steps

    def _picked(self) -> list[Json]:
        """What is picked of a list of other tools' results, used where that list, or a text of theirs, is not empty."""
        rows, best, name = self.name(), self.name(), self.name()
        params = {"video_id": "{{video_id}}", "query": "{{query}}"}
        timed = sorted(self._timed) or self._callees
        call: Json = {"type": "call_tool", "tool": self.choose(timed), "params": params, "save_as": rows}
        pick = self.choose(["pick_earliest", "pick_longest", "first", "sort_by"])
        more = {"params": {"key": "start_time"}} if pick == "sort_by" else {}
        asks = [f"{rows} | length > 0", f"{best} is not none", f"{best}.words != ''", f"not ({best}.words == '')"]
        if pick == "sort_by":
            asks = asks[:1]
            stretch = {"start_time": "{{item.start_time}}", "end_time": "{{item.start_time + 2}}"}
            then = self._api("describe_segment", name, **stretch) | self._loop(best)
            other = self._api("describe_segment", name, **stretch) | self._loop("hits")
        else:
            value = self.choose([f"{{{{ {best}.start_time + 1 }}}}", f"{{{{ {best}.words | length }}}}"])
            then = {"type": "set", "value": value, "save_as": name}
            other = {"type": "set", "value": 0, "save_as": name}
        return [
            call | self._loop(self.choose(self.lists)),
            {"type": "aggregate", "operation": pick, "inputs": rows, "save_as": best, **more},
            {"type": "if", "condition": self.choose(asks), "then": [then], "else": [other]},
        ]

    def _require(self) -> list[Json]:
        condition = self.condition()
        status = self.choose(["empty", "ambiguous", "partial"])
        return [{"type": "require", "condition": condition, "status": status, "reason": "no {{query}}"}]

    def _if(self) -> list[Json]:
        name = self.name()
        branches: list[list[Json]] = []
        bound: list[list[str]] = []
        condition, said = self.condition(), len(self._said)
        for _ in range(2):
            before = (list(self.lists), list(self.items), list(self.numbers), list(self.texts), list(self.flags))
            body = self.step(inside=True) if self._draw(st.booleans()) else []
            over = self.choose(self.lists)
            bound.append([step["save_as"] for step in body if "save_as" in step])
            branches.append([*body, {"type": "aggregate", "operation": "count", "inputs": over, "save_as": name}])
            self.lists, self.items, self.numbers, self.texts, self.flags = before
            self._said = self._said[:said]
        for body, missing in zip(branches, reversed(bound), strict=True):
            body += [{"type": "set", "value": None, "save_as": one} for one in missing]
        self.numbers.append(name)
        return [{"type": "if", "condition": condition, "then": branches[0], "else": branches[1]}]

    def _block(self) -> list[Json]:
        name, variable = self.name(), f"v{self.name()}"
        stretch = {"start_time": f"{{{{{variable}.start_time}}}}", "end_time": f"{{{{{variable}.end_time}}}}"}
        over = self.choose(self.lists)
        before = (list(self.lists), list(self.items), list(self.numbers), list(self.texts), list(self.flags))
        said = len(self._said)
        body = [self._api("get_segment", self.name(), **stretch)]
        body += self.step(inside=True) if self._draw(st.booleans()) else []
        body.append(self._api("recognize_actions", self.name(), **stretch))
        self.lists, self.items, self.numbers, self.texts, self.flags = before
        self._said = self._said[:said]
        self.lists.append(name)
        return [{"type": "loop", "do": body, "save_as": name, **self._loop(over, variable=variable)}]

    def _call(self) -> list[Json]:
        name = self.name()
        params = {"video_id": "{{video_id}}", "query": self.choose(["{{query}}", "a bird"])}
        step: Json = {"type": "call_tool", "tool": self.choose(self._callees), "params": params, "save_as": name}
        if "on_error" not in step:
            step["on_error"] = self.choose(ON_ERROR)
        if step["tool"] in self._timed:
            self.items.append(name)
        self.texts.append(f"{name}.words")
        self._said.append(f"{{{{ {name}.words }}}}")
        return [step]

    def outputs(self) -> Json:
        made: Json = {"found": {"type": "int", "from": "{{ hits.candidates | length }}"}}
        made["words"] = {"type": "string?", "from": self.choose(["{{ hits.candidates[0].snippet }}", *self._said])}
        if self.items and self._draw(st.booleans()):
            optional = self.choose(["", "?"])
            for key in ("start_time", "end_time"):
                made[key] = {"type": f"Time{optional}", "from": f"{{{{ {self.items[-1]}.{key} }}}}"}
        for place, name in enumerate(self.lists[-3:]):
            made[f"rows{place}"] = {"type": "list", "from": f"{{{{ {name} }}}}"}
        for place, name in enumerate(self.items[-2:]):
            made[f"time{place}"] = {"type": self.choose(["Time", "Time?"]), "from": f"{{{{ {name}.start_time }}}}"}
        for place, name in enumerate(self.numbers[-2:]):
            made[f"number{place}"] = {"type": self.choose(["number", "float", "string?"]), "from": f"{{{{ {name} }}}}"}
        return made


@st.composite
def documents(draw: Any, *, most_tools: int = 3, most_steps: int = 7) -> list[Json]:
    """One to three tools; a later one may call an earlier one."""
    made: list[Json] = []
    for place in range(draw(st.integers(1, most_tools))):
        writer = Writer(draw, made)
        first = writer._api("search_segments_by_text", "hits", query="{{query}}", top_k=draw(st.integers(1, 12)))
        steps = [first, *writer.steps(most_steps)]
        made.append(
            {
                "tool_name": f"tool_{place}",
                "description": "A tool that was made at random to see whether it holds what the compiler promises.",
                "inputs": {"video_id": "string", "query": {"type": "string", "default": "rain"}},
                "outputs": writer.outputs(),
                "steps": steps,
            }
        )
    return made
