"""How two JSON values, or two sets of tools, differ: by path, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tool_induction.language.diagnostics import Path, format_path
from world_api.core.canonical import canonical_json

_SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place at which two values differ; ``before`` or ``after`` is empty where there is nothing."""

    path: Path
    before: str
    after: str

    def line(self) -> str:
        """The difference on one line."""
        where = format_path(self.path)
        if not self.before:
            return f"{where}: new, {self.after}"
        if not self.after:
            return f"{where}: gone, was {self.before}"
        return f"{where}: {self.before} -> {self.after}"


def differences(before: Any, after: Any, *, most: int = 20) -> list[Difference]:
    """The places at which two JSON values differ, in document order, at most so many."""
    return list(islice(_walk(before, after, ()), most))


def _walk(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield Difference(path=(*path, key), before=_shown(before[key]), after="")
            elif key not in before:
                yield Difference(path=(*path, key), before="", after=_shown(after[key]))
            else:
                yield from _walk(before[key], after[key], (*path, key))
        if list(before) != list(after) and set(before) == set(after):
            yield Difference(path=path, before="keys " + ", ".join(before), after="keys " + ", ".join(after))
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            if place >= len(after):
                yield Difference(path=(*path, place), before=_shown(before[place]), after="")
            elif place >= len(before):
                yield Difference(path=(*path, place), before="", after=_shown(after[place]))
            else:
                yield from _walk(before[place], after[place], (*path, place))
    elif canonical_json(before) != canonical_json(after):
        yield Difference(path=path, before=_shown(before), after=_shown(after))


def _shown(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


@dataclass(frozen=True, kw_only=True)
class ToolChanges:
    """How one set of tools came from another: names, in library order."""

    kept: tuple[str, ...]
    changed: tuple[str, ...]
    dropped: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def none(self) -> bool:
        """Whether the two sets are the same."""
        return not (self.changed or self.dropped or self.added)

    def record(self) -> dict[str, list[str]]:
        """The wire form, without what stayed."""
        return {"changed": list(self.changed), "dropped": list(self.dropped), "added": list(self.added)}


def tool_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> ToolChanges:
    """Compare the frozen forms of two libraries' tools by name."""
    shared = [name for name in before if name in after]
    return ToolChanges(
        kept=tuple(name for name in shared if before[name] == after[name]),
        changed=tuple(name for name in shared if before[name] != after[name]),
        dropped=tuple(name for name in before if name not in after),
        added=tuple(name for name in after if name not in before),
    )
