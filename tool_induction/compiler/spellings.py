"""Between passes 1 and 2: other spellings of a step are written out in ours, each with a W_ALIAS.

Only what can mean one thing is read so. The document's own places are kept: what moved is still reported where it stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tool_induction.aggregates import AGGREGATES, ALIASES
from tool_induction.aggregates.spellings import (
    ALIASES_WITH,
    CONDITION_KEYS,
    LIST_KEYS,
    ORDERS,
    PARAMETER_ALIASES,
)
from tool_induction.language.diagnostics import Findings, Path

_BLOCKS = ("do", "then", "else")
_CALLS = ("call_world_api", "call_tool")


def canonical_spelling(tool: Any, findings: Findings, path: Path) -> Any:
    """A tool's document with every step in the language's own spelling; other JSON values come back as they are."""
    if not isinstance(tool, dict) or not isinstance(tool.get("steps"), list):
        return tool
    return tool | {"steps": _block(tool["steps"], findings, (*path, "steps"))}


def _block(steps: list[Any], findings: Findings, path: Path) -> list[Any]:
    return [_step(raw, findings, (*path, place)) for place, raw in enumerate(steps)]


def _step(raw: Any, findings: Findings, here: Path) -> Any:
    if not isinstance(raw, dict):
        return raw
    step = dict(raw)
    if "do" in step and step.get("type", "call_world_api") in _CALLS:
        found = step.pop("type", "no type")
        step = {"type": "loop"} | step
        findings.add("W_ALIAS", here, "a step with 'do' is read as type 'loop'", found=str(found), expected="loop")
    if step.get("type") == "aggregate" and isinstance(step.get("operation"), str):
        step = _Aggregate.of(step, here).read(findings)
    for key in _BLOCKS:
        if isinstance(step.get(key), list):
            step[key] = _block(step[key], findings, (*here, key))
    return step


@dataclass(kw_only=True)
class _Aggregate:
    """An aggregate step being read: what it comes to, and where each part of that stood."""

    step: dict[str, Any]
    here: Path
    params: dict[str, Any]
    notes: list[tuple[Path, str, str, str]] = field(default_factory=list)
    moves: dict[Path, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, step: dict[str, Any], here: Path) -> _Aggregate:
        params = step.get("params")
        return cls(step=step, here=here, params=dict(params) if isinstance(params, dict) else {})

    def read(self, findings: Findings) -> dict[str, Any]:
        """The step in our spelling; what was decided goes to the findings."""
        if not isinstance(self.step.get("params", {}), dict):
            return self.step
        operation = self.step["operation"]
        read = self._as_filter() if operation == "filter" else self._as_aggregate(operation)
        if read is None:
            return self.step
        for where, message, found, expected in self.notes:
            findings.add("W_ALIAS", where, message, found=found, expected=expected)
        findings.moves.update(self.moves)
        return read

    def _as_aggregate(self, operation: str) -> dict[str, Any] | None:
        name, needed = ALIASES_WITH.get(operation, (ALIASES.get(operation, operation), frozenset()))
        spec = AGGREGATES.get(name)
        if spec is None:
            return None
        inputs = self._take_apart(spec.takes, spec.params)
        self._rename(spec.params)
        if not needed <= self.params.keys():
            return None
        if needed:
            self._note((*self.here, "operation"), f"the aggregate {operation!r} is read as {name!r}", operation, name)
            self.step = self.step | {"operation": name}
        if not self.notes:
            return None
        return self.step | inputs | ({"params": self.params} if self.params else {})

    def _take_apart(self, takes: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """A record of inputs that holds the list (or the pair) and the parameters beside it."""
        inputs = self.step.get("inputs")
        if not isinstance(inputs, dict):
            return {}
        if takes == "pair":
            return self._pair(inputs, known)
        holders = [key for key in LIST_KEYS.get(takes, ()) if key in inputs]
        rest = {key: value for key, value in inputs.items() if key not in holders}
        if len(holders) != 1 or rest.keys() & self.params.keys():
            return {}
        place: Path = (*self.here, "inputs")
        beside = f"with the parameters {', '.join(rest)}" if rest else "alone"
        self._note(
            place, f"a record of inputs with {holders[0]!r} is read as that list, {beside}", holders[0], "inputs"
        )
        self._move(rest, {place: (*place, holders[0])})
        return {"inputs": inputs[holders[0]]}

    def _pair(self, inputs: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in inputs.items() if key not in ("a", "b")}
        meant = all(PARAMETER_ALIASES.get(key, key) in known or key in known for key in rest)
        if not rest or not meant or rest.keys() & self.params.keys():
            return {}
        place: Path = (*self.here, "inputs")
        self._note(place, f"{', '.join(rest)} beside the pair are read as parameters", ", ".join(rest), "params")
        self._move(rest, {})
        return {"inputs": {key: value for key, value in inputs.items() if key not in rest}}

    def _move(self, rest: Mapping[str, Any], moves: Mapping[Path, Path]) -> None:
        self.moves |= moves
        if not self.params:
            self.moves[(*self.here, "params")] = (*self.here, "inputs")
        for key in rest:
            self.moves[(*self.here, "params", key)] = (*self.here, "inputs", key)
        self.params |= rest

    def _rename(self, known: Mapping[str, Any]) -> None:
        for other, ours in PARAMETER_ALIASES.items():
            if ours in known and other not in known and other in self.params and ours not in self.params:
                self._renamed(other, ours, self.params[other])
        order = self.params.get("order")
        if "descending" in known and "descending" not in self.params and isinstance(order, str) and order in ORDERS:
            self._renamed("order", "descending", ORDERS[order])

    def _renamed(self, other: str, ours: str, value: Any) -> None:
        old: Path = (*self.here, "params", other)
        stood = self.moves.pop(old, old)
        shown = ours if value == self.params[other] else f"{ours}: {str(value).lower()}"
        self._note(stood, f"the parameter {other!r} is read as {shown!r}", other, shown)
        self.params = {ours if key == other else key: item for key, item in self.params.items()} | {ours: value}
        self.moves[(*self.here, "params", ours)] = stood

    def _as_filter(self) -> dict[str, Any] | None:
        """An aggregate ``filter`` of a list and a condition is the step of that name."""
        inputs = self.step.get("inputs")
        parts: dict[tuple[str, ...], Any] = {}
        if isinstance(inputs, dict):
            parts = {("inputs", key): value for key, value in inputs.items()}
        elif inputs is not None:
            parts = {("inputs",): inputs}
        parts |= {("params", key): value for key, value in self.params.items()}
        holders = [key for key in parts if key[-1] in ("inputs", *LIST_KEYS["list"])]
        conditions = [key for key in parts if key[-1] in CONDITION_KEYS]
        if len(parts) != 2 or len(holders) != 1 or len(conditions) != 1:
            return None
        place: Path = (*self.here, "operation")
        self._note(place, "the aggregate 'filter' is read as a step of type 'filter'", "filter", '"type": "filter"')
        self.moves[(*self.here, "inputs")] = (*self.here, *holders[0])
        self.moves[(*self.here, "where")] = (*self.here, *conditions[0])
        kept = {key: value for key, value in self.step.items() if key not in ("operation", "params")}
        return kept | {"type": "filter", "inputs": parts[holders[0]], "where": parts[conditions[0]]}

    def _note(self, where: Path, message: str, found: str, expected: str) -> None:
        self.notes.append((where, message, found, expected))
