"""The report of a run: one file of HTML with its sections, facts and packed data, and its tables as LaTeX and CSV beside it.

::

    OUT/report.html        the page, which needs no other file
    OUT/tables/NAME.tex    the same tables
    OUT/tables/NAME.csv
    RUN/report/frames/...  the pictures of the page, so that a later report needs no video

The page holds data in blocks (Base64 of gzipped JSON, in which no markup can begin) and unpacks a block only when it is
needed, so that a page with thousands of episodes stays fast. Equal values give equal bytes. No content is trusted: the
template escapes every text, the content security policy names scripts and styles by their hashes, and nothing may be
fetched. Every cell is shown as text with the samples behind it; every table is below its chart.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.display import WATERMARK, in_words
from eval.report.charts import SETTING, ChartFigure, Primary, TableRow, arms_figure, figure_of
from eval.report.episodes import Gathered, Pool, Sets, frame_blocks, gather, index_of
from eval.report.pictures import Gallery, PictureCache, Worlds, choose, durations_of, pictures_of, worlds_of
from eval.runs.records import Arm
from eval.runs.scoring import scored_now
from eval.runs.stored_run import Run, read_run
from eval.tables.registry import tables_of
from eval.tables.rows import SampleRow
from eval.tables.study import study_of
from eval.tables.table import Column, Table, cell_text, heading, remarks, value_text, write_tables
from world_api.core.canonical import content_hash
from world_api.core.files import write_atomically
from world_api.core.identifiers import plural
from world_api.installation import from_extra, project_version
from world_api.operations import WITHOUT
from world_api.page.html import asset, packed, render

#: The tables that a reader needs first; they come first on the page, and the first ``_OPEN`` tables are not folded.
_FIRST = ("primary", "main", "comparisons", "transfer_difference", "costs")
_OPEN = len(_FIRST)
_SCRIPTS = ("data.js", "browsing.js", "episodes.js", "start.js")


@dataclass(frozen=True, kw_only=True)
class RunFact:
    """A named fact on the run with its values; ``is_code`` marks hashes and ids."""

    name: str
    values: Sequence[str]
    is_code: bool = False


#: Wall times differ whenever an episode is run again; they are only in the CSV, so that equal runs give equal pages.
_CSV_ONLY = "seconds"
_MOST_ARMS = 24  #: most arms in the first chart of the page; the table has all
_LEAD_NOTE = (
    "The contrast that was named before the run: paired differences in accuracy on the same questions and seeds, with the "
    "95 % interval over videos. Everything else that this page compares is secondary."
)


@dataclass(frozen=True, kw_only=True)
class PageCell:
    """A table cell as texts: ``why`` is its remark, ``words`` describe it in full, ``place`` is its CSS class.

    ``set`` is the number of the set of samples behind it, or None.
    """

    text: str
    interval: str
    why: str
    words: str
    place: str
    set: int | None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table with its figure and the texts of its cells."""

    table: Table
    figure: ChartFigure | None
    columns: Sequence[Column]
    rows: Sequence[Sequence[PageCell]]
    remarks: str  #: why cells are blank, and what ``*`` means
    is_folded: bool = False  #: whether a reader has to open it

    @property
    def anchor(self) -> str:
        """The HTML id of the section."""
        return f"table-{self.table.name}"

    @property
    def heads(self) -> list[tuple[str, str, str]]:
        """CSS class, explanation and title of each column."""
        return [(_classes(column), column.about, heading(column)) for column in self.columns]


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The first result on the page: each contrast as a sentence around its figure (words before, cell, words after).

    ``anchor`` is the id of the section with the details, None if there is none.
    """

    lines: Sequence[tuple[str, PageCell, str]]
    note: str
    figure: ChartFigure | None
    anchor: str | None
    watermark: str | None


def sections_of(tables: Sequence[Table], sets: Sets, primary: Primary = frozenset()) -> list[Section]:
    """Return the sections of all tables with rows, the most important ones first and open, the others folded."""
    shown = [table for table in tables if table.rows]
    shown.sort(key=lambda table: _FIRST.index(table.name) if table.name in _FIRST else len(_FIRST))
    return [section_of(table, sets, primary, is_folded=place >= _OPEN) for place, table in enumerate(shown)]


def section_of(table: Table, sets: Sets, primary: Primary = frozenset(), *, is_folded: bool = False) -> Section:
    """Return the section of a table, without empty columns and wall times; its figure colours the arms of ``primary``."""
    columns = {place: [row.cells[place] for row in table.rows] for place in range(len(table.columns))}
    said_by = [
        place for place, cells in columns.items() if any(cell.value not in (None, "") or cell.why for cell in cells)
    ]
    kept = [place for place in said_by if table.columns[place].kind != _CSV_ONLY]
    said = sorted({remarks(row.cells[place]) for row in table.rows for place in kept} - {""})
    return Section(
        table=table,
        figure=figure_of(table, sets, primary),
        columns=[table.columns[place] for place in kept],
        rows=[_page_row(table, number, kept, sets) for number in range(len(table.rows))],
        remarks="- is blank, * bears a remark: " + "; ".join(said) + "." if said else "",
        is_folded=is_folded,
    )


def _page_row(table: Table, row: int, kept: Sequence[int], sets: Sets) -> list[PageCell]:
    texts = [(place, table.columns[place]) for place in kept if table.columns[place].kind == "text"]
    subject = " ".join(filter(None, (cell_text(table.rows[row].cells[place], column) for place, column in texts)))
    return [_page_cell(table, row, place, sets, subject=subject) for place in kept]


def _classes(column: Column) -> str:
    return ("word" if column.kind == "text" else "figure") + (" aside" if column.aside else "")


def _page_cell(table: Table, row: int, place: int, sets: Sets, *, subject: str) -> PageCell:
    """Return the cell at ``row`` and column ``place`` with its samples; ``subject`` names what the row is about."""
    column, cell = table.columns[place], table.rows[row].cells[place]
    has_figure = column.kind != "text" and cell.value is not None
    figure, interval = cell_text(cell, column, interval=False), ""
    if cell.low is not None and cell.high is not None:
        interval = f"[{value_text(cell.low, column)}, {value_text(cell.high, column)}]"
    counts = [f"n = {cell.n:,}"] if cell.n is not None else []
    counts += [f"{cell.clusters:,} videos"] if cell.clusters is not None else []
    words = f"{table.title}: {subject}, {column.title} {figure} {interval}".strip()
    return PageCell(
        text=figure,
        interval=interval,
        why=remarks(cell),
        words=words + "".join(f"; {said}" for said in (*counts, remarks(cell)) if said),
        place=_classes(column),
        set=sets.number(table.samples(row, column.key)) if has_figure else None,
    )


def lead_of(tables: Sequence[Table], sets: Sets, primary: Primary) -> Lead | None:
    """Return the primary contrast with a chart of every arm's accuracy; None if there are no scores yet."""
    by_name = {table.name: table for table in tables}
    contrast, arms = by_name.get("primary"), by_name.get("main")
    if contrast is None or arms is None or not arms.rows:
        return None
    return Lead(
        lines=[_lead_line(contrast, number, sets) for number in range(len(contrast.rows))],
        note=_LEAD_NOTE if contrast.rows else contrast.note,
        figure=_arms(arms, contrast, sets, primary),
        anchor="table-primary" if contrast.rows else None,
        watermark=arms.watermark,
    )


