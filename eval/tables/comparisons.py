"""Paired comparisons: every arm against the baseline, the primary contrast, the four controls of abstraction, two groups by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from eval.statistics.bootstrap import FEW_CLUSTERS
from eval.statistics.significance import holm, mcnemar, sign_flip
from eval.tables.accuracy import PLACE, place_cells
from eval.tables.cells import POINTS, Values, correct, count, interval, is_sure, mean, money, score, tokens, value_cell
from eval.tables.pairing import Pairs, concerns, differing, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import (
    Setting,
    Study,
    chosen,
    filtered,
    grouped,
    independent,
    keys,
    libraries_are_real,
    setting_of,
    videos,
)
from eval.tables.table import Cell, Column, Row, Table, blank
from world_api.core.faults import EvalFault

_FIGURES = (
    Column(key="pairs", title="pairs", kind="count", about="questions and seeds that both have"),
    Column(key="unpaired", title="unpaired", kind="count", about="samples without a partner, left out", aside=True),
    Column(key="videos", title="videos", kind="count"),
    Column(key="accuracy", title="accuracy", kind="share", about="of the arm, on the pairs"),
    Column(key="accuracy_against", title="of the other", kind="share", about="accuracy of the other, on the pairs"),
    Column(key="difference", title="difference", kind="points"),
    Column(key="only_arm", title="only arm right", kind="count", aside=True),
    Column(key="only_against", title="only other right", kind="count", aside=True),
    Column(key="p_clustered", title="p, clustered", kind="p", about="sign flips of whole videos"),
    Column(
        key="p_mcnemar",
        title="p, McNemar",
        kind="p",
        about="exact, a pair for each question, as if questions were independent",
        aside=True,
    ),
    Column(key="p_holm", title="p, Holm", kind="p", about="the clustered p, adjusted over this table"),
    Column(key="score_difference", title="score", kind="points", aside=True),
    Column(key="tokens_difference", title="tokens", kind="change", about="logical, a sample"),
    Column(key="money_difference", title="USD", kind="change", about="logical, a sample", aside=True),
    Column(key="concerns", title="also differs", about="what differs beside what is studied"),
)
_COLUMNS = (*PLACE, Column(key="against", title="against"), Column(key="domain", title="domain"), *_FIGURES)

_NOTE = "Differences are the arm less the other on the same question, world, budget and seed; intervals (95 %) over videos. "
#: Why there is no p value where several libraries are behind a difference.
DRAWN = "libraries are draws: the interval crosses them"
_FAMILY = "Holm's adjustment is over all rows of this table. "


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """One comparison: samples of an arm against samples of another, in one setting."""

    setting: Setting
    arm: str
    against: str
    pairs: Pairs
    domain: str = "all"

    def key(self) -> str:
        """A name within a family."""
        return "\n".join((self.setting.dataset, self.setting.world, self.setting.budget, self.arm, self.domain))


def baseline_of(rows: Sequence[SampleRow], preferred: str | None = None) -> str | None:
    """The arm that others are compared with: the one preferred, else one of the system ``flat``, the plainest first."""
    arms = {row.arm: row for row in rows}
    if preferred is not None and preferred in arms:
        return preferred
    flats = [name for name, row in arms.items() if row.system == "flat" and row.library is None]
    return min(flats, key=lambda name: (name != "flat", len(name), name), default=None)


def contrasts(study: Study, *, by_domain: bool = False) -> list[Contrast]:
    """Every arm against the baseline, in each setting; with ``by_domain`` in each task domain by itself."""
    found = []
    for setting, rows in grouped(study.rows, setting_of).items():
        baseline = baseline_of(rows, study.baseline)
        arms = grouped(rows, lambda row: row.arm)
        for arm, own in arms.items():
            if baseline is None or arm == baseline:
                continue
            for domain, one, other in _parts(own, arms[baseline], by_domain=by_domain):
                pairs = pairs_of(one, other)
                found.append(Contrast(setting=setting, arm=arm, against=baseline, pairs=pairs, domain=domain))
    return found


def _parts(
    one: Sequence[SampleRow], other: Sequence[SampleRow], *, by_domain: bool
) -> Iterator[tuple[str, Sequence[SampleRow], Sequence[SampleRow]]]:
    if not by_domain:
        yield "all", one, other
        return
    theirs = grouped(other, lambda row: row.domain)
    for domain, own in grouped(one, lambda row: row.domain).items():
        if domain is not None:
            yield domain, own, theirs.get(domain, [])


def comparisons_table(study: Study, *, by_domain: bool = False) -> Table:
    """Every arm against the baseline, the primary contrast left aside: that one has a table of its own."""
    primary = _set_aside(study)
    found = [item for item in contrasts(study, by_domain=by_domain) if not any(_same(item, own) for own in primary)]
    name, title = ("comparisons_by_domain", "by task domain") if by_domain else ("comparisons", "paired")
    note = (
        _NOTE
        + _FAMILY
        + "These comparisons are secondary; the primary one stands by itself. Only `concerns` that are empty "
    )
    note += "leave a single difference between the two." if found else "there is no arm to compare with a baseline."
    return comparison_table(study, name, f"Arms against the baseline, {title}", found, note=note)


def comparison_table(study: Study, name: str, title: str, found: Sequence[Contrast], *, note: str) -> Table:
    """Contrasts as one family."""
    values = {item.key(): item.pairs.differences(correct) for item in found}
    raw = {key: clustered_p(held, study.seed) for key, held in values.items()}
    adjusted = holm({key: p for key, p in raw.items() if p is not None})
    rows = [
        Row(
            cells=tuple(_contrast_cells(item, values[item.key()], adjusted.get(item.key()), study.seed)),
            samples=keys(item.pairs.rows),
        )
        for item in found
    ]
    about = [row for item in found for row in item.pairs.rows]
    return study.table(name, title, _COLUMNS, rows, of=about, note=note)


def clustered_p(values: Values, seed: int) -> float | None:
    """The p value of sign flips over videos; None where there are fewer than two, or where libraries are draws too.

    Flipping videos alone would take the libraries that happened to be drawn for all there are.
    """
    return None if values.are_drawn else sign_flip_of(values, seed)


def sign_flip_of(values: Values, seed: int) -> float | None:
    """The p value of sign flips over videos, the libraries behind it as they are; None where there are fewer than two."""
    if len(set(values.clusters)) < 2:
        return None
    return sign_flip(values.numbers, values.clusters, seed=seed)


def _contrast_cells(item: Contrast, values: Values, p: float | None, seed: int) -> Iterator[Cell]:
    pairs = item.pairs
    yield from place_cells(item.setting, item.arm)
    yield Cell(value=item.against)
    yield Cell(value=item.domain)
    one, other = [pair[0] for pair in pairs.pairs], [pair[1] for pair in pairs.pairs]
    raw, drawn = clustered_p(values, seed), values.are_drawn
    without = "no pairs" if not pairs.pairs else DRAWN if drawn else "one video"
    yield count(len(pairs.pairs))
    yield count(pairs.unpaired)
    yield count(len(videos(one)))
    yield replace(mean(one, correct), samples=keys(one))
    yield replace(mean(other, correct), samples=keys(other))
    yield interval(values, seed=seed, within=POINTS, why="no pairs", crossed=drawn)
    yield count(len(pairs.better), [row for pair in pairs.better for row in pair])
    yield count(len(pairs.worse), [row for pair in pairs.worse for row in pair])
    yield value_cell(raw, without)
    yield Cell(value=mcnemar(pairs.questions)) if pairs.pairs and not drawn else blank(without)
    yield value_cell(p, without)
    yield interval(pairs.differences(score), seed=seed, within=POINTS, why="no pairs", crossed=drawn)
    yield interval(pairs.differences(tokens), seed=seed, why="no pair with episodes", crossed=drawn)
    yield interval(pairs.differences(money), seed=seed, why="no price is known", crossed=drawn)
    yield value_cell("; ".join(concerns(pairs)))


def primary_contrasts(study: Study) -> list[Contrast]:
    """The contrast that the run named before, in each dataset; none where it named none, or nothing of it is there yet.

    Raises:
        EvalFault: ``ambiguous_pairs``.
    """
    named = study.primary
    if not named:
        return []
    filters = [f"{key}={named[key]}" for key in ("dataset", "world", "budget", "domain") if named.get(key)]
    try:
        rows = filtered(study.rows, filters)
    except EvalFault:
        return []
    found = (_primary_of(study, named, own) for own in grouped(rows, lambda row: row.dataset).values())
    return [item for item in found if item is not None]


def _primary_of(study: Study, named: Mapping[str, str | None], rows: Sequence[SampleRow]) -> Contrast | None:
    """The primary contrast in one dataset."""
    one, other = ([row for row in rows if row.arm_name == named.get(key)] for key in ("arm", "against"))
    if named.get("library"):
        one = [row for row in one if row.library == named["library"]]
        other = [row for row in other if row.library == named["library"]] or other
    elif any(libraries_are_real(row) for row in one):
        one, _ = independent([row for row in one if libraries_are_real(row)], study.libraries)
    if not one or not other:
        return None
    several = len({row.arm for row in one}) > 1
    return Contrast(
        setting=setting_of(one[0]),
        arm=str(named["arm"]) if several else one[0].arm,
        against=str(named["against"]) if len({row.arm for row in other}) > 1 else other[0].arm,
        pairs=pairs_of(one, other, shared=several),
        domain=str(named.get("domain") or "all"),
    )


def primary_table(study: Study) -> Table:
    """The one contrast that was named before anything was run; a row for each dataset where there are several.

    Raises:
        EvalFault: ``ambiguous_pairs``.
    """
    found = primary_contrasts(study)
    told = ", ".join(f"{key} {value}" for key, value in (study.primary or {}).items() if value)
    if not found:
        note = f"The primary contrast ({told}) has no pairs yet." if told else "The run names no primary contrast."
        return study.table("primary", "Primary contrast", _COLUMNS, (), of=(), note=note)
    note = _NOTE + f"Named before the run: {told}. "
    note += (
        "It names no dataset, so that each has a row and Holm's adjustment is over them. "
        if len(found) > 1
        else "Being the only one of its family its p value is not adjusted. "
    )
    note += "Where it names no library, all real ones of the arm are in it, as draws that are crossed with videos and seeds; then "
    note += "the interval alone counts. Of libraries that are made from one another one is in it."
    return comparison_table(study, "primary", "Primary contrast", found, note=note)


def _set_aside(study: Study) -> list[Contrast]:
    """The primary contrasts, which stand in a table of their own; none where they cannot be made."""
    try:
        return primary_contrasts(study)
    except EvalFault:
        return []


def _same(one: Contrast, other: Contrast) -> bool:
    return one.key() == other.key() and one.against == other.against


#: Each control, and what it gives without abstraction.
CONTROLS = {
    "flat": "the operations alone",
    "flat+domain": "the domain's text",
    "hints": "advice that cannot be called",
    "flat+compose": "programs without a library",
}
_LEVEL = 0.05
_ABSTRACTION = (
    *PLACE,
    Column(key="pairs", title="pairs", kind="count", about="with the control that has fewest"),
    Column(key="videos", title="videos", kind="count"),
    *(
        Column(key=f"minus {name}", title=f"less {name}", kind="points", about=about)
        for name, about in CONTROLS.items()
    ),
    Column(key="abstraction", title="less the best", kind="points", about="the smallest of the differences"),
    Column(key="p", title="p", kind="p", about="the greatest of the clustered p values: all must be beaten"),
    Column(
        key="beaten", title="beaten", kind="count", about="controls whose interval lies below the arm, at a p of 0.05"
    ),
    Column(key="claim", title="all beaten", kind="yes_no"),
    Column(key="tokens_difference", title="tokens, less the best", kind="change", about="logical, a sample"),
    Column(key="concerns", title="also differs", aside=True),
)


def abstraction_table(study: Study) -> Table:
    """Every arm of ``hier`` with a real library against the four controls of its setting."""
    rows, about = [], []
    for setting, within in grouped(study.rows, setting_of).items():
        arms = grouped(within, lambda row: row.arm)
        for arm, own in arms.items():
            if own[0].system == "hier" and libraries_are_real(own[0]):
                pairs = {name: pairs_of(own, rival) for name, rival in _controls(own[0], arms)}
                paired = {row.sample: row for item in pairs.values() for row in item.rows}
                cells = (*place_cells(setting, arm), *_abstraction_cells(pairs, study.seed))
                rows.append(Row(cells=cells, samples=keys(paired.values())))
                about += list(paired.values())
    return study.table(
        "abstraction",
        "What abstraction may claim",
        _ABSTRACTION,
        rows,
        of=about,
        note="Abstraction is credited only for what hier gains over all four controls together. The composite is the smallest "
        "of the four differences; its interval runs from the smallest lower end to the smallest upper end, so that it lies above "
        "zero only if each does. All must be beaten, so no adjustment for their number is due (an intersection-union test). A "
        f"control that was not run leaves the claim open, and so do fewer than {FEW_CLUSTERS} videos.",
    )


def _controls(row: SampleRow, arms: Mapping[str, Sequence[SampleRow]]) -> Iterator[tuple[str, Sequence[SampleRow]]]:
    """The arm of each control: with hints of the same library; the one whose name is shortest where there are several."""
    for name in CONTROLS:
        found = [own for own in arms.values() if own[0].system == name]
        if name == "hints":
            found = [own for own in found if own[0].library_hash == row.library_hash]
        if found:
            yield name, min(found, key=lambda own: (len(own[0].arm), own[0].arm))


def _abstraction_cells(pairs: Mapping[str, Pairs], seed: int) -> Iterator[Cell]:
    held = {name: item for name, item in pairs.items() if item.pairs}
    differences = {name: interval(item.differences(correct), seed=seed, within=POINTS) for name, item in held.items()}
    missing = [name for name in CONTROLS if name not in held]
    why = "not run: " + ", ".join(missing) if missing else ""
    clusters = [cell.clusters or 0 for cell in differences.values()]
    yield count(min((len(item.pairs) for item in held.values()), default=0))
    yield count(min(clusters, default=0))
    for name in CONTROLS:
        yield differences.get(name, blank("no pairs" if name in pairs else "not run"))
    yield _composite(differences, why)
    lost = any(float(cell.value or 0.0) <= 0 for cell in differences.values())
    yield _greatest_p(held, why or ("a control is as good" if lost else ""), seed)
    beaten = {name: is_sure(cell) and _p(held[name], seed) <= _LEVEL for name, cell in differences.items()}
    yield count(sum(beaten.values()))
    few = any((cell.clusters or 0) < FEW_CLUSTERS for cell in differences.values())
    unknown = why or (f"fewer than {FEW_CLUSTERS} videos" if few and not lost else "")
    yield blank(unknown) if unknown else Cell(value=all(beaten.values()))
    yield _of_best(held, differences, why, seed)
    found = dict.fromkeys(f"{name}: {what}" for name, item in held.items() for what in concerns(item))
    yield Cell(value="; ".join(found))


def _p(pairs: Pairs, seed: int) -> float:
    p = clustered_p(pairs.differences(correct), seed)
    return 1.0 if p is None else p


def _composite(differences: Mapping[str, Cell], why: str) -> Cell:
    if why:
        return blank(why)
    cells = list(differences.values())
    values = [float(cell.value) for cell in cells if isinstance(cell.value, int | float)]
    lows, highs = (
        [cell.low for cell in cells if cell.low is not None],
        [cell.high for cell in cells if cell.high is not None],
    )
    whole = len(lows) == len(highs) == len(cells)
    return Cell(
        value=min(values),
        low=min(lows) if whole else None,
        high=min(highs) if whole else None,
        n=min(cell.n or 0 for cell in cells),
        clusters=min(cell.clusters or 0 for cell in cells),
        mark="; ".join(dict.fromkeys(cell.mark for cell in cells if cell.mark)),
    )


def _greatest_p(held: Mapping[str, Pairs], why: str, seed: int) -> Cell:
    values = [clustered_p(item.differences(correct), seed) for item in held.values()]
    known = [p for p in values if p is not None]
    if why or len(known) < len(values) or not known:
        return blank(why or "fewer than two videos")
    return Cell(value=max(known))


def _of_best(held: Mapping[str, Pairs], differences: Mapping[str, Cell], why: str, seed: int) -> Cell:
    """The difference in tokens to the control that does best."""
    if why:
        return blank(why)
    best = min(differences, key=lambda name: float(differences[name].value or 0.0))
    return interval(held[best].differences(tokens), seed=seed, why="no pair with episodes")


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
