"""Short films of the sandbox whose screen and speech say what a test wants; the pictures are otherwise the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from eval.sandbox import soundtrack, subtitles_of, write_mp4, write_srt
from eval.sandbox.renderer import DrawnFrame, backdrop_of, frames_of_part
from eval.sandbox.script import Actor, Card, Film, Line, Look, Performance, Room, Shot, Walk
from tests.support.building import Silent, StandingClock
from world_api.api import build_world

_LINE_SECONDS = 2.0
_FLOOR = 300.0
_SHOWN_SECONDS = 4.0


def speaking_film(written: Sequence[str], spoken: Sequence[str]) -> Film:
    """A card for each thing written; then a person in red walks through an office and says each thing."""
    actor = Actor(
        name="Mia",
        look=Look(coat="red", trousers="black", hair="brown", hair_style="short", skin="light"),
        pitch=205.0,
    )
    seconds = 4.0 + _LINE_SECONDS * len(spoken)
    walk = Walk(start=1.0, end=seconds - 0.5, origin=(-40.0, _FLOOR), goal=(480.0, _FLOOR))
    lines = tuple(
        Line(start=2.0 + _LINE_SECONDS * place, end=3.8 + _LINE_SECONDS * place, speaker=actor, text=text, facing=1)
        for place, text in enumerate(spoken)
    )
    office = Shot(
        room=Room(kind="office", name="the office", sign="OFFICE 12", seed=3),
        duration=seconds,
        caption="A person walks through an office.",
        performances=(Performance(actor=actor, walks=(walk,)),),
        lines=lines,
    )
    cards = tuple(
        Card(title=text, subtitle="a film of the sandbox", duration=_SHOWN_SECONDS, caption="A card with words.")
        for text in written
    )
    return Film(title="A film", frame_rate=10, parts=(*cards, office))


def frames(film: Film) -> Iterator[DrawnFrame]:
    """Every frame of the film, in order: ``duration * frame_rate`` of them."""
    for start, part in film.placed():
        yield from frames_of_part(part, backdrop_of(part), start=start, frame_rate=film.frame_rate)


def build_film(folder: Path, store: Path, film: Film, *, name: str) -> str:
    """Draw, encode and build it for real; the id of its world."""
    folder.mkdir(parents=True, exist_ok=True)
    video = folder / f"{name}.mp4"
    lines = subtitles_of(film)
    write_srt(video.with_suffix(".srt"), lines)
    images = (drawn.image for drawn in frames(film))
    write_mp4(video, images, soundtrack(film, seed=1), lines, frame_rate=film.frame_rate, title=film.title)
    return build_world(video, store, progress=Silent(), clock=StandingClock()).video_id
