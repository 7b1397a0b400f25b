"""Paired comparisons: every arm against the baseline, the primary contrast, the controls of abstraction, two groups by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from eval.statistics.bootstrap import FEW_CLUSTERS
from eval.statistics.significance import holm, mcnemar, sign_flip
from eval.tables.cells import (
    POINTS,
    Measure,
    Values,
    correct,
    count,
    interval,
    is_sure,
    mean,
    money,
    score,
    tokens,
    value_cell,
)
from eval.tables.rows import SampleRow
from eval.tables.study import (
    PLACE,
    Rows,
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
    words,
)
from eval.tables.table import Cell, Figure, Figures, Table, blank, figure
from world_api.core.faults import EvalFault

Pair = tuple[SampleRow, SampleRow]
_KEY = ("dataset", "item", "world", "budget", "seed")
#: Settings that follow from the library an arm has.
_OF_LIBRARY = frozenset({"arm"})


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Samples of two groups about the same question, world, budget and seed; ``left`` and ``right`` are without a partner."""

    pairs: tuple[Pair, ...]
    left: tuple[SampleRow, ...] = ()
    right: tuple[SampleRow, ...] = ()

    @property
    def swapped(self) -> Pairs:
        """The same pairs, second less first."""
        return Pairs(pairs=tuple((other, one) for one, other in self.pairs))

    @property
    def rows(self) -> list[SampleRow]:
        """All samples that are paired."""
        return [row for pair in self.pairs for row in pair]

    @property
    def better(self) -> list[Pair]:
        """Pairs of which only the first is right."""
        return [pair for pair in self.pairs if pair[0].correct and not pair[1].correct]

    @property
    def worse(self) -> list[Pair]:
        """Pairs of which only the second is right."""
        return [pair for pair in self.pairs if pair[1].correct and not pair[0].correct]

    @property
    def questions(self) -> list[tuple[bool, bool]]:
        """For each question, whether the first and whether the second is right, over all seeds.

        Answers to one question are not independent, least of all those of a model that ignores the seed. If only one of the
        two is right under more seeds, that one is right; else both are if any is right.
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
        """The first less the second, if both have the measure."""
        values = Values()
        for one, other in self.pairs:
            first, second = measure(one), measure(other)
            if first is not None and second is not None:
                values.add(first - second, one, other)
        return values


def key_of(row: SampleRow) -> tuple[Any, ...]:
    """The parts of the design that two samples must share to be compared."""
    return _key(row, _KEY)


def pairs_of(
    one: Iterable[SampleRow], other: Iterable[SampleRow], *, across: Sequence[str] = (), shared: bool = False
) -> Pairs:
    """Pair two groups; parts of the design that are compared themselves (``across``: worlds, budgets) are not in the key.

    If both have libraries and share some, one of them several, samples of one library belong together. ``shared``: several of
    the first may have the same partner (libraries that are draws, against one baseline).

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
    pairs = [(row, partner) for row in first if (partner := partners.get(_key(row, parts))) is not None]
    matched = {_key(row, parts) for row, _ in pairs}
    return Pairs(
        pairs=tuple(pairs),
        left=tuple(row for row in first if _key(row, parts) not in matched),
        right=tuple(row for key, row in partners.items() if key not in matched),
    )


def _key(row: SampleRow, parts: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(row, part) for part in parts)


def _by_key(rows: Iterable[SampleRow], parts: Sequence[str]) -> dict[tuple[Any, ...], SampleRow]:
    found: dict[tuple[Any, ...], SampleRow] = {}
    for row in rows:
        known = found.setdefault(_key(row, parts), row)
        if known is not row:
            raise EvalFault(
                "ambiguous_pairs",
                f"two samples of the question {row.item[:80]} are in one group: {known.cell[:120]}, {row.cell[:120]}",
                hint="name one arm with one library, and choose one world and one budget",
            )
    return found


