"""Adapters that read benchmarks as published; the docstring of each reader shows the file format and its source."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from eval.datasets.adapters import (
    Entries,
    Entry,
    Raw,
    Reader,
    Sources,
    Unusable,
    entries_of,
    letter_of,
    nested,
    numbered,
    seconds_of,
    split_question,
    without_letters,
)
from eval.datasets.dialogues import read_locomo
from eval.datasets.files import bad, decoded, numbered_lines, read_bytes, read_json
from eval.datasets.items import is_seconds
from world_api.core.faults import EvalFault

NO_ANSWER = "its answer is not published"
M3_CLIP_SECONDS = 30.0
_PARQUET = "test-00000-of-00001.parquet"
_MAX_ROWS = 200_000
_MAX_CSV_FIELD = 100_000
_CSV_COLUMNS = {"video", "question", "answer", "qid", "type"}
_YOUTUBE_ID = re.compile(r"(?:[?&]v=|youtu\.be/)([^&?]*)")
_MLVU_TASK = re.compile(r"\d_[A-Za-z_]+\.json")


def _labels(**labels: str) -> dict[str, str]:
    """Return the labels that are not empty."""
    return {key: value for key, value in labels.items() if value}


def _choice(entry: Entry, options: tuple[str, ...], answer: str, **fields: Any) -> Raw:
    """Return a choice with the right letter ``answer`` and further ``fields`` of Raw; by default the entry's ``question``."""
    fields = {"question": entry.text("question"), **fields} if "question" not in fields else fields
    return Raw(where=entry.where, kind="choice", options=options, answer=answer, **fields)


def _types(entry: Entry, key: str) -> list[str]:
    return list(entry.texts(key)) if entry.has(key) else []


def _m3bench(sources: Sources, name: str) -> Entries:
    """Read M3-Bench from the file ``name``: long videos of people at home, or from the web, with open questions.

    Format: ``data/annotations/robot.json`` and ``web.json`` of github.com/ByteDance-Seed/m3-agent (arXiv 2508.09736)::

        {"living_room_06": {"video_path": "data/videos/robot/living_room_06.mp4", "mem_path": "...", "video_url": "...",
                            "qa_list": [{"question": "...", "answer": "...", "question_id": "living_room_06_Q01",
                                         "reasoning": "...", "timestamp": "00:43", "type": ["Person Understanding"],
                                         "before_clip": 0}]}}

    A question of robot.json has a causal cut: only the 30-second clips up to and including ``before_clip`` are visible,
    the first ``(before_clip + 1) * 30`` seconds; ``timestamp`` is in the next clip. With -1 nothing is visible; if the
    field is null or missing, the whole video is. web.json does not have the field.
    """
    path = sources.main(name)
    value = read_json(path)
    if not isinstance(value, dict):
        raise bad(f"{path.name} is not an object of videos", "give robot.json or web.json as published")
    listed = (nested(f"{path.name}, {video[:80]}", entry, "qa_list", video=video) for video, entry in value.items())
    return entries_of(chain.from_iterable(listed), _m3bench_question)


def _m3bench_question(entry: Entry) -> Raw:
    video, path = entry.text("video"), entry.maybe("video_path")
    labels: dict[str, object] = {"type": _types(entry, "type")}
    if (timestamp := seconds_of(entry.maybe("timestamp"))) is not None:
        labels["timestamp"] = timestamp
    as_of = None
    if entry.has("before_clip"):
        labels["before_clip"] = clip = entry.number("before_clip")
        if clip < -1:
            raise Unusable(f"before_clip is {clip}")
        as_of = (clip + 1) * M3_CLIP_SECONDS
    in_videos = path.rpartition("videos/")[2] if "videos/" in path else path
    return Raw(
        where=entry.where,
        id=entry.maybe("question_id") or f"{video}_{entry.place}",
        video=video,
        names=(in_videos, video, PurePosixPath(path).name),
        question=entry.text("question"),
        answer=entry.text("answer"),
        as_of=as_of,
        labels=labels,
    )


