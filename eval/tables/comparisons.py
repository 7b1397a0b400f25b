"""Paired comparisons: arms against the baseline, the primary contrast, controls of abstraction, two groups by name.

Of two groups also the questions that only one of them answered right, with both trajectories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from controller.display import cut, round_lines, summary_record, value_text, wrapped
from controller.episode import Episode, accounts_of, total
from eval.datasets.items import Item
from eval.runs.stored_run import Run
from eval.statistics import FEW_CLUSTERS, holm, mcnemar
from eval.tables.cells import POINTS, Measure, Values, correct, count, interval, mean, money, score, tokens, value_cell
from eval.tables.rows import SampleRow, Setting
from eval.tables.study import PLACE, Group, Rows, Study, chosen, filtered, grouped, independent, keys, words
from eval.tables.table import CellsByKey, Figure, Figures, Table, TableCell, Value, blank, figure
from world_api.core.faults import EpisodeFault, EvalFault
from world_api.core.identifiers import columns as width_of

Pair = tuple[SampleRow, SampleRow]
_KEY = ("dataset", "item", "world", "budget", "seed")
#: Parts of the design that two groups may be compared across, if each has a single value of its own.
_ACROSS = ("world", "budget", "seed")
#: The setting that depends on the arm's library.
_OF_LIBRARY = "arm"


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Pairs of samples of two groups with the same question, world, budget and seed.

    ``left`` and ``right`` are samples of the first and second group without a partner.
    """

    pairs: tuple[Pair, ...]
    left: tuple[SampleRow, ...] = ()
    right: tuple[SampleRow, ...] = ()

    def where(self, keep: Callable[[SampleRow], bool]) -> Pairs:
        """Return the pairs whose first sample fulfils ``keep``, and the unpaired samples that do."""
        left, right = (tuple(filter(keep, rows)) for rows in (self.left, self.right))
        return Pairs(pairs=tuple(pair for pair in self.pairs if keep(pair[0])), left=left, right=right)

    @property
    def swapped(self) -> Pairs:
        """The same pairs with the two samples exchanged, without the unpaired samples."""
        return Pairs(pairs=tuple((other, one) for one, other in self.pairs))

    @property
    def rows(self) -> list[SampleRow]:
        """All paired samples."""
        return [row for pair in self.pairs for row in pair]

    @property
    def better(self) -> list[Pair]:
        """The pairs of which only the first sample is right."""
        return [pair for pair in self.pairs if pair[0].correct and not pair[1].correct]

    @property
    def worse(self) -> list[Pair]:
        """The pairs of which only the second sample is right."""
        return [pair for pair in self.pairs if pair[1].correct and not pair[0].correct]

    @property
    def questions(self) -> list[tuple[bool, bool]]:
        """For each question, whether the first group and whether the second group is right, over all seeds.

        The seeds of one question are not independent, so they give one result. The group that is right under more seeds
        counts as right, the other as wrong; with equal numbers both count as right, or as wrong if they are never
        right.
        """
        right: dict[tuple[str, str], tuple[int, int]] = {}
        for one, other in self.pairs:
            first, second = right.get((one.dataset, one.item), (0, 0))
            right[one.dataset, one.item] = first + one.correct, second + other.correct
        return [(first >= second and first > 0, second >= first and second > 0) for first, second in right.values()]

    def differences(self, measure: Measure) -> Values:
        """Return the first sample's measure less the second's, for the pairs where both are known."""
        values = Values()
        for one, other in self.pairs:
            first, second = measure(one), measure(other)
            if first is not None and second is not None:
                values.add(first - second, one, other)
        return values


def key_of(row: SampleRow, parts: Sequence[str] = _KEY) -> tuple[Any, ...]:
    """Return a sample's values of these attributes, which must be equal for two samples to be a pair."""
    return tuple(getattr(row, part) for part in parts)


