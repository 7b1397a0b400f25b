"""The transfer matrix: tool libraries against the domains of the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from eval.tables.episodes.lineage import FORKS, independent
from eval.tables.kinds.comparing import DRAWN, baseline_of, sign_flip_of
from eval.tables.kinds.main import PLACE, place_cells
from eval.tables.measuring import POINTS, Values, correct, count, interval, share, word
from eval.tables.pairing import key_of, pairs_of
from eval.tables.rows import SampleRow
from eval.tables.study import Setting, Study, grouped, keys, libraries_are_real, setting_of, videos
from eval.tables.table import Cell, Column, Kind, Row, Table, blank

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
        word(row.library_domain, "the library names no domain"),
        word(row.library_arm or "as frozen"),
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
            word(", ".join(names[True]) or None, "no library was induced for it"),
            word(", ".join(names[False]) or None, "no library was induced for another"),
            count(len(first.numbers)),
            count(len(set(values.clusters))),
            replace(interval(first, seed=seed, why="no pairs"), low=None, high=None),
            replace(interval(second, seed=seed, why="no pairs"), low=None, high=None),
            found,
            Cell(value=p) if p is not None else blank(DRAWN if drawn else "fewer than two videos"),
        ),
        samples=keys(behind),
    )


def _are_drawn(asked: Sequence[SampleRow]) -> bool:
    """Whether some domain has several libraries, so that there are draws to look at and not one library a domain."""
    made_for = {row.library: row.library_domain for row in asked}
    return len(set(made_for.values())) < len(made_for)
