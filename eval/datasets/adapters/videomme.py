"""Video-MME: 900 videos of eleven seconds to an hour, three four-way choices each, with and without subtitles.

Formats (arXiv 2405.21075). The table of huggingface.co/datasets/lmms-lab/Video-MME (``test-00000-of-00001.parquet``), with
columns ``video_id, duration, domain, sub_category, url, videoID, question_id, task_type, question, options, answer``; or the JSON of
the authors (``evaluation/output_template.json`` of github.com/BradyFU/Video-MME), a list of videos with ``questions`` inside, whose
words for the same things are ``duration_category, video_category, video_subcategory, choices``. Options begin with their letters.
``videoID`` is the video's id on YouTube, and the name of its file and of its subtitles (``subtitle/ID.srt``); ``video_id`` counts
from 001.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from eval.datasets.adapters.lettered import letter_of, without_letters
from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, entries_of, numbered
from eval.datasets.reading import bad, read_bytes, read_json

_PARQUET = "test-00000-of-00001.parquet"
_MAX_ROWS = 200_000


def read(sources: Sources) -> Entries:
    """The questions of the parquet table or of the JSON file."""
    path = sources.main(_PARQUET, f"videomme/{_PARQUET}", "Video-MME.json", "video_mme.json")
    content = _table(path) if path.suffix == ".parquet" else read_json(path)
    return entries_of(_questions(content, path.name), _question)


VIDEOMME = Adapter(name="videomme", read=read)


def _table(path: Path) -> list[object]:
    """The rows of a parquet file; only the columns that are used, so that a column of subtitles costs nothing."""
    import pyarrow as pa
    import pyarrow.parquet

    wanted = (
        "video_id", "duration", "domain", "sub_category", "url", "videoID", "question_id", "task_type", "question",
        "options", "answer",
    )  # fmt: skip
    content = read_bytes(path)
    try:
        file = pa.parquet.ParquetFile(io.BytesIO(content))
        if file.metadata.num_rows > _MAX_ROWS:
            raise bad(f"{path.name} has more than {_MAX_ROWS:,} rows", "give the table as published")
        rows: list[object] = file.read(columns=[name for name in wanted if name in file.schema_arrow.names]).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise bad(f"{path.name} is not a parquet table: {reason}", "give the file as published") from None
    return rows


def _questions(value: object, file: str) -> Iterator[tuple[str, object]]:
    for where, item in numbered(value, file):
        if not isinstance(item, dict) or not isinstance(item.get("questions"), list):
            yield where, item
            continue
        video = {key: part for key, part in item.items() if key != "questions"}
        for number, question in enumerate(item["questions"]):
            yield f"{where}, question {number}", {**video, **question} if isinstance(question, dict) else question


def _question(entry: Entry) -> Raw:
    options = without_letters(entry.texts("options", "choices"))
    number = entry.maybe("video_id")
    name = entry.maybe("videoID") or _youtube_id(entry.maybe("url"))
    video = name or entry.text("video_id")
    labels = {
        "type": entry.maybe("task_type"),
        "duration": entry.maybe("duration", "duration_category"),
        "category": entry.maybe("sub_category", "video_subcategory"),
    }
    return Raw(
        where=entry.where,
        id=entry.text("question_id"),
        video=video,
        names=tuple(dict.fromkeys(filter(None, (name, number)))),
        subtitles=f"{name}.srt" if name else "",
        question=entry.text("question"),
        kind="choice",
        options=options,
        answer=letter_of(entry.text("answer"), options),
        content=entry.maybe("domain", "video_category") or None,
        labels={key: value for key, value in labels.items() if value},
    )


def _youtube_id(url: str) -> str:
    found = url.rpartition("v=")[2] if "v=" in url else url.rpartition("youtu.be/")[2] if "youtu.be/" in url else ""
    return found.partition("&")[0].partition("?")[0]
