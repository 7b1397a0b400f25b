"""M3-Bench, robot and web: long videos of people at home, and from the web, with open questions.

Format: ``data/annotations/robot.json`` and ``web.json`` of github.com/ByteDance-Seed/m3-agent (arXiv 2508.09736)::

    {"living_room_06": {"video_path": "data/videos/robot/living_room_06.mp4", "mem_path": "...", "video_url": "...",
                        "qa_list": [{"question": "...", "answer": "...", "question_id": "living_room_06_Q01",
                                     "reasoning": "...", "timestamp": "00:43", "type": ["Person Understanding"],
                                     "before_clip": 0}]}}

A robot's question is asked in the middle of the video: it may see the 30-second clips up to and with ``before_clip``, that
is, ``(before_clip + 1) * 30`` seconds; the ``timestamp`` lies in the clip after. -1 lets it see nothing, null and a missing
one the whole video. Only robot.json has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from eval.datasets.adapters.raw import Adapter, Entries, Entry, Raw, Sources, Unusable, entries_of, seconds_of
from eval.datasets.reading import bad, read_json

CLIP_SECONDS = 30.0


def read_robot(sources: Sources) -> Entries:
    """The questions of ``robot.json``."""
    return _read(sources, "robot.json")


def read_web(sources: Sources) -> Entries:
    """The questions of ``web.json``."""
    return _read(sources, "web.json")


ROBOT = Adapter(name="m3bench-robot", read=read_robot)
WEB = Adapter(name="m3bench-web", read=read_web)


def _read(sources: Sources, name: str) -> Entries:
    path = sources.main(name)
    value = read_json(path)
    if not isinstance(value, dict):
        raise bad(f"{path.name} is not an object of videos", "give robot.json or web.json as published")
    return entries_of(_questions(value, path.name), _question)


def _questions(videos: dict[str, object], file: str) -> Iterator[tuple[str, object]]:
    for name, video in videos.items():
        where = f"{file}, {name[:80]}"
        if not isinstance(video, dict) or not isinstance(video.get("qa_list"), list):
            yield where, None
            continue
        for number, question in enumerate(video["qa_list"]):
            known = {"video": name, "video_path": video.get("video_path")}
            yield f"{where}, question {number}", {**question, **known} if isinstance(question, dict) else question


def _question(entry: Entry) -> Raw:
    video = entry.text("video")
    labels: dict[str, object] = {"type": list(entry.texts("type")) if entry.has("type") else []}
    timestamp = seconds_of(entry.maybe("timestamp"))
    if timestamp is not None:
        labels["timestamp"] = timestamp
    if entry.has("before_clip"):
        labels["before_clip"] = entry.number("before_clip")
    path = entry.maybe("video_path")
    return Raw(
        where=entry.where,
        id=entry.maybe("question_id") or f"{video}_{entry.where.rpartition(' ')[2]}",
        video=video,
        names=tuple(dict.fromkeys(filter(None, (_from_videos(path), video, PurePosixPath(path).name)))),
        question=entry.text("question"),
        answer=entry.text("answer"),
        as_of=_as_of(entry),
        labels=labels,
    )


def _as_of(entry: Entry) -> float | None:
    if not entry.has("before_clip"):
        return None
    clip = entry.number("before_clip")
    if clip < -1:
        raise Unusable(f"before_clip is {clip}")
    return (clip + 1) * CLIP_SECONDS


def _from_videos(path: str) -> str:
    """``robot/living_room_06.mp4`` of ``data/videos/robot/living_room_06.mp4``."""
    return path.rpartition("videos/")[2] if "videos/" in path else path