def _lead_line(contrast: Table, number: int, sets: Sets) -> tuple[str, PageCell, str]:
    row = TableRow(table=contrast, number=number, sets=sets)
    names = f"{row.word('arm')} less {row.word('against')}"
    about = [row.word(key) for key in SETTING] + ([row.word("domain")] if row.word("domain") != "all" else [])
    cell = _page_cell(contrast, number, contrast.place("difference"), sets, subject=names)
    after = f" percent points, over {row.shown('pairs')} pairs on {plural(round(row.number_at('videos')), 'video')}"
    after += f", p {row.shown('p_clustered')}" if row.has("p_clustered") else ""
    after += f"; {cell.why}" if cell.why else ""
    return f"{names} ({', '.join(about)})", cell, after + "."


def _arms(arms: Table, contrast: Table, sets: Sets, primary: Primary) -> ChartFigure | None:
    """Return the chart of accuracy by arm, in the worlds and budgets of the primary contrast if there is one."""
    rows = [TableRow(table=arms, number=number, sets=sets, primary=primary) for number in range(len(arms.rows))]
    settings = {(world, budget) for _, world, budget in primary}
    shown = [row for row in rows if not settings or (row.word("world"), row.word("budget")) in settings]
    held = [row for row in shown if row.has("accuracy")]
    about = "Accuracy of every arm, with 95 % intervals over videos."
    about += " In the world and the budget of the contrast, whose arms are in the other colour." if settings else ""
    of_one_domain = bool(contrast.rows) and contrast.cell(0, "domain").value != "all"
    about += " Here over the questions of all domains." if of_one_domain else ""
    about += f" The first {_MOST_ARMS} of {len(held)}." if len(held) > _MOST_ARMS else ""
    return arms_figure(held[:_MOST_ARMS], about)


