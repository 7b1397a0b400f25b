r"""LVBench: hour-long videos with four-way choices.

Format: ``data/video_info.meta.jsonl`` of huggingface.co/datasets/THUDM/LVBench (arXiv 2406.08035), as github.com/THUDM/LVBench reads
it; one video a line, options inside the question, and the time that shows the answer::

    {"key": "Cm73ma6Ibcs", "type": "cartoon",
     "qa": [{"uid": "0", "question": "Which year ...?\n(A) 1636\n(B) 1366\n(C) 1363\n(D) 1633", "answer": "D",
             "question_type": ["key information retrieval"], "time_reference": "00:15-00:19"}],
     "video_info": {"duration_minutes": 72.4, "resolution": [1280, 720]}}

``key`` is the video's id on YouTube.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eval.datasets.adapters.lettered import letter_of, split_question
from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, entries_of, seconds_of
from eval.datasets.reading import numbered_lines


def read(sources: Sources) -> Entries:
    """The questions of ``video_info.meta.jsonl``."""
    path = sources.main("video_info.meta.jsonl", "data/video_info.meta.jsonl")
    return entries_of(_questions(path), _question)


LVBENCH = Adapter(name="lvbench", read=read)


def _questions(path: Path) -> Iterator[tuple[str, object]]:
    for line in numbered_lines(path):
        where = f"{path.name}, line {line.number}"
        video = line.value
        if not isinstance(video, dict) or not isinstance(video.get("qa"), list):
            yield where, None
            continue
        for number, question in enumerate(video["qa"]):
            known = {"key": video.get("key"), "content": video.get("type")}
            yield f"{where}, question {number}", {**question, **known} if isinstance(question, dict) else question


def _question(entry: Entry) -> Raw:
    text, options = split_question(entry.text("question"))
    return Raw(
        where=entry.where,
        id=entry.text("uid"),
        video=entry.text("key"),
        question=text,
        kind="choice",
        options=options,
        answer=letter_of(entry.text("answer"), options),
        spans=_spans(entry.maybe("time_reference")),
        content=entry.maybe("content") or None,
        labels={"type": list(entry.texts("question_type")) if entry.has("question_type") else []},
    )


def _spans(reference: str) -> tuple[tuple[float, float], ...]:
    """Stretches such as ``00:15-00:19``, several with commas; what is no time is no evidence."""
    found = []
    for part in reference.replace(";", ",").split(",")[:100]:
        start, _, end = part.partition("-")
        first, last = seconds_of(start), seconds_of(end or start)
        if first is not None and last is not None and last >= first:
            found.append((first, last))
    return tuple(found)
