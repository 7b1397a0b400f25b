"""One film as files, from its seed: made in pieces, moved into place when whole, and not made twice."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from eval.sandbox.encoder import write_mp4, write_srt
from eval.sandbox.facts import FilmFacts, read_facts, write_facts
from eval.sandbox.renderer import backdrop_of, frames_of_part
from eval.sandbox.script import Film
from eval.sandbox.sound import Samples, soundtrack
from eval.sandbox.stories import STORY_VERSION, Story, tell, video_id
from eval.sandbox.truth import Naming, TruthWriter, subtitles_of
from eval.sandbox.voices import SpokenLines
from tool_induction.domains.domain import SplitName
from world_api.core.faults import EvalFault
from world_api.core.files import exclusive, hash_bytes, not_writable
from world_api.core.ports import Image

_KEYFRAME = 5  #: seconds; people walk, the camera does not
_LONG = 3600.0  #: seconds from which on fewer sightings are kept
_SIGHTINGS, _SIGHTINGS_OF_LONG = 5, 2  #: a second


@dataclass(frozen=True, kw_only=True)
class FilmFiles:
    """Where a film's files are; ``facts`` is written last."""

    video: Path
    subtitles: Path
    truth: Path
    facts: Path

    @classmethod
    def of(cls, folder: Path | str, name: str) -> FilmFiles:
        """The files of a film of that id in a folder."""
        folder = Path(folder)
        return cls(
            video=folder / f"{name}.mp4",
            subtitles=folder / f"{name}.srt",
            truth=folder / f"{name}.truth.json",
            facts=folder / f"{name}.facts.json",
        )

    def all(self) -> tuple[Path, ...]:
        """All of them."""
        return self.video, self.subtitles, self.truth, self.facts


#: Told after each second of film: seconds that are made, and seconds there will be.
Progress = Callable[[float, float], None]


def work_folder(folder: Path | str) -> Path:
    """Where films of a folder lie while they are made."""
    return Path(folder) / ".making"


def make_film(
    folder: Path | str,
    *,
    seed: int,
    minutes: float,
    split: SplitName,
    voices: SpokenLines | None = None,
    progress: Progress = lambda done, whole: None,
) -> tuple[FilmFacts, bool]:
    """Make the film of a seed in a folder, unless it is there; returns its facts, and whether it was made now.

    Lines are spoken by ``voices``; without any, voices are tones. Memory does not grow with the film but for its script
    (two megabytes an hour). A film that was begun and not ended is made again.

    Raises:
        EvalFault: ``another_film`` (one of this id but another length or version is there), ``bad_facts``.
        StoreFault: ``not_writable``, ``busy``.
    """
    folder = Path(folder)
    name = video_id(seed, split)
    files = FilmFiles.of(folder, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(work_folder(folder), hash_bytes(name.encode())):
            found = _finished(files, minutes)
            if found is not None:
                return found, False
            story = tell(seed, minutes, split=split)
            _make(folder, files, story, voices=voices, progress=progress)
            return story.facts, True
    except OSError as error:
        raise not_writable(folder, error) from error


def _finished(files: FilmFiles, minutes: float) -> FilmFacts | None:
    """The facts of a film that is there whole."""
    if not all(path.is_file() for path in files.all()):
        return None
    facts = read_facts(files.facts)
    there, version = facts.extras.get("minutes"), facts.extras.get("version")
    if there != minutes or version != STORY_VERSION:
        raise EvalFault(
            "another_film",
            f"{files.video.name} is there already: of {there} minutes, by version {version} of the stories "
            f"(asked for: {minutes:g} minutes, version {STORY_VERSION})",
            hint="choose another folder or seed, or delete its files first",
        )
    return facts


def _make(folder: Path, files: FilmFiles, story: Story, *, voices: SpokenLines | None, progress: Progress) -> None:
    work = work_folder(folder) / files.video.stem
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    files.facts.unlink(missing_ok=True)
    film = story.film
    kept = _SIGHTINGS_OF_LONG if film.duration > _LONG else _SIGHTINGS
    truth = TruthWriter(work, Naming(tracks=film.tracks()), every=math.ceil(film.frame_rate / kept))
    unfinished = FilmFiles.of(work, files.video.stem)
    sound = _sound(film, story.facts.seed, voices)
    encode_film(unfinished.video, film, truth, sound, keyframe_every=_KEYFRAME, progress=progress)
    write_srt(unfinished.subtitles, subtitles_of(film))
    truth.write(unfinished.truth, film)
    for made, place in zip(unfinished.all()[:3], files.all()[:3], strict=True):
        made.replace(place)
    write_facts(files.facts, story.facts)
    shutil.rmtree(work, ignore_errors=True)


def encode_film(
    path: Path | str,
    film: Film,
    truth: TruthWriter,
    sound: Samples | Iterable[Samples],
    *,
    keyframe_every: int = 2,
    progress: Progress = lambda done, whole: None,
) -> None:
    """Draw and encode a film with its sound and subtitles, and note what is true of it."""

    def pictures() -> Iterator[Image]:
        for start, part in film.placed():
            backdrop = backdrop_of(part)
            truth.part(start, part, backdrop)
            for drawn in frames_of_part(part, backdrop, start=start, frame_rate=film.frame_rate):
                truth.frame(drawn)
                if round(drawn.time * film.frame_rate) % film.frame_rate == 0:
                    progress(drawn.time, film.duration)
                yield drawn.image
        progress(film.duration, film.duration)

    lines = subtitles_of(film)
    write_mp4(
        path, pictures(), sound, lines, frame_rate=film.frame_rate, title=film.title, keyframe_every=keyframe_every
    )


def _sound(film: Film, seed: int, voices: SpokenLines | None) -> Iterator[Samples]:
    """The sound, part by part: a film of ten hours would fill gigabytes."""
    for number, part in enumerate(film.parts):
        alone_in_a_film = Film(title=film.title, frame_rate=film.frame_rate, parts=(part,))
        yield soundtrack(alone_in_a_film, seed=seed * 100_003 + number, voices=voices)
