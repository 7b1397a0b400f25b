"""``eval report``: from a run's folder to one file of HTML, with its tables as LaTeX and CSV beside it.

::

    OUT/report.html        the page, whole in itself
    OUT/tables/NAME.tex    the same tables
    OUT/tables/NAME.csv
    RUN/report/frames/...  the pictures of the page, so that a later one needs no video
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.display import WATERMARK
from eval.report.figures.leading import lead_of
from eval.report.frames.choosing import FrameKey, choose
from eval.report.frames.pictures import Gallery, Worlds, pictures_of
from eval.report.frames.shelf import Shelf
from eval.report.frames.worlds import worlds_of
from eval.report.gathering import frame_blocks, gather
from eval.report.notes import notes_of
from eval.report.overview import overview_of
from eval.report.page.blocks import Pool, packed
from eval.report.page.building import Block, Page, html_of
from eval.report.page.index import Sets, index_of
from eval.report.sections import section_of
from eval.runs.reading import Run, read_run
from eval.runs.scoring import scored_now
from eval.tables.every import tables_of
from eval.tables.rows import SampleRow
from eval.tables.study import study_of
from eval.tables.table import Table
from eval.tables.writing.files import write_tables
from world_api.version import project_version
from world_api.world.disk.files import write_atomically

PAGE = "report.html"
TABLES = "tables"
FRAMES = "frames"
MOST_FRAMES = 400
_MOST_BYTES = 24_000_000  #: of results, prompts and declarations that are kept whole, as they stand in the page
_AFTER_FIRST = "main"  #: the table that the curve follows on the page: the two are read together
_CURVE = "curve"
_PRIMARY = "primary"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What may be chosen of a report: how many pictures and how much whole material at most, and where worlds lie."""

    most_frames: int = MOST_FRAMES
    most_bytes: int = _MOST_BYTES
    store: Path | None = None
    first_view: str = "overview"  #: what a reader sees first: overview, results, questions or episodes


@dataclass(frozen=True, kw_only=True)
class Written:
    """What became of a report: the page, how many episodes and pictures it holds, and how many it could not read."""

    page: Path
    tables: int
    episodes: int
    pictures: int
    bytes: int
    damaged: int


def write_report(folder: Path, out: Path | None = None, *, choices: Choices | None = None) -> Written:
    """Read a run, or a bundle of one, and write its report; equal runs, equal pages.

    It is written into ``out``, else into the run's own folder, else beside the bundle.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``, ``not_scored``.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    run = scored_now(read_run(folder))
    study = study_of(run)
    rows = (*study.rows, *study.unknown)  # what nobody knows the answer of is shown, and is in no table
    tables = tables_of(study) if rows else []
    beside = folder.with_name(f"{folder.stem}-report")  # of a bundle, whose run is unpacked for a while only
    place = out or (beside if folder.is_file() else run.folder.report)
    chosen = choices or Choices()
    written = _write_page(run, rows, tables, place, chosen, worlds_of(run, chosen.store))
    write_tables(tables, place / TABLES)
    return written


def _write_page(
    run: Run, rows: Sequence[SampleRow], tables: Sequence[Table], out: Path, choices: Choices, worlds: Worlds
) -> Written:
    pool = Pool(choices.most_bytes)
    gathered = gather(run, rows, pool)
    chosen = choose(gathered.moments, most=choices.most_frames)
    gallery = pictures_of(chosen.frames, Shelf(run.folder.report / FRAMES), worlds)
    frames = [frame for frame in chosen.frames if frame in gallery.pictures]
    numbers = {frame: number for number, frame in enumerate(frames)}
    sets = Sets(places={row.sample: place for place, row in enumerate(rows)})
    primary = _named_before(tables)
    page = Page(
        title=f"Report: {run.manifest.name or 'a run'}",
        lead=lead_of(tables, sets, primary),
        about=overview_of(run),
        notes=list(notes_of(run, gathered, pool, gallery, left_out=chosen.left_out, most_frames=choices.most_frames)),
        sections=[section_of(table, sets, primary) for table in _ordered(tables) if table.rows],
        without_rows=[table for table in tables if not table.rows],
        watermark=WATERMARK if run.manifest.rule_based or any(row.plumbing for row in rows) else None,
        version=project_version(),
    )
    texts = list(pool.blocks())
    index = index_of(rows, run.items, gathered.answers, gathered.places)
    index |= {
        "first": choices.first_view,
        "sets": sets.record(),
        "pool": pool.starts,
        **_pictures(gallery, frames, crowded=chosen.left_out > 0),
    }
    blocks = [
        Block(id="index", text=packed(index)),
        *gathered.blocks,
        *frame_blocks(gathered, chosen, numbers),
        *(Block(id=f"p{number}", text=text) for number, text in enumerate(texts)),
        *(Block(id=f"f{number}", text=_base64(gallery.pictures[frame].jpeg)) for frame, number in numbers.items()),
    ]
    content = html_of(page, blocks).encode()
    write_atomically(out / PAGE, content)
    return Written(
        page=out / PAGE, tables=len(tables), episodes=len(gathered.places), pictures=len(frames), bytes=len(content),
        damaged=len(gathered.damaged),
    )  # fmt: skip


def _named_before(tables: Sequence[Table]) -> frozenset[tuple[str, str, str]]:
    """Arm, world and budget of both sides of the primary contrast, where one was named."""
    named = [table for table in tables if table.name == _PRIMARY]
    return frozenset(
        (str(table.cell(row, arm).value), str(table.cell(row, "world").value), str(table.cell(row, "budget").value))
        for table in named
        for row in range(len(table.rows))
        for arm in ("arm", "against")
    )


def _ordered(tables: Sequence[Table]) -> list[Table]:
    """As they come, but the accuracy-cost curve right after the table that it is drawn beside."""
    curve = [table for table in tables if table.name == _CURVE]
    found: list[Table] = []
    for table in tables:
        if table.name != _CURVE:
            found.append(table)
        if table.name == _AFTER_FIRST:
            found += curve
    return found if len(found) == len(tables) else list(tables)


def _pictures(gallery: Gallery, frames: Sequence[FrameKey], *, crowded: bool) -> dict[str, object]:
    """What the page knows of its pictures: video, time, size of the displayed frame, origin; and why others are not there."""
    shown = [(video, gallery.pictures[video, time]) for video, time in frames]
    return {
        "frames": [
            [video, kept.time, kept.width, kept.height, "key frame" if kept.is_key_frame else "video"]
            for video, kept in shown
        ],
        "absent": dict(gallery.absent),
        "crowded": crowded,
    }


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
