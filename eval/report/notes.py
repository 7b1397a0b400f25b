"""What a reader must know of what is not on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controller.display import plural
from eval.report.frames.pictures import Gallery
from eval.report.gathering import Gathered
from eval.report.page.blocks import Pool
from eval.runs.reading import Run


def notes_of(
    run: Run, gathered: Gathered, pool: Pool, gallery: Gallery, *, left_out: int, most_frames: int
) -> Iterator[str]:
    """The notes, in sentences; ``left_out`` counts moments for which there was no more room."""
    open_samples = run.planned - len(run.samples)
    if open_samples > 0:
        yield f"The run is not finished: {plural(open_samples, 'sample')} still to be asked."
    if run.unscored:
        yield f"{plural(run.unscored, 'sample')} without a score: not in this report; `videoworld eval score RUN` scores them."
    unknown = sum(not run.has_answer(sample) for sample in run.samples)
    if unknown:
        yield f"{plural(unknown, 'sample')} of questions whose answer nobody knows: shown, and in no figure."
    for reason, number in sorted(Counter(gathered.damaged.values()).items()):
        yield f"{plural(number, 'episode')} cannot be read ({reason}): counted as the tables say, and not shown."
    if pool.refused:
        yield (
            f"{plural(pool.refused, 'result')} told in a line only, so that the page stays small; the run's folder holds all whole."
        )
    if left_out:
        yield f"The page holds {most_frames:,} pictures at most; {plural(left_out, 'moment')} told without one."
    for reason, number in sorted(Counter(gallery.absent.values()).items()):
        yield f"Of {plural(number, 'video')} some moments are told by a key frame or without a picture: {reason}."
    yield "Wall times are not on this page, since they differ whenever an episode is run again; the CSV tables have them."
