"""The study of a run, from which all tables are made: its samples as rows, grouped and chosen, with labels of people.

Labels of open answers are a file of labelled pairs, ``RUN/labels.json``, which ``videoworld eval label RUN --take``
writes. A label belongs to an answer to a question about a video. It counts for the samples with exactly that answer, if
their arm is among those that it names (or it names none). On a command line arms are written ``flat``, ``hier@hand_A``,
``hier@library=hand_A`` or ``flat@world=oracle``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from controller.display import WATERMARK
from eval.runs.records import DatasetRecord
from eval.runs.scoring import scored_now
from eval.runs.stored_run import Run, read_run
from eval.scoring.kinds import given_text
from eval.scoring.labels import answer_key, own_pairs
from eval.tables.rows import LibraryFacts, RunRows, SampleRow, Setting, read_rows
from eval.tables.table import Figure, Row, Table, TableCell, Value, figure
from world_api.core.faults import EvalFault
from world_api.core.identifiers import did_you_mean, suggestion
from world_api.core.yaml_text import packaged_yaml

_TEXTS: Mapping[str, Mapping[str, str]] = packaged_yaml("eval.tables", "texts.yaml")
Key = TypeVar("Key", bound=Hashable)
Rows = Sequence[SampleRow]


class _Subject(Protocol):
    """The subject of a row: the keys of the samples behind it, and all samples that the table counts for it."""

    @property
    def samples(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> Rows: ...


AnySubject = TypeVar("AnySubject", bound=_Subject)


@dataclass(frozen=True, kw_only=True)
class Line:
    """The subject of a table row whose cells are known already; they are held by the keys of their columns.

    ``rows`` are the samples that the table counts; ``behind`` are the keys of the samples behind its figures, if these
    differ.
    """

    cells: Mapping[str, TableCell | Value] = field(default_factory=dict)
    rows: Rows = ()
    behind: tuple[str, ...] | None = None

    @property
    def samples(self) -> tuple[str, ...]:
        """The keys of the samples behind the row."""
        return keys(self.rows) if self.behind is None else self.behind


@dataclass(frozen=True, kw_only=True)
class Group(Line):
    """The samples of one arm in one setting, all seeds together, or a part of these samples."""

    study: Study
    setting: Setting
    arm: str

    @property
    def first(self) -> SampleRow:
        """One of the samples, to read the arm and library that all of them share."""
        return self.rows[0]

    @property
    def library(self) -> LibraryFacts | None:
        """The facts on the arm's library; None without one."""
        return self.study.libraries.get(self.first.library or "")


def words(*names: str) -> tuple[Figure[Any], ...]:
    """Return text columns whose cells are the subjects' values under these keys."""
    about = {"world": "how the worlds were made"}
    return tuple(figure(name, "text", about=about.get(name, "")) for name in names)


