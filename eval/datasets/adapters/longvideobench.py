"""LongVideoBench: videos of up to an hour with subtitles, and choices that refer to a moment.

Format: ``lvb_val.json`` of huggingface.co/datasets/longvideobench/LongVideoBench (arXiv 2407.15754), as the class
``LongVideoBenchDataset`` of github.com/longvideobench/LongVideoBench reads it; a list of::

    {"id": "86CxyhFV9MI_0", "video_id": "86CxyhFV9MI", "video_path": "86CxyhFV9MI.mp4", "subtitle_path": "86CxyhFV9MI_en.json",
     "question": "...", "candidates": ["...", "..."], "correct_choice": 1, "question_category": "TOS", "topic_category": "NP-News",
     "level": "L2-Relation", "duration": 190.16, "duration_group": 600, "starting_timestamp_for_subtitles": 0.0}

Options are counted from 0. ``lvb_test_wo_gt.json`` has no ``correct_choice``: what has no answer cannot be scored and is left
out. Subtitle times count from ``starting_timestamp_for_subtitles`` (``subtitles.py``).
"""

from __future__ import annotations

from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, Unusable, entries_of, numbered
from eval.datasets.reading import read_json
from eval.datasets.records import is_seconds


def read(sources: Sources) -> Entries:
    """The questions of ``lvb_val.json``."""
    path = sources.main("lvb_val.json")
    return entries_of(numbered(read_json(path), path.name), _question)


LONGVIDEOBENCH = Adapter(name="longvideobench", read=read, needs=("subtitles",))


def _question(entry: Entry) -> Raw:
    options = entry.texts("candidates")
    if not entry.has("correct_choice") or entry.number("correct_choice") < 0:
        raise Unusable("its answer is not published")
    video = entry.text("video_id", "video_path")
    path = entry.maybe("video_path")
    labels = {
        "type": entry.maybe("question_category"),
        "level": entry.maybe("level"),
        "duration_group": entry.maybe("duration_group"),
    }
    begin = entry.raw("starting_timestamp_for_subtitles")
    begins = float(begin) if is_seconds(begin) else 0.0
    return Raw(
        where=entry.where,
        id=entry.maybe("id") or f"{video}-{entry.where.rpartition(' ')[2]}",
        video=video,
        names=tuple(dict.fromkeys(filter(None, (path, video)))),
        subtitles=entry.maybe("subtitle_path"),
        subtitles_begin=begins,
        question=entry.text("question"),
        kind="choice",
        options=options,
        answer=entry.letter(entry.number("correct_choice"), options),
        content=entry.maybe("topic_category") or None,
        labels={key: value for key, value in labels.items() if value},
    )