def differing(pairs: Pairs) -> list[str]:
    """How the samples that are compared differ beside their answers, in words: one difference is what is studied.

    Settings that only one of two systems has are part of the system, and so is a library that only one has.
    """
    found: dict[str, None] = {}
    compared: set[tuple[int, int]] = set()
    for one, other in pairs.pairs:
        if one.system != other.system:
            found["systems"] = None
        if one.library_hash != other.library_hash and one.library_hash and other.library_hash:
            found["libraries"] = None
        if one.model != other.model:
            found["models"] = None
        if one.world == other.world and one.world_hash and other.world_hash and one.world_hash != other.world_hash:
            found["worlds of the same name"] = None
        settings = one.settings, other.settings
        if tuple(map(id, settings)) not in compared:
            compared.add((id(one.settings), id(other.settings)))
            both = [name for name in one.settings if name in other.settings and name not in _OF_LIBRARY]
            found |= {f"setting {name}": None for name in both if one.settings[name] != other.settings[name]}
    return list(found)


def concerns(pairs: Pairs) -> list[str]:
    """What differs between samples that are compared beside what is studied; nothing if the comparison is clean."""
    found = differing(pairs)
    return found[1:] if found and found[0] in ("systems", "libraries") else found if len(found) > 1 else []


def clustered_p(values: Values, seed: int) -> float | None:
    """The p value of sign flips over videos; None with fewer than two, or if libraries are draws too.

    Flipping videos alone would take the libraries that happened to be drawn for all there are.
    """
    return None if values.are_drawn else sign_flip_of(values, seed)


def sign_flip_of(values: Values, seed: int) -> float | None:
    """The p value of sign flips over videos for the libraries as they are; None with fewer than two videos."""
    if len(set(values.clusters)) < 2:
        return None
    return sign_flip(values.numbers, values.clusters, seed=seed)


#: Why there is no p value if several libraries are behind a difference.
DRAWN = "libraries are draws: the interval crosses them"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """One comparison: samples of an arm against samples of another, in one setting; ``domain`` or ``name`` says of which part.

    ``p_holm`` is the clustered p value adjusted over the table it is in.
    """

    setting: Setting
    arm: str
    against: str
    pairs: Pairs
    seed: int
    domain: str = "all"
    name: str = ""
    p_holm: float | None = None

    @property
    def key(self) -> str:
        """A name within a family."""
        return "\n".join((self.setting.dataset, self.setting.world, self.setting.budget, self.arm, self.domain))

    @property
    def rows(self) -> Rows:
        """All samples that are paired."""
        return self.pairs.rows

    @property
    def samples(self) -> tuple[str, ...]:
        """The keys of the paired samples."""
        return keys(self.rows)

    @cached_property
    def values(self) -> Values:
        """The differences in accuracy."""
        return self.pairs.differences(correct)

    @cached_property
    def p(self) -> float | None:
        """The clustered p value."""
        return clustered_p(self.values, self.seed)

    @property
    def without(self) -> str:
        """Why there is no p value."""
        return "no pairs" if not self.pairs.pairs else DRAWN if self.values.are_drawn else "one video"

    def side(self, place: int) -> Cell:
        """The accuracy of one side, on the pairs."""
        rows = [pair[place] for pair in self.pairs.pairs]
        return replace(mean(rows, correct), samples=keys(rows))

    def difference(self, measure: Measure = correct, why: str = "no pairs") -> Cell:
        """The mean difference of a measure with its interval."""
        within = POINTS if measure in (correct, score) else None
        values = self.values if measure is correct else self.pairs.differences(measure)
        return interval(values, seed=self.seed, within=within, why=why, crossed=self.values.are_drawn)


def _count_pairs(pairs: Sequence[Pair]) -> Cell:
    return count(len(pairs), [row for pair in pairs for row in pair])


