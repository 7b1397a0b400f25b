"""Which of a video's subtitles are taken.

Named by the caller: a file, a language, or none. Otherwise the file that has the video's very name; then subtitles in the
language of the sound; then the first, files before streams. Partial ones (forced) come last, and what holds no cue is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from world_api.core.canonical import content_hash
from world_api.core.faults import MediaFault
from world_api.core.identifiers import printable
from world_api.media.decode_pass import LossNote
from world_api.media.decoder import MediaWorker
from world_api.media.subtitle_encoding import DAMAGED
from world_api.media.subtitles import (
    SUFFIXES,
    Cue,
    CueList,
    Inside,
    SubtitleSource,
    find_sidecars,
    language_code,
    read_file,
)

#: More cues than so many are taken only where there are at most so many a second: those of songs show each syllable.
_PLENTY, _MOST_A_SECOND = 2000, 20


AUTO, NONE = "auto", "none"
#: Faults of a stream that stops its decoder: the video can do without the stream.
_BEYOND_READING = frozenset({"decoder_died", "decoder_stalled"})


@dataclass(frozen=True, kw_only=True)
class Subtitles:
    """The subtitles that were taken, and why. Without any, ``source`` is None and there are no cues."""

    source: SubtitleSource | None
    cues: tuple[Cue, ...]
    why: str
    losses: tuple[LossNote, ...] = ()

    @property
    def language(self) -> str:
        """The language's code, empty where unknown."""
        return self.source.language if self.source is not None else ""

    def content_hash(self) -> str:
        """A hash of what the rows will hold."""
        return content_hash([[cue.start, cue.end, cue.text, cue.speaker] for cue in self.cues])


def look_into(video: Path, worker: MediaWorker) -> Inside:
    """What a video holds, read by a decoding process.

    Raises:
        MediaFault: as probing names it; ``decoder_died``, ``decoder_stalled``.
    """
    message, _ = worker.ask({"do": "texts"}, video)
    texts = tuple(SubtitleSource(**{**record, "path": video}) for record in message["texts"])
    return Inside(texts=texts, has_sound=message["has_sound"], language=message["language"])


def read_source(source: SubtitleSource, video: Path, worker: MediaWorker) -> CueList:
    """Read one source: its first cues, at most as many as the video has time for. What cannot be read is left out.

    Raises:
        MediaFault: ``decoder_died``, ``decoder_stalled``.
    """
    if source.kind == "sidecar":
        found = read_file(source.path)
    else:
        message, payload = worker.ask({"do": "cues", "stream": source.stream}, source.path)
        cues = tuple(Cue(**record) for record in json.loads(payload))
        found = CueList(cues=cues, left_out=message["left_out"], is_cut=message["is_cut"])
    if len(found.cues) <= _PLENTY:
        return found
    try:
        seconds = worker.probe(video).declared_duration
    except MediaFault:
        seconds = None
    return found if seconds is None else found.first(max(_PLENTY, round(seconds * _MOST_A_SECOND)))


def choose_subtitles(video: Path, wanted: str = AUTO, worker: MediaWorker | None = None) -> Subtitles:
    """Find, choose and read a video's subtitles. ``wanted``: ``auto``, ``none``, a language's code, or a file's path.

    ``worker`` reads streams inside the video; without one a process is started for this alone.

    Raises:
        MediaFault: ``no_such_subtitles``, where the named file or language is not there; as probing names it.
    """
    if wanted == NONE:
        return Subtitles(source=None, cues=(), why="none were wanted")
    if worker is None:
        with closing(MediaWorker()) as own:
            return choose_subtitles(video, wanted, own)
    if _names_a_file(wanted):
        return _named_file(Path(wanted).expanduser(), video, worker)
    sidecars, strangers = find_sidecars(video)
    inside = look_into(video, worker)
    losses = [_not_followed(path) for path in strangers]
    found = sorted([*sidecars, *inside.texts], key=lambda source: source.is_partial)
    if wanted == AUTO:
        return _first_with_cues(_in_order(found, inside.language), losses, video, worker)
    language = language_code(wanted)
    fitting = [(source, "its language was wanted") for source in found if source.language == language]
    if not fitting:
        there = ", ".join(f"{source.name} ({source.language or 'language unknown'})" for source in found) or "none"
        raise MediaFault(
            "no_such_subtitles",
            f"{video.name} has no subtitles in {wanted!r}; it has: {there}",
            hint="name a language it has, a subtitle file, or 'none'",
        )
    return _first_with_cues(fitting, losses, video, worker)


def _names_a_file(wanted: str) -> bool:
    return Path(wanted).suffix.lower() in SUFFIXES or "/" in wanted or "\\" in wanted


def _named_file(path: Path, video: Path, worker: MediaWorker) -> Subtitles:
    if not path.is_file():
        raise MediaFault("no_such_subtitles", f"there is no subtitle file {path}", hint="check the path")
    language = next((found.language for found in find_sidecars(video)[0] if found.path.resolve() == path.resolve()), "")
    source = SubtitleSource(kind="sidecar", name=printable(path.name), language=language, path=path)
    return _first_with_cues([(source, "it was named")], [], video, worker)


def _in_order(found: Sequence[SubtitleSource], sound: str) -> list[tuple[SubtitleSource, str]]:
    def rank(source: SubtitleSource) -> tuple[int, str]:
        if source.is_partial:
            return 3, "there is nothing else"
        if source.kind == "sidecar" and not source.language:
            return 0, "it has the video's name"
        if sound and source.language == sound:
            return 1, "it is in the language of the sound"
        return 2, "it is the first"

    ranked = [(*rank(source), source) for source in found]
    return [(source, why) for _, why, source in sorted(ranked, key=lambda item: item[0])]


def _first_with_cues(
    order: Sequence[tuple[SubtitleSource, str]], losses: list[LossNote], video: Path, worker: MediaWorker
) -> Subtitles:
    for source, why in order:
        try:
            read = read_source(source, video, worker)
        except MediaFault as fault:
            if fault.code not in _BEYOND_READING:
                raise
            losses.append(_loss("subtitles_damaged", f"{source.name} was passed over: {fault.message}"))
            continue
        if read.left_out:
            what = "1 cue was" if read.left_out == 1 else f"{read.left_out} cues were"
            losses.append(
                _loss("subtitles_damaged", f"{what} left out of {source.name}: their times or words make no sense")
            )
        if damaged := sum(cue.text.count(DAMAGED) for cue in read.cues):
            what = "1 character" if damaged == 1 else f"{damaged} characters"
            losses.append(_loss("subtitles_damaged", f"{what} of {source.name} could not be read and stand as U+FFFD"))
        if read.is_cut:
            losses.append(_loss("subtitles_cut", f"{source.name} is too long; only its beginning was read"))
        if read.cues:
            return Subtitles(source=source, cues=read.cues, why=why, losses=tuple(losses))
        losses.append(_loss("subtitles_empty", f"{source.name} holds no cue that can be read"))
    return Subtitles(source=None, cues=(), why="there are none", losses=tuple(losses))


def _not_followed(path: Path) -> LossNote:
    return _loss(
        "subtitles_elsewhere", f"{path.name} is a link to another folder and was not followed; name it to have it read"
    )


def _loss(code: str, message: str) -> LossNote:
    return LossNote(code=code, message=message)