PLACE = words("dataset", "world", "budget", "arm")


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labels of people (right or wrong) by the key of the sample; ``why`` is the reason if there are none."""

    right: Mapping[str, bool] = field(default_factory=dict)
    why: str = "no answer of it was labelled"


@dataclass(frozen=True, kw_only=True)
class Study(RunRows):
    """The rows of a run with all else that its tables need."""

    primary: Mapping[str, str | None] | None = None
    datasets: Mapping[str, DatasetRecord] = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)

    @property
    def watermark(self) -> str | None:
        """The watermark of every figure, if the rule-based model answered; else None."""
        return WATERMARK if any(row.plumbing for row in (*self.rows, *self.unknown)) else None

    @property
    def warning(self) -> str | None:
        """A warning with the number of samples that are wrong only because their episode is gone, or None."""
        return warning_of(self.rows)

    def with_rows(self, rows: Iterable[SampleRow]) -> Study:
        """Return the same study with these samples only."""
        return replace(self, rows=tuple(rows))

    def groups(self) -> Iterator[Group]:
        """Yield the samples of each arm in each setting."""
        for own in self.by_setting():
            yield from own.values()

    def by_setting(self) -> Iterator[dict[str, Group]]:
        """Yield the groups of each setting, by arm."""
        for setting, within in grouped(self.rows, lambda row: row.setting).items():
            arms = grouped(within, lambda row: row.arm)
            yield {arm: Group(study=self, setting=setting, arm=arm, rows=own) for arm, own in arms.items()}

    def baseline_in(self, rows: Rows) -> str | None:
        """Return the arm that others are compared with: the one that the run names, else one of the system ``flat``.

        Of several ``flat`` arms without a library it is the one named ``flat``, else the one with the shortest name.
        None without one.
        """
        arms = {row.arm: row for row in rows}
        named = (self.primary or {}).get("against")
        if named is not None and named in arms:
            return named
        flats = [name for name, row in arms.items() if row.system == "flat" and row.library is None]
        return min(flats, key=lambda name: (name != "flat", len(name), name), default=None)

    def beside_baseline(self) -> Iterator[tuple[Group, Group | None]]:
        """Yield every group with the baseline's group in its setting; None in its place if there is no baseline."""
        for groups in self.by_setting():
            name = self.baseline_in([group.first for group in groups.values()])
            for group in groups.values():
                yield group, groups[name] if name is not None else None

    def table(
        self,
        name: str,
        figures: Iterable[Figure[AnySubject]],
        subjects: Iterable[AnySubject],
        *,
        title: str | None = None,
        note: str | None = None,
        of: Iterable[SampleRow] | None = None,
        left_out: Mapping[str, int] | None = None,
    ) -> Table:
        """Return a table with one row for each subject, with its counts and its watermark.

        Its title and its note are those of its ``name`` in ``texts.yaml``, unless they are given. ``of`` are the samples
        that the table is about, each counted once; by default those of the subjects. ``left_out``, by reason, is added
        to the study's own numbers.
        """
        texts: Mapping[str, str] = _TEXTS.get(name, {})
        shown, held = tuple(figures), tuple(subjects)
        rows = (row for subject in held for row in subject.rows) if of is None else of
        about = list({row.sample: row for row in rows}.values())
        if note is None:
            note = texts.get("note", "") if held else texts.get("empty", texts.get("note", ""))
        return Table(
            name=name,
            title=title or texts["title"],
            columns=tuple(item.column for item in shown),
            rows=tuple(
                Row(cells=tuple(item.cell(subject) for item in shown), samples=subject.samples) for subject in held
            ),
            note=" ".join(part for part in (warning_of(about), note) if part),
            watermark=self.watermark,
            n=len(about),
            clusters=len(videos(about)),
            left_out={**self.left_out, **(left_out or {})},
        )


def warning_of(rows: Rows) -> str | None:
    """Return a warning with the number of samples by arm whose episode is deleted or damaged; None without any."""
    gone = Counter(row.arm for row in rows if row.gone)
    if not gone:
        return None
    arms = ", ".join(f"{arm} {number:,}" for arm, number in sorted(gone.items()))
    return f"WARNING: {gone.total():,} of {len(rows):,} samples count as wrong because their episode is deleted or damaged ({arms})."


def study_of(run: Run) -> Study:
    """Return the rows of a run with its primary contrast, datasets and labels, for its tables.

    Raises:
        EvalFault: ``not_scored``.
    """
    read = read_rows(run)
    manifest, labels = run.manifest, labels_of(run, read.rows)
    return Study(**vars(read), primary=manifest.primary, datasets=manifest.datasets, labels=labels)


