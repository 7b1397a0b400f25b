"""The files of a film: MP4 (H.264, AAC, subtitles), SRT, truth and facts; only complete ones are moved into place."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import SubtitleSet

from eval.sandbox.facts import FilmFacts, read_facts, readable, write_facts
from eval.sandbox.renderer import DrawnFrame, backdrop_of, frames_of_part
from eval.sandbox.rooms import Backdrop
from eval.sandbox.script import HEIGHT, WIDTH, Actor, Card, Film, Gesture, Line, Prop, Shot, Walk
from eval.sandbox.sound import SAMPLE_RATE, Samples, SpokenLines, soundtrack
from eval.sandbox.stories import Story, story_version, tell, video_id
from tool_induction.domains.domain import SplitName
from world_api.core.faults import EvalFault
from world_api.core.files import exclusive, hash_bytes, not_writable
from world_api.core.ports import Image
from world_api.core.spans import round_time
from world_api.media.subtitles import srt_text

_MILLISECONDS = Fraction(1, 1000)
_VIDEO = {"crf": "20", "preset": "veryfast", "tune": "animation"}
_SUBTITLE_HEADER = (
    "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\n"
    "Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, "
    "Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, "
    "MarginV, Encoding\n"
    "Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,0\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
)


@dataclass(frozen=True, kw_only=True)
class Subtitle:
    """A subtitle that is shown from ``start`` to ``end`` (seconds)."""

    start: float
    end: float
    text: str


def write_mp4(
    path: Path | str,
    images: Iterable[Image],
    sound: Samples | Iterable[Samples],
    subtitles: Sequence[Subtitle],
    *,
    frame_rate: int,
    title: str,
    keyframe_every: int = 2,
) -> None:
    """Encode a film. The same input gives the same bytes: one thread, no clock, no version string.

    Images and sound are consumed as needed; the sound may be pieces of any length. There is a key frame at least every
    ``keyframe_every`` seconds.
    """
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart", "fflags": "+bitexact"}) as container:
        container.metadata["title"] = title
        feed = iter(images)
        first = next(feed)
        video = container.add_stream("libx264", rate=frame_rate, options=_VIDEO)
        video.height, video.width = first.shape[:2]
        video.pix_fmt = "yuv420p"
        video.gop_size = keyframe_every * frame_rate
        video.thread_count = 1
        audio = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
        audio.bit_rate = 64_000
        text = container.add_stream("mov_text")
        text.metadata["language"] = "eng"
        text.time_base = _MILLISECONDS
        text.codec_context.time_base = _MILLISECONDS
        text.codec_context.subtitle_header = _SUBTITLE_HEADER.encode()
        lines = _subtitle_packets(text, subtitles)
        blocks = _audio_frames(sound)
        for number, image in enumerate(chain([first], feed)):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, frame_rate)
            container.mux(video.encode(frame))
            _mux_until((number + 1) / frame_rate, container, audio, blocks)
        container.mux(video.encode())
        _mux_until(float("inf"), container, audio, blocks)
        container.mux(audio.encode())
        for packet in lines:
            container.mux(packet)


def write_srt(path: Path | str, subtitles: Sequence[Subtitle]) -> None:
    """Write subtitles as SubRip text (UTF-8)."""
    text = srt_text((line.start, line.end, line.text) for line in subtitles)
    Path(path).write_text(text, encoding="utf-8", newline="\n")


def _audio_frames(sound: Samples | Iterable[Samples]) -> Iterator[av.AudioFrame]:
    """Yield the sound in frames of 1,024 samples, the size of AAC; the last may be shorter."""
    queue, start = av.AudioFifo(), 0
    for samples in [sound] if isinstance(sound, np.ndarray) else sound:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples[None]), format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = SAMPLE_RATE, start, Fraction(1, SAMPLE_RATE)
        start += len(samples)
        queue.write(frame)
        yield from queue.read_many(1024)
    if (rest := queue.read(partial=True)) is not None:
        yield rest


def _mux_until(seconds: float, container: OutputContainer, audio: AudioStream, blocks: Iterator[av.AudioFrame]) -> None:
    for frame in blocks:
        container.mux(audio.encode(frame))
        if frame.time is not None and frame.time >= seconds:
            return


def _subtitle_packets(stream: SubtitleStream, subtitles: Sequence[Subtitle]) -> list[av.Packet[SubtitleStream]]:
    packets = []
    for number, line in enumerate(subtitles):
        event = f"{number},0,Default,,0,0,0,,{line.text}".encode()
        start, end = round(line.start * 1000), round(line.end * 1000)
        packet = stream.codec_context.encode_subtitle(SubtitleSet.create(event, 0, end - start, pts=start))
        packet.stream, packet.time_base = stream, _MILLISECONDS
        packet.pts = packet.dts = start
        packet.duration = end - start
        packets.append(packet)
    return packets


SCHEMA_VERSION = 1

Record = dict[str, Any]


class TruthWriter:
    """Collects the truth of a film and writes it to a file.

    Sightings are taken from one of ``every`` frames. Tracks have the numbers of ``Film.tracks``, and people are
    described by their looks, so that the truth contains no names, which cannot be perceived.
    """

    def __init__(self, film: Film, *, every: int = 1) -> None:
        self._film = film
        self._tracks = film.tracks()
        self._every = every
        self._sightings: dict[Actor | Prop, list[Record]] = {}
        names = ("speech", "screen_text", "actions", "captions", "scenes")  # keys of the file
        self._sections: dict[str, list[Record]] = {name: [] for name in names}
        self._cuts: list[float] = []

    def part(self, start: float, part: Shot | Card, backdrop: Backdrop) -> None:
        """Add the speech, texts and actions of a part that begins at ``start`` (seconds of the film)."""
        if start > 0:
            self._cuts.append(round_time(start))
        whole, sections = _span(start, 0.0, part.duration), self._sections
        sections["scenes"].append({**whole, "caption": part.caption})
        sections["screen_text"] += [{**whole, "text": item.text, "box": item.box.rounded()} for item in backdrop.texts]
        if isinstance(part, Card):
            sections["captions"].append({**whole, "text": part.caption})
            return
        sections["speech"] += [
            {**_span(start, line.start, line.end), "text": line.text, "speaker": line.speaker.description}
            for line in part.lines
        ]
        sections["actions"] += _in_order(_actions(start, part, self._tracks))
        sections["captions"] += _in_order([{**_span(start, a, b), "text": text} for a, b, text in part.captions])

    def frame(self, drawn: DrawnFrame) -> None:
        """Add the sightings of a drawn frame, unless ``every`` leaves the frame out."""
        if round(drawn.time * self._film.frame_rate) % self._every:
            return
        for sighting in drawn.sightings:
            record = {"time": round_time(drawn.time), "box": sighting.box.rounded()}
            self._sightings.setdefault(sighting.subject, []).append(record)

    def write(self, path: Path | str) -> None:
        """Write the truth as JSON with one line for each entry of a list."""
        record = {
            "schema_version": SCHEMA_VERSION,
            "title": self._film.title,
            "duration": round_time(self._film.duration),
            "frame_rate": self._film.frame_rate,
            "resolution": {"width": WIDTH, "height": HEIGHT},
            "cuts": self._cuts,
            **self._sections,
            "tracks": [self._track(subject) for subject in self._sightings],
        }
        Path(path).write_text(readable(record), encoding="utf-8", newline="\n")

    def _track(self, subject: Actor | Prop) -> Record:
        if isinstance(subject, Actor):
            category, colours = "person", [subject.look.coat, subject.look.trousers]
        else:
            category, colours = subject.category, [subject.colour]
        return {
            "track": self._tracks[subject],
            "category": category,
            "colours": colours,
            "label": subject.description,
            "sightings": self._sightings[subject],
        }


def subtitles_of(film: Film) -> list[Subtitle]:
    """Return all spoken lines as subtitles, in seconds of the film."""
    return [
        Subtitle(start=start + line.start, end=start + line.end, text=line.text)
        for start, shot in film.shots()
        for line in shot.lines
    ]


def _actions(start: float, shot: Shot, tracks: Mapping[Actor | Prop, str]) -> list[Record]:
    """Return records of all walks, gestures and lines, except those that end before the shot begins (``start`` in the film)."""
    found: list[tuple[Walk | Gesture | Line, str, Actor]] = []
    for performance in shot.performances:
        found += [(walk, _walk_label(walk), performance.actor) for walk in performance.walks]
        found += [(gesture, gesture.label, performance.actor) for gesture in performance.gestures]
    found += [(line, "talks", line.speaker) for line in shot.lines]
    return [
        {**_span(start, item.start, item.end), "label": label, "track": tracks[actor]}
        for item, label, actor in found
        if item.end > 0
    ]


def _walk_label(walk: Walk) -> str:
    if not 0 <= walk.origin[0] <= WIDTH:
        return "enters from the left" if walk.origin[0] < 0 else "enters from the right"
    if not 0 <= walk.goal[0] <= WIDTH:
        return "leaves to the left" if walk.goal[0] < 0 else "leaves to the right"
    return "walks to the right" if walk.goal[0] > walk.origin[0] else "walks to the left"


def _span(start: float, first: float, last: float) -> Record:
    return {"start": round_time(start + first), "end": round_time(start + last)}


def _in_order(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record["start"], record["end"]))


_KEYFRAME = 5  #: seconds; few are needed, as the camera does not move
_LONG = 3600.0  #: longer films (seconds) keep fewer sightings
_SIGHTINGS, _SIGHTINGS_OF_LONG = 5, 2  #: a second


@dataclass(frozen=True, kw_only=True)
class FilmFiles:
    """The paths of a film's files; ``facts`` is written last."""

    video: Path
    subtitles: Path
    truth: Path
    facts: Path

    @classmethod
    def of(cls, folder: Path | str, name: str) -> FilmFiles:
        """Return the paths of the film with id ``name`` in a folder."""
        folder = Path(folder)
        return cls(
            video=folder / f"{name}.mp4",
            subtitles=folder / f"{name}.srt",
            truth=folder / f"{name}.truth.json",
            facts=folder / f"{name}.facts.json",
        )

    def all(self) -> tuple[Path, ...]:
        """Return all paths; ``facts`` is the last one."""
        return self.video, self.subtitles, self.truth, self.facts


