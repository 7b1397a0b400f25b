"""MLVU: nine tasks on videos of three minutes to two hours.

Format: ``MLVU/json/1_plotQA.json`` ... ``9_summary.json`` of huggingface.co/datasets/MLVU/MVLU (arXiv 2406.04264), as
``choice_bench.py`` and ``open_bench.py`` of github.com/JUNJIE99/MLVU read them; each a list of::

    {"video": "movie101_66.mp4", "duration": 246, "question": "...", "candidates": ["Yellow", "Red", "Green", "Blue"],
     "answer": "Yellow", "question_type": "plotQA"}

The answer is the text of a candidate. Sub-scene captioning and summary are open: their answer is a reference text, for
``sub_scene`` with ``scoring_points``. Give one file, or the folder with all. The questions of the test set stand without answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, Unusable, entries_of, numbered
from eval.datasets.reading import read_json
from world_api.core.faults import EvalFault

_TASK = re.compile(r"\d_[A-Za-z_]+\.json")


def read(sources: Sources) -> Entries:
    """The questions of one task, or of all tasks of a folder."""
    return entries_of(_all(_files(sources.annotations)), _question)


MLVU = Adapter(name="mlvu", read=read)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(item for item in path.iterdir() if _TASK.fullmatch(item.name))
    if not found:
        raise EvalFault(
            "no_annotations",
            f"the folder {path.name} holds no file such as 1_plotQA.json",
            hint="give the folder json of the dataset, or one of its files",
        )
    return found


def _all(paths: list[Path]) -> Iterator[tuple[str, object]]:
    for path in paths:
        for where, item in numbered(read_json(path), path.name):
            yield where, {**item, "task": path.stem.partition("_")[2]} if isinstance(item, dict) else item


def _question(entry: Entry) -> Raw:
    video = entry.text("video", "video_name")
    kind = entry.maybe("question_type", "task_type", "task")
    place = entry.where.rpartition(" ")[2]
    own = entry.maybe("question_id") or f"{kind or 'mlvu'}-{place}"
    options = entry.texts("candidates") if entry.has("candidates") else ()
    if not entry.has("answer"):
        raise Unusable("its answer is not published")
    answer = entry.text("answer")
    points = list(entry.texts("scoring_points")) if entry.has("scoring_points") else []
    return Raw(
        where=entry.where,
        id=own,
        video=video,
        names=(f"{entry.maybe('task')}/{video}", video),
        question=entry.text("question"),
        kind="choice" if options else "open",
        options=options,
        answer=_letter(answer, options) if options else answer,
        labels={"type": kind, **({"scoring_points": points} if points else {})},
    )


def _letter(answer: str, options: tuple[str, ...]) -> str:
    if answer in options:
        return chr(ord("A") + options.index(answer))
    folded = [option.casefold() for option in options]
    if folded.count(answer.casefold()) == 1:
        return chr(ord("A") + folded.index(answer.casefold()))
    raise Unusable(f"the answer {answer[:60]!r} is none of the candidates")