def grouped(rows: Iterable[SampleRow], key: Callable[[SampleRow], Key]) -> dict[Key, list[SampleRow]]:
    """Return rows by a key, in the order of the first row of each key."""
    found: dict[Key, list[SampleRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def videos(rows: Iterable[SampleRow]) -> set[tuple[str, str]]:
    """Return the videos of samples, each with its dataset: the clusters of the bootstrap."""
    return {cluster(row) for row in rows}


def cluster(row: SampleRow) -> tuple[str, str]:
    """Return the cluster of a sample: its dataset and video."""
    return row.dataset, row.video


def keys(rows: Iterable[SampleRow]) -> tuple[str, ...]:
    """Return the keys of samples."""
    return tuple(row.sample for row in rows)


LABELS = "labels.json"


def labels_of(run: Run, rows: Iterable[SampleRow]) -> Labels:
    """Return the labels of a run's samples; none if the file is missing or not valid (a pair without a label)."""
    path = run.folder.root / LABELS
    if not path.exists():
        return Labels()
    try:
        pairs = {pair.id: pair for pair in own_pairs(path)}
    except EvalFault as fault:
        return Labels(why=fault.message)
    found = {}
    for row in rows:
        item = run.items[row.dataset, row.item]
        said = given_text(row.value, None) if row.kind == "open" and item.answer is not None else None
        pair = pairs.get(answer_key(item, said)) if said is not None else None
        if pair is not None and (not pair.arms or row.arm_name in pair.arms):
            found[row.sample] = pair.right
    return Labels(right=found)


#: The keys of filters; arms are chosen by name.
FILTERS = (
    "library", "library_domain", "library_arm", "dataset", "world", "budget", "seed", "model", "domain", "kind",
    "content", "template", "system", "video", "item",
)  # fmt: skip


def chosen(rows: Sequence[SampleRow], wanted: str) -> list[SampleRow]:
    """Return the samples of one arm; ``wanted`` names it, or its system, with filters or a library after ``@``: ``flat@world=oracle``.

    Raises:
        EvalFault: ``unknown_arm``, with the nearest name; ``bad_filter``; ``nothing_chosen``; ``several_arms``.
    """
    whole = [row for row in rows if row.arm == wanted]
    name, at, filters = wanted.partition("@")
    found = whole or [row for row in rows if row.arm_name == name] or [row for row in rows if row.system == name]
    if not found:
        arms = sorted({row.arm for row in rows})
        near = did_you_mean(name, [*arms, *{row.arm_name for row in rows}])
        hint = near or ("arms: " + ", ".join(arms[:20]) if arms else "the run has no scored sample yet")
        raise EvalFault("unknown_arm", f"the run has no arm {name[:80]!r}", hint=hint)
    if at and not whole:
        found = filtered(found, [part if "=" in part else f"library={part}" for part in filters.split(",")])
    arms = sorted({row.arm for row in found})
    if len(arms) > 1:
        raise EvalFault(
            "several_arms", f"{wanted[:80]!r} is {len(arms)} arms: {', '.join(arms[:8])}", hint="name one of them"
        )
    return found


def filtered(rows: Sequence[SampleRow], filters: Sequence[str]) -> list[SampleRow]:
    """Return the samples that pass all filters (``key=value``; ``key=none`` for a missing value).

    Raises:
        EvalFault: ``bad_filter``; ``nothing_chosen``, with the values that exist.
    """
    found = list(rows)
    for pair in filters:
        key, equals, value = pair.partition("=")
        if not equals or key not in FILTERS:
            raise EvalFault("bad_filter", f"{pair[:60]!r} chooses nothing", hint=suggestion(key, FILTERS, "keys: "))
        known = ["none" if (own := getattr(row, key)) is None else str(own) for row in found]
        if value not in known:
            there = ", ".join(sorted(set(known))[:12])
            raise EvalFault("nothing_chosen", f"no sample has {key} {value[:60]!r}", hint=f"there is: {there}")
        found = [row for row, own in zip(found, known, strict=True) if own == value]
    return found


def opened_study(path: Path) -> tuple[Run, Study]:
    """Read a run, or a bundle of one, and its rows; samples without a score are scored if no judge is needed.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``not_scored``; the faults of opening a bundle.
    """
    run = scored_now(read_run(path))
    return run, study_of(run)


#: Why samples are left out if libraries are random draws.
FORKS = "of libraries that are made from others of the run"


def independent(
    rows: Iterable[SampleRow], libraries: Mapping[str, LibraryFacts]
) -> tuple[list[SampleRow], tuple[str, ...]]:
    """Return the samples with one library of each lineage, and the names of the libraries that are left out.

    A copy under a second name, a fork, a selection and libraries of the same induction are not independent. Of related
    libraries the one with the fewest ancestors is kept, and the first of several. Samples without a library are kept.
    """
    held = list(rows)
    hashes = {row.library: row.library_hash for row in held if row.library is not None}
    known = {name: libraries.get(name) or LibraryFacts(name=name, hash=own) for name, own in hashes.items()}
    kept: set[str] = set()
    taken: set[str] = set()
    for name, facts in sorted(known.items(), key=lambda pair: len(pair[1].lineage)):
        own = {hashes[name] or name, *facts.lineage, str(facts.induction.get("log_sha256", name))}
        if own.isdisjoint(taken):
            kept.add(name)
        taken |= own
    left_out = tuple(name for name in hashes if name not in kept)
    return [row for row in held if row.library is None or row.library in kept], left_out
