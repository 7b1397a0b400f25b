"""The diagnostics about a document: named faults at JSON paths, with suggestions.

The list of codes is closed: ``E_`` is an error and stops a tool, ``W_`` reports a decision of the compiler, ``L_`` is
advice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tool_induction import limits
from world_api.core.identifiers import did_you_mean

ErrorCode = Literal[
    "E_JSON", "E_SHAPE", "E_NAME", "E_UNKNOWN_API", "E_OPERATION_OFF", "E_UNKNOWN_TOOL", "E_UNKNOWN_AGGREGATE",
    "E_UNKNOWN_PARAM", "E_MISSING_PARAM", "E_EXPR_SYNTAX", "E_EXPR_FORBIDDEN", "E_EXPR_SIZE", "E_UNDEFINED",
    "E_FORWARD", "E_REDEFINED", "E_ITEM_OUTSIDE_LOOP", "E_TYPE", "E_OPTIONAL", "E_SCORE", "E_OUTPUT_UNBOUND",
    "E_BRANCH_MISMATCH", "E_CYCLE", "E_DEPTH", "E_UNBOUNDED", "E_BUDGET", "E_SIZE", "E_SECRET",
]  # fmt: skip
WarningCode = Literal[
    "W_COERCED", "W_IMPLICIT_BINDING", "W_IMPLICIT_REQUIRE", "W_REQUIRE_IN_LOOP", "W_ALIAS", "W_LITERAL",
    "W_CONSTANT_CONDITION", "W_UNUSED", "W_SHADOW",
]  # fmt: skip
LintCode = Literal[
    "L_CONSTANT_ENTITY", "L_WRAPPER", "L_TOO_MANY_INPUTS", "L_UNKNOWABLE_ID", "L_NO_EVIDENCE", "L_DUPLICATE",
    "L_DESCRIPTION",
]  # fmt: skip
Code = ErrorCode | WarningCode | LintCode
CODES: frozenset[str] = frozenset((*get_args(ErrorCode), *get_args(WarningCode), *get_args(LintCode)))

Severity = Literal["error", "warning", "lint"]
Path = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN = 120
_SENTENCE = 500


_RANKS: dict[Severity, int] = {"error": 0, "warning": 1, "lint": 2}
_SEVERITIES: dict[str, Severity] = {"E": "error", "W": "warning", "L": "lint"}


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change of a document, as in JSON Patch (RFC 6902); ``path`` starts at the root of the file."""

    op: Literal["add", "replace", "remove"]
    path: Path
    value: Any = None  #: only for ``add`` and ``replace``

    def record(self) -> dict[str, Any]:
        """Return the change as an operation of a JSON Patch, with a JSON Pointer (RFC 6901) as its path."""
        value = {} if self.op == "remove" else {"value": self.value}
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in self.path)
        return {"op": self.op, "path": "".join(f"/{part}" for part in parts), **value}


@dataclass(frozen=True)
class Suggestion:
    """What to do about a finding, as a text; ``edits`` are the same as exact changes of the document, if any."""

    text: str
    edits: tuple[Edit, ...] = ()

    def after(self, reason: str) -> Suggestion:
        """Return the suggestion with a reason before its text."""
        return replace(self, text=f"{reason}: {self.text}")


def write(holder: Path, values: Mapping[str, Any], *, without: Iterable[str] = ()) -> Suggestion:
    """Return the suggestion to write keys with values into the object at ``holder``.

    The keys ``without`` of that object are removed.
    """
    left_out = tuple(without)
    shown = ", ".join(f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in values.items())
    instead = f" in place of {', '.join(map(repr, left_out))}" if left_out else ""
    removed = (Edit(op="remove", path=(*holder, key)) for key in left_out)
    added = (Edit(op="add", path=(*holder, key), value=value) for key, value in values.items())
    return Suggestion(f"write {shown}{instead}", (*removed, *added))


def write_value(path: Path, value: Any) -> Suggestion:
    """Return the suggestion to write ``value`` in place of the value at ``path``."""
    return Suggestion(f"write {json.dumps(value, ensure_ascii=False)}", (Edit(op="replace", path=path, value=value),))


def leave_out(path: Path) -> Suggestion:
    """Return the suggestion to remove the value at ``path``."""
    return Suggestion("leave it out", (Edit(op="remove", path=path),))