def pairs_of(
    one: Iterable[SampleRow], other: Iterable[SampleRow], *, across: Sequence[str] = (), shared: bool = False
) -> Pairs:
    """Pair the samples of two groups. ``across`` names the parts of the key to ignore, since they are what is compared.

    If the groups share libraries and there are several, both samples of a pair have the same library. ``shared``:
    several samples of the first group may have the same partner (several libraries as random draws, against one
    baseline).

    Raises:
        EvalFault: ``ambiguous_pairs``: two samples of one group have the same key.
    """
    first, second = list(one), list(other)
    parts = [name for name in _KEY if name not in across]
    libraries, rivals = {row.library for row in first}, {row.library for row in second}
    if None not in libraries | rivals and libraries & rivals and len(libraries | rivals) > 1:
        parts.append("library")
    partners = _by_key(second, parts)
    if not shared:
        _by_key(first, parts)
    pairs = [(row, partner) for row in first if (partner := partners.get(key_of(row, parts))) is not None]
    matched = {key_of(row, parts) for row, _ in pairs}
    return Pairs(
        pairs=tuple(pairs),
        left=tuple(row for row in first if key_of(row, parts) not in matched),
        right=tuple(row for key, row in partners.items() if key not in matched),
    )


def _by_key(rows: Iterable[SampleRow], parts: Sequence[str]) -> dict[tuple[Any, ...], SampleRow]:
    found: dict[tuple[Any, ...], SampleRow] = {}
    for row in rows:
        known = found.setdefault(key_of(row, parts), row)
        if known is not row:
            raise EvalFault(
                "ambiguous_pairs",
                f"two samples of the question {row.item[:80]} are in one group: {known.cell[:120]}, {row.cell[:120]}",
                hint="name one arm with one library, and choose one world and one budget",
            )
    return found


def differing(pairs: Pairs) -> list[str]:
    """Return in words how paired samples differ in their set-up; a single difference is the one that is studied.

    A setting or library that only one of two systems has counts as part of the system.
    """
    found: dict[str, None] = {}
    for one, other in pairs.pairs:
        differs = {
            "systems": one.system != other.system,
            "libraries": one.library_hash != other.library_hash and one.library_hash and other.library_hash,
            "models": one.model != other.model,
            "worlds of the same name": one.world == other.world
            and one.world_hash != other.world_hash and one.world_hash and other.world_hash,
        }  # fmt: skip
        both = [name for name in one.settings if name in other.settings and name != _OF_LIBRARY]
        differs |= {f"setting {name}": one.settings[name] != other.settings[name] for name in both}
        found |= {name: None for name, is_other in differs.items() if is_other}
    return list(found)


def concerns(pairs: Pairs) -> list[str]:
    """Return ``differing`` without the studied difference: systems, else libraries, else the only one (of several, none is)."""
    found = differing(pairs)
    return found[1:] if found and found[0] in ("systems", "libraries") else found if len(found) > 1 else []


#: Why there is no p value with several libraries: flipping only videos would treat these libraries as fixed.
DRAWN = "libraries are draws: the interval crosses them"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A comparison of two arms in one setting, on questions of one ``domain`` or ``all``; ``name`` is a tool left out.

    ``p_holm`` is the clustered p value, adjusted by Holm's method over the rows of its table.
    """

    setting: Setting
    arm: str
    against: str
    pairs: Pairs
    domain: str = "all"
    name: str = ""
    p_holm: float | None = None
    cells: Mapping[str, TableCell | Value] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A text that identifies the comparison within its table."""
        return "\n".join((self.setting.dataset, self.setting.world, self.setting.budget, self.arm, self.domain))

    @property
    def rows(self) -> Rows:
        """All paired samples."""
        return self.pairs.rows

    @property
    def samples(self) -> tuple[str, ...]:
        """The keys of the paired samples."""
        return keys(self.rows)

    @cached_property
    def values(self) -> Values:
        """The paired differences in accuracy."""
        return self.pairs.differences(correct)

    @cached_property
    def p(self) -> float | None:
        """The clustered p value; None with fewer than two videos, or if libraries are random draws as well."""
        return None if self.values.are_drawn else self.values.clustered_p

    def p_cell(self, p: float | None) -> TableCell:
        """Return a p value as a cell; if it is None, a blank with the reason."""
        return value_cell(p, "no pairs" if not self.pairs.pairs else DRAWN if self.values.are_drawn else "one video")

    def mcnemar(self) -> TableCell:
        """Return the p value of McNemar's exact test over questions."""
        is_known = self.pairs.pairs and not self.values.are_drawn
        return self.p_cell(mcnemar(self.pairs.questions) if is_known else None)

    def side(self, place: int) -> TableCell:
        """Return the accuracy of one side (0: the arm, 1: the other) on the pairs."""
        rows = [pair[place] for pair in self.pairs.pairs]
        return replace(mean(rows, correct), samples=keys(rows))

    def side_right(self, place: int) -> TableCell:
        """Return the number of pairs of which only this side is right (0: the arm, 1: the other)."""
        pairs = self.pairs.worse if place else self.pairs.better
        return count(len(pairs), [row for pair in pairs for row in pair])

    def difference(self, measure: Measure = correct, why: str = "no pairs") -> TableCell:
        """Return the mean difference of a measure, the arm less the other, over the pairs, with its interval.

        The cell is blank, with the reason ``why``, if no pair has the measure.
        """
        within = POINTS if measure in (correct, score) else None
        values = self.values if measure is correct else self.pairs.differences(measure)
        return interval(values, within=within, why=why, crossed=self.values.are_drawn)


