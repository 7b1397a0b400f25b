"""A chat model for tests that mends tools by doing, to the letter, what the diagnostics of a repair request suggest.

It knows no domain and no intent: it renames to what was suggested, drops what is not known, writes what is to be written. Where a
suggestion cannot be followed mechanically it hands the tool back as it was.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tool_induction.aggregates import AGGREGATES
from world_api.chat import completion

Tool = dict[str, Any]

_SECTION = re.compile(
    r"^# (?P<name>\S[^\n]*)\n(?P<text>[\[{].*?)\nFaults:\n(?P<faults>(?:- [^\n]*\n?)+)", re.MULTILINE | re.DOTALL
)
_FAULT = re.compile(r"^- (?P<code>\w+) at (?P<path>\$\S*?): (?P<message>.*?)(?: Suggestion: (?P<suggestion>.*))?$")
_PART = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")
_MEANT = re.compile(r"did you mean '([^']+)'\?")
_WRITE = re.compile(r'write ("(?:[^"\\]|\\.)*")(: )?(.*)')
_ADD = re.compile(r'add ("\w+"): (.+)')


@dataclass(frozen=True, kw_only=True)
class Told:
    """A fault as the request tells it."""

    code: str
    path: tuple[str | int, ...]
    message: str
    suggestion: str


class ScriptedRepairer:
    """Answers repair requests; what comes before them it answers with ``first``."""

    def __init__(self, first: str = "[]") -> None:
        self.name = "scripted-repairer"
        self.requests: list[dict[str, Any]] = []
        self._first = first

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(copy.deepcopy(request))
        asked = request["messages"][-1]["content"]
        sections = list(_SECTION.finditer(asked))
        text = self._first
        if sections:
            tools = [mended(_json(item["text"]), faults_of(item["faults"])) for item in sections]
            text = f"Mended.\n```json\n{json.dumps(tools, ensure_ascii=False, indent=1)}\n```\n"
        return completion(model=self.name, content=text, usage=(len(asked) // 4, len(text) // 4))


def faults_of(lines: str) -> list[Told]:
    found = []
    for line in lines.splitlines():
        match = _FAULT.match(line)
        if match:
            parts = tuple(int(index) if index else key or quoted for key, index, quoted in _PART.findall(match["path"]))
            found.append(
                Told(code=match["code"], path=parts, message=match["message"], suggestion=match["suggestion"] or "")
            )
    return found


def mended(tool: Any, faults: list[Told]) -> Any:
    """The tool with every fault mended that can be; from the back, so that paths stay true while steps are added."""
    tool = copy.deepcopy(tool)
    for fault in sorted(faults, key=lambda item: [str(part).zfill(4) for part in item.path], reverse=True):
        for rule in (_add, _declare, _write, _rename, _drop, _reword):
            try:
                if fault.path and rule(tool, fault):
                    break
            except (KeyError, IndexError, TypeError):
                continue  # an earlier mending took the place away
    return tool


def _declare(tool: Tool, fault: Told) -> bool:
    """``declare it "Segment"``: the type of an output."""
    match = re.search(r'declare it "([^"]+)"', fault.suggestion)
    if match is None or fault.path[0] != "outputs":
        return False
    declared = tool["outputs"][fault.path[1]]
    tool["outputs"][fault.path[1]] = declared | {"type": match[1]} if isinstance(declared, dict) else match[1]
    return True


def _at(tool: Tool, path: tuple[str | int, ...]) -> Any:
    value: Any = tool
    for part in path:
        value = value[part]
    return value


def _add(tool: Tool, fault: Told) -> bool:
    """``add "max_items": 20 to this step``, ``add "params": {...}``."""
    match = _ADD.search(fault.suggestion)
    if match is None:
        return False
    step = next(
        (_at(tool, fault.path[:n]) for n in range(len(fault.path), 0, -1) if _is_step(tool, fault.path[:n])), None
    )
    if step is None:
        return False
    value = _json(match[2])
    if value is None:
        return False
    step[json.loads(match[1])] = step["params"] | value if match[1] == '"params"' and "params" in step else value
    return True


def _is_step(tool: Tool, path: tuple[str | int, ...]) -> bool:
    value = _at(tool, path)
    return isinstance(value, dict) and "type" in value and isinstance(path[-1], int)


def _write(tool: Tool, fault: Told) -> bool:
    """``write "{{ ... }}"``, ``write "key": value``, or a whole step to put in its place."""
    parent, key = _at(tool, fault.path[:-1]), fault.path[-1]
    if fault.suggestion.startswith("{"):
        step, place = (parent, fault.path[:-1]) if isinstance(parent, dict) else (None, ())
        if step is None or "save_as" not in step:
            return False
        written = fault.suggestion.replace('"save_as": ...', f'"save_as": {json.dumps(step["save_as"])}')
        return _replaced(tool, place, _json(written))
    match = _WRITE.search(fault.suggestion)
    if match is None:
        return False
    if match[2] is None:
        parent[key] = json.loads(match[1])
        return True
    value = _json(match[3])
    target = (
        parent[key] if isinstance(parent[key], dict) else {"type": parent[key]} if "outputs" in fault.path else None
    )
    if value is None or target is None:
        return False
    target[json.loads(match[1])] = value
    parent[key] = target
    return True


def _replaced(tool: Tool, place: tuple[str | int, ...], value: Any) -> bool:
    if value is None or not place:
        return False
    _at(tool, place[:-1])[place[-1]] = value
    return True


def _json(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return None


def _rename(tool: Tool, fault: Told) -> bool:
    """``did you mean 'x'?``: a key, a value, or a word in an expression."""
    match = _MEANT.search(fault.suggestion)
    if match is None:
        return False
    parent, key = _at(tool, fault.path[:-1]), fault.path[-1]
    if fault.code in ("E_UNKNOWN_PARAM", "E_SHAPE") and isinstance(parent, dict):
        parent[match[1]] = parent.pop(key)
        return True
    if fault.code == "E_OUTPUT_UNBOUND":
        declared = parent[key] if isinstance(parent[key], dict) else {"type": parent[key]}
        parent[key] = declared | {"from": f"{{{{ {match[1]} }}}}"}
        return True
    quoted = re.search(r"'([^']+)'", fault.message)
    if isinstance(parent[key], str) and quoted and parent[key] != quoted[1] and "{{" in parent[key]:
        parent[key] = re.sub(rf"\b{re.escape(quoted[1])}\b", match[1], parent[key])
    else:
        parent[key] = match[1]
    return True


def _drop(tool: Tool, fault: Told) -> bool:
    """What is not known, or is to be left out, goes."""
    parent = _at(tool, fault.path[:-1])
    unknown = fault.code == "E_UNKNOWN_PARAM" and "use " not in fault.suggestion
    if not isinstance(parent, dict) or not (unknown or fault.suggestion.startswith("leave it out")):
        return False
    parent.pop(fault.path[-1], None)
    return True


def _reword(tool: Tool, fault: Told) -> bool:
    """A suggestion that names aggregates: the first takes the place of the unknown one, a second one follows it."""
    named = [word for word in re.findall(r"[a-z_]+", fault.suggestion) if word in AGGREGATES and "_" in word]
    if not named or not fault.path or (fault.path[-1] != "operation" and fault.code != "E_UNKNOWN_PARAM"):
        return False
    place = next((n for n in range(len(fault.path), 0, -1) if _is_step(tool, fault.path[:n])), None)
    if place is None:
        return False
    step = _at(tool, fault.path[:place])
    step["operation"] = named[0]
    if ", then " in fault.suggestion and len(named) > 1:
        whole = step["save_as"]
        step["save_as"] = f"{whole}_joined"
        block, at = _at(tool, fault.path[: place - 1]), fault.path[place - 1]
        block.insert(
            int(at) + 1, {"type": "aggregate", "operation": named[1], "inputs": step["save_as"], "save_as": whole}
        )
    return True


Rule = Callable[[Tool, Told], bool]
