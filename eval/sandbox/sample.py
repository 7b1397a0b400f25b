"""The sample video, its cast and questions: a lost folder is found; the seed determines people, colours and times."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from eval.sandbox.facts import Event, readable
from eval.sandbox.films import SCHEMA_VERSION, Progress, TruthWriter, encode_film, subtitles_of, write_srt
from eval.sandbox.plots import bring_in
from eval.sandbox.room_plans import Fixture, plan_of
from eval.sandbox.scenes import Director, Plot, SceneRequest
from eval.sandbox.script import CARD, Actor, Card, Film, HairStyle, Look, Prop, Room, RoomKind, Shot
from eval.sandbox.sound import soundtrack
from eval.sandbox.story_world import FRAME_RATE, Location, StoryCast, clock_words
from world_api.core.faults import StoreFault

_NAMES = ("Mia", "Tom", "Ana", "Leo", "Eva", "Ben", "Zoe", "Max", "Ida", "Sam")
_COATS = (("red", "pink"), ("yellow", "orange"), ("green",), ("blue", "purple"))  #: at most one of each group is used
_FOLDERS = ("blue", "orange", "green", "red")
_HEIGHTS, _PITCHES = (0.96, 1.0, 1.04), (125.0, 155.0, 205.0, 235.0)
_VARIANTS: dict[RoomKind, int] = {"office": 11, "kitchen": 28, "library": 62, "corridor": 24}
_CARD = 3.0  #: seconds


@dataclass(frozen=True, kw_only=True)
class SampleCast:
    """People, things and times that the seed determines."""

    owner: Actor
    finder: Actor
    reader: Actor
    folder: Prop
    cup: Prop
    office: str
    opening_minute: int  #: the time on the clocks at first, in minutes of the day
    meeting: str


def cast(seed: int) -> SampleCast:
    """Choose the cast; the same seed always gives the same one."""
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
            name=name,
            look=Look(coat=coat, trousers=legs, hair=hair, hair_style=style, skin=skin, height=chance.choice(_HEIGHTS)),
            pitch=chance.choice(_PITCHES),
        )
        for name, coat, legs, hair, style, skin in zip(names, coats, trousers, hairs, styles, skins, strict=True)
    ]
    hour, minute = chance.randint(8, 10), chance.randint(0, 3) * 5
    return SampleCast(
        owner=actors[0],
        finder=actors[1],
        reader=actors[2],
        folder=Prop(name=f"{folder} folder", category="folder", colour=folder),
        cup=Prop(name="white cup", category="cup", colour="white"),
        office=str(chance.randint(10, 39)),
        opening_minute=60 * hour + minute,
        meeting=clock_words(60 * hour + 90),
    )


@dataclass(frozen=True, kw_only=True)
class SampleQuestion:
    """A question with its true answer. ``spans`` are the intervals of the evidence, in seconds."""

    id: str
    question: str
    task: Literal["A", "B", "C"]
    answer_type: Literal["interval", "count", "order", "text"]
    answer: Any
    spans: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class _Staged:
    """The parts of the film, and its events for questions by a short name ("taken")."""

    director: Director
    parts: list[Shot | Card] = field(default_factory=list)
    events: dict[str, Event] = field(default_factory=dict)

    def card(self, title: str, subtitle: str) -> None:
        """Add a title card."""
        caption = f"{CARD}{title.capitalize()}."
        self.parts.append(Card(title=title, subtitle=subtitle, duration=_CARD, caption=caption))
        self.director.time += _CARD


def _staged(seed: int) -> _Staged:
    chosen = cast(seed)
    signs = {"office": f"OFFICE {chosen.office}", "kitchen": "KITCHEN", "library": "LIBRARY", "corridor": "LIBRARY >"}
    rooms = [
        Room(kind=kind, name=f"the {kind}", sign=signs[kind], seed=seed, variant=variant)
        for kind, variant in _VARIANTS.items()
    ]
    story = StoryCast(
        theme="office",
        actors=(chosen.owner, chosen.finder, chosen.reader),
        props=(chosen.folder, chosen.cup),
        locations=tuple(Location(room=room, plan=plan_of(room.kind, room.variant)) for room in rooms),
        rules=(),
        habits=(),
        opening_minute=chosen.opening_minute,
        between=0.3,
        busy=1,
    )
    staged = _Staged(director=Director(story, duration=90.0, chance=random.Random(seed)))
    staged.card("THE LOST FOLDER", "a morning in four rooms")
    plot = _plot(staged, chosen)
    wanted: SceneRequest | None = next(plot)
    while wanted is not None:
        scene, wanted = staged.director.play(plot, wanted)
        staged.parts.append(scene.finish())
    staged.card("THE END", "drawn by video-world-api")
    return staged


def _spot(location: Location, name: str) -> Fixture:
    return next(spot for spot in location.plan.spots if spot.name == name)


def _plot(staged: _Staged, chosen: SampleCast) -> Plot:
    owner, finder, reader, folder, cup = chosen.owner, chosen.finder, chosen.reader, chosen.folder, chosen.cup
    events, director = staged.events, staged.director
    office, kitchen, library, corridor = director.cast.locations
    desk, counter = _spot(office, "the right end of the desk"), _spot(kitchen, "the middle of the counter")
    table = _spot(library, "the left side of the table")
    director.begin_with(folder, owner)
    director.begin_at(cup, kitchen.id, counter)
    director.notices[kitchen.id] = ("MEETING", chosen.meeting)

    scene = yield SceneRequest(room=office.id)
    scene.enter(owner, desk.stand)
    events["left"] = scene.put_down(owner, desk)
    scene.say(owner, f"I will leave {folder.reference} on this desk.")

    scene = yield SceneRequest(room=kitchen.id)
    bring_in(scene, owner)
    scene.pick_up(owner, cup)
    scene.say(owner, f"A cup of tea before the meeting at {chosen.meeting}.")
    events["tea"] = scene.drink(owner)
    scene.put_down(owner, counter)

    scene = yield SceneRequest(room=office.id)
    bring_in(scene, finder)
    events["taken"] = scene.pick_up(finder, folder)
    scene.say(finder, "A lost folder! I will take it to the library.")

    scene = yield SceneRequest(room=library.id)
    scene.enter(finder, table.stand)
    events["found a place"] = scene.put_down(finder, table)
    scene.enter(reader)
    scene.say(reader, f"Hello {finder.name}. Is that folder yours?", finder)
    events["explained"] = scene.say(finder, f"No, {reader.name}. It was on the desk in office {chosen.office}.", reader)

    scene = yield SceneRequest(room=corridor.id)
    bring_in(scene, owner, finder)
    scene.say(owner, f"{finder.name}, where is my {folder.name}?", finder)
    scene.say(finder, "On the table in the library!", owner)
    scene.say(owner, f"Thank you, {finder.name}!", finder)
    scene.leave(owner, waits=False)
    scene.wave(finder)


def lost_folder(seed: int) -> Film:
    """Return the sample film of a seed: five shots in four rooms."""
    return Film(title="The lost folder", frame_rate=FRAME_RATE, parts=tuple(_staged(seed).parts))


def questions(seed: int) -> tuple[SampleQuestion, ...]:
    """Return questions about the sample film: locate and count (A), order and cause (B), several steps (C)."""
    chosen, staged = cast(seed), _staged(seed)
    spans = {name: (event.start, event.end) for name, event in staged.events.items()}
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
    visits = tuple(
        (item.start, item.end) for item in staged.director.chronicle.visits if item.subject == chosen.owner.id
    )
    ordered = (spans["left"], spans["tea"], spans["found a place"])
    explained = (spans["taken"], spans["explained"])
    taken = spans["taken"]
    return (
        SampleQuestion(id="q1", question=when, task="A", answer_type="interval", answer=list(taken), spans=(taken,)),
        SampleQuestion(id="q2", question=rooms, task="A", answer_type="count", answer=3, spans=visits),
        SampleQuestion(id="q3", question=order, task="B", answer_type="order", answer=["b", "a", "c"], spans=ordered),
        SampleQuestion(id="q4", question=why, task="B", answer_type="text", answer=reason, spans=explained),
        SampleQuestion(
            id="q5", question=meeting, task="C", answer_type="text", answer=chosen.meeting, spans=visits[1:2]
        ),
    )


DEFAULT_SEED = 7


@dataclass(frozen=True, kw_only=True)
class SampleFiles:
    """The paths of the sample's files."""

    video: Path
    subtitles: Path
    truth: Path
    questions: Path


def make_sample(
    folder: Path | str, *, seed: int = DEFAULT_SEED, progress: Progress = lambda done, whole: None
) -> SampleFiles:
    """Draw and encode the sample film into a folder; the same seed gives the same files.

    The film (a minute and a half, 640 x 360, 10 frames/s) has five shots in four rooms, three people, screen text,
    tones as sound, and subtitles, both embedded and in a file. The truth is written last: if it exists, the film is
    complete. ``progress`` is called with the seconds of film done and in all. Raises StoreFault: ``not_writable``.
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
        truth = TruthWriter(film)
        write_srt(files.subtitles, subtitles_of(film))
        files.questions.write_text(readable(record), encoding="utf-8")
        encode_film(unfinished, film, truth, soundtrack(film, seed=seed), progress=progress)
        unfinished.replace(files.video)
        truth.write(files.truth)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreFault("not_writable", f"cannot write to {folder}: {reason}", hint="choose another folder") from error
    return files