PAIRS: Figure[Contrast] = figure(
    "pairs", "count", lambda item: len(item.pairs.pairs), about="questions and seeds that both have"
)
PAIR_VIDEOS: Figure[Contrast] = figure("videos", "count", lambda item: len(set(item.values.clusters)))
P_CLUSTERED: Figure[Contrast] = figure(
    "p_clustered", "p", lambda item: item.p_cell(item.p), title="p, clustered", about="sign flips of whole videos"
)
TOKENS_DIFFERENCE: Figure[Contrast] = figure(
    "tokens_difference", "change", lambda item: item.difference(tokens, "no pair with episodes"),
    title="tokens", about="logical, a sample",
)  # fmt: skip
_FIGURES: Figures[Contrast] = (
    *PLACE,
    *words("against", "domain"),
    PAIRS,
    figure("unpaired", "count", lambda item: len(item.pairs.left) + len(item.pairs.right),
           about="samples without a partner, left out", aside=True),
    PAIR_VIDEOS,
    figure("accuracy", "share", lambda item: item.side(0), about="of the arm, on the pairs"),
    figure("accuracy_against", "share", lambda item: item.side(1), title="of the other",
           about="accuracy of the other, on the pairs"),
    figure("difference", "points", Contrast.difference),
    figure("only_arm", "count", lambda item: item.side_right(0), title="only arm right", aside=True),
    figure("only_against", "count", lambda item: item.side_right(1), title="only other right", aside=True),
    P_CLUSTERED,
    figure("p_mcnemar", "p", Contrast.mcnemar, title="p, McNemar",
           about="exact, a pair for each question, as if questions were independent", aside=True),
    figure("p_holm", "p", lambda item: item.p_cell(item.p_holm), title="p, Holm",
           about="the clustered p, adjusted over this table"),
    figure("score_difference", "points", lambda item: item.difference(score), title="score", aside=True),
    TOKENS_DIFFERENCE,
    figure("money_difference", "change", lambda item: item.difference(money, "no price is known"), title="USD",
           about="logical, a sample", aside=True),
    figure("concerns", "text", lambda item: "; ".join(concerns(item.pairs)), title="also differs",
           about="what differs beside what is studied"),
)  # fmt: skip
_NOTE = "Differences are the arm less the other on the same question, world, budget and seed; intervals (95 %) over videos. "


def comparison_table(study: Study, name: str, title: str, found: Sequence[Contrast], *, note: str) -> Table:
    """Return a table of contrasts whose p values are adjusted together (Holm)."""
    adjusted = holm({item.key: item.p for item in found if item.p is not None})
    family = [replace(item, p_holm=adjusted.get(item.key)) for item in found]
    return study.table(name, _FIGURES, family, title=title, note=note)


def contrasts(study: Study, *, by_domain: bool = False) -> Iterator[Contrast]:
    """Yield every arm against the baseline in each setting; with ``by_domain`` one contrast for each task domain."""
    for group, baseline in study.beside_baseline():
        if baseline is None or group.arm == baseline.arm:
            continue
        for domain in dict.fromkeys(row.domain for row in group.rows) if by_domain else ("all",):
            sides = ([row for row in side.rows if domain in ("all", row.domain)] for side in (group, baseline))
            if domain is not None:
                yield replace(contrast_of(group, baseline.arm, pairs_of(*sides)), domain=domain)


def contrast_of(group: Group, against: str, pairs: Pairs) -> Contrast:
    """Return the contrast of an arm with another one (``against``) in the same setting."""
    return Contrast(setting=group.setting, arm=group.arm, against=against, pairs=pairs)