#: Called after each second of film with the seconds done and the seconds in total.
Progress = Callable[[float, float], None]


def work_folder(folder: Path | str) -> Path:
    """Return the folder of unfinished films."""
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
    """Make the film of a seed in a folder, unless it exists; return its facts, and whether it was made now.

    ``voices`` speak the lines; without them lines are hummed. ``progress`` is called with the seconds of film done and in
    all. Memory grows only with script and sightings. An unfinished film is made again from the start.

    Raises EvalFault: ``another_film`` (a film with this id but another length or version exists), and those of
    ``read_facts``; ValueError: as ``tell``; StoreFault: ``store_not_writable``, ``disk_full``.
    """
    folder = Path(folder)
    name = video_id(seed, split)
    files = FilmFiles.of(folder, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(work_folder(folder), hash_bytes(name.encode())):
            found = _finished(files, minutes, story_version(split))
            if found is not None:
                return found, False
            story = tell(seed, minutes, split=split)
            _make(folder, files, story, voices=voices, progress=progress)
            return story.facts, True
    except OSError as error:
        raise not_writable(folder, error) from error


def _finished(files: FilmFiles, minutes: float, wanted: int) -> FilmFacts | None:
    """Return the facts of a finished film; None if a file is missing. Raises EvalFault, as ``make_film``."""
    if not all(path.is_file() for path in files.all()):
        return None
    facts = read_facts(files.facts)
    there, version = facts.extras.get("minutes"), facts.extras.get("version")
    if there != minutes or version != wanted:
        raise EvalFault(
            "another_film",
            f"{files.video.name} is there already: of {there} minutes, by version {version} of the stories "
            f"(requested: {minutes:g} minutes, version {wanted})",
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
    truth = TruthWriter(film, every=math.ceil(film.frame_rate / kept))
    unfinished = FilmFiles.of(work, files.video.stem)
    # The sound is made part by part: that of ten hours would fill gigabytes.
    parts = (
        (story.facts.seed * 100_003 + number, replace(film, parts=(part,))) for number, part in enumerate(film.parts)
    )
    sound = (soundtrack(part, seed=seed, voices=voices) for seed, part in parts)
    encode_film(unfinished.video, film, truth, sound, keyframe_every=_KEYFRAME, progress=progress)
    write_srt(unfinished.subtitles, subtitles_of(film))
    truth.write(unfinished.truth)
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
    """Draw and encode a film with its sound and subtitles, and add its parts and frames to ``truth``."""

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
