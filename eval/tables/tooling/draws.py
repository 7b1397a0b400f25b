"""Libraries as random draws: how much of a gain is the library, the video, the seed.

Variance components by the method of moments (ANOVA) for a crossed design with random effects, one mean for each library, video and
seed; Searle, Casella & McCulloch 1992, chapter 4. The design must be complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from eval.tables.episodes.lineage import FORKS, independent
from eval.tables.kinds.comparing import baseline_of
from eval.tables.measuring import POINTS, Values, correct, count, interval, marked
from eval.tables.pairing import pairs_of
from eval.tables.study import Setting, Study, grouped, libraries_are_real, setting_of
from eval.tables.table import Cell, Column, Row, Table, blank
from eval.tables.tooling.shelves import was_induced

#: So many independent inductions make a claim about a way of inducing, and not about one library.
ENOUGH = 5
Effect = tuple[str, ...]

_PLACE = (
    Column(key="dataset", title="dataset"),
    Column(key="world", title="world"),
    Column(key="budget", title="budget"),
    Column(key="arm", title="arm"),
    Column(key="library_domain", title="induced for"),
    Column(key="domain", title="domain"),
)
_DRAWS = (
    *_PLACE,
    Column(key="libraries", title="libraries", kind="count"),
    Column(key="videos", title="videos", kind="count"),
    Column(key="seeds", title="seeds", kind="count"),
    Column(key="pairs", title="pairs", kind="count"),
    Column(key="difference", title="gain", kind="points", about="over the baseline, all libraries together"),
    Column(key="least", title="least", kind="points", about="of the library that gains least"),
    Column(key="greatest", title="greatest", kind="points"),
)
_VARIANCE = (
    *_PLACE,
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
    draws = [Row(cells=(*group.head(), *_gain(group, study.seed)), samples=_keys(group)) for group in groups]
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


def _keys(group: _Group) -> tuple[str, ...]:
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
    means = _means(values.numbers, values.libraries)
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


def _means(numbers: Sequence[float], labels: Sequence[str]) -> dict[str, float]:
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
    samples = _keys(group)
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
    means = _table(numbers, [factors[name] for name in names])
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


def _table(numbers: Sequence[float], labels: Sequence[Sequence[str]]) -> NDArray[np.float64]:
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
