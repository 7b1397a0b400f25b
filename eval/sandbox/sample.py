"""The sample video: one film to try everything on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from eval.sandbox.encoder import write_srt
from eval.sandbox.facts import readable
from eval.sandbox.films import encode_film
from eval.sandbox.lost_folder import lost_folder, questions
from eval.sandbox.sound import soundtrack
from eval.sandbox.truth import SCHEMA_VERSION, Naming, TruthWriter, subtitles_of
from world_api.core.faults import StoreFault

DEFAULT_SEED = 7


@dataclass(frozen=True, kw_only=True)
class SampleFiles:
    """Where the sample's files are."""

    video: Path
    subtitles: Path
    truth: Path
    questions: Path


def make_sample(folder: Path | str, *, seed: int = DEFAULT_SEED) -> SampleFiles:
    """Draw and encode the sample film into a folder, which is made if it is missing; the same seed, the same files.

    The film (72 s, 640 x 360, 15 frames/s) holds five shots in four rooms, three people, screen text, tones for sound,
    and subtitles both embedded and beside it. The truth is written last: if it is there, the film is whole.

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
    asked = {
        "schema_version": SCHEMA_VERSION,
        "video": files.video.name,
        "questions": [asdict(question) for question in questions(seed)],
    }
    unfinished = files.video.with_suffix(".mp4.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        truth = TruthWriter(folder, Naming())
        write_srt(files.subtitles, subtitles_of(film))
        files.questions.write_text(readable(asked), encoding="utf-8")
        encode_film(unfinished, film, truth, soundtrack(film, seed=seed))
        unfinished.replace(files.video)
        truth.write(files.truth, film, order=("scenes", "tracks", "speech", "screen_text", "actions", "captions"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreFault("not_writable", f"cannot write to {folder}: {reason}", hint="choose another folder") from error
    return files