def _videomme(sources: Sources) -> Entries:
    """Read Video-MME: 900 videos of eleven seconds to an hour, each with three questions of four options.

    Formats (arXiv 2405.21075): the table of huggingface.co/datasets/lmms-lab/Video-MME
    (``test-00000-of-00001.parquet``), with columns ``video_id, duration, domain, sub_category, url, videoID,
    question_id, task_type, question, options, answer``; or the authors' JSON (``evaluation/output_template.json`` of
    github.com/BradyFU/Video-MME), a list of videos with ``questions``, where the fields are ``duration_category,
    video_category, video_subcategory, choices``. Options begin with their letters. ``videoID`` is the video's id on
    YouTube, and the name of its file and of its subtitles (``subtitle/ID.srt``, if there are any); ``video_id`` counts
    from 001.
    """
    path = sources.main(_PARQUET, f"videomme/{_PARQUET}", "Video-MME.json", "video_mme.json")
    content = _parquet_rows(path) if path.suffix == ".parquet" else read_json(path)

    def questions() -> Iterator[tuple[str, object]]:
        for where, item in numbered(content, path.name):
            if isinstance(item, dict) and isinstance(item.get("questions"), list):
                yield from nested(where, item, "questions")
            else:
                yield where, item

    return entries_of(questions(), _videomme_question)


def _parquet_rows(path: Path) -> list[object]:
    import pyarrow as pa
    import pyarrow.parquet

    content = read_bytes(path)
    try:
        file = pa.parquet.ParquetFile(io.BytesIO(content))
        if file.metadata.num_rows > _MAX_ROWS:
            raise bad(f"{path.name} has more than {_MAX_ROWS:,} rows", "give the table as published")
        rows: list[object] = file.read().to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise bad(f"{path.name} is not a parquet table: {reason}", "give the file as published") from None
    return rows


def _videomme_question(entry: Entry) -> Raw:
    options = without_letters(entry.texts("options", "choices"))
    name = entry.maybe("videoID") or next(iter(_YOUTUBE_ID.findall(entry.maybe("url"))), "")
    return _choice(
        entry,
        options,
        letter_of(entry.text("answer"), options),
        id=entry.text("question_id"),
        video=name or entry.text("video_id"),
        names=(name, entry.maybe("video_id")),
        subtitles=f"{name}.srt" if name else "",
        content=entry.maybe("domain", "video_category") or None,
        labels=_labels(
            type=entry.maybe("task_type"),
            duration=entry.maybe("duration", "duration_category"),
            category=entry.maybe("sub_category", "video_subcategory"),
        ),
    )


def _lvbench(sources: Sources) -> Entries:
    r"""Read LVBench: hour-long videos, and questions with four options.

    Format: ``data/video_info.meta.jsonl`` of huggingface.co/datasets/THUDM/LVBench (arXiv 2406.08035), as
    github.com/THUDM/LVBench reads it: one video a line, options inside the question, and the time of the evidence::

        {"key": "Cm73ma6Ibcs", "type": "cartoon",
         "qa": [{"uid": "0", "question": "Which year ...?\n(A) 1636\n(B) 1366\n(C) 1363\n(D) 1633", "answer": "D",
                 "question_type": ["key information retrieval"], "time_reference": "00:15-00:19"}],
         "video_info": {"duration_minutes": 72.4, "resolution": [1280, 720]}}

    ``key`` is the video's id on YouTube.
    """
    path = sources.main("video_info.meta.jsonl", "data/video_info.meta.jsonl")
    listed = (nested(f"{path.name}, line {line.number}", line.value, "qa") for line in numbered_lines(path))
    return entries_of(chain.from_iterable(listed), _lvbench_question)


def _lvbench_question(entry: Entry) -> Raw:
    text, options = split_question(entry.text("question"))
    return _choice(
        entry,
        options,
        letter_of(entry.text("answer"), options),
        id=entry.text("uid"),
        video=entry.text("key"),
        question=text,
        spans=_time_references(entry.maybe("time_reference")),
        content=entry.maybe("type") or None,
        labels={"type": _types(entry, "question_type")},
    )


def _time_references(reference: str) -> tuple[tuple[float, float], ...]:
    """Read spans such as ``00:15-00:19``, separated by commas, as seconds; parts that are not times are ignored."""
    found = []
    for part in reference.replace(";", ",").split(",")[:100]:
        start, _, end = part.partition("-")
        first, last = seconds_of(start), seconds_of(end or start)
        if first is not None and last is not None and last >= first:
            found.append((first, last))
    return tuple(found)


