"""``eval report``: from a run's folder to one file of HTML, with its tables as LaTeX and CSV beside it.

::

    OUT/report.html        the page, which needs no other file
    OUT/tables/NAME.tex    the same tables
    OUT/tables/NAME.csv
    RUN/report/frames/...  the pictures of the page, so that a later report needs no video
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.display import WATERMARK
from eval.extras import from_extra
from eval.report.charts import Primary
from eval.report.episodes import Pool, Sets, frame_blocks, gather, index_of
from eval.report.page import Page, html_of, lead_of, notes_of, overview_of, section_of
from eval.report.pictures import PictureCache, Worlds, choose, pictures_of, worlds_of
from eval.runs.scoring import scored_now
from eval.runs.stored_run import Run, read_run
from eval.tables.registry import tables_of
from eval.tables.rows import SampleRow
from eval.tables.study import study_of
from eval.tables.table import Table
from eval.tables.writing import write_tables
from world_api.core.files import write_atomically
from world_api.installation import project_version
from world_api.page.html import packed

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
    gallery = pictures_of(chosen.frames, PictureCache(run.folder.report / FRAMES), worlds)
    pictures = {frame: gallery.pictures[frame] for frame in chosen.frames if frame in gallery.pictures}
    numbers = {frame: number for number, frame in enumerate(pictures)}
    sets = Sets(places={row.sample: place for place, row in enumerate(rows)})
    primary = _primary_of(tables)
    page = Page(
        title=f"Report: {run.manifest.name or 'a run'}",
        lead=lead_of(tables, sets, primary),
        about=overview_of(run),
        notes=list(notes_of(run, gathered, pool, gallery, left_out=chosen.left_out, most_frames=choices.most_frames)),
        sections=[section_of(table, sets, primary) for table in tables if table.rows],
        without_rows=[table for table in tables if not table.rows],
        watermark=WATERMARK if run.manifest.rule_based or any(row.plumbing for row in rows) else None,
        version=project_version(),
    )
    texts = list(pool.blocks())
    index = index_of(rows, run.items, gathered.episodes) | {
        "first": choices.first_view,
        "sets": sets.record(),
        "pool": pool.starts,
        "frames": [
            [video, kept.time, kept.width, kept.height, "key frame" if kept.is_key_frame else "video"]
            for (video, _), kept in pictures.items()
        ],
        "absent": dict(gallery.absent),
        "crowded": chosen.left_out > 0,
    }
    jpegs = [b64encode(picture.jpeg).decode("ascii") for picture in pictures.values()]
    moments = frame_blocks(gathered, chosen, numbers)
    blocks = {"index": packed(index)}
    for letter, held in (("e", gathered.blocks), ("m", moments), ("p", texts), ("f", jpegs)):
        blocks |= {f"{letter}{number}": text for number, text in enumerate(held)}
    content = html_of(page, blocks).encode()
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
