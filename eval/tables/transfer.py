"""Tool libraries against the domains of questions, and libraries as random draws.

Variance components are by the method of moments (ANOVA) for a crossed design with random effects, one mean for each library, video and
seed; Searle, Casella & McCulloch 1992, chapter 4. The design must be complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from eval.tables.accuracy import PLACE, place_cells
from eval.tables.cells import POINTS, Values, correct, count, interval, marked, share, value_cell
from eval.tables.comparisons import DRAWN, baseline_of, sign_flip_of
from eval.tables.pairing import key_of, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import FORKS, Setting, Study, grouped, independent, keys, libraries_are_real, setting_of, videos
from eval.tables.table import Cell, Column, Kind, Row, Table, blank
from eval.tables.tools import was_induced

_LIBRARY = (
    *PLACE,
    Column(key="library", title="library"),
    Column(key="library_domain", title="induced for"),
    Column(key="library_arm", title="kind of library", aside=True),
)
_ALL = "all"


@dataclass(frozen=True, kw_only=True)
class _Line:
    """One library in one setting, beside the baseline of that setting."""

    setting: Setting
    rows: Sequence[SampleRow]
    baseline: Sequence[SampleRow]

    @property
    def first(self) -> SampleRow:
        """Any of its samples: they share the arm and the library."""
        return self.rows[0]


def transfer_tables(study: Study) -> list[Table]:
    """Accuracy by library and domain, the paired difference to the baseline, and own less other libraries."""
    lines = list(_lines(study))
    return [_accuracy(study, lines), _differences(study, lines), own_other_table(study)]


def domains_of(rows: Sequence[SampleRow]) -> list[str]:
    """The task domains of samples, by name."""
    return sorted({row.domain for row in rows if row.domain is not None})


def _lines(study: Study) -> Iterator[_Line]:
    for setting, within in grouped(study.rows, setting_of).items():
        arms = grouped(within, lambda row: row.arm)
        baseline = arms.get(baseline_of(within, study.baseline) or "", [])
        for own in arms.values():
            if own[0].system == "hier" and own[0].library is not None:
                yield _Line(setting=setting, rows=own, baseline=baseline)


def _head(line: _Line) -> tuple[Cell, ...]:
    row = line.first
    return (
        *place_cells(line.setting, row.arm),
        Cell(value=row.library),
        value_cell(row.library_domain, "the library names no domain"),
        value_cell(row.library_arm or "as frozen"),
    )


def _columns(study: Study, name: str) -> tuple[Column, ...]:
    kind: Kind = "share" if name == "transfer" else "points"
    columns = [Column(key=f"domain:{domain}", title=domain, kind=kind) for domain in domains_of(study.rows)]
    return (*_LIBRARY, Column(key="videos", title="videos", kind="count"), *columns)


def _accuracy(study: Study, lines: Sequence[_Line]) -> Table:
    domains = domains_of(study.rows)
    rows = []
    for line in lines:
        parts = grouped(line.rows, lambda row: row.domain)
        cells = [
            replace(share(parts.get(domain, []), seed=study.seed), samples=keys(parts.get(domain, ())))
            for domain in domains
        ]
        rows.append(Row(cells=(*_head(line), count(len(videos(line.rows))), *cells), samples=keys(line.rows)))
    return study.table(
        "transfer",
        "Accuracy by library and domain",
        _columns(study, "transfer"),
        rows,
        of=[row for line in lines for row in line.rows],
        note="Rows are libraries of the system hier, columns the domains of the questions; intervals (95 %) over videos. "
        "Domains differ in difficulty: compare within a column, or read the paired differences.",
    )


def _differences(study: Study, lines: Sequence[_Line]) -> Table:
    domains = domains_of(study.rows)
    rows = []
    for line in lines:
        paired = pairs_of(line.rows, line.baseline)
        parts = {domain: Values() for domain in domains}
        for one, other in paired.pairs:
            if one.domain is not None:
                parts[one.domain].add(correct(one) - correct(other), one, other)
        cells = [interval(parts[domain], seed=study.seed, within=POINTS, why="no pairs") for domain in domains]
        rows.append(Row(cells=(*_head(line), count(len(videos(line.rows))), *cells), samples=keys(paired.rows)))
    return study.table(
        "transfer_difference",
        "Paired difference to the baseline by library and domain",
        _columns(study, "transfer_difference"),
        rows,
        of=[row for line in lines for row in (*line.rows, *line.baseline)],
        note="Accuracy with the library less that of the baseline, same questions and seeds; intervals (95 %) over videos. A gain "
        "on the library's own domain says that it helps there; that it transfers is said by the gains elsewhere.",
    )


_OWN_OTHER = (
    *PLACE,
    Column(key="domain", title="domain"),
    Column(key="own", title="own libraries"),
    Column(key="other", title="other libraries"),
    Column(key="pairs", title="pairs", kind="count"),
    Column(key="videos", title="videos", kind="count"),
    Column(key="own_accuracy", title="own", kind="share"),
    Column(key="other_accuracy", title="other", kind="share"),
    Column(key="difference", title="own less other", kind="points"),
    Column(key="p_clustered", title="p, clustered", kind="p"),
)


def own_other_table(study: Study) -> Table:
    """Libraries that were induced for the domain of the question, less those that were induced for another."""
    rows, about, forks = [], [], list[SampleRow]()
    for setting, within in grouped(study.rows, setting_of).items():
        real = [row for row in within if row.system == "hier" and libraries_are_real(row) and row.library_domain]
        for arm, asked in grouped(real, lambda row: row.arm_name).items():
            own, folded = independent(asked, study.libraries)
            forks += [row for row in asked if row.library in folded]
            for domain in [*domains_of(own), _ALL]:
                part = [row for row in own if row.domain == domain or (domain == _ALL and row.domain is not None)]
                rows.append(_own_other(setting, arm, domain, part, study.seed))
            about += own
    return study.table(
        "own_other",
        "Own library less other libraries",
        _OWN_OTHER,
        rows,
        of=about,
        note="For each question and seed the mean over the libraries of its own domain less the mean over those of other domains; "
        "intervals (95 %) over videos. Placebo and random libraries are left out, and of libraries made from one another all but "
        "one. This is what tells a library that fits the domain from any library. Where a domain has several libraries, own and "
        "other ones are crossed with videos and seeds as draws, and the interval alone counts.",
        left_out={FORKS: len(forks)},
    )


def _own_other(setting: Setting, arm: str, domain: str, asked: Sequence[SampleRow], seed: int) -> Row:
    behind: list[SampleRow] = []
    values, first, second = Values(), Values(), Values()
    others: list[str] = []
    drawn = _are_drawn(asked)
    for answers in grouped(asked, key_of).values():
        own = [row for row in answers if row.library_domain == row.domain]
        other = [row for row in answers if row.library_domain != row.domain]
        if not own or not other:
            continue
        ours, theirs = (sum(map(correct, part)) / len(part) for part in (own, other))
        first.add(ours, own[0], *own[1:])
        second.add(theirs, own[0], *other)
        behind += [*own, *other]
        if not drawn:
            values.add(ours - theirs, own[0], *own[1:], *other)
            continue
        for one, rival in product(own, other):
            values.add(correct(one) - correct(rival), one, rival)
            others.append(str(rival.library))
    p = None if drawn else sign_flip_of(values, seed)
    found = interval(
        values,
        seed=seed,
        within=POINTS,
        why="no question with an own and an other library",
        crossed=drawn,
        also=[others] if drawn else [],
    )
    names = {
        which: sorted({str(row.library) for row in behind if (row.library_domain == row.domain) == which})
        for which in (True, False)
    }
    return Row(
        cells=(
            *place_cells(setting, arm),
            Cell(value=domain),
            value_cell(", ".join(names[True]) or None, "no library was induced for it"),
            value_cell(", ".join(names[False]) or None, "no library was induced for another"),
            count(len(first.numbers)),
            count(len(set(values.clusters))),
            replace(interval(first, seed=seed, why="no pairs"), low=None, high=None),
            replace(interval(second, seed=seed, why="no pairs"), low=None, high=None),
            found,
            value_cell(p, DRAWN if drawn else "fewer than two videos"),
        ),
        samples=keys(behind),
    )


def _are_drawn(asked: Sequence[SampleRow]) -> bool:
    """Whether some domain has several libraries, so that there are draws to look at and not one library a domain."""
    made_for = {row.library: row.library_domain for row in asked}
    return len(set(made_for.values())) < len(made_for)


#: So many independent inductions make a claim about a way of inducing, and not about one library.
ENOUGH = 5
Effect = tuple[str, ...]

_GROUP_PLACE = (
    Column(key="dataset", title="dataset"),
    Column(key="world", title="world"),
    Column(key="budget", title="budget"),
    Column(key="arm", title="arm"),
    Column(key="library_domain", title="induced for"),
    Column(key="domain", title="domain"),
)
_DRAWS = (
    *_GROUP_PLACE,
    Column(key="libraries", title="libraries", kind="count"),
    Column(key="videos", title="videos", kind="count"),
    Column(key="seeds", title="seeds", kind="count"),
    Column(key="pairs", title="pairs", kind="count"),
    Column(key="difference", title="gain", kind="points", about="over the baseline, all libraries together"),
    Column(key="least", title="least", kind="points", about="of the library that gains least"),
    Column(key="greatest", title="greatest", kind="points"),
)
_VARIANCE = (
    *_GROUP_PLACE,
    Column(key="source", title="source"),
    Column(key="levels", title="levels", kind="count"),
    Column(key="variance", title="variance", kind="number", about="of gains, in squared points of 0 to 1"),
    Column(key="share", title="of the whole", kind="share"),
)


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Gains of all libraries of one domain on the questions of one domain (or of all), in one setting."""

    setting: Setting
    arm: str
    library_domain: str
    domain: str
    values: Values
    induced: bool  #: all of them, as far as is known
    forks: tuple[str, ...]  #: samples of libraries that are no draws of their own

    def head(self) -> tuple[Cell, ...]:
        """Where its rows stand."""
        setting = self.setting
        place = (setting.dataset, setting.world, setting.budget, self.arm, self.library_domain, self.domain)
        return tuple(Cell(value=value) for value in place)