def _longvideobench(sources: Sources) -> Entries:
    """Read LongVideoBench: videos of up to an hour with subtitles, and multiple-choice questions that refer to a moment.

    Format: ``lvb_val.json`` of huggingface.co/datasets/longvideobench/LongVideoBench (arXiv 2407.15754), as the class
    ``LongVideoBenchDataset`` of github.com/longvideobench/LongVideoBench reads it: a list of::

        {"id": "86CxyhFV9MI_0", "video_id": "86CxyhFV9MI", "video_path": "86CxyhFV9MI.mp4",
         "subtitle_path": "86CxyhFV9MI_en.json", "question": "...", "candidates": ["...", "..."], "correct_choice": 1,
         "question_category": "TOS", "topic_category": "NP-News", "level": "L2-Relation", "duration": 190.16,
         "duration_group": 600, "starting_timestamp_for_subtitles": 0.0}

    ``correct_choice`` counts from 0. Questions without it, as in ``lvb_test_wo_gt.json``, cannot be scored and are
    skipped. The video begins at ``starting_timestamp_for_subtitles`` of the subtitles (``subtitles_to_build_with``).
    """
    path = sources.main("lvb_val.json")
    return entries_of(numbered(read_json(path), path.name), _longvideobench_question)


def _longvideobench_question(entry: Entry) -> Raw:
    options = entry.texts("candidates")
    if not entry.has("correct_choice") or entry.number("correct_choice") < 0:
        raise Unusable(NO_ANSWER)
    video, begin = entry.text("video_id", "video_path"), entry.raw("starting_timestamp_for_subtitles")
    names = {"type": "question_category", "level": "level", "duration_group": "duration_group"}
    return _choice(
        entry,
        options,
        entry.letter(entry.number("correct_choice"), options),
        id=entry.maybe("id") or f"{video}-{entry.place}",
        video=video,
        names=(entry.maybe("video_path"), video),
        subtitles=entry.maybe("subtitle_path"),
        subtitles_begin=float(begin) if is_seconds(begin) else 0.0,
        content=entry.maybe("topic_category") or None,
        labels=_labels(**{label: entry.maybe(name) for label, name in names.items()}),
    )


def _egoschema(sources: Sources) -> Entries:
    """Read EgoSchema: three-minute first-person videos, each with a question of five options about the whole video.

    Format: ``questions.json`` and ``subset_answers.json`` of github.com/egoschema/EgoSchema (arXiv 2308.09126)::

        [{"q_uid": "001934bb-81bd-4cd8-a574-0472ef3f6678", "google_drive_id": "...", "question": "...",
          "option 0": "...", ..., "option 4": "..."}]                      {"001934bb-81bd-4cd8-a574-0472ef3f6678": 3}

    The answers of 500 of the 5,031 questions are published; the other questions cannot be scored and are skipped. A
    video's file is named after its question. Raises EvalFault: ``no_answers``: the file of answers was not found.
    """
    path = sources.main("questions.json")
    beside = sources.other("answers", "subset_answers.json")
    if beside is None:
        message = f"{path.name} holds no answers, and subset_answers.json is not beside it"
        raise EvalFault("no_answers", message, hint="put that file of the dataset's repository beside it")
    answers = read_json(beside)
    if not isinstance(answers, dict):
        raise bad(f"{beside.name} is not an object of answers", "give subset_answers.json as published")

    def question(entry: Entry) -> Raw:
        uid = entry.text("q_uid")
        if uid not in answers:
            raise Unusable(NO_ANSWER)
        options = tuple(entry.maybe(f"option {number}") for number in range(5))
        right = Entry({"answer": answers[uid]}, entry.where).number("answer")
        return _choice(entry, options, entry.letter(right, options), id=uid, video=uid)

    return entries_of(numbered(read_json(path), path.name), question)


def _nextqa(sources: Sources) -> Entries:
    """Read NExT-QA, multiple choice: short videos with causal, temporal and descriptive questions.

    Format: ``dataset/nextqa/val.csv`` and ``test.csv`` of github.com/doc-doc/NExT-QA (arXiv 2105.08276), with columns
    ``video, frame_count, width, height, question, answer, qid, type, a0 ... a4``; ``answer`` is the index of the right
    option, from 0. Videos are in the folders of VidOR, which ``map_vid_vidorID.json`` beside the file lists
    (``{"3238737531": "1164/3238737531"}``); without it a video is found by its name. ``type`` is C, T or D (causal,
    temporal, descriptive) and a second letter.
    """
    path = sources.main("val.csv", "nextqa_val.csv", "test.csv", "train.csv")
    beside = sources.other("video_map", "map_vid_vidorID.json")
    folders = read_json(beside) if beside is not None else {}
    if not isinstance(folders, dict):
        raise bad("the map of videos is not an object", "give map_vid_vidorID.json as published")

    def question(entry: Entry) -> Raw:
        video, folder = entry.text("video"), folders.get(entry.text("video"))
        options = tuple(entry.maybe(f"a{number}") for number in range(5))
        return _choice(
            entry,
            options,
            entry.letter(entry.number("answer"), options),
            id=f"{video}-{entry.text('qid')}",
            video=video,
            names=(folder if isinstance(folder, str) else "", video),
            labels={"type": entry.maybe("type")},
        )

    return entries_of(_csv_rows(read_bytes(path), path.name), question)