_HASH = 12
_MANY = 24  #: most values of one fact that are shown


def overview_of(run: Run) -> dict[str, list[RunFact]]:
    """Return the facts of a run by the titles of their groups; empty facts are left out."""
    groups = {
        "Run": _run(run),
        "Questions": _questions(run),
        "Arms": (_fact(name, words) for name, words in arms_in_words(run).items()),
        "Tool libraries": _libraries(run),
        "Worlds": _worlds(run),
        "Budgets": _budgets(run),
    }
    found = {title: [fact for fact in facts if fact.values] for title, facts in groups.items()}
    return {title: facts for title, facts in found.items() if facts}


def _fact(name: str, *values: str | None, is_code: bool = False) -> RunFact:
    """Return a fact without its empty values."""
    return RunFact(name=name, values=[value for value in values if value], is_code=is_code)


def _run(run: Run) -> Iterator[RunFact]:
    manifest = run.manifest
    yield _fact("name", manifest.name)
    rules = " (rule-based: it shows that the chain works, and nothing of what a model can do)"
    yield _fact("model", manifest.model + (rules if manifest.rule_based else ""))
    yield _fact("finished", f"{len(run.samples):,} of {plural(run.planned, 'sample')}")
    yield _fact("seeds", *map(str, manifest.seeds))
    named = ", ".join(f"{key} {value}" for key, value in (manifest.primary or {}).items() if value is not None)
    yield _fact("primary contrast", named or "none was named before the run")
    yield _fact("versions", *(f"{name} {version}" for name, version in manifest.versions.items()))
    yield _fact("git", (manifest.git or "")[:40], is_code=True)
    hashes = {"prompts": manifest.prompts, "loop": manifest.loop, "manifest": content_hash(manifest.record())}
    for name, value in hashes.items():
        yield _fact(name, value[:_HASH], is_code=True)
    asked_by = []
    for one, count in run.provenance:
        by = filter(None, ((one.git or "")[:40], f"loop {one.loop[:_HASH]}", one.endpoint))
        asked_by.append(f"{plural(count, 'sample')} of {one.planned:,} planned: {', '.join(by)}")
    yield _fact("asked by", *(asked_by if len(asked_by) > 1 else ()))
    settings = {key: value for key, value in manifest.settings.items() if value not in (None, "", [], {})}
    yield _fact("settings", *(f"{key} {in_words(value)}" for key, value in settings.items()))
    yield _fact("overridden", *manifest.overrides)


