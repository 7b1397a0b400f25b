"""Tool libraries against the domains of questions, and libraries as random draws.

Variance components are estimated by the method of moments (ANOVA) for a crossed design with random effects, one mean
for each library, video and seed; Searle, Casella & McCulloch 1992, chapter 4. The design must be complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from eval.tables.accuracy import VIDEOS, share_figure
from eval.tables.cells import POINTS, Values, correct, interval, marked, value_cell
from eval.tables.comparisons import DRAWN, key_of, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import FORKS, PLACE, Group, Line, Rows, Study, grouped, independent, keys, words
from eval.tables.table import CellsByKey, Figures, Table, TableCell, Value, blank, figure

#: Least number of independent inductions for a claim about a method of induction, not about one library.
ENOUGH = 5
Effect = tuple[str, ...]


_LIBRARY: Figures[Group] = (
    *PLACE,
    figure("library", "text", lambda line: line.first.library),
    figure("library_domain", "text", lambda line: value_cell(line.first.library_domain, "the library names no domain"),
           title="induced for"),
    figure("library_arm", "text", lambda line: line.first.library_arm or "as frozen", title="kind of library",
           aside=True),
    VIDEOS,
)  # fmt: skip


def _of_domain(domain: str) -> Callable[[SampleRow], bool]:
    return lambda row: row.domain == domain


def transfer_tables(study: Study) -> list[Table]:
    """Return three tables by domain: accuracy by library, difference to the baseline, own less other libraries."""
    groups, lines, behind = [], [], list[SampleRow]()
    domains = _domains(study.rows)
    for group, baseline in study.beside_baseline():
        if group.first.system == "hier" and group.first.library is not None:
            pairs = pairs_of(group.rows, baseline.rows if baseline is not None else ())
            cells = {}
            for domain in domains:
                values = pairs.where(_of_domain(domain)).differences(correct)
                cells[f"domain:{domain}"] = interval(values, within=POINTS, why="no pairs")
            groups.append(group)
            lines.append(replace(group, behind=keys(pairs.rows), cells=cells))
            behind += [*group.rows, *(baseline.rows if baseline is not None else ())]
    differences: Figures[Group] = tuple(figure(f"domain:{domain}", "points", title=domain) for domain in domains)
    return [
        study.table("transfer", (*_LIBRARY, *(share_figure("domain", domain) for domain in domains)), groups),
        study.table("transfer_difference", (*_LIBRARY, *differences), lines, of=behind),
        own_other_table(study),
    ]


def _domains(rows: Rows) -> list[str]:
    return sorted({row.domain for row in rows if row.domain is not None})


def _real_libraries(rows: Rows) -> list[SampleRow]:
    """Return the samples of ``hier`` with a real library (no control arm) that was induced for a domain."""
    return [row for row in rows if row.system == "hier" and row.has_real_library and row.library_domain]


_OWN_OTHER: Figures[Line] = (
    *PLACE,
    *words("domain"),
    figure("own", "text", title="own libraries"),
    figure("other", "text", title="other libraries"),
    figure("pairs", "count"),
    figure("videos", "count"),
    figure("own_accuracy", "share", title="own"),
    figure("other_accuracy", "share", title="other"),
    figure("difference", "points", title="own less other"),
    figure("p_clustered", "p", title="p, clustered"),
)


def own_other_table(study: Study) -> Table:
    """Return the table of accuracy with libraries induced for the question's domain, less that with other libraries."""
    lines, forks = [], 0
    for setting, within in grouped(study.rows, lambda row: row.setting).items():
        for arm, made in grouped(_real_libraries(within), lambda row: row.arm_name).items():
            own, folded = independent(made, study.libraries)
            forks += sum(row.library in folded for row in made)
            for domain in [*_domains(own), "all"]:
                rows = [row for row in own if row.domain is not None and domain in ("all", row.domain)]
                lines.append(_own_less_other({**asdict(setting), "arm": arm, "domain": domain}, rows))
    return study.table("own_other", _OWN_OTHER, lines, left_out={FORKS: forks})