def comparisons_table(study: Study, *, by_domain: bool = False) -> Table:
    """Return the table of every arm against the baseline, without the primary contrast, which has its own table."""
    try:
        primary = {(item.key, item.against) for item in primary_contrasts(study)}
    except EvalFault:
        primary = set()
    found = [item for item in contrasts(study, by_domain=by_domain) if (item.key, item.against) not in primary]
    name, title = ("comparisons_by_domain", "by task domain") if by_domain else ("comparisons", "paired")
    note = _NOTE + "Holm's adjustment is over all rows of this table. "
    note += "These comparisons are secondary; the primary one has a table of its own. Only `concerns` that are empty "
    note += "leave a single difference between the two." if found else "there is no arm to compare with a baseline."
    return comparison_table(study, name, f"Arms against the baseline, {title}", found, note=note)


def primary_contrasts(study: Study) -> list[Contrast]:
    """Return the primary contrast of the run for each dataset; empty if none is named or it has no samples yet."""
    named = study.primary or {}
    keys_of_part = [key for key in ("dataset", "world", "budget", "domain") if named.get(key)]
    rows = [row for row in study.rows if all(getattr(row, key) == named[key] for key in keys_of_part)]
    found = (_primary_of(study, named, own) for own in grouped(rows, lambda row: row.dataset).values())
    return [item for item in found if item is not None]


def _primary_of(study: Study, named: Mapping[str, str | None], rows: Rows) -> Contrast | None:
    """Return the primary contrast in one dataset; None if one of its arms has no samples."""
    library = named.get("library")
    one, other = ([row for row in rows if row.arm_name == named.get(key)] for key in ("arm", "against"))
    if library:
        one = [row for row in one if row.library == library]
        other = [row for row in other if row.library == library] or other
    elif any(row.has_real_library for row in one):
        one, _ = independent([row for row in one if row.has_real_library], study.libraries)
    if not one or not other:
        return None
    several, rivals = len({row.arm for row in one}) > 1, len({row.arm for row in other}) > 1
    return Contrast(
        setting=one[0].setting,
        arm=str(named["arm"]) if several else one[0].arm,
        against=str(named["against"]) if rivals else other[0].arm,
        pairs=pairs_of(one, other, shared=several),
        domain=str(named.get("domain") or "all"),
    )


def primary_table(study: Study) -> Table:
    """Return the table of the primary contrast, which was named before the run; one row for each dataset."""
    found = primary_contrasts(study)
    named = ", ".join(f"{key} {value}" for key, value in (study.primary or {}).items() if value)
    family = "Being the only one of its family its p value is not adjusted. "
    if len(found) > 1:
        family = "It names no dataset, so that each has a row and Holm's adjustment is over them. "
    note = f"{_NOTE}Named before the run: {named}. {family}"
    note += "Where it names no library, all real ones of the arm are in it, as draws that are crossed with videos and seeds; then "
    note += "the interval alone counts. Of libraries that are made from one another one is in it."
    if not found:
        note = f"The primary contrast ({named}) has no pairs yet." if named else "The run names no primary contrast."
    return comparison_table(study, "primary", "Primary contrast", found, note=note)


#: Each control, with what it provides without abstraction.
CONTROLS = {
    "flat": "the operations alone",
    "flat+domain": "the domain's text",
    "hints": "advice that cannot be called",
    "flat+compose": "programs without a library",
}
_LEVEL = 0.05


_MINUS: Figures[Group] = tuple(
    figure(f"minus {name}", "points", title=f"less {name}", about=about) for name, about in CONTROLS.items()
)
_ABSTRACTION: Figures[Group] = (
    *PLACE,
    figure("pairs", "count", about="with the control that has fewest"),
    figure("videos", "count"),
    *_MINUS,
    figure("abstraction", "points", title="less the best", about="the smallest of the differences"),
    figure("p", "p", about="the greatest of the clustered p values: all must be beaten"),
    figure("beaten", "count", about="controls whose interval is below the arm, at a p of 0.05"),
    figure("claim", "yes_no", title="all beaten"),
    figure("tokens_difference", "change", title="tokens, less the best", about="logical, a sample"),
    figure("concerns", "text", title="also differs", aside=True),
)  # fmt: skip


