"""All films of a folder: their worlds are built where they are missing, and measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from eval.sandbox.perceived.measuring import Perceived, measure
from world_api.backends.clocks import SystemClock
from world_api.build.truth import read_truth, truth_path
from world_api.core.faults import EvalFault
from world_api.core.identifiers import video_id_from_file_name

_TRUTH = ".truth.json"
#: What a film's world should reach: scene cuts (F1), people (mean presence IoU), screen text (recall). There is no goal yet
#: for whole visits and for returns: the classical profile does not follow people from visit to visit.
SCENES_GOAL, PRESENCE_GOAL, TEXT_GOAL = 0.95, 0.7, 0.9
_HEAD = (
    "film", "scenes", "shots", "presence", "by visit", "weakest", "text", "in rooms", "precise", "speech", "returns",
)  # fmt: skip


def check_films(folder: Path, store: Path, *, tell: Callable[[str], None]) -> list[Perceived]:
    """Measure each film of a folder that has its truth beside it, in order of their names.

    Raises:
        EvalFault: ``no_films``.
        BackendFault, MediaFault, StoreFault: as reading truth and building worlds name them.
    """
    videos = [path.with_name(path.name.removesuffix(_TRUTH) + ".mp4") for path in sorted(folder.glob(f"*{_TRUTH}"))]
    videos = [video for video in videos if video.is_file()]
    if not videos:
        raise EvalFault(
            "no_films", f"no film with its truth is in {folder}", hint="videoworld sandbox make makes films with truth"
        )
    return [_check(video, store, tell) for video in videos]


def _check(video: Path, store: Path, tell: Callable[[str], None]) -> Perceived:
    from world_api.api import build_world, open_session
    from world_api.exposure.progress import progress_bars

    truth = read_truth(truth_path(video))
    tell(f"{video.name}: building where there is no world yet ...")
    name = video_id_from_file_name(video.stem)
    with progress_bars() as bars:
        build_world(video, store, progress=bars, clock=SystemClock(), video_id=name)
    return measure(open_session(store, name, name=None).view, truth)


def table_of(films: Sequence[Perceived]) -> str:
    """The figures of each film, the weakest person of each, and the means, as a table for people."""
    rows = [_HEAD, *(_row(film) for film in films)]
    if len(films) > 1:
        rows.append(_means(films))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for film in films:
        weakest = film.weakest
        if weakest is not None:
            lines.append(
                f"{film.video}: seen worst is {weakest.label}: {weakest.presence:.2f} of {weakest.visits} visits"
                f" ({weakest.entities} entities), {film.strangers} entities are nobody"
            )
        if film.unread:
            lines.append(f"{film.video}: not read: {'; '.join(sorted(set(film.unread)))}")
    lines.append(
        f"goals: scenes {SCENES_GOAL}, presence {PRESENCE_GOAL}, text {TEXT_GOAL}; by visit, precise, returns: no goal"
    )
    return "\n".join(lines)


def _row(film: Perceived) -> tuple[str, ...]:
    weakest = film.weakest
    return (
        film.video,
        f"{film.scene_cuts.f1:.2f}",
        f"{film.shot_cuts.f1:.2f}",
        f"{film.presence:.2f}",
        f"{film.visit_iou:.2f}",
        f"{weakest.presence:.2f}" if weakest is not None else "-",
        f"{film.texts.recall:.2f}",
        f"{film.texts_in_rooms.recall:.2f}",
        f"{film.texts.precision:.2f}",
        f"{film.speech.recall:.2f}",
        f"{film.returns.right}/{film.returns.true}",
    )


def _means(films: Sequence[Perceived]) -> tuple[str, ...]:
    def mean(values: Sequence[float]) -> str:
        return f"{sum(values) / len(values):.2f}"

    return (
        "mean",
        mean([film.scene_cuts.f1 for film in films]),
        mean([film.shot_cuts.f1 for film in films]),
        mean([film.presence for film in films]),
        mean([film.visit_iou for film in films]),
        mean([film.weakest.presence for film in films if film.weakest is not None] or [0.0]),
        mean([film.texts.recall for film in films]),
        mean([film.texts_in_rooms.recall for film in films]),
        mean([film.texts.precision for film in films]),
        mean([film.speech.recall for film in films]),
        f"{sum(film.returns.right for film in films)}/{sum(film.returns.true for film in films)}",
    )