def _questions(run: Run) -> Iterator[RunFact]:
    counts = Counter(dataset for dataset, _ in run.items)
    for name, record in run.manifest.datasets.items():
        videos = {item.video_id for (dataset, _), item in run.items.items() if dataset == name}
        values = [plural(counts[name], "question") + " on " + plural(len(videos), "video"), record.hash[:_HASH]]
        if record.missing:
            lost = f"{plural(len(record.missing), 'video')} with {plural(record.missing_questions, 'question')} missing"
            values.append(f"{lost}, {record.missing_hash[:_HASH]}")
        left_out = (f"left out: {number:,} of its file: {reason}" for reason, number in record.left_out.items())
        yield _fact(name, *values, *left_out)
        yield _fact(f"protocol of {name}", *(f"{key}: {in_words(value)}" for key, value in record.protocol.items()))
    for title, kinds in (
        ("by domain", Counter(item.domain or "none" for item in run.items.values())),
        ("by answer type", Counter(item.question.kind for item in run.items.values())),
    ):
        yield _fact(title, *(f"{kind} {number:,}" for kind, number in sorted(kinds.items())))


#: What a model has in each of the product's own systems.
_SYSTEMS = {
    "flat": "the operations",
    "flat+domain": "the operations, and the text that libraries of the domain are induced from",
    "flat+review": "the operations, and a review of the answer",
    "hier": "the operations and a tool library",
    "hints": "the operations, and a tool library as text only",
    "flat+compose": "the operations, and may write a tool for this one question",
    "pipeline": "one program, written before anything is seen",
    "direct": "frames and transcript in one request, no tools",
    "socratic": "captions of the clips that fit the question, no tools",
    "blind": "the question alone",
}
_EXPOSED = {"tools": "the tools of a library, no operations", "tools-first": "the tools of a library, operations later"}
_CONTROLS = {
    "placebo": "declared like {of}, but its tools find nothing",
    "random": "composed by chance, as long as {of}",
}


def arms_in_words(run: Run) -> dict[str, str]:
    """Return what the model of each arm has, by the arm's name in the tables (``hier@hand_A``)."""
    arms = {cell.label: cell.arm for cell in run.cells.values()}  # an arm with two libraries counts as two
    return {label: _arm_in_words(run, arm) for label, arm in arms.items()}


def _arm_in_words(run: Run, arm: Arm) -> str:
    has = _SYSTEMS.get(arm.system, f"the system {arm.system}, added by another package")
    rest = dict(arm.settings)
    if arm.system == "hier" and (exposed := _EXPOSED.get(str(rest.get("exposure")))) is not None:
        has = exposed
        del rest["exposure"]
    if arm.system == "blind" and rest.get("variant") == "transcript":
        has = "the question and the transcript, no tools"
        del rest["variant"]
    said = [has]
    if arm.library is not None:
        record = run.manifest.libraries.get(arm.library)
        about = "" if record is None else _CONTROLS.get(record.arm or "", "").format(of=record.of or "another one")
        domain = "" if record is None or not record.domain or about else f"made for domain {record.domain}"
        said.append(f"library {arm.library}" + (f" ({about or domain})" if about or domain else ""))
    said += [f"{key.replace('_', ' ')} {in_words(value)}" for key, value in rest.items()]
    said += [
        f"without {group.removeprefix(WITHOUT)}" if group.startswith(WITHOUT) else f"with {group}"
        for group in arm.groups
    ]
    return "; ".join(said)


def _libraries(run: Run) -> Iterator[RunFact]:
    for name, record in run.manifest.libraries.items():
        domain, of = record.domain and f"domain {record.domain}", record.of and f"of {record.of}"
        seed = None if record.seed is None else f"seed {record.seed}"
        yield _fact(name, record.hash[:_HASH], domain, record.arm, of, seed)


