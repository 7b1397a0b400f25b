"""Two groups of samples that somebody names, compared: in all and by domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from eval.tables.arms import chosen, filtered
from eval.tables.kinds.comparing import Contrast, comparison_table
from eval.tables.pairing import Pairs, concerns, differing, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import Setting, Study, setting_of
from eval.tables.table import Table
from world_api.core.faults import EvalFault

_CROSSABLE = ("world", "budget", "seed")
_ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Two groups, paired. ``across`` are the parts of the design that are compared themselves, such as worlds."""

    one: str
    other: str
    pairs: Pairs
    across: tuple[str, ...]
    tables: tuple[Table, ...]

    @property
    def differs(self) -> list[str]:
        """In what the two differ, in words: the first is what is studied."""
        return [*self.across, *differing(self.pairs)]

    @property
    def concerns(self) -> list[str]:
        """What differs beside one thing that is studied."""
        found = concerns(self.pairs)
        if not self.across:
            return found
        return [*self.across[1:], *differing(self.pairs)]


def paired_groups(study: Study, one: str, other: str, filters: Sequence[str] = ()) -> tuple[Pairs, tuple[str, ...]]:
    """Pair two groups by name; where each is in one world, budget or seed of its own, that is what is compared.

    Raises:
        EvalFault: ``unknown_arm``, ``bad_filter``, ``nothing_chosen``, ``several_arms``, ``ambiguous_pairs``, ``no_pairs``.
    """
    rows = filtered(study.rows, filters)
    first, second = chosen(rows, one), chosen(rows, other)
    across = tuple(part for part in _CROSSABLE if _disjoint(first, second, part))
    pairs = pairs_of(first, second, across=across)
    if not pairs.pairs:
        raise EvalFault(
            "no_pairs",
            f"no question was asked of both {one[:60]!r} and {other[:60]!r}",
            hint="they must share dataset, questions, world, budget and seed, or each be in one world, budget or seed",
        )
    return pairs, across


def _disjoint(one: Sequence[SampleRow], other: Sequence[SampleRow], part: str) -> bool:
    """Whether each group has a single value of its own."""
    values = [{getattr(row, part) for row in rows} for rows in (one, other)]
    return all(len(found) == 1 for found in values) and values[0] != values[1]


def compare(study: Study, one: str, other: str, filters: Sequence[str] = ()) -> Compared:
    """Compare two groups of samples, with tables in all and by domain.

    Raises:
        EvalFault: as ``paired_groups``.
    """
    pairs, across = paired_groups(study, one, other, filters)
    whole = _contrasts(one, other, pairs, across, by_domain=False)
    parts = _contrasts(one, other, pairs, across, by_domain=True)
    note = f"The first ({one}) less the second ({other}) on the same questions; intervals (95 %) over videos. "
    family = "Holm's adjustment is over the rows of this table."
    tables = [comparison_table(study, "compared", f"{one} against {other}", whole, note=note + family)]
    if len({item.domain for item in parts}) > 1:
        title = f"{one} against {other}, by task domain"
        tables.append(comparison_table(study, "compared_by_domain", title, parts, note=note + family))
    return Compared(one=one, other=other, pairs=pairs, across=across, tables=tuple(tables))


@dataclass(kw_only=True)
class _Part:
    """What of two groups lies in one setting, or in one domain of it."""

    pairs: list[tuple[SampleRow, SampleRow]] = field(default_factory=list)
    left: list[SampleRow] = field(default_factory=list)
    right: list[SampleRow] = field(default_factory=list)


def _contrasts(one: str, other: str, pairs: Pairs, across: Sequence[str], *, by_domain: bool) -> list[Contrast]:
    """A contrast for each setting, or for each setting and domain, with the samples of it that have no partner."""
    first, _ = pairs.pairs[0]
    # Where worlds or budgets are what is compared, those of the first group stand for both.
    shared: dict[str, str] = {name: getattr(first, name) for name in across if name != "seed"}
    held: dict[tuple[Setting, str | None], _Part] = {}

    def part(row: SampleRow) -> _Part:
        place = replace(setting_of(row), **shared), row.domain if by_domain else _ALL
        return held.setdefault(place, _Part())

    for pair in pairs.pairs:
        part(pair[0]).pairs.append(pair)
    for row in pairs.left:
        part(row).left.append(row)
    for row in pairs.right:
        part(row).right.append(row)
    return [
        Contrast(
            setting=setting,
            arm=one,
            against=other,
            pairs=Pairs(pairs=tuple(own.pairs), left=tuple(own.left), right=tuple(own.right)),
            domain=domain,
        )
        for (setting, domain), own in held.items()
        if domain is not None
    ]