def _csv_rows(content: bytes, name: str) -> Iterator[tuple[str, object]]:
    csv.field_size_limit(_MAX_CSV_FIELD)
    reader = csv.DictReader(io.StringIO(decoded(content, name), newline=""), strict=False)
    try:
        if missing := _CSV_COLUMNS - set(reader.fieldnames or ()):
            raise bad(f"{name} has no column {min(missing)}", "give the csv file as published, its first line too")
        for row in reader:
            yield f"{name}, line {reader.line_num}", {key: value for key, value in row.items() if isinstance(key, str)}
    except csv.Error as error:
        raise bad(f"{name}, line {reader.line_num}: {error}", "give the csv file as published") from None


def _mlvu(sources: Sources) -> Entries:
    """Read MLVU: nine tasks on videos of three minutes to two hours.

    Format: ``MLVU/json/1_plotQA.json`` ... ``9_summary.json`` of huggingface.co/datasets/MLVU/MVLU (arXiv 2406.04264),
    as ``choice_bench.py`` and ``open_bench.py`` of github.com/JUNJIE99/MLVU read them; each file is a list of::

        {"video": "movie101_66.mp4", "duration": 246, "question": "...", "candidates": ["Yellow", "Red", "Green", "Blue"],
         "answer": "Yellow", "question_type": "plotQA"}

    The answer is the text of a candidate. Sub-scene captioning and summary are open questions: their answer is a
    reference text, with ``scoring_points`` for ``sub_scene``. The source is one file, or the folder with all of them.
    Questions without answers (the test set) are skipped.
    """
    path = sources.annotations
    paths = [path]
    if path.is_dir():
        paths = sorted(item for item in path.iterdir() if _MLVU_TASK.fullmatch(item.name))
    if not paths:
        message = f"the folder {path.name} holds no file such as 1_plotQA.json"
        raise EvalFault("no_annotations", message, hint="give the folder json of the dataset, or one of its files")

    def questions() -> Iterator[tuple[str, object]]:
        for file in paths:
            for where, item in numbered(read_json(file), file.name):
                yield where, {**item, "task": file.stem.partition("_")[2]} if isinstance(item, dict) else item

    return entries_of(questions(), _mlvu_question)


def _mlvu_question(entry: Entry) -> Raw:
    video = entry.text("video", "video_name")
    kind = entry.maybe("question_type", "task_type", "task")
    options = entry.texts("candidates") if entry.has("candidates") else ()
    if not entry.has("answer"):
        raise Unusable(NO_ANSWER)
    answer: Any = entry.text("answer")
    if options:
        exact = [place for place, option in enumerate(options) if option == answer][:1]
        same = exact or [at for at, option in enumerate(options) if option.casefold() == answer.casefold()]
        if len(same) != 1:
            raise Unusable(f"the answer {answer[:60]!r} is none of the candidates")
        answer = entry.letter(same[0], options)
    points = _types(entry, "scoring_points")
    return Raw(
        where=entry.where,
        id=entry.maybe("question_id") or f"{kind or 'mlvu'}-{entry.place}",
        video=video,
        names=(f"{entry.maybe('task')}/{video}", video),
        question=entry.text("question"),
        kind="choice" if options else "open",
        options=options,
        answer=answer,
        labels={"type": kind, **({"scoring_points": points} if points else {})},
    )


ADAPTERS: dict[str, Reader] = {
    "m3bench-robot": partial(_m3bench, name="robot.json"),
    "m3bench-web": partial(_m3bench, name="web.json"),
    "videomme": _videomme,
    "lvbench": _lvbench,
    "longvideobench": _longvideobench,
    "egoschema": _egoschema,
    "nextqa": _nextqa,
    "mlvu": _mlvu,
    "locomo": read_locomo,
}