PAIRS: Figure[Contrast] = figure("pairs", "count", lambda item: count(len(item.pairs.pairs)))
PAIR_VIDEOS: Figure[Contrast] = figure("videos", "count", lambda item: count(len(set(item.values.clusters))))
P_CLUSTERED: Figure[Contrast] = figure(
    "p_clustered", "p", lambda item: value_cell(item.p, "fewer than two videos"), title="p, clustered"
)


def tokens_difference(about: str) -> Figure[Contrast]:
    """The difference in tokens."""
    cell = partial(Contrast.difference, measure=tokens, why="no pair with episodes")
    return figure("tokens_difference", "change", cell, title="tokens", about=about)


_FIGURES: Figures[Contrast] = (
    *PLACE,
    *words("against", "domain"),
    figure("pairs", "count", PAIRS.cell, about="questions and seeds that both have"),
    figure("unpaired", "count", lambda item: count(len(item.pairs.left) + len(item.pairs.right)),
           about="samples without a partner, left out", aside=True),
    figure("videos", "count", lambda item: count(len(videos(pair[0] for pair in item.pairs.pairs)))),
    figure("accuracy", "share", lambda item: item.side(0), about="of the arm, on the pairs"),
    figure("accuracy_against", "share", lambda item: item.side(1), title="of the other",
           about="accuracy of the other, on the pairs"),
    figure("difference", "points", Contrast.difference),
    figure("only_arm", "count", lambda item: _count_pairs(item.pairs.better), title="only arm right", aside=True),
    figure("only_against", "count", lambda item: _count_pairs(item.pairs.worse), title="only other right", aside=True),
    figure("p_clustered", "p", lambda item: value_cell(item.p, item.without), title="p, clustered",
           about="sign flips of whole videos"),
    figure("p_mcnemar", "p",
           lambda item: blank(item.without) if not item.pairs.pairs or item.values.are_drawn
           else Cell(value=mcnemar(item.pairs.questions)),
           title="p, McNemar", about="exact, a pair for each question, as if questions were independent", aside=True),
    figure("p_holm", "p", lambda item: value_cell(item.p_holm, item.without), title="p, Holm",
           about="the clustered p, adjusted over this table"),
    figure("score_difference", "points", lambda item: item.difference(score), title="score", aside=True),
    tokens_difference("logical, a sample"),
    figure("money_difference", "change", lambda item: item.difference(money, "no price is known"), title="USD",
           about="logical, a sample", aside=True),
    figure("concerns", "text", lambda item: Cell(value="; ".join(concerns(item.pairs))), title="also differs",
           about="what differs beside what is studied"),
)  # fmt: skip
_NOTE = "Differences are the arm less the other on the same question, world, budget and seed; intervals (95 %) over videos. "


def comparison_table(study: Study, name: str, title: str, found: Sequence[Contrast], *, note: str) -> Table:
    """Contrasts as one family."""
    adjusted = holm({item.key: item.p for item in found if item.p is not None})
    family = [replace(item, p_holm=adjusted.get(item.key)) for item in found]
    return study.table(name, title, _FIGURES, family, note=note)


def contrasts(study: Study, *, by_domain: bool = False) -> Iterator[Contrast]:
    """Every arm against the baseline, in each setting; with ``by_domain`` in each task domain by itself."""
    for group, baseline in study.beside_baseline():
        if baseline is None or group.arm == baseline.arm:
            continue
        parts: Mapping[str | None, Rows] = {"all": group.rows}
        theirs: Mapping[str | None, Rows] = {"all": baseline.rows}
        if by_domain:
            parts, theirs = (grouped(side.rows, lambda row: row.domain) for side in (group, baseline))
        for domain, own in parts.items():
            if domain is not None:
                yield Contrast(
                    setting=group.setting,
                    arm=group.arm,
                    against=baseline.arm,
                    pairs=pairs_of(own, theirs.get(domain, ())),
                    seed=study.seed,
                    domain=domain,
                )


