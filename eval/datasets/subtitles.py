"""Subtitles that a benchmark keeps in files of its own, written as SubRip, which a build reads.

LongVideoBench has a JSON list a video, of ``{"start": "00:00:01.000", "end": "00:00:03.000", "line": "..."}`` or
``{"timestamp": [1.0, 3.0], "text": "..."}`` (``longvideobench_dataset.py`` of its repository reads both); its times count from
``starting_timestamp_for_subtitles`` of the question, since videos were cut from longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from eval.datasets.adapters import seconds_of, text_of
from eval.datasets.files import bad, read_json
from eval.datasets.items import VideoFile
from world_api.core.files import write_atomically

_SUFFIXES = (".srt", ".vtt")
_LAST_LINE = 5.0  #: seconds that a line without an end is shown


def subtitles_to_build_with(video: VideoFile, folder: Path) -> Path | None:
    """The subtitle file to build a video's world with (``Listening(subtitles=...)``), None where the dataset has none for it.

    A file that a build reads is given as it is; a JSON list is written to ``folder`` as ``ID.srt``.

    Raises:
        EvalFault: ``dataset_unreadable``, ``bad_dataset``.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    if video.subtitles is None or video.subtitles.suffix.lower() in _SUFFIXES:
        return video.subtitles
    value = read_json(video.subtitles)
    if not isinstance(value, list):
        raise bad(f"{video.subtitles.name} is not a list of lines", "give the subtitles as they were published")
    lines = sorted(_lines(value, video.subtitles_begin))
    told = (
        f"{number}\n{_clock(start)} --> {_clock(end)}\n{text}\n" for number, (start, end, text) in enumerate(lines, 1)
    )
    path = folder / f"{video.video_id}.srt"
    write_atomically(path, "\n".join(told).encode())
    return path


def _lines(value: list[object], begins: float) -> Iterator[tuple[float, float, str]]:
    """Lines with a time and words; what has none is passed over, and so is what ends before the video begins."""
    for item in value:
        if not isinstance(item, Mapping):
            continue
        pair = item.get("timestamp")
        start, end = pair[:2] if isinstance(pair, list) and len(pair) >= 2 else (item.get("start"), item.get("end"))
        first, last = _seconds(start), _seconds(end)
        text = " ".join((text_of(item.get("line")) or text_of(item.get("text"))).split())
        if first is None or not text:
            continue
        last = first + _LAST_LINE if last is None or last <= first else last
        if last > begins:
            yield max(0.0, first - begins), last - begins, text


def _seconds(value: object) -> float | None:
    if isinstance(value, str):
        return seconds_of(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e7 else None


def _clock(seconds: float) -> str:
    whole = round(seconds * 1000)
    return f"{whole // 3_600_000:02d}:{whole // 60_000 % 60:02d}:{whole // 1000 % 60:02d},{whole % 1000:03d}"