def draws_tables(study: Study) -> list[Table]:
    """The gain over the baseline with libraries as draws, and what its variance is made of."""
    groups = list(_groups(study))
    behind = {key for group in groups for key in group.values.samples}
    about = [row for row in study.rows if row.sample in behind]
    draws = [Row(cells=(*group.head(), *_gain(group, study.seed)), samples=_group_keys(group)) for group in groups]
    parts = [row for group in groups for row in _variance_rows(group)]
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
            left_out={FORKS: len({key for group in groups for key in group.forks})},
        ),
        study.table(
            "variance",
            "What the variance of gains is made of",
            _VARIANCE,
            parts,
            of=about,
            note="Variance components of the gain, a mean for each library, video and seed, by the method of moments; what is "
            "estimated below zero stands as 0. With few levels of a factor its component is rough.",
        ),
    ]


def _group_keys(group: _Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.values.samples))


def _groups(study: Study) -> Iterator[_Group]:
    for setting, within in grouped(study.rows, setting_of).items():
        arms = grouped(within, lambda row: row.arm)
        baseline = arms.get(baseline_of(within, study.baseline) or "", [])
        real = [row for row in within if row.system == "hier" and libraries_are_real(row) and row.library_domain]
        for (arm, made_for), own in grouped(real, lambda row: (row.arm_name, str(row.library_domain))).items():
            held, folded = independent(own, study.libraries)
            names = {str(row.library) for row in held}
            if len(names) < 2:
                continue
            known = [study.libraries[name] for name in names if name in study.libraries]
            forks = tuple(row.sample for row in own if row.library in folded)
            for domain in [*sorted({row.domain for row in held if row.domain}), "all"]:
                asked = [row for row in held if domain in ("all", row.domain)]
                values = pairs_of(asked, baseline, shared=True).differences(correct)
                if values.numbers:
                    yield _Group(
                        setting=setting,
                        arm=arm,
                        library_domain=made_for,
                        domain=domain,
                        values=values,
                        induced=all(map(was_induced, known)),
                        forks=forks,
                    )