def comparisons_table(study: Study, *, by_domain: bool = False) -> Table:
    """Every arm against the baseline, without the primary contrast, which has a table of its own."""
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
    """The contrast that the run named before, in each dataset; none if it named none, or nothing of it is there yet.

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


def _primary_of(study: Study, named: Mapping[str, str | None], rows: Rows) -> Contrast | None:
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
        seed=study.seed,
        domain=str(named.get("domain") or "all"),
    )


def primary_table(study: Study) -> Table:
    """The one contrast that was named before anything was run; a row for each dataset if there are several.

    Raises:
        EvalFault: ``ambiguous_pairs``.
    """
    found = primary_contrasts(study)
    named = ", ".join(f"{key} {value}" for key, value in (study.primary or {}).items() if value)
    note = _NOTE + f"Named before the run: {named}. "
    note += (
        "It names no dataset, so that each has a row and Holm's adjustment is over them. "
        if len(found) > 1
        else "Being the only one of its family its p value is not adjusted. "
    )
    note += "Where it names no library, all real ones of the arm are in it, as draws that are crossed with videos and seeds; then "
    note += "the interval alone counts. Of libraries that are made from one another one is in it."
    if not found:
        note = f"The primary contrast ({named}) has no pairs yet." if named else "The run names no primary contrast."
    return comparison_table(study, "primary", "Primary contrast", found, note=note)


#: Each control, and what it gives without abstraction.
CONTROLS = {
    "flat": "the operations alone",
    "flat+domain": "the domain's text",
    "hints": "advice that cannot be called",
    "flat+compose": "programs without a library",
}
_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class _Abstraction:
    """An arm against each control of its setting that was run; ``contrasts`` are those with pairs."""

    setting: Setting
    arm: str
    run: frozenset[str]
    contrasts: Mapping[str, Contrast]

    @cached_property
    def rows(self) -> Rows:
        return list({row.sample: row for item in self.contrasts.values() for row in item.rows}.values())

    @property
    def samples(self) -> tuple[str, ...]:
        return keys(self.rows)

    @cached_property
    def differences(self) -> Mapping[str, Cell]:
        return {name: item.difference(correct) for name, item in self.contrasts.items()}

    @property
    def missing(self) -> str:
        """Why the claim is open: the controls that were not run."""
        missing = [name for name in CONTROLS if name not in self.contrasts]
        return "not run: " + ", ".join(missing) if missing else ""

    @property
    def is_lost(self) -> bool:
        return any((cell.number or 0.0) <= 0 for cell in self.differences.values())

    @property
    def beaten(self) -> int:
        """How many controls are beaten: the interval is above zero, and the p value small."""
        return sum(
            is_sure(cell) and (1.0 if (p := self.contrasts[name].p) is None else p) <= _LEVEL
            for name, cell in self.differences.items()
        )

    def minus(self, name: str) -> Cell:
        return self.differences.get(name, blank("no pairs" if name in self.run else "not run"))

    def composite(self) -> Cell:
        """The smallest of the differences, with an interval from the smallest lower to the smallest upper end."""
        if self.missing:
            return blank(self.missing)
        cells = list(self.differences.values())
        lows, highs = ([end for cell in cells if (end := getattr(cell, side)) is not None] for side in ("low", "high"))
        whole = len(lows) == len(highs) == len(cells)
        return Cell(
            value=min(cell.number or 0.0 for cell in cells),
            low=min(lows) if whole else None,
            high=min(highs) if whole else None,
            n=min(cell.n or 0 for cell in cells),
            clusters=min(cell.clusters or 0 for cell in cells),
            mark="; ".join(dict.fromkeys(cell.mark for cell in cells if cell.mark)),
        )

    def greatest_p(self) -> Cell:
        """The greatest of the p values: all controls must be beaten."""
        why = self.missing or ("a control is as good" if self.is_lost else "")
        known = [item.p for item in self.contrasts.values() if item.p is not None]
        if why or len(known) < len(self.contrasts) or not known:
            return blank(why or "fewer than two videos")
        return Cell(value=max(known))

    def claim(self) -> Cell:
        """Whether all controls are beaten; open without all controls or enough videos."""
        few = any((cell.clusters or 0) < FEW_CLUSTERS for cell in self.differences.values())
        unknown = self.missing or (f"fewer than {FEW_CLUSTERS} videos" if few and not self.is_lost else "")
        return blank(unknown) if unknown else Cell(value=self.beaten == len(self.differences))

    def tokens_of_best(self) -> Cell:
        """The difference in tokens to the control that does best."""
        if self.missing:
            return blank(self.missing)
        best = min(self.differences, key=lambda name: self.differences[name].number or 0.0)
        return self.contrasts[best].difference(tokens, "no pair with episodes")

    def concerns(self) -> Cell:
        found = [f"{name}: {what}" for name, item in self.contrasts.items() for what in concerns(item.pairs)]
        return Cell(value="; ".join(dict.fromkeys(found)))


def _minus(name: str, found: _Abstraction) -> Cell:
    return found.minus(name)


_ABSTRACTION: Figures[_Abstraction] = (
    *PLACE,
    figure("pairs", "count",
           lambda found: count(min((len(item.pairs.pairs) for item in found.contrasts.values()), default=0)),
           about="with the control that has fewest"),
    figure("videos", "count",
           lambda found: count(min((cell.clusters or 0 for cell in found.differences.values()), default=0))),
    *(
        figure(f"minus {name}", "points", partial(_minus, name), title=f"less {name}", about=about)
        for name, about in CONTROLS.items()
    ),
    figure("abstraction", "points", _Abstraction.composite, title="less the best",
           about="the smallest of the differences"),
    figure("p", "p", _Abstraction.greatest_p, about="the greatest of the clustered p values: all must be beaten"),
    figure("beaten", "count", lambda found: count(found.beaten),
           about="controls whose interval is below the arm, at a p of 0.05"),
    figure("claim", "yes_no", _Abstraction.claim, title="all beaten"),
    figure("tokens_difference", "change", _Abstraction.tokens_of_best, title="tokens, less the best",
           about="logical, a sample"),
    figure("concerns", "text", _Abstraction.concerns, title="also differs", aside=True),
)  # fmt: skip


def abstraction_table(study: Study) -> Table:
    """Every arm of ``hier`` with a real library against the four controls of its setting."""
    return study.table(
        "abstraction",
        "What abstraction may claim",
        _ABSTRACTION,
        _abstractions(study),
        note="Abstraction is credited only for what hier gains over all four controls together. The composite is the smallest "
        "of the four differences; its interval runs from the smallest lower end to the smallest upper end, so that it is above "
        "zero only if each does. All must be beaten, so no adjustment for their number is due (an intersection-union test). A "
        f"control that was not run leaves the claim open, and so do fewer than {FEW_CLUSTERS} videos.",
    )


def _abstractions(study: Study) -> Iterator[_Abstraction]:
    for setting, within in grouped(study.rows, setting_of).items():
        arms = grouped(within, lambda row: row.arm)
        for arm, own in arms.items():
            if own[0].system != "hier" or not libraries_are_real(own[0]):
                continue
            rivals = dict(_controls(own[0], arms))
            pairs = {name: pairs_of(own, rival) for name, rival in rivals.items()}
            held = {
                name: Contrast(setting=setting, arm=arm, against=name, pairs=item, seed=study.seed)
                for name, item in pairs.items()
                if item.pairs
            }
            yield _Abstraction(setting=setting, arm=arm, run=frozenset(rivals), contrasts=held)


def _controls(row: SampleRow, arms: Mapping[str, Rows]) -> Iterator[tuple[str, Rows]]:
    """The arm of each control, with hints of the same library; the one with the shortest name if there are several."""
    for name in CONTROLS:
        found = [own for own in arms.values() if own[0].system == name]
        if name == "hints":
            found = [own for own in found if own[0].library_hash == row.library_hash]
        if found:
            yield name, min(found, key=lambda own: (len(own[0].arm), own[0].arm))


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Two groups, paired. ``across`` are the parts of the design that are compared themselves, such as worlds."""

    one: str
    other: str
    pairs: Pairs
    across: tuple[str, ...]
    tables: tuple[Table, ...] = ()

    @property
    def differs(self) -> list[str]:
        """How the two differ, in words: the first difference is what is studied."""
        return [*self.across, *differing(self.pairs)]

    @property
    def concerns(self) -> list[str]:
        """What differs beside the one thing that is studied."""
        return self.differs[1:] if self.across else concerns(self.pairs)


