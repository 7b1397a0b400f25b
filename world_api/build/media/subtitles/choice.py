"""Which of a video's subtitles are taken.

Named by the caller: a file, a language, or none. Otherwise the file that has the video's very name; then subtitles in the
language of the sound; then the first, files before streams. Partial ones (forced) come last, and what holds no cue is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from world_api.build.media.apart.worker import MediaWorker
from world_api.build.media.limits import DEFAULT_LIMITS, Limits
from world_api.build.media.losses import LossNote
from world_api.build.media.subtitles.apart import SubtitleReader
from world_api.build.media.subtitles.cues import Cue
from world_api.build.media.subtitles.encodings import DAMAGED
from world_api.build.media.subtitles.sources import (
    SUFFIXES,
    SubtitleSource,
    find_sidecars,
    language_code,
)
from world_api.core.canonical import content_hash
from world_api.core.faults import MediaFault
from world_api.core.printable import printable

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


def choose_subtitles(
    video: Path, wanted: str = AUTO, *, limits: Limits = DEFAULT_LIMITS, worker: MediaWorker | None = None
) -> Subtitles:
    """Find, choose and read a video's subtitles. ``wanted``: ``auto``, ``none``, a language's code, or a file's path.

    ``worker`` is a process that reads streams inside the video; without one there is one for this alone, within ``limits``.

    Raises:
        MediaFault: ``no_such_subtitles``, where the named file or language is not there; as probing names it.
    """
    if wanted == NONE:
        return Subtitles(source=None, cues=(), why="none were wanted")
    with closing(SubtitleReader(limits, worker=worker)) as reader:
        return _chosen(video, wanted, reader)


def _chosen(video: Path, wanted: str, reader: SubtitleReader) -> Subtitles:
    if _names_a_file(wanted):
        return _named_file(Path(wanted).expanduser(), video, reader)
    sidecars, strangers = find_sidecars(video)
    inside = reader.look_into(video)
    losses = [_not_followed(path) for path in strangers]
    found = sorted([*sidecars, *inside.texts], key=lambda source: source.is_partial)
    if wanted == AUTO:
        return _first_with_cues(_in_order(found, inside.language), losses, reader, video)
    language = language_code(wanted)
    fitting = [(source, "its language was wanted") for source in found if source.language == language]
    if not fitting:
        there = ", ".join(f"{source.name} ({source.language or 'language unknown'})" for source in found) or "none"
        raise MediaFault(
            "no_such_subtitles",
            f"{video.name} has no subtitles in {wanted!r}; it has: {there}",
            hint="name a language it has, a subtitle file, or 'none'",
        )
    return _first_with_cues(fitting, losses, reader, video)


def _names_a_file(wanted: str) -> bool:
    return Path(wanted).suffix.lower() in SUFFIXES or "/" in wanted or "\\" in wanted


def _named_file(path: Path, video: Path, reader: SubtitleReader) -> Subtitles:
    if not path.is_file():
        raise MediaFault("no_such_subtitles", f"there is no subtitle file {path}", hint="check the path")
    language = next((found.language for found in find_sidecars(video)[0] if found.path.resolve() == path.resolve()), "")
    source = SubtitleSource(kind="sidecar", name=printable(path.name), language=language, path=path)
    return _first_with_cues([(source, "it was named")], [], reader, video)


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
    order: Sequence[tuple[SubtitleSource, str]], losses: list[LossNote], reader: SubtitleReader, video: Path
) -> Subtitles:
    for source, why in order:
        try:
            read = reader.read(source, video)
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