def move_to(holder: Path, path: Path, values: Mapping[str, Any], *, exists: bool) -> Suggestion:
    """Return the suggestion to remove the key at ``path`` and put ``values`` into the object at ``holder`` instead.

    ``exists``: that object exists; otherwise it is made.
    """
    text = f'move it to "{holder[-1]}": {json.dumps(dict(values), ensure_ascii=False)}'
    into = [((*holder, key), value) for key, value in values.items()] if exists else [(holder, dict(values))]
    added = (Edit(op="add", path=place, value=value) for place, value in into)
    return Suggestion(text, (Edit(op="remove", path=path), *added))


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One finding. ``path`` starts at the root of the file and exists in the document."""

    code: Code
    tool: str
    path: Path
    message: str
    found: str = ""
    expected: str = ""
    suggestion: str = ""
    #: the suggestion as exact changes, if there are any
    edits: tuple[Edit, ...] = field(default=(), compare=False)
    follows: bool = False  #: whether it is only a consequence of another fault

    @property
    def severity(self) -> Severity:
        """The severity that belongs to the first letter of the code."""
        return _SEVERITIES[self.code[0]]

    @property
    def json_path(self) -> str:
        """The path as text: ``$.tools[0].steps[2].params.timestamp``."""
        return format_path(self.path)

    def in_document(self, document: Any) -> Diagnostic:
        """Return the diagnostic with ``found`` filled in, if it is empty: the value at its path in ``document``, cut short.

        It stays empty if that is a list or an object, if the path does not exist, and for ``E_SECRET`` and ``E_JSON``.
        """
        if self.found or self.code in ("E_SECRET", "E_JSON"):
            return self
        try:
            for part in self.path:
                document = document[part]
        except (KeyError, IndexError, TypeError):
            return self
        if isinstance(document, dict | list):
            return self
        return replace(self, found=shorten(document if isinstance(document, str) else json.dumps(document)))

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = ("code", "severity", "tool", "json_path", "message", "found", "expected", "suggestion")
        return {name: getattr(self, name) for name in names} | {"edits": [edit.record() for edit in self.edits]}


@dataclass(kw_only=True)
class Findings:
    """Collects the findings about one tool (or, with an empty name, about the file)."""

    tool: str = ""
    items: list[Diagnostic] = field(default_factory=list)
    #: place of a part after other spellings were replaced -> its place in the document
    moves: dict[Path, Path] = field(default_factory=dict)
    _seen: set[Diagnostic] = field(default_factory=set, init=False)

    def add(
        self,
        code: Code,
        path: Path,
        message: str,
        *,
        found: str = "",
        expected: str = "",
        suggestion: str | Suggestion = "",
        follows: bool = False,
    ) -> None:
        """Add a finding that is new, up to a limit, which one more finding reports. ``follows``: another fault causes it."""
        if len(self.items) > limits.MAX_FINDINGS:
            return
        if len(self.items) == limits.MAX_FINDINGS:
            code, message = "E_SIZE", f"there are more than {limits.MAX_FINDINGS} findings; the rest is not listed"
            found = expected = suggestion = ""
        advice = Suggestion(suggestion) if isinstance(suggestion, str) else suggestion
        item = Diagnostic(
            code=code,
            tool=self.tool,
            path=self._original(path),
            message=shorten(message, _SENTENCE),
            found=shorten(found),
            expected=shorten(expected),
            suggestion=shorten(advice.text, _SENTENCE),
            edits=tuple(replace(edit, path=self._original(edit.path)) for edit in advice.edits),
            follows=follows,
        )
        if item not in self._seen:
            self._seen.add(item)
            self.items.append(item)

    def drop(self, path: Path) -> None:
        """Remove the findings at a path and inside it."""
        place = self._original(path)
        self.items = [item for item in self.items if item.path[: len(place)] != place]

    def faulty(self, path: Path) -> bool:
        """Whether there is an error at a path or inside it."""
        return any(item.severity == "error" and item.path[: len(path)] == path for item in self.items)

    def has(self, code: Code) -> bool:
        """Whether there is a finding with a code."""
        return any(item.code == code for item in self.items)

    def near(self, word: str, words: Iterable[str]) -> str:
        """Return ``did you mean 'x'?`` for the most similar known word, or an empty text.

        Only the first findings get one, since the search is slow.
        """
        return did_you_mean(word, words) if len(self.items) < limits.MAX_SUGGESTIONS else ""

    def _original(self, path: Path) -> Path:
        """Return the path that a part had in the written document, before ``canonical_spelling`` moved it."""
        lengths = range(len(path), 0, -1) if self.moves else ()
        return next(((*self.moves[path[:n]], *path[n:]) for n in lengths if path[:n] in self.moves), path)

    @property
    def errors(self) -> int:
        """Number of findings of the severity ``error``, which stop the tool."""
        return sum(item.severity == "error" for item in self.items)


def by_relevance(items: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort findings: errors, then warnings, then advice; in each group, consequences of other faults last.

    Otherwise the given order is kept: the compiler finds a cause before its consequences.
    """
    return tuple(sorted(items, key=lambda item: (_RANKS[item.severity], item.follows)))


def format_path(path: Path) -> str:
    """Return a path as JSONPath text, such as ``$.tools[0].steps[2]``."""
    parts = ["$"]
    for part in (shorten(part) if isinstance(part, str) else part for part in path):
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif _PLAIN_KEY.fullmatch(part):
            parts.append(f".{part}")
        else:
            escaped = part.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"['{escaped}']")
    return "".join(parts)


def shorten(text: str, limit: int = _SHOWN) -> str:
    """Return a text; one longer than ``limit`` characters is cut to that length, including ``...`` at the end."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