def _gain(group: _Group, seed: int) -> Iterator[Cell]:
    values = group.values
    means = _library_means(values.numbers, values.libraries)
    yield count(len(means))
    yield count(len(set(values.clusters)))
    yield count(len(set(values.seeds)))
    yield count(len(values.numbers))
    whole = interval(values, seed=seed, within=POINTS, crossed=True)
    if len(means) < ENOUGH:
        whole = marked(whole, f"{len(means)} libraries: too few for a claim")
    yield whole if group.induced else marked(whole, "libraries that were not induced are among them: no claim")
    yield Cell(value=min(means.values()))
    yield Cell(value=max(means.values()))


def _library_means(numbers: Sequence[float], labels: Sequence[str]) -> dict[str, float]:
    held: dict[str, list[float]] = {}
    for number, label in zip(numbers, labels, strict=True):
        held.setdefault(label, []).append(number)
    return {label: sum(own) / len(own) for label, own in held.items()}


def _variance_rows(group: _Group) -> Iterator[Row]:
    values = group.values
    factors = {
        "library": list(values.libraries),
        "video": ["\n".join(item) for item in values.clusters],
        "seed": [str(seed) for seed in values.seeds],
    }
    kept = {name: labels for name, labels in factors.items() if len(set(labels)) > 1}
    samples = _group_keys(group)
    try:
        parts = components(values.numbers, kept)
    except Incomplete as why:
        yield Row(cells=(*group.head(), *(blank(str(why)) for _ in range(4))), samples=samples)
        return
    whole = sum(max(0.0, variance) for variance in parts.values())
    for effect, variance in parts.items():
        levels = [len(set(kept[name])) for name in effect]
        rest = len(effect) == len(kept)
        yield Row(
            cells=(
                *group.head(),
                Cell(value="rest" if rest else " x ".join(effect)),
                count(int(np.prod(levels))),
                Cell(value=max(0.0, variance), mark="estimated below zero" if variance < 0 else ""),
                Cell(value=max(0.0, variance) / whole) if whole > 0 else blank("nothing varies"),
            ),
            samples=samples,
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