def _worlds(run: Run) -> Iterator[RunFact]:
    """Yield a fact for each profile: a hash over all its worlds, and the hashes of the first ``_MANY`` worlds."""
    profiles = dict.fromkeys(profile for made in run.manifest.worlds.values() for profile in made)
    for profile in profiles:
        hashes = {video: made[profile] for video, made in run.manifest.worlds.items() if profile in made}
        values = [f"{video} {value[:_HASH]}" for video, value in list(hashes.items())[:_MANY]]
        more = f"and {len(hashes) - _MANY:,} more" if len(hashes) > _MANY else ""
        yield _fact(f"{profile}, {content_hash(hashes)[:_HASH]}", *values, more)


def _budgets(run: Run) -> Iterator[RunFact]:
    for name, held in run.manifest.budgets.items():
        limits = ", ".join(f"{value:,g} {limit}" for limit, value in held.items() if value is not None)
        yield _fact(name, limits or "the usual one")


def notes_of(
    run: Run, gathered: Gathered, pool: Pool, gallery: Gallery, *, left_out: int, most_frames: int
) -> Iterator[str]:
    """Yield the notes on the page as sentences; ``left_out`` counts moments without a picture because of the limit."""
    open_samples = run.planned - len(run.samples)
    if open_samples > 0:
        yield f"The run is not finished: {plural(open_samples, 'sample')} still to be asked."
    if run.unscored:
        yield f"{plural(run.unscored, 'sample')} without a score: not in this report; `videoworld eval score RUN` scores them."
    unknown = sum(not run.has_answer(sample) for sample in run.samples)
    if unknown:
        yield f"{plural(unknown, 'sample')} of questions without a known answer: shown, and in no figure."
    for reason, number in sorted(Counter(gathered.damaged.values()).items()):
        yield f"{plural(number, 'episode')} cannot be read ({reason}): counted as the tables say, and not shown."
    if pool.refused:
        shown = f"{plural(pool.refused, 'result')} shown in one line only, so that the page stays small"
        yield f"{shown}; the run's folder holds all whole."
    if left_out:
        yield f"The page holds {most_frames:,} pictures at most; {plural(left_out, 'moment')} shown without one."
    for reason, number in sorted(Counter(gallery.absent.values()).items()):
        yield f"Of {plural(number, 'video')} some moments are shown by a key frame or without a picture: {reason}."
    yield "Wall times are not on this page, since they differ whenever an episode is run again; the CSV tables have them."