def abstraction_table(study: Study) -> Table:
    """Return the table of every ``hier`` arm with a real library, compared with the four controls in its setting."""
    return study.table(
        "abstraction",
        _ABSTRACTION,
        [
            _against_controls(group, dict(_controls(group.first, list(arms.values()))))
            for arms in study.by_setting()
            for group in arms.values()
            if group.first.system == "hier" and group.first.has_real_library
        ],
        note="Abstraction is credited only for what hier gains over all four controls together. The composite is the smallest "
        "of the four differences; its interval runs from the smallest lower end to the smallest upper end, so that it is above "
        "zero only if each does. All must be beaten, so no adjustment for their number is due (an intersection-union test). A "
        f"control that was not run leaves the claim open, and so do fewer than {FEW_CLUSTERS} videos.",
    )


def _controls(row: SampleRow, groups: Sequence[Group]) -> Iterator[tuple[str, Group]]:
    """Yield each of ``CONTROLS`` (names of systems) that was run, with the samples of its arm with the shortest name.

    For ``hints`` only arms with the same library as ``row`` are considered.
    """
    for name in CONTROLS:
        found = [own for own in groups if own.first.system == name]
        if name == "hints":
            found = [own for own in found if own.first.library_hash == row.library_hash]
        if found:
            yield name, min(found, key=lambda own: (len(own.arm), own.arm))


def _against_controls(group: Group, controls: Mapping[str, Group]) -> Group:
    """Return the arm's group with cells that compare it with each control that was run; its rows are paired samples."""
    all_pairs = {name: pairs_of(group.rows, rival.rows) for name, rival in controls.items()}
    found = {name: contrast_of(group, name, pairs) for name, pairs in all_pairs.items() if pairs.pairs}
    differences = {name: item.difference() for name, item in found.items()}
    beaten = sum(
        differences[name].is_sure and (1 if item.p is None else item.p) <= _LEVEL for name, item in found.items()
    )
    also = [f"{name}: {what}" for name, item in found.items() for what in concerns(item.pairs)]
    cells: CellsByKey = {
        f"minus {name}": differences.get(name, blank("no pairs" if name in controls else "not run"))
        for name in CONTROLS
    }
    cells |= {
        "pairs": min((len(item.pairs.pairs) for item in found.values()), default=0),
        "videos": min((cell.clusters or 0 for cell in differences.values()), default=0),
        "beaten": beaten,
        "concerns": "; ".join(dict.fromkeys(also)),
    }
    missing = [name for name in CONTROLS if name not in found]
    if missing:
        why = blank("not run: " + ", ".join(missing))
        cells |= dict.fromkeys(("abstraction", "p", "claim", "tokens_difference"), why)
    else:
        cells |= _composite(found, differences, all_beaten=beaten == len(CONTROLS))
    rows = {row.sample: row for item in found.values() for row in item.rows}
    return replace(group, rows=list(rows.values()), cells=cells)


def _composite(found: Mapping[str, Contrast], differences: Mapping[str, TableCell], *, all_beaten: bool) -> CellsByKey:
    """Return the cells for the smallest of the differences to the controls, and the claim that the arm beats all.

    The interval runs from the smallest lower end to the smallest upper end. Both arguments are by name of control.
    """
    cells = list(differences.values())
    lows, highs = ([end for cell in cells if (end := getattr(cell, side)) is not None] for side in ("low", "high"))
    whole = len(lows) == len(highs) == len(cells)
    smallest = TableCell(
        value=min(cell.number or 0.0 for cell in cells),
        low=min(lows) if whole else None,
        high=min(highs) if whole else None,
        n=min(cell.n or 0 for cell in cells),
        clusters=min(cell.clusters or 0 for cell in cells),
        mark="; ".join(dict.fromkeys(cell.mark for cell in cells if cell.mark)),
    )
    is_lost = any((cell.number or 0.0) <= 0 for cell in cells)
    known = [item.p for item in found.values() if item.p is not None]
    p = max(known) if len(known) == len(found) and not is_lost else None
    is_open = not is_lost and (smallest.clusters or 0) < FEW_CLUSTERS
    best = min(differences, key=lambda name: differences[name].number or 0.0)
    return {
        "abstraction": smallest,
        "p": value_cell(p, "a control is as good" if is_lost else "fewer than two videos"),
        "claim": blank(f"fewer than {FEW_CLUSTERS} videos") if is_open else all_beaten,
        "tokens_difference": found[best].difference(tokens, "no pair with episodes"),
    }


