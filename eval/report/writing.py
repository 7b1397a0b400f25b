"""``eval report``: from a run's folder to one file of HTML, with the tables beside it."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.showing.lines import plural
from controller.summary import WATERMARK
from eval.report.frames.choosing import FrameKey, choose
from eval.report.frames.pictures import Gallery, Worlds, no_worlds, pictures_of
from eval.report.frames.shelf import Shelf
from eval.report.gathering import Gathered, frame_blocks, gather
from eval.report.overview import overview_of
from eval.report.page.blocks import Pool, packed
from eval.report.page.building import Block, Page, html_of
from eval.report.page.index import Sets, index_of
from eval.report.sections import section_of
from eval.runs.reading import Run, read_run
from eval.tables.rows import SampleRow
from eval.tables.study import study_of
from eval.tables.table import Table
from world_api.version import project_version
from world_api.world.disk.files import write_atomically

PAGE = "report.html"
FRAMES = "frames"
MOST_FRAMES = 400
_MOST_BYTES = 24_000_000  #: of results, prompts and declarations that are kept whole


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a reader may choose: how many pictures at most, and where worlds lie."""

    most_frames: int = MOST_FRAMES
    most_bytes: int = _MOST_BYTES
    worlds: Worlds = no_worlds


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a report became."""

    page: Path
    episodes: int
    pictures: int
    bytes: int
    damaged: int


def write_report(run: Run, tables: Sequence[Table], rows: Sequence[SampleRow], out: Path, choices: Choices) -> Written:
    """Write the page into a folder.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    pool = Pool(choices.most_bytes)
    gathered = gather(run, rows, pool)
    chosen = choose(gathered.moments, most=choices.most_frames)
    gallery = pictures_of(chosen.frames, Shelf(out / FRAMES), choices.worlds)
    numbers = {
        frame: number for number, frame in enumerate(frame for frame in chosen.frames if frame in gallery.pictures)
    }
    sets = Sets(places={row.sample: place for place, row in enumerate(rows)})
    sections = [section_of(table, sets) for table in tables]
    index = index_of(rows, run.items, gathered.answers, gathered.places)
    index |= {"sets": sets.record(), "pool": pool.starts, **_pictures(gallery, numbers, left_out=bool(chosen.left_out))}
    page = Page(
        title=f"Report: {run.manifest.name or run.folder.root.resolve().name}",
        about=overview_of(run),
        notes=_notes(run, gathered, pool, gallery, chosen.left_out, choices),
        sections=sections,
        watermark=_watermark(rows, tables),
        version=project_version(),
    )
    blocks = [
        Block(id="index", text=packed(index)),
        *gathered.blocks,
        *frame_blocks(gathered, chosen, numbers),
        *(Block(id=f"p{number}", text=text) for number, text in enumerate(pool.blocks())),
        *(Block(id=f"f{number}", text=_base64(gallery.pictures[frame].jpeg)) for frame, number in numbers.items()),
    ]
    content = html_of(page, blocks).encode()
    write_atomically(out / PAGE, content)
    return Written(
        page=out / PAGE,
        episodes=len(gathered.places),
        pictures=len(numbers),
        bytes=len(content),
        damaged=len(gathered.damaged),
    )


def report_of(
    folder: Path, out: Path | None = None, *, choices: Choices | None = None, tables: Tables | None = None
) -> Written:
    """Read a run and write its report, by default into the run's own folder.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``, ``not_scored``.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    run = read_run(folder)
    study = study_of(run)
    made = tables(run) if tables is not None else []
    return write_report(run, made, study.rows, out or run.folder.report, choices or Choices())


#: Makes the tables of a run.
Tables = Callable[[Run], Sequence[Table]]


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _pictures(gallery: Gallery, numbers: dict[FrameKey, int], *, left_out: bool) -> dict[str, object]:
    """What the page knows of its pictures: video, time, size of the displayed frame, origin; and of those that are not there."""
    shown = [(frame[0], gallery.pictures[frame]) for frame in numbers]
    return {
        "frames": [
            [video, kept.time, kept.width, kept.height, "key frame" if kept.is_key_frame else "video"]
            for video, kept in shown
        ],
        "absent": dict(gallery.absent),
        "crowded": left_out,
    }


def _watermark(rows: Sequence[SampleRow], tables: Sequence[Table]) -> str | None:
    return (
        WATERMARK
        if any(row.plumbing for row in rows)
        else next((table.watermark for table in tables if table.watermark), None)
    )


def _notes(run: Run, gathered: Gathered, pool: Pool, gallery: Gallery, left_out: int, choices: Choices) -> list[str]:
    """What a reader must know of what is not on the page."""
    notes = []
    if run.planned > len(run.samples):
        notes.append(
            f"The run is not finished: {plural(run.planned - len(run.samples), 'sample')} are still to be asked."
        )
    unscored = sum(sample.sample not in run.scores for sample in run.samples)
    if unscored:
        notes.append(f"{plural(unscored, 'sample')} without a score: not in this report.")
    for reason, number in sorted(Counter(gathered.damaged.values()).items()):
        notes.append(f"{plural(number, 'episode')} cannot be read ({reason}): counted as the tables say, not shown.")
    if pool.refused:
        notes.append(
            f"{plural(pool.refused, 'result')} are shown in a line only, so that the page stays small; the run's folder holds them whole."
        )
    if left_out:
        notes.append(
            f"The page holds {choices.most_frames:,} pictures at most; {plural(left_out, 'moment')} are told without one."
        )
    by_reason = Counter(gallery.absent.values())
    for reason, number in sorted(by_reason.items()):
        notes.append(f"Of {plural(number, 'video')} some pictures are key frames or missing: {reason}.")
    notes.append(
        "Wall times are not on this page, since they differ whenever an episode is run again; the CSV tables have them."
    )
    return notes
