"""The sample video with its cast and questions: a folder is left on a desk, carried off, missed and found again.

The seed decides about the cast, the colours and the times; the story stays the same.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from eval.sandbox.facts import readable
from eval.sandbox.films import SCHEMA_VERSION, Naming, TruthWriter, encode_film, subtitles_of, write_srt
from eval.sandbox.room_plans import FEET, LEFT, RIGHT, Position
from eval.sandbox.rooms import DESK_TOP, TABLE_TOP
from eval.sandbox.script import (
    Actor,
    Card,
    Carry,
    Film,
    Gesture,
    GestureKind,
    HairStyle,
    Line,
    Look,
    Performance,
    Prop,
    Resting,
    Room,
    Shot,
    Walk,
    capital,
)
from eval.sandbox.sound import soundtrack
from world_api.core.faults import StoreFault

_NAMES = ("Mia", "Tom", "Ana", "Leo", "Eva", "Ben", "Zoe", "Max", "Ida", "Sam")
_COATS = (("red", "pink"), ("yellow", "orange"), ("green",), ("blue", "purple"))  #: one of a group, to tell them apart
_FOLDERS = ("blue", "orange", "green", "red")


@dataclass(frozen=True, kw_only=True)
class Cast:
    """What the seed decides."""

    owner: Actor
    finder: Actor
    reader: Actor
    folder: Prop
    cup: Prop
    office: str
    clocks: tuple[str, str, str]  #: what the clocks show in the morning, then later, then later still
    meeting: str


def cast(seed: int) -> Cast:
    """Choose the cast; the same seed always chooses the same."""
    chance = random.Random(seed)
    folder = chance.choice(_FOLDERS)
    groups = [[coat for coat in group if coat != folder] for group in _COATS]
    coats = [chance.choice(group) for group in chance.sample([group for group in groups if group], 3)]
    names = chance.sample(_NAMES, 3)
    hairs = chance.sample(("black", "brown", "blond", "grey", "ginger"), 3)
    styles = chance.sample(get_args(HairStyle), 3)
    skins = chance.sample(("light", "tan", "dark"), 3)
    trousers = chance.sample(("black", "blue", "grey", "brown"), 3)
    actors = [
        Actor(
            name=names[number],
            look=Look(
                coat=coats[number],
                trousers=trousers[number],
                hair=hairs[number],
                hair_style=styles[number],
                skin=skins[number],
                height=chance.choice((0.96, 1.0, 1.04)),
            ),
            pitch=chance.choice((125.0, 155.0, 205.0, 235.0)),
        )
        for number in range(3)
    ]
    hour, minute = chance.randint(8, 10), chance.randint(0, 3) * 5
    return Cast(
        owner=actors[0],
        finder=actors[1],
        reader=actors[2],
        folder=Prop(name=f"{folder} folder", category="folder", colour=folder),
        cup=Prop(name="white cup", category="cup", colour="white"),
        office=str(chance.randint(10, 39)),
        clocks=(f"{hour:02d}:{minute:02d}", f"{hour:02d}:{minute + 15:02d}", f"{hour:02d}:{minute + 35:02d}"),
        meeting=f"{hour + 1:02d}:30",
    )


FRAME_RATE = 15


def lost_folder(seed: int) -> Film:
    """The film, 72 seconds long, in four rooms and six parts."""
    chosen = cast(seed)
    return Film(
        title="The lost folder",
        frame_rate=FRAME_RATE,
        parts=(
            Card(
                title="THE LOST FOLDER",
                subtitle="a morning in four rooms",
                duration=3.0,
                caption="A title card: The lost folder.",
            ),
            _left_on_the_desk(chosen, seed),
            _tea(chosen, seed),
            _carried_off(chosen, seed),
            _in_the_library(chosen, seed),
            _back_again(chosen, seed),
            Card(
                title="THE END", subtitle="drawn by video-world-api", duration=3.0, caption="A closing card: The end."
            ),
        ),
    )


_COUNTER_TOP = (372.0, 190.0)


def _walk(start: float, end: float, origin: Position, goal: Position) -> Walk:
    return Walk(start=start, end=end, origin=origin, goal=goal)


def _gesture(
    start: float, end: float, kind: GestureKind, label: str, facing: int, place: Position | None = None
) -> Gesture:
    return Gesture(start=start, end=end, kind=kind, label=label, facing=facing, place=place)


def _line(start: float, end: float, speaker: Actor, text: str, facing: int) -> Line:
    return Line(start=start, end=end, speaker=speaker, text=text, facing=facing)


def _office(chosen: Cast, clock: str, seed: int) -> Room:
    return Room(kind="office", name="the office", sign=f"OFFICE {chosen.office}", clock=clock, seed=seed)


def _left_on_the_desk(chosen: Cast, seed: int) -> Shot:
    owner, folder, desk = chosen.owner, chosen.folder, (397.0, FEET)
    return Shot(
        room=_office(chosen, chosen.clocks[0], seed),
        duration=15.0,
        caption=f"In the office {owner.description} leaves a {folder.name} on the desk.",
        performances=(
            Performance(
                actor=owner,
                walks=(_walk(2.2, 6.0, LEFT, desk), _walk(10.2, 13.0, desk, RIGHT)),
                gestures=(_gesture(6.2, 7.4, "puts down", f"puts the {folder.name} on the desk", 1, DESK_TOP),),
                carries=(Carry(start=0.0, end=6.8, prop=folder),),
            ),
        ),
        resting=(Resting(start=6.8, end=15.0, prop=folder, place=DESK_TOP),),
        lines=(_line(7.4, 10.0, owner, f"I will leave the {folder.name} on this desk.", -1),),
        captions=(
            (2.2, 6.2, f"{capital(owner.description)} walks into the office with a {folder.name}."),
            (6.2, 10.0, f"{capital(owner.description)} puts the {folder.name} on the desk."),
            (10.2, 13.0, f"{capital(owner.description)} leaves the office to the right."),
        ),
    )


def _tea(chosen: Cast, seed: int) -> Shot:
    owner, cup, counter = chosen.owner, chosen.cup, (318.0, FEET)
    meeting = chosen.meeting
    return Shot(
        room=Room(kind="kitchen", name="the kitchen", sign="KITCHEN", notes=("MEETING", meeting), seed=seed),
        duration=12.0,
        caption=f"In the kitchen {owner.description} drinks a cup of tea.",
        performances=(
            Performance(
                actor=owner,
                walks=(_walk(2.1, 5.4, LEFT, counter),),
                gestures=(
                    _gesture(5.6, 6.6, "takes", "takes a white cup", 1, _COUNTER_TOP),
                    _gesture(9.6, 11.6, "drinks", "drinks from a white cup", 1),
                ),
                carries=(Carry(start=6.1, end=12.0, prop=cup),),
            ),
        ),
        resting=(Resting(start=0.0, end=6.1, prop=cup, place=_COUNTER_TOP),),
        lines=(_line(6.8, 9.4, owner, f"A cup of tea before the meeting at {meeting}.", 1),),
        captions=(
            (2.1, 5.6, f"{capital(owner.description)} walks into the kitchen."),
            (5.6, 9.6, f"{capital(owner.description)} takes a white cup from the counter."),
            (9.6, 11.6, f"{capital(owner.description)} drinks tea."),
        ),
    )


def _carried_off(chosen: Cast, seed: int) -> Shot:
    finder, folder, desk = chosen.finder, chosen.folder, (479.0, FEET)
    return Shot(
        room=_office(chosen, chosen.clocks[1], seed),
        duration=13.0,
        caption=f"In the office {finder.description} takes the {folder.name} away from the desk.",
        performances=(
            Performance(
                actor=finder,
                walks=(_walk(2.1, 4.0, RIGHT, desk), _walk(8.0, 12.4, desk, LEFT)),
                gestures=(_gesture(4.1, 5.3, "takes", f"takes the {folder.name} from the desk", -1, DESK_TOP),),
                carries=(Carry(start=4.7, end=13.0, prop=folder),),
            ),
        ),
        resting=(Resting(start=0.0, end=4.7, prop=folder, place=DESK_TOP),),
        lines=(_line(5.2, 7.9, finder, "A lost folder! I will take it to the library.", -1),),
        captions=(
            (2.1, 4.1, f"{capital(finder.description)} walks into the office."),
            (4.1, 8.0, f"{capital(finder.description)} takes the {folder.name} from the desk."),
            (8.0, 12.6, f"{capital(finder.description)} leaves the office to the left with the {folder.name}."),
        ),
    )


def _in_the_library(chosen: Cast, seed: int) -> Shot:
    finder, reader, folder = chosen.finder, chosen.reader, chosen.folder
    table, beside = (354.0, FEET), (520.0, FEET - 6)
    return Shot(
        room=Room(kind="library", name="the library", sign="LIBRARY", seed=seed),
        duration=14.0,
        caption=f"In the library {finder.description} puts the {folder.name} on a table; {reader.description} asks.",
        performances=(
            Performance(
                actor=finder,
                walks=(_walk(2.1, 5.5, LEFT, table),),
                gestures=(_gesture(5.7, 6.9, "puts down", f"puts the {folder.name} on the table", 1, TABLE_TOP),),
                carries=(Carry(start=0.0, end=6.3, prop=folder),),
            ),
            Performance(actor=reader, walks=(_walk(6.0, 7.8, RIGHT, beside),)),
        ),
        resting=(Resting(start=6.3, end=14.0, prop=folder, place=TABLE_TOP),),
        lines=(
            _line(8.0, 10.2, reader, f"Hello {finder.name}. Is that folder yours?", -1),
            _line(10.5, 13.2, finder, f"No, {reader.name}. It was on the desk in office {chosen.office}.", 1),
        ),
        captions=(
            (2.1, 5.7, f"{capital(finder.description)} walks into the library with the {folder.name}."),
            (5.7, 7.8, f"{capital(finder.description)} puts the {folder.name} on the table."),
            (6.0, 13.2, f"{capital(reader.description)} comes in and talks with {finder.description}."),
        ),
    )


def _back_again(chosen: Cast, seed: int) -> Shot:
    owner, finder, folder = chosen.owner, chosen.finder, chosen.folder
    here, there = (246.0, FEET), (398.0, FEET)
    doors = (chosen.office, str(int(chosen.office) + 2))
    corridor = Room(
        kind="corridor", name="the corridor", sign="LIBRARY >", notes=doors, clock=chosen.clocks[2], seed=seed
    )
    wave = _gesture(10.0, 11.8, "waves", "waves", 1)
    return Shot(
        room=corridor,
        duration=12.0,
        caption=f"In the corridor {owner.description} asks {finder.description} for the {folder.name}.",
        performances=(
            Performance(
                actor=owner,
                walks=(_walk(2.0, 4.7, LEFT, here), _walk(9.0, 12.0, here, (606.0, FEET + 12))),
            ),
            Performance(actor=finder, walks=(_walk(2.6, 5.2, RIGHT, there),), gestures=(wave,)),
        ),
        lines=(
            _line(5.3, 7.0, owner, f"{finder.name}, where is my {folder.name}?", 1),
            _line(7.1, 8.9, finder, "On the table in the library!", -1),
            _line(9.3, 10.8, owner, f"Thank you, {finder.name}!", 1),
        ),
        captions=(
            (2.0, 5.3, f"{capital(owner.description)} and {finder.description} meet in the corridor."),
            (5.3, 9.0, f"{capital(owner.description)} asks where the {folder.name} is."),
            (9.0, 12.0, f"{capital(owner.description)} walks away to the right; {finder.description} waves."),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with its true answer. ``spans`` are the intervals, in seconds, that show it."""

    id: str
    question: str
    task: Literal["A", "B", "C"]
    answer_type: Literal["interval", "count", "order", "text"]
    answer: Any
    spans: tuple[tuple[float, float], ...]