@dataclass(frozen=True, kw_only=True)
class ArmComparison:
    """Two groups, paired. ``across`` names those of ``world``, ``budget`` and ``seed`` in which the groups differ."""

    one: str
    other: str
    pairs: Pairs
    across: tuple[str, ...]
    tables: tuple[Table, ...] = ()

    @property
    def differs(self) -> list[str]:
        """How the two groups differ, in words: ``across``, then ``differing``."""
        return [*self.across, *differing(self.pairs)]

    @property
    def concerns(self) -> list[str]:
        """The differences other than the one that is studied."""
        return self.differs[1:] if self.across else concerns(self.pairs)


def paired_groups(study: Study, one: str, other: str, filters: Sequence[str] = ()) -> ArmComparison:
    """Return two groups with their samples paired; a group is written like ``flat``, ``hier@hand_A``, ``flat@world=oracle``.

    ``filters`` (``key=value``) select samples of both. If each group has a single world, budget or seed and these
    differ, the groups are paired across them.

    Raises:
        EvalFault: ``unknown_arm``, ``bad_filter``, ``nothing_chosen``, ``several_arms``, ``ambiguous_pairs``,
            ``no_pairs``.
    """
    rows = filtered(study.rows, filters)
    first, second = chosen(rows, one), chosen(rows, other)
    values = {part: [{getattr(row, part) for row in rows} for rows in (first, second)] for part in _ACROSS}
    across = tuple(part for part, (a, b) in values.items() if len(a) == len(b) == 1 and a != b)
    pairs = pairs_of(first, second, across=across)
    if not pairs.pairs:
        raise EvalFault(
            "no_pairs",
            f"no question was asked of both {one[:60]!r} and {other[:60]!r}",
            hint="they must share dataset, questions, world, budget and seed, or each be in one world, budget or seed",
        )
    return ArmComparison(one=one, other=other, pairs=pairs, across=across)


def compare(study: Study, one: str, other: str, filters: Sequence[str] = ()) -> ArmComparison:
    """Return two groups, paired, with a table over all samples and, if there are several task domains, one by domain.

    Raises:
        EvalFault: as ``paired_groups``.
    """
    found = paired_groups(study, one, other, filters)
    title = f"{one} against {other}"
    note = f"The first ({one}) less the second ({other}) on the same questions; intervals (95 %) over videos. "
    note += "Holm's adjustment is over the rows of this table."
    whole, parts = (_contrasts(found, by_domain=by_domain) for by_domain in (False, True))
    tables = [comparison_table(study, "compared", title, whole, note=note)]
    if len({item.domain for item in parts}) > 1:
        tables.append(comparison_table(study, "compared_by_domain", f"{title}, by task domain", parts, note=note))
    return replace(found, tables=tuple(tables))


def _contrasts(found: ArmComparison, *, by_domain: bool) -> list[Contrast]:
    """Return a contrast for each setting, or for each setting and domain, including the samples without a partner."""
    pairs = found.pairs
    # If worlds or budgets are compared, those of the first group name the setting.
    shared: dict[str, str] = {name: getattr(pairs.pairs[0][0], name) for name in found.across if name != "seed"}

    def part(row: SampleRow) -> tuple[Setting, str | None]:
        return replace(row.setting, **shared), row.domain if by_domain else "all"

    def at(place: tuple[Setting, str | None]) -> Callable[[SampleRow], bool]:
        return lambda row: part(row) == place

    contrasts = []
    for place in dict.fromkeys(map(part, (*(one for one, _ in pairs.pairs), *pairs.left, *pairs.right))):
        setting, domain = place
        if domain is not None:
            own = pairs.where(at(place))
            contrasts.append(Contrast(setting=setting, arm=found.one, against=found.other, pairs=own, domain=domain))
    return contrasts


#: In narrower terminals one trajectory is below the other.
SIDE_BY_SIDE = 120
_GAP = " | "


