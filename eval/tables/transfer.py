"""Tool libraries against the domains of questions, and libraries as random draws.

Variance components are by the method of moments (ANOVA) for a crossed design with random effects, one mean for each library, video and
seed; Searle, Casella & McCulloch 1992, chapter 4. The design must be complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from eval.tables.accuracy import VIDEOS, share_figure
from eval.tables.cells import POINTS, Values, correct, count, interval, marked, value_cell
from eval.tables.comparisons import DRAWN, Pairs, key_of, pairs_of, sign_flip_of
from eval.tables.rows import SampleRow
from eval.tables.study import (
    FORKS,
    PLACE,
    Group,
    Rows,
    Setting,
    Study,
    baseline_of,
    grouped,
    independent,
    keys,
    libraries_are_real,
    setting_of,
    words,
)
from eval.tables.table import Cell, Figure, Figures, Table, blank, figure
from eval.tables.tools import Induction

#: With this number of independent inductions a claim is about a way of inducing, and not about one library.
ENOUGH = 5
Effect = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Line(Group):
    """One library in one setting, paired with the baseline of that setting."""

    pairs: Pairs

    @property
    def samples(self) -> tuple[str, ...]:
        return keys(self.pairs.rows)


_LIBRARY: Figures[Group] = (
    *PLACE,
    figure("library", "text", lambda line: Cell(value=line.first.library)),
    figure("library_domain", "text", lambda line: value_cell(line.first.library_domain, "the library names no domain"),
           title="induced for"),
    figure("library_arm", "text", lambda line: value_cell(line.first.library_arm or "as frozen"),
           title="kind of library", aside=True),
    VIDEOS,
)  # fmt: skip


def transfer_tables(study: Study) -> list[Table]:
    """Accuracy by library and domain, the paired difference to the baseline, and own less other libraries."""
    groups, lines, behind = [], [], list[SampleRow]()
    for group, baseline in study.beside_baseline():
        if group.first.system == "hier" and group.first.library is not None:
            other = baseline.rows if baseline is not None else ()
            pairs = pairs_of(group.rows, other)
            groups.append(group)
            lines.append(_Line(study=study, setting=group.setting, arm=group.arm, rows=group.rows, pairs=pairs))
            behind += other
    domains = _domains(study.rows)
    return [
        study.table(
            "transfer",
            "Accuracy by library and domain",
            (*_LIBRARY, *(share_figure("domain", domain) for domain in domains)),
            groups,
            note="Rows are libraries of the system hier, columns the domains of the questions; intervals (95 %) over videos. "
            "Domains differ in difficulty: compare within a column, or read the paired differences.",
        ),
        study.table(
            "transfer_difference",
            "Paired difference to the baseline by library and domain",
            (*_LIBRARY, *map(_domain_difference, domains)),
            lines,
            of=[*(row for line in lines for row in line.rows), *behind],
            note="Accuracy with the library less that of the baseline, same questions and seeds; intervals (95 %) over videos. A gain "
            "on the library's own domain says that it helps there; that it transfers is said by the gains elsewhere.",
        ),
        own_other_table(study),
    ]


def _domains(rows: Rows) -> list[str]:
    return sorted({row.domain for row in rows if row.domain is not None})


def _domain_difference(domain: str) -> Figure[_Line]:
    def cell(line: _Line) -> Cell:
        own = Pairs(pairs=tuple(pair for pair in line.pairs.pairs if pair[0].domain == domain))
        return interval(own.differences(correct), seed=line.seed, within=POINTS, why="no pairs")

    return figure(f"domain:{domain}", "points", cell, title=domain)


def _real_libraries(rows: Rows) -> list[SampleRow]:
    """The samples of ``hier`` with a library that was made for a domain."""
    return [row for row in rows if row.system == "hier" and libraries_are_real(row) and row.library_domain]


@dataclass(kw_only=True)
class _OwnOther:
    """Libraries of the questions' own domain less those of other domains, for the questions of one domain or of all.

    ``others`` are the other libraries of each difference, if libraries are draws.
    """

    setting: Setting
    arm: str
    domain: str
    seed: int
    behind_rows: Rows
    values: Values = field(default_factory=Values)
    own: Values = field(default_factory=Values)
    other: Values = field(default_factory=Values)
    others: list[str] = field(default_factory=list)
    behind: list[SampleRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        for answers in grouped(self.behind_rows, key_of).values():
            own = [row for row in answers if row.library_domain == row.domain]
            other = [row for row in answers if row.library_domain != row.domain]
            if not own or not other:
                continue
            ours, theirs = (sum(map(correct, part)) / len(part) for part in (own, other))
            self.own.add(ours, own[0], *own[1:])
            self.other.add(theirs, own[0], *other)
            self.behind += [*own, *other]
            if not self.are_drawn:
                self.values.add(ours - theirs, own[0], *own[1:], *other)
                continue
            for one, rival in product(own, other):
                self.values.add(correct(one) - correct(rival), one, rival)
                self.others.append(str(rival.library))

    @cached_property
    def are_drawn(self) -> bool:
        """Whether some domain has several libraries, so that libraries are draws."""
        made_for = {row.library: row.library_domain for row in self.behind_rows}
        return len(set(made_for.values())) < len(made_for)

    @property
    def rows(self) -> Rows:
        return self.behind_rows

    @property
    def samples(self) -> tuple[str, ...]:
        return keys(self.behind)

    def names(self, *, own: bool) -> Cell:
        names = sorted({str(row.library) for row in self.behind if (row.library_domain == row.domain) == own})
        return value_cell(", ".join(names) or None, f"no library was induced for {'it' if own else 'another'}")

    def accuracy(self, values: Values) -> Cell:
        return replace(interval(values, seed=self.seed, why="no pairs"), low=None, high=None)

    def difference(self) -> Cell:
        why = "no question with an own and an other library"
        crossed, also = (True, [self.others]) if self.are_drawn else (False, [])
        return interval(self.values, seed=self.seed, within=POINTS, why=why, crossed=crossed, also=also)

    def p(self) -> Cell:
        p = None if self.are_drawn else sign_flip_of(self.values, self.seed)
        return value_cell(p, DRAWN if self.are_drawn else "fewer than two videos")


_OWN_OTHER: Figures[_OwnOther] = (
    *PLACE,
    *words("domain"),
    figure("own", "text", lambda found: found.names(own=True), title="own libraries"),
    figure("other", "text", lambda found: found.names(own=False), title="other libraries"),
    figure("pairs", "count", lambda found: count(len(found.own.numbers))),
    figure("videos", "count", lambda found: count(len(set(found.values.clusters)))),
    figure("own_accuracy", "share", lambda found: found.accuracy(found.own), title="own"),
    figure("other_accuracy", "share", lambda found: found.accuracy(found.other), title="other"),
    figure("difference", "points", _OwnOther.difference, title="own less other"),
    figure("p_clustered", "p", _OwnOther.p, title="p, clustered"),
)


def own_other_table(study: Study) -> Table:
    """Libraries that were induced for the domain of the question, less those that were induced for another."""
    found, forks = [], 0
    for setting, within in grouped(study.rows, setting_of).items():
        for arm, behind_rows in grouped(_real_libraries(within), lambda row: row.arm_name).items():
            own, folded = independent(behind_rows, study.libraries)
            forks += sum(row.library in folded for row in behind_rows)
            parts = {domain: [row for row in own if row.domain == domain] for domain in _domains(own)}
            parts["all"] = [row for row in own if row.domain is not None]
            found += [
                _OwnOther(setting=setting, arm=arm, domain=domain, seed=study.seed, behind_rows=part)
                for domain, part in parts.items()
            ]
    return study.table(
        "own_other",
        "Own library less other libraries",
        _OWN_OTHER,
        found,
        note="For each question and seed the mean over the libraries of its own domain less the mean over those of other domains; "
        "intervals (95 %) over videos. Placebo and random libraries are left out, and of libraries made from one another all but "
        "one. This is what tells a library that fits the domain from any library. Where a domain has several libraries, own and "
        "other ones are crossed with videos and seeds as draws, and the interval alone counts.",
        left_out={FORKS: forks},
    )


@dataclass(frozen=True, kw_only=True)
class _Draws:
    """Gains of all libraries of one domain on the questions of one domain (or of all), in one setting.

    ``induced``: all of them are, as far as is known. ``forks`` are samples of libraries that are no draws of their own.
    """

    setting: Setting
    arm: str
    library_domain: str
    domain: str
    seed: int
    values: Values
    induced: bool
    forks: tuple[str, ...]
    rows: Rows

    @property
    def samples(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.values.samples))

    @cached_property
    def means(self) -> list[float]:
        """The mean gain of each library."""
        held: dict[str, list[float]] = {}
        for number, label in zip(self.values.numbers, self.values.libraries, strict=True):
            held.setdefault(label, []).append(number)
        return [sum(own) / len(own) for own in held.values()]

    def gain(self) -> Cell:
        whole = interval(self.values, seed=self.seed, within=POINTS, crossed=True)
        if len(self.means) < ENOUGH:
            whole = marked(whole, f"{len(self.means)} libraries: too few for a claim")
        return whole if self.induced else marked(whole, "libraries that were not induced are among them: no claim")


_GROUP: Figures[_Draws] = (
    *PLACE,
    figure("library_domain", "text", lambda found: Cell(value=found.library_domain), title="induced for"),
    *words("domain"),
)
_DRAWS: Figures[_Draws] = (
    *_GROUP,
    figure("libraries", "count", lambda found: count(len(found.means))),
    figure("videos", "count", lambda found: count(len(set(found.values.clusters)))),
    figure("seeds", "count", lambda found: count(len(set(found.values.seeds)))),
    figure("pairs", "count", lambda found: count(len(found.values.numbers))),
    figure("difference", "points", _Draws.gain, title="gain", about="over the baseline, all libraries together"),
    figure("least", "points", lambda found: Cell(value=min(found.means)), about="of the library that gains least"),
    figure("greatest", "points", lambda found: Cell(value=max(found.means))),
)


@dataclass(frozen=True, kw_only=True)
class _Component(_Draws):
    """One variance component of the gains: source, levels, variance and share, as cells."""

    cells: Mapping[str, Cell]


_VARIANCE: Figures[_Component] = (
    *_GROUP,
    figure("source", "text", lambda part: part.cells["source"]),
    figure("levels", "count", lambda part: part.cells["levels"]),
    figure("variance", "number", lambda part: part.cells["variance"], about="of gains, in squared points of 0 to 1"),
    figure("share", "share", lambda part: part.cells["share"], title="of the whole"),
)


def draws_tables(study: Study) -> list[Table]:
    """The gain over the baseline with libraries as draws, and the components of its variance."""
    draws = list(_draws(study))
    behind = {key for found in draws for key in found.values.samples}
    about = [row for row in study.rows if row.sample in behind]
    return [
        study.table(
            "draws",
            "Gains with libraries as draws",
            _DRAWS,
            draws,
            of=about,
            note="Several libraries of one domain are draws of one way of making them. The interval (95 %) crosses libraries, "
            f"videos and seeds, and so says what another library would gain; a claim wants {ENOUGH} induced libraries or more. A fork "
            "of a library, what was selected from it and the same library under another name are no draws of their own.",
            left_out={FORKS: len({key for found in draws for key in found.forks})},
        ),
        study.table(
            "variance",
            "What the variance of gains is made of",
            _VARIANCE,
            [part for found in draws for part in _components_of(found)],
            of=about,
            note="Variance components of the gain, a mean for each library, video and seed, by the method of moments; what is "
            "estimated below zero is shown as 0. With few levels of a factor its component is rough.",
        ),
    ]


def _draws(study: Study) -> Iterator[_Draws]:
    for setting, within in grouped(study.rows, setting_of).items():
        name = baseline_of(within, study.baseline)
        baseline = [row for row in within if row.arm == name]
        made = grouped(_real_libraries(within), lambda row: (row.arm_name, str(row.library_domain)))
        for (arm, made_for), own in made.items():
            held, folded = independent(own, study.libraries)
            names = {str(row.library) for row in held}
            known = [Induction(facts=study.libraries[name]) for name in names if name in study.libraries]
            for domain in [*_domains(held), "all"] if len(names) > 1 else ():
                behind_rows = [row for row in held if domain in ("all", row.domain)]
                values = pairs_of(behind_rows, baseline, shared=True).differences(correct)
                if values.numbers:
                    yield _Draws(
                        setting=setting,
                        arm=arm,
                        library_domain=made_for,
                        domain=domain,
                        seed=study.seed,
                        values=values,
                        induced=all(item.is_own for item in known),
                        forks=tuple(row.sample for row in own if row.library in folded),
                        rows=behind_rows,
                    )


def _components_of(found: _Draws) -> Iterator[_Component]:
    def part(source: Cell, levels: Cell, variance: Cell, share: Cell) -> _Component:
        cells = {"source": source, "levels": levels, "variance": variance, "share": share}
        return _Component(**vars(replace(found)), cells=cells)

    values = found.values
    factors = {
        "library": list(values.libraries),
        "video": ["\n".join(item) for item in values.clusters],
        "seed": [str(seed) for seed in values.seeds],
    }
    kept = {name: labels for name, labels in factors.items() if len(set(labels)) > 1}
    try:
        parts = components(values.numbers, kept)
    except Incomplete as why:
        unknown = blank(str(why))
        yield part(unknown, unknown, unknown, unknown)
        return
    whole = sum(max(0.0, variance) for variance in parts.values())
    for effect, variance in parts.items():
        levels = [len(set(kept[name])) for name in effect]
        yield part(
            Cell(value="rest" if len(effect) == len(kept) else " x ".join(effect)),
            count(int(np.prod(levels))),
            Cell(value=max(0.0, variance), mark="estimated below zero" if variance < 0 else ""),
            Cell(value=max(0.0, variance) / whole) if whole > 0 else blank("nothing varies"),
        )


class Incomplete(Exception):
    """A design that is not crossed completely, or has nothing to cross."""


def components(numbers: Sequence[float], factors: Mapping[str, Sequence[str]]) -> dict[Effect, float]:
    """Variance components of every effect of a completely crossed design, the interaction of all factors last: the rest.

    The numbers of one cell are averaged. Components may come out below zero.

    Raises:
        Incomplete: a combination of levels has no number, or there are fewer than two factors.
    """
    if len(factors) < 2:
        raise Incomplete("fewer than two of library, video and seed have several levels")
    names = list(factors)
    means = _table_of_means(numbers, [factors[name] for name in names])
    sizes = dict(zip(names, means.shape, strict=True))
    effects = [effect for number in range(1, len(names) + 1) for effect in combinations(names, number)]
    squares = {effect: _mean_square(means, [names.index(name) for name in effect]) for effect in effects}
    found: dict[Effect, float] = {}
    for effect in reversed(
        effects
    ):  # the mean square of an effect holds its own component and those of all that contain it
        above = [other for other in effects if set(effect) < set(other)]
        rest = sum(found[other] * _times(sizes, other) for other in above)
        found[effect] = (squares[effect] - rest) / _times(sizes, effect)
    return {effect: found[effect] for effect in effects}


def _times(sizes: Mapping[str, int], effect: Effect) -> int:
    """How many numbers each level of an effect has."""
    return int(np.prod([size for name, size in sizes.items() if name not in effect], dtype=np.int64))


def _table_of_means(numbers: Sequence[float], labels: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    places = [{label: place for place, label in enumerate(sorted(set(own)))} for own in labels]
    shape = tuple(len(own) for own in places)
    sums, counts = np.zeros(shape), np.zeros(shape)
    for number, *where in zip(numbers, *labels, strict=True):
        place = tuple(own[label] for own, label in zip(places, where, strict=True))
        sums[place] += number
        counts[place] += 1
    if not counts.all():
        raise Incomplete("not every library answered every video with every seed")
    table: NDArray[np.float64] = sums / counts
    return table


def _mean_square(means: NDArray[np.float64], axes: Sequence[int]) -> float:
    """Of an effect: its deviations, those of the effects inside it taken away, by degrees of freedom."""
    others = tuple(axis for axis in range(means.ndim) if axis not in axes)
    effect = means.mean(axis=others, keepdims=True)
    for number in range(len(axes)):
        effect = effect - effect.mean(axis=axes[number], keepdims=True)
    freedom = np.prod([means.shape[axis] - 1 for axis in axes])
    repeated = np.prod([means.shape[axis] for axis in others]) if others else 1
    return float((effect**2).sum() * repeated / freedom)
