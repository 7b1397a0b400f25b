"""The sample video: for whoever has none at hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eval.sandbox.encoder import write_mp4, write_srt
from eval.sandbox.lost_folder import lost_folder, questions
from eval.sandbox.renderer import DrawnFrame, frames
from eval.sandbox.sound import soundtrack
from eval.sandbox.truth import SCHEMA_VERSION, SightingLog, subtitles_of, truth_of
from world_api.core.faults import StoreFault
from world_api.core.ports import Image

DEFAULT_SEED = 7


@dataclass(frozen=True, kw_only=True)
class SampleFiles:
    """Where the sample's files are."""

    video: Path
    subtitles: Path
    truth: Path
    questions: Path


def make_sample(folder: Path | str, *, seed: int = DEFAULT_SEED) -> SampleFiles:
    """Draw, score and encode the sample film into a folder, which is made when missing; the same seed, the same files.

    The film (72 s, 640 x 360, 15 frames/s) holds five shots in four rooms, three people, screen text, tones for sound,
    and subtitles both embedded and beside it. The truth is written last: where it is, the film is whole.

    Raises:
        StoreFault: ``not_writable``.
    """
    folder = Path(folder)
    files = SampleFiles(
        video=folder / "sample.mp4",
        subtitles=folder / "sample.srt",
        truth=folder / "sample.truth.json",
        questions=folder / "sample.questions.json",
    )
    film = lost_folder(seed)
    log = SightingLog()
    lines = subtitles_of(film)
    unfinished = files.video.with_suffix(".mp4.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_srt(files.subtitles, lines)
        _write_json(files.questions, _questions_record(seed, files.video.name))
        write_mp4(
            unfinished,
            _logged(frames(film), log),
            soundtrack(film, seed=seed),
            lines,
            frame_rate=film.frame_rate,
            title=film.title,
        )
        unfinished.replace(files.video)
        _write_json(files.truth, truth_of(film, log))
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreFault("not_writable", f"cannot write to {folder}: {reason}", hint="choose another folder") from error
    return files


def _logged(drawn: Iterable[DrawnFrame], log: SightingLog) -> Iterator[Image]:
    for frame in drawn:
        log.note(frame)
        yield frame.image


def _questions_record(seed: int, video: str) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "video": video,
        "questions": [asdict(question) for question in questions(seed)],
    }


def _readable(record: dict[str, Any]) -> str:
    """JSON with one line for each entry: thousands of boxes stay small, and a person can read it."""
    lines = []
    for key, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            lines.append(f" {json.dumps(key)}: [\n  {entries}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _write_json(path: Path, record: dict[str, Any]) -> None:
    path.write_text(_readable(record) + "\n", encoding="utf-8")
