"""Two groups of samples that somebody names, compared: in all and by domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.tables.arms import chosen, filtered
from eval.tables.kinds.comparing import Contrast, comparison_table
from eval.tables.pairing import Pairs, concerns, differing, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import Setting, Study, grouped, setting_of
from eval.tables.table import Table
from world_api.core.faults import EvalFault

_CROSSABLE = ("world", "budget", "seed")


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
    first = [row for row, _ in pairs.pairs]
    whole = [_contrast(setting, one, other, part, pairs) for setting, part in grouped(first, setting_of).items()]
    parts = [
        _contrast(setting, one, other, part, pairs, domain=domain)
        for (setting, domain), part in grouped(first, lambda row: (setting_of(row), row.domain)).items()
        if domain is not None
    ]
    note = f"The first ({one}) less the second ({other}) on the same questions; intervals (95 %) over videos. "
    family = "Holm's adjustment is over the rows of this table."
    tables = [comparison_table(study, "compared", f"{one} against {other}", whole, note=note + family)]
    if len({item.domain for item in parts}) > 1:
        title = f"{one} against {other}, by task domain"
        tables.append(comparison_table(study, "compared_by_domain", title, parts, note=note + family))
    return Compared(one=one, other=other, pairs=pairs, across=across, tables=tuple(tables))


def _contrast(
    setting: Setting, one: str, other: str, part: Sequence[SampleRow], pairs: Pairs, *, domain: str = "all"
) -> Contrast:
    wanted = {row.sample for row in part}
    own = tuple(pair for pair in pairs.pairs if pair[0].sample in wanted)
    left, right = (pairs.left, pairs.right) if domain == "all" else (0, 0)
    return Contrast(
        setting=setting,
        arm=one,
        against=other,
        pairs=Pairs(pairs=own, left=left, right=right),
        domain=domain,
    )