def _own_less_other(place: Mapping[str, Value], rows: Rows) -> Line:
    """Return the row for libraries of the questions' own domain less those of other domains.

    If a domain has several libraries, these are random draws: each own library is paired with each other library.
    """
    made_for = {row.library: row.library_domain for row in rows}
    drawn = len(set(made_for.values())) < len(made_for)
    values, ours, theirs = Values(), Values(), Values()
    others: list[str] = []  #: the other library of each difference
    behind: list[SampleRow] = []
    for answers in grouped(rows, key_of).values():
        own = [row for row in answers if row.library_domain == row.domain]
        other = [row for row in answers if row.library_domain != row.domain]
        if not own or not other:
            continue
        means = [sum(map(correct, part)) / len(part) for part in (own, other)]
        ours.add(means[0], own[0], *own[1:])
        theirs.add(means[1], own[0], *other)
        behind += [*own, *other]
        if not drawn:
            values.add(means[0] - means[1], own[0], *own[1:], *other)
        for one, rival in product(own, other) if drawn else ():
            values.add(correct(one) - correct(rival), one, rival)
            others.append(str(rival.library))
    names = [
        sorted({str(row.library) for row in behind if (row.library_domain == row.domain) == own})
        for own in (True, False)
    ]
    accuracy = (replace(interval(side, why="no pairs"), low=None, high=None) for side in (ours, theirs))
    cells = {
        **place,
        "own": value_cell(", ".join(names[0]) or None, "no library was induced for it"),
        "other": value_cell(", ".join(names[1]) or None, "no library was induced for another"),
        "pairs": len(ours.numbers),
        "videos": len(set(values.clusters)),
        **dict(zip(("own_accuracy", "other_accuracy"), accuracy, strict=True)),
        "difference": interval(
            values, within=POINTS, why="no question with an own and an other library", crossed=drawn, also=[others]
        ),
        "p_clustered": blank(DRAWN) if drawn else value_cell(values.clustered_p, "fewer than two videos"),
    }
    return Line(rows=rows, behind=keys(behind), cells=cells)


_GROUP: Figures[Line] = (*PLACE, figure("library_domain", "text", title="induced for"), *words("domain"))
_DRAWS: Figures[Line] = (
    *_GROUP,
    figure("libraries", "count"),
    figure("videos", "count"),
    figure("seeds", "count"),
    figure("pairs", "count"),
    figure("difference", "points", title="gain", about="over the baseline, all libraries together"),
    figure("least", "points", about="of the library that gains least"),
    figure("greatest", "points"),
)
_VARIANCE: Figures[Line] = (
    *_GROUP,
    figure("source", "text"),
    figure("levels", "count"),
    figure("variance", "number", about="of gains, in squared points of 0 to 1"),
    figure("share", "share", title="of the whole"),
)


def draws_tables(study: Study) -> list[Table]:
    """Return two tables: the gain over the baseline with libraries as random draws, and its variance components."""
    draws = list(_draws(study))
    behind = {key for line, _, _ in draws for key in line.samples}
    about = [row for row in study.rows if row.sample in behind]
    return [
        study.table(
            "draws",
            _DRAWS,
            [line for line, _, _ in draws],
            of=about,
            note="Several libraries of one domain are draws of one way of making them. The interval (95 %) crosses libraries, "
            f"videos and seeds, and so says what another library would gain; a claim wants {ENOUGH} induced libraries or more. A fork "
            "of a library, what was selected from it and the same library under another name are no draws of their own.",
            left_out={FORKS: len({key for _, _, forks in draws for key in forks})},
        ),
        study.table(
            "variance",
            _VARIANCE,
            [
                replace(line, cells={**line.cells, **part})
                for line, values, _ in draws
                for part in _component_cells(values)
            ],
            of=about,
        ),
    ]


def _draws(study: Study) -> Iterator[tuple[Line, Values, list[str]]]:
    """Yield table rows: the gain over the baseline by setting, arm, domain of the libraries, and of the questions or ``all``.

    Each comes with the gain on each sample, and with the keys of the samples left out with libraries that are forks.
    """
    for setting, within in grouped(study.rows, lambda row: row.setting).items():
        name = study.baseline_in(within)
        baseline = [row for row in within if row.arm == name]
        made = grouped(_real_libraries(within), lambda row: (row.arm_name, str(row.library_domain)))
        for (arm, made_for), own in made.items():
            held, folded = independent(own, study.libraries)
            forks = [row.sample for row in own if row.library in folded]
            names = {str(row.library) for row in held}
            for domain in [*_domains(held), "all"] if len(names) > 1 else ():
                rows = [row for row in held if domain in ("all", row.domain)]
                values = pairs_of(rows, baseline, shared=True).differences(correct)
                if values.numbers:
                    place = {**asdict(setting), "arm": arm, "library_domain": made_for, "domain": domain}
                    cells = {**place, **_gain_cells(values, study, names)}
                    yield Line(rows=rows, behind=tuple(dict.fromkeys(values.samples)), cells=cells), values, forks


