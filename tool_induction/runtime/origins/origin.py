"""Where one value came from: the calls it is made of, and the calls that decided which value it is.

*Made of*: data flowed from the call's result into the value. *Decided by*: another result of that call could have
put another value in its place: what was chosen among, filtered by, branched on, required. In the terms of program slicing
these are data and control dependence; a call is named by its number in the run, counted in the order of the plan.

Both sets are safe: a call that is in neither of a value, nor behind the arguments of one that is, did not bear on it, nor
on whether the run came that far. They may name a call too many where parts of a value are not told apart. Not followed is that a
call did not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Calls = frozenset[int]
NO_CALLS: Calls = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """``items`` of a list and ``fields`` of a record tell its parts apart; ``calls`` is what the other parts are made of.

    Of a list with items, ``decided`` is what decided which items there are.
    """

    calls: Calls = NO_CALLS
    decided: Calls = NO_CALLS
    items: tuple[Origin, ...] | None = None
    fields: Mapping[str, Origin] | None = None

    def made_of(self) -> Calls:
        """The calls that the value is made of, all its parts together."""
        return self.calls.union(*(part.made_of() for part in self._parts()))

    def decided_by(self) -> Calls:
        """The calls that decided about it or about a part of it."""
        return self.decided.union(*(part.decided_by() for part in self._parts()))

    def behind(self) -> Calls:
        """All of these calls."""
        return self.calls.union(self.decided, *(part.behind() for part in self._parts()))

    def computed(self) -> Origin:
        """The origin of something computed of the value: of a list, also what decided how long it is."""
        calls = self._used()
        return Origin(calls=calls, decided=self.decided_by() - calls)

    def field(self, key: str) -> Origin:
        """The origin of the value under a key."""
        found = None if self.fields is None else self.fields.get(key)
        if found is None:
            found = Origin(calls=self.calls if self.calls or self.fields is None else self.made_of())
        return found.also_decided_by(self.decided)

    def item(self, place: int) -> Origin:
        """The origin of an item of a list; beyond its end, of the null that stands for it."""
        if self.items is None:
            return Origin(calls=self.calls, decided=self.decided)
        if -len(self.items) <= place < len(self.items):
            return self.items[place].also_decided_by(self.decided)
        return Origin(decided=self.behind())

    def each(self, count: int) -> tuple[Origin, ...]:
        """The origins of the items of a list that has ``count`` of them, without what decided about the list."""
        if self.items is not None and len(self.items) == count:
            return self.items
        return (Origin(calls=self.made_of()),) * count

    def membership(self) -> Calls:
        """Of a list: the calls that decided which items there are."""
        return self.decided | self.calls

    def also_decided_by(self, calls: Calls) -> Origin:
        """The same, decided by these calls too."""
        if calls <= self.decided:
            return self
        return Origin(calls=self.calls, decided=self.decided | calls, items=self.items, fields=self.fields)

    def _used(self) -> Calls:
        membership = NO_CALLS if self.items is None else self.decided
        return self.calls.union(membership, *(part._used() for part in self._parts()))

    def _parts(self) -> Iterable[Origin]:
        return (*(self.items or ()), *(self.fields or {}).values())


NOTHING = Origin()


def joined(origins: Iterable[Origin]) -> Origin:
    """The origin of something computed of several values."""
    parts = [origin.computed() for origin in origins]
    calls = NO_CALLS.union(*(part.calls for part in parts))
    return Origin(calls=calls, decided=NO_CALLS.union(*(part.decided for part in parts)) - calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an output came from, for readers: numbers of calls in order, places in the list of evidence that is shown."""

    calls: tuple[int, ...] = ()
    decided_by: tuple[int, ...] = ()
    evidence: tuple[int, ...] = ()

    def record(self) -> dict[str, Any]:
        """The wire form; what is empty is left out."""
        parts = {"calls": self.calls, "decided_by": self.decided_by, "evidence": self.evidence}
        return {name: list(numbers) for name, numbers in parts.items() if numbers}


def source_of(origin: Origin) -> Source:
    """What to tell of an output."""
    calls = origin.made_of()
    return Source(calls=tuple(sorted(calls)), decided_by=tuple(sorted(origin.decided_by() - calls)))


@dataclass(slots=True, eq=False)
class Origins:
    """The origins of the names of one scope. What has none came from no call.

    ``held``: calls behind the requirements that were met so far, or would have been come to with other answers;
    ``branch``: those behind the branches that were taken.
    """

    names: dict[str, Origin] = field(default_factory=dict)
    held: Calls = NO_CALLS
    branch: Calls = NO_CALLS

    def inside(self) -> Origins:
        """Those of a scope inside this one."""
        return Origins(names=dict(self.names), held=self.held, branch=self.branch)

    def of(self, name: str) -> Origin:
        """The origin of a name."""
        return self.names.get(name, NOTHING)

    def bind(self, name: str, origin: Origin) -> None:
        """A name is bound, in the branch that was taken."""
        self.names[name] = origin.also_decided_by(self.branch)