@dataclass(frozen=True, kw_only=True)
class Side:
    """One arm's sample, with its episode; ``why`` is the reason if ``episode`` is None."""

    row: SampleRow
    episode: Episode | None
    why: str = ""

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = ("sample", "arm", "correct", "score", "outcome", "reason")
        episode = summary_record(self.episode) if self.episode is not None else None
        return {**{name: getattr(self.row, name) for name in names}, "episode": episode, "why": self.why}


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A question that only one of two arms answered right."""

    item: Item
    one: Side
    other: Side

    def record(self) -> dict[str, Any]:
        """Return the JSON form. ``right`` is ``a`` if the first arm is right, else ``b``."""
        question, row = self.item.question, self.one.row
        return {
            "item": self.item.id,
            "question": question.text,
            "kind": question.kind,
            "options": list(question.options),
            "truth": self.item.answer,
            "spans": [[span.start, span.end] for span in self.item.spans],
            "video": self.item.video_id,
            "dataset": row.dataset,
            "domain": self.item.domain,
            "world": row.world,
            "budget": row.budget,
            "seed": row.seed,
            "right": "a" if row.correct else "b",
            "a": self.one.record(),
            "b": self.other.record(),
        }


def flips_of(run: Run, flips: Sequence[Pair]) -> list[Flip]:
    """Return pairs of samples as flips, with their questions and episodes. Each cell's journal is read once."""
    sides: dict[str, Side] = {}
    for cell, rows in grouped((row for pair in flips for row in pair), lambda row: row.cell).items():
        sides.update({row.sample: _side(run, row) for row in rows})
        run.forget(cell)
    return [
        Flip(item=run.items[one.dataset, one.item], one=sides[one.sample], other=sides[other.sample])
        for one, other in flips
    ]


def _side(run: Run, row: SampleRow) -> Side:
    try:
        episode = run.episode(run.by_key[row.sample])
    except EpisodeFault as fault:
        return Side(row=row, episode=None, why=fault.message)
    return Side(row=row, episode=episode, why="" if episode is not None else f"no episode: {row.reason}")


def flip_text(flip: Flip, *, width: int, full: bool = False) -> str:
    """Return a flip as text: the question with its reference answer, then both trajectories.

    They are side by side if ``width`` (in characters) allows; ``full`` shows replies and calls in full length.
    """
    lines = list(_question(flip, min(width, 2 * SIDE_BY_SIDE)))
    if width >= SIDE_BY_SIDE:
        half = (width - len(_GAP)) // 2
        lines += _beside(_column(flip.one, half, full=full), _column(flip.other, half, full=full), half)
    else:
        for side in (flip.one, flip.other):
            lines += ["", *(line for block in _column(side, width, full=full) for line in block)]
    return "\n".join(lines)


def _question(flip: Flip, width: int) -> Iterator[str]:
    item, row = flip.item, flip.one.row
    shown = ", ".join(f"{span.start:g}-{span.end:g} s" for span in item.spans)
    options = zip(item.question.letters, item.question.options, strict=True)
    lines = [
        f"{item.id}  {item.question.text}",
        *(f"  {letter}. {option}" for letter, option in options),
        f"truth: {value_text(item.answer, 200)}" + (f", shown at {shown}" if shown else ""),
        f"video {item.video_id}, {item.domain or 'no domain'}, world {row.world}, budget {row.budget}, seed {row.seed}",
    ]
    for line in lines:
        yield from wrapped(line, width)


def _column(side: Side, width: int, *, full: bool) -> list[list[str]]:
    """Return one trajectory as blocks of lines: the outcome, then one block for each round."""
    row = side.row
    verdict = f"{row.arm}: {'RIGHT' if row.correct else 'WRONG'}, score {row.score:.2f}"
    head = [verdict, f"episode {row.cell}/{row.episode}" if row.episode else "no episode"]
    if side.episode is None:
        return [_fitted([*head, side.why], width)]
    episode = side.episode
    value = value_text(episode.value, 200) if episode.value is not None else episode.answer or "none"
    spent = total(accounts_of(episode).logical)
    head += [f"answer: {value}", f"ended: {episode.outcome}" + (f", {episode.reason}" if episode.reason else "")]
    head.append(f"{len(episode.rounds)} rounds, {len(episode.tool_calls)} calls, {spent.tokens:,} tokens")
    numbers = sorted({call.round for call in episode.calls if call.round == 0}) + [r.number for r in episode.rounds]
    return [
        _fitted(head, width),
        *(_fitted(["", *round_lines(episode, number, full=full)], width) for number in numbers),
    ]


def _fitted(lines: Sequence[str], width: int) -> list[str]:
    """Return the lines; those with more than ``width`` columns are cut."""
    return [cut(line, width) if width_of(line) > width else line for line in lines]


def _beside(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    yield "-" * width + "-+-" + "-" * width
    for one, other in zip_longest(left, right, fillvalue=()):
        for first, second in zip_longest(one, other, fillvalue=""):
            yield (first + " " * (width - width_of(first)) + _GAP + second).rstrip()