def _gain_cells(values: Values, study: Study, names: Collection[str]) -> CellsByKey:
    gains: dict[str, list[float]] = {}
    for number, label in zip(values.numbers, values.libraries, strict=True):
        gains.setdefault(label, []).append(number)
    means = [sum(own) / len(own) for own in gains.values()]
    gain = interval(values, within=POINTS, crossed=True)
    if len(means) < ENOUGH:
        gain = marked(gain, f"{len(means)} libraries: too few for a claim")
    if not all(study.libraries[name].is_induced for name in names if name in study.libraries):
        gain = marked(gain, "libraries that were not induced are among them: no claim")
    return {
        "libraries": len(means),
        "videos": len(set(values.clusters)),
        "seeds": len(set(values.seeds)),
        "pairs": len(values.numbers),
        "difference": gain,
        "least": min(means),
        "greatest": max(means),
    }


def _component_cells(values: Values) -> Iterator[CellsByKey]:
    """Yield the cells of each variance component of the gains: source, levels, variance and share; blanks if Incomplete."""
    factors = {
        "library": list(values.libraries),
        "video": ["\n".join(item) for item in values.clusters],
        "seed": [str(seed) for seed in values.seeds],
    }
    kept = {name: labels for name, labels in factors.items() if len(set(labels)) > 1}
    try:
        parts = components(values.numbers, kept)
    except Incomplete as why:
        yield dict.fromkeys(("source", "levels", "variance", "share"), blank(str(why)))
        return
    whole = sum(max(0.0, variance) for variance in parts.values())
    for effect, variance in parts.items():
        yield {
            "source": "rest" if len(effect) == len(kept) else " x ".join(effect),
            "levels": math.prod(len(set(kept[name])) for name in effect),
            "variance": TableCell(value=max(0.0, variance), mark="estimated below zero" if variance < 0 else ""),
            "share": TableCell(value=max(0.0, variance) / whole) if whole > 0 else blank("nothing varies"),
        }


class Incomplete(Exception):
    """The design is not completely crossed, or has fewer than two factors."""


def components(numbers: Sequence[float], factors: Mapping[str, Sequence[str]]) -> dict[Effect, float]:
    """Return the variance component of each factor and combination, by names; that of all factors includes residuals.

    ``factors`` gives the level of each number. Numbers with equal levels are averaged. Components may be below zero.

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
    # The mean square of an effect holds its own component and those of all that contain it.
    for effect in reversed(effects):
        above = [other for other in effects if set(effect) < set(other)]
        rest = sum(found[other] * _times(sizes, other) for other in above)
        found[effect] = (squares[effect] - rest) / _times(sizes, effect)
    return {effect: found[effect] for effect in effects}


def _times(sizes: Mapping[str, int], effect: Effect) -> int:
    """Return the number of combinations of levels of the factors outside an effect; ``sizes`` are numbers of levels."""
    return int(np.prod([size for name, size in sizes.items() if name not in effect], dtype=np.int64))


def _table_of_means(numbers: Sequence[float], labels: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    coded = [np.unique(own, return_inverse=True) for own in labels]
    shape, places = tuple(len(levels) for levels, _ in coded), tuple(codes for _, codes in coded)
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, places, numbers)
    np.add.at(counts, places, 1)
    if not counts.all():
        raise Incomplete("not every library answered every video with every seed")
    table: NDArray[np.float64] = sums / counts
    return table


def _mean_square(means: NDArray[np.float64], axes: Sequence[int]) -> float:
    """Return the mean square of the factors ``axes`` beyond that of fewer of them; ``means`` has one axis per factor."""
    others = tuple(axis for axis in range(means.ndim) if axis not in axes)
    effect = means.mean(axis=others, keepdims=True)
    for number in range(len(axes)):
        effect = effect - effect.mean(axis=axes[number], keepdims=True)
    freedom = np.prod([means.shape[axis] - 1 for axis in axes])
    repeated = np.prod([means.shape[axis] for axis in others]) if others else 1
    return float((effect**2).sum() * repeated / freedom)