def paired_groups(study: Study, one: str, other: str, filters: Sequence[str] = ()) -> Compared:
    """Pair two groups by name, also across world, budget or seed if each has its own single one.

    Raises:
        EvalFault: ``unknown_arm``, ``bad_filter``, ``nothing_chosen``, ``several_arms``, ``ambiguous_pairs``, ``no_pairs``.
    """
    rows = filtered(study.rows, filters)
    first, second = chosen(rows, one), chosen(rows, other)
    across = tuple(part for part in ("world", "budget", "seed") if _disjoint(first, second, part))
    pairs = pairs_of(first, second, across=across)
    if not pairs.pairs:
        raise EvalFault(
            "no_pairs",
            f"no question was asked of both {one[:60]!r} and {other[:60]!r}",
            hint="they must share dataset, questions, world, budget and seed, or each be in one world, budget or seed",
        )
    return Compared(one=one, other=other, pairs=pairs, across=across)


def _disjoint(one: Rows, other: Rows, part: str) -> bool:
    """Whether each group has a single value of its own."""
    values = [{getattr(row, part) for row in rows} for rows in (one, other)]
    return all(len(found) == 1 for found in values) and values[0] != values[1]


def compare(study: Study, one: str, other: str, filters: Sequence[str] = ()) -> Compared:
    """Compare two groups of samples, with a table of all and, if there are several task domains, one by domain.

    Raises:
        EvalFault: as ``paired_groups``.
    """
    found = paired_groups(study, one, other, filters)
    title = f"{one} against {other}"
    note = f"The first ({one}) less the second ({other}) on the same questions; intervals (95 %) over videos. "
    note += "Holm's adjustment is over the rows of this table."
    tables = [comparison_table(study, "compared", title, _contrasts(found, study.seed, by_domain=False), note=note)]
    parts = _contrasts(found, study.seed, by_domain=True)
    if len({item.domain for item in parts}) > 1:
        tables.append(comparison_table(study, "compared_by_domain", f"{title}, by task domain", parts, note=note))
    return replace(found, tables=tuple(tables))


@dataclass(kw_only=True)
class _Part:
    """The part of two groups that is in one setting, or in one domain of it."""

    pairs: list[Pair] = field(default_factory=list)
    left: list[SampleRow] = field(default_factory=list)
    right: list[SampleRow] = field(default_factory=list)


def _contrasts(found: Compared, seed: int, *, by_domain: bool) -> list[Contrast]:
    """A contrast for each setting, or for each setting and domain, with the samples of it that have no partner."""
    pairs = found.pairs
    # If worlds or budgets are compared, those of the first group name the setting.
    shared: dict[str, str] = {name: getattr(pairs.pairs[0][0], name) for name in found.across if name != "seed"}
    held: dict[tuple[Setting, str | None], _Part] = {}

    def part(row: SampleRow) -> _Part:
        place = replace(setting_of(row), **shared), row.domain if by_domain else "all"
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
            arm=found.one,
            against=found.other,
            pairs=Pairs(pairs=tuple(own.pairs), left=tuple(own.left), right=tuple(own.right)),
            seed=seed,
            domain=domain,
        )
        for (setting, domain), own in held.items()
        if domain is not None
    ]
