"""Pairing two groups of samples by question and seed, and what stands in the way of comparing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.tables.cells import Measure, Values
from eval.tables.rows import SampleRow
from world_api.core.faults import EvalFault

PairKey = tuple[str, str, str, str, int]

#: settings that follow from the library an arm has
_OF_LIBRARY = frozenset({"arm"})


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Samples of two groups about the same question, world, budget and seed; ``left`` and ``right`` are without a partner."""

    pairs: tuple[tuple[SampleRow, SampleRow], ...]
    left: tuple[SampleRow, ...] = ()
    right: tuple[SampleRow, ...] = ()

    @property
    def unpaired(self) -> int:
        """How many samples are left out."""
        return len(self.left) + len(self.right)

    @property
    def swapped(self) -> Pairs:
        """The same pairs, second less first."""
        return Pairs(pairs=tuple((other, one) for one, other in self.pairs))

    @property
    def rows(self) -> list[SampleRow]:
        """All samples that are paired."""
        return [row for pair in self.pairs for row in pair]

    @property
    def better(self) -> list[tuple[SampleRow, SampleRow]]:
        """Pairs of which only the first is right."""
        return [pair for pair in self.pairs if pair[0].correct and not pair[1].correct]

    @property
    def worse(self) -> list[tuple[SampleRow, SampleRow]]:
        """Pairs of which only the second is right."""
        return [pair for pair in self.pairs if pair[1].correct and not pair[0].correct]

    @property
    def questions(self) -> list[tuple[bool, bool]]:
        """Of each question, whether the first and whether the second is right, however many seeds asked it.

        Answers of one question are not independent, least of all those of a model that ignores the seed. Where only one of the
        two is right under more seeds, that one is right; else both are where any is right.
        """
        balance: dict[tuple[str, str], int] = {}
        ever: dict[tuple[str, str], bool] = {}
        for one, other in self.pairs:
            key = one.dataset, one.item
            balance[key] = balance.get(key, 0) + one.correct - other.correct
            ever[key] = ever.get(key, False) or one.correct or other.correct
        return [
            (lead > 0 or (lead == 0 and ever[key]), lead < 0 or (lead == 0 and ever[key]))
            for key, lead in balance.items()
        ]

    def differences(self, measure: Measure) -> Values:
        """The first less the second, where both have the measure."""
        values = Values()
        for one, other in self.pairs:
            first, second = measure(one), measure(other)
            if first is not None and second is not None:
                values.add(first - second, one, other)
        return values


def key_of(row: SampleRow) -> PairKey:
    """What two samples must share to be compared."""
    return row.dataset, row.item, row.world, row.budget, row.seed


def pairs_of(
    one: Iterable[SampleRow], other: Iterable[SampleRow], *, across: Sequence[str] = (), shared: bool = False
) -> Pairs:
    """Pair two groups; where groups lie across worlds or budgets, these are no part of the key.

    Where both have libraries and share some, one of them several, samples of one library belong together. ``shared``: several of
    the first may have the same partner (libraries that are draws, against one baseline).

    Raises:
        EvalFault: ``ambiguous_pairs``: two samples of one group have the same key, so that who belongs to whom cannot be told.
    """
    first, second = list(one), list(other)
    parts = [name for name in ("dataset", "item", "world", "budget", "seed") if name not in across]
    if _share_libraries(first, second):
        parts.append("library")
    partners = _by_key(second, parts)
    if not shared:
        _by_key(first, parts)
    pairs = [(row, partner) for row in first if (partner := partners.get(_key(row, parts))) is not None]
    matched = {_key(row, parts) for row, _ in pairs}
    return Pairs(
        pairs=tuple(pairs),
        left=tuple(row for row in first if _key(row, parts) not in matched),
        right=tuple(row for key, row in partners.items() if key not in matched),
    )


def _share_libraries(one: Sequence[SampleRow], other: Sequence[SampleRow]) -> bool:
    first, second = {row.library for row in one}, {row.library for row in other}
    return None not in first | second and bool(first & second) and len(first | second) > 1


def _key(row: SampleRow, parts: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(row, part) for part in parts)


def _by_key(rows: Iterable[SampleRow], parts: Sequence[str]) -> dict[tuple[Any, ...], SampleRow]:
    found: dict[tuple[Any, ...], SampleRow] = {}
    for row in rows:
        if found.setdefault(_key(row, parts), row) is not row:
            cells = found[_key(row, parts)].cell[:120], row.cell[:120]
            raise EvalFault(
                "ambiguous_pairs",
                f"two samples of the question {row.item[:80]} are in one group: {', '.join(cells)}",
                hint="name one arm with one library, and choose one world and one budget",
            )
    return found


def differing(pairs: Pairs) -> list[str]:
    """In what the samples that are compared differ beside their answers, in words: one difference is what is studied.

    Settings that only one of two systems has are part of the system, a library that only one has too.
    """
    found: dict[str, None] = {}
    looked: set[tuple[int, int]] = set()
    for one, other in pairs.pairs:
        if one.system != other.system:
            found["systems"] = None
        if one.library_hash != other.library_hash and one.library_hash and other.library_hash:
            found["libraries"] = None
        if one.model != other.model:
            found["models"] = None
        if one.world == other.world and one.world_hash and other.world_hash and one.world_hash != other.world_hash:
            found["worlds of the same name"] = None
        pair = (id(one.settings), id(other.settings))
        if pair not in looked:
            looked.add(pair)
            found.update(dict.fromkeys(_different(one.settings, other.settings)))
    return list(found)


def concerns(pairs: Pairs) -> list[str]:
    """What differs between samples that are compared beside what is studied; nothing where all is well."""
    found = differing(pairs)
    return found[1:] if found and found[0] in ("systems", "libraries") else found if len(found) > 1 else []


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    shared = [name for name in one if name in other and name not in _OF_LIBRARY]
    return [f"setting {name}" for name in shared if one[name] != other[name]]