def questions(seed: int) -> tuple[Question, ...]:
    """Questions about the film: locate and count (A), order and cause (B), several steps (C)."""
    chosen = cast(seed)
    desk, tea, taken, library, corridor = (start for start, _ in lost_folder(seed).shots())
    finder, folder = f"person in the {chosen.finder.look.coat} coat", chosen.folder.name
    when = f"When does the {finder} take the {folder} from the desk?"
    rooms = f"In how many different rooms is the person in the {chosen.owner.look.coat} coat seen?"
    order = (
        f"In which order do these happen: (a) somebody drinks tea, (b) the {folder} is put on the desk, "
        f"(c) the {folder} is put on a table in the library?"
    )
    why = f"Why is the {folder} no longer on the desk?"
    reason = f"The {finder} took it to the library, thinking it was lost."
    meeting = f"At what time is the meeting that the owner of the {folder} has to attend?"
    took = (taken + 4.1, taken + 5.3)
    visits = ((desk + 2.2, desk + 13.0), (tea + 2.1, tea + 12.0), (corridor + 2.0, corridor + 12.0))
    ordered = ((desk + 6.2, desk + 7.4), (tea + 9.6, tea + 11.6), (library + 5.7, library + 6.9))
    attended = ((tea, tea + 12.0),)
    explained = ((taken + 4.1, taken + 8.0), (library + 10.5, library + 13.2))
    return (
        Question(id="q1", question=when, task="A", answer_type="interval", answer=list(took), spans=(took,)),
        Question(id="q2", question=rooms, task="A", answer_type="count", answer=3, spans=visits),
        Question(id="q3", question=order, task="B", answer_type="order", answer=["b", "a", "c"], spans=ordered),
        Question(id="q4", question=why, task="B", answer_type="text", answer=reason, spans=explained),
        Question(id="q5", question=meeting, task="C", answer_type="text", answer=chosen.meeting, spans=attended),
    )


DEFAULT_SEED = 7


@dataclass(frozen=True, kw_only=True)
class SampleFiles:
    """Where the sample's files are."""

    video: Path
    subtitles: Path
    truth: Path
    questions: Path


def make_sample(folder: Path | str, *, seed: int = DEFAULT_SEED) -> SampleFiles:
    """Draw and encode the sample film into a folder, which is made if it is missing; the same seed gives the same files.

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
    record = {
        "schema_version": SCHEMA_VERSION,
        "video": files.video.name,
        "questions": [asdict(question) for question in questions(seed)],
    }
    unfinished = files.video.with_suffix(".mp4.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        truth = TruthWriter(folder, Naming())
        write_srt(files.subtitles, subtitles_of(film))
        files.questions.write_text(readable(record), encoding="utf-8")
        encode_film(unfinished, film, truth, soundtrack(film, seed=seed))
        unfinished.replace(files.video)
        truth.write(files.truth, film, order=("scenes", "tracks", "speech", "screen_text", "actions", "captions"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreFault("not_writable", f"cannot write to {folder}: {reason}", hint="choose another folder") from error
    return files
