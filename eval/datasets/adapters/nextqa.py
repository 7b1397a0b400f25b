"""NExT-QA, multiple choice: short videos with questions of cause, time and description.

Format: ``dataset/nextqa/val.csv`` and ``test.csv`` of github.com/doc-doc/NExT-QA (arXiv 2105.08276), with columns ``video,
frame_count, width, height, question, answer, qid, type, a0 ... a4``; ``answer`` is the number of the right option from 0.
Videos lie in folders as VidOR has them; ``map_vid_vidorID.json`` beside the file says which (``{"3238737531":
"1164/3238737531"}``), and without it a video is sought by its name. ``type`` is C, T or D (causal, temporal, descriptive) and
a second letter.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, entries_of
from eval.datasets.reading import bad, read_bytes, read_json

_COLUMNS = {"video", "question", "answer", "qid", "type"}
_MAX_FIELD = 100_000


def read(sources: Sources) -> Entries:
    """The questions of a csv file."""
    path = sources.main("val.csv", "nextqa_val.csv", "test.csv", "train.csv")
    folders = _folders(sources)

    def question(entry: Entry) -> Raw:
        return _question(entry, folders)

    return entries_of(_rows(read_bytes(path), path.name), question)


NEXTQA = Adapter(name="nextqa", read=read, needs=("video_map",))


def _rows(content: bytes, name: str) -> Iterator[tuple[str, object]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise bad(f"{name}, line {line}: it is not UTF-8", "give the csv file as published") from None
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=False)
    try:
        if missing := _COLUMNS - set(reader.fieldnames or ()):
            raise bad(f"{name} has no column {min(missing)}", "give the csv file as published, its first line too")
        for row in reader:
            yield f"{name}, line {reader.line_num}", {key: value for key, value in row.items() if isinstance(key, str)}
    except csv.Error as error:
        raise bad(f"{name}, line {reader.line_num}: {error}", "give the csv file as published") from None


def _folders(sources: Sources) -> Mapping[str, str]:
    path = sources.other("video_map", "map_vid_vidorID.json")
    value = read_json(path) if path is not None else {}
    if not isinstance(value, dict):
        raise bad("the map of videos is not an object", "give map_vid_vidorID.json as published")
    return {key: folder for key, folder in value.items() if isinstance(folder, str)}


def _question(entry: Entry, folders: Mapping[str, str]) -> Raw:
    video = entry.text("video")
    options = tuple(entry.maybe(f"a{number}") for number in range(5))
    kind = entry.maybe("type")
    return Raw(
        where=entry.where,
        id=f"{video}-{entry.text('qid')}",
        video=video,
        names=(*((folders[video],) if video in folders else ()), video),
        question=entry.text("question"),
        kind="choice",
        options=options,
        answer=entry.letter(entry.number("answer"), options),
        labels={"type": kind},
    )