PAGE, TABLES, FRAMES = "report.html", "tables", "frames"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options of a report.

    The page holds at most ``most_frames`` pictures and ``most_bytes`` of complete results, prompts and declarations;
    ``store`` holds the worlds; ``first_view`` is the view that opens first: overview, results, questions or episodes.
    """

    most_frames: int = 400
    most_bytes: int = 24_000_000
    store: Path | None = None
    first_view: str = "overview"


@dataclass(frozen=True, kw_only=True)
class WrittenReport:
    """A written report with the counts of its parts; ``damaged`` counts episodes that could not be read."""

    page: Path
    tables: int
    episodes: int
    pictures: int
    bytes: int
    damaged: int


def write_report(
    folder: Path,
    out: Path | None = None,
    *,
    choices: Choices | None = None,
    progress: Callable[[float, float], object] = lambda done, whole: None,
) -> WrittenReport:
    """Read a run, or a bundle of one, and write its report; equal runs give equal pages.

    ``progress`` is called with the number of episodes read and that of all. It is written into the folder ``out``, by
    default ``report`` in the run's folder or ``NAME-report`` beside the bundle.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``, ``not_scored``.
        StoreFault: ``store_not_writable``, ``disk_full``.
        BackendFault: ``extra_missing``.
    """
    with from_extra("eval"):
        import altair  # noqa: F401 - said before anything is read
        import vl_convert  # noqa: F401
    run = scored_now(read_run(folder))
    study = study_of(run)
    rows = (*study.rows, *study.unknown)  # questions without a known answer are shown but in no table
    tables = tables_of(study) if rows else []
    beside = folder.with_name(f"{folder.stem}-report")  # for a bundle, whose run is only unpacked temporarily
    place = out or (beside if folder.is_file() else run.folder.report)
    chosen = choices or Choices()
    written = _write_page(run, rows, tables, place, chosen, worlds_of(run, chosen.store), progress)
    write_tables(tables, place / TABLES)
    return written


def _write_page(
    run: Run,
    rows: Sequence[SampleRow],
    tables: Sequence[Table],
    out: Path,
    choices: Choices,
    worlds: Worlds,
    progress: Callable[[float, float], object],
) -> WrittenReport:
    pool = Pool(choices.most_bytes)
    gathered = gather(run, rows, pool, progress=progress)
    chosen = choose({sample: one.moments for sample, one in gathered.episodes.items()}, most=choices.most_frames)
    kept = PictureCache(run.folder.report / FRAMES)
    gallery = pictures_of(chosen.frames, kept, worlds)
    pictures = {frame: gallery.pictures[frame] for frame in chosen.frames if frame in gallery.pictures}
    numbers = {frame: number for number, frame in enumerate(pictures)}
    # Where nothing moves many frames are one picture, which is on the page once.
    stored = {jpeg: place for place, jpeg in enumerate(dict.fromkeys(one.jpeg for one in pictures.values()))}
    sets = Sets(places={row.sample: place for place, row in enumerate(rows)})
    primary = _primary_of(tables)
    arms = arms_in_words(run)
    # The part of the page that works without a script; all other data is in its blocks, which the script finds by id.
    page = {
        "title": f"Report: {run.manifest.name or 'a run'}",
        "lead": lead_of(tables, sets, primary),
        "arms": arms,
        "about": overview_of(run),
        "notes": list(
            notes_of(run, gathered, pool, gallery, left_out=chosen.left_out, most_frames=choices.most_frames)
        ),
        "sections": sections_of(tables, sets, primary),
        "without_rows": [table for table in tables if not table.rows],
        "watermark": WATERMARK if run.manifest.rule_based or any(row.plumbing for row in rows) else None,
        "version": project_version(),
    }
    texts = list(pool.blocks())
    index = index_of(rows, run.items, gathered.episodes) | {
        "first": choices.first_view,
        "sets": sets.record(),
        "pool": pool.starts,
        "frames": [
            [video, kept.time, kept.width, kept.height, "key frame" if kept.is_key_frame else "video"]
            for (video, _), kept in pictures.items()
        ],
        "pictures": [stored[one.jpeg] for one in pictures.values()],
        "durations": durations_of({video for row in rows for video in [row.video]}, kept, worlds),
        "arms": arms,
        "absent": dict(gallery.absent),
        "crowded": chosen.left_out > 0,
    }
    jpegs = [b64encode(jpeg).decode("ascii") for jpeg in stored]
    moments = frame_blocks(gathered, chosen, numbers)
    blocks = {"index": packed(index)}
    for letter, held in (("e", gathered.blocks), ("m", moments), ("p", texts), ("f", jpegs)):
        blocks |= {f"{letter}{number}": text for number, text in enumerate(held)}
    style, script = asset(__package__, "report.css"), "".join(asset(__package__, name) for name in _SCRIPTS)
    template = asset(__package__, "report.html.jinja")
    content = render(template, style=style, script=script, blocks=blocks, page=page).encode()
    write_atomically(out / PAGE, content)
    counts = {"tables": tables, "episodes": gathered.episodes, "pictures": pictures, "damaged": gathered.damaged}
    return WrittenReport(page=out / PAGE, bytes=len(content), **{name: len(held) for name, held in counts.items()})


def _primary_of(tables: Sequence[Table]) -> Primary:
    """Return arm, world and budget of both sides of the primary contrast; empty if there is none."""
    return frozenset(
        (str(table.cell(row, arm).value), str(table.cell(row, "world").value), str(table.cell(row, "budget").value))
        for table in tables
        if table.name == "primary"
        for row in range(len(table.rows))
        for arm in ("arm", "against")
    )
