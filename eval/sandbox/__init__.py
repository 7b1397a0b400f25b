"""Films with exact truth, drawn and encoded by the project itself.

The way of a film: a script (``script``), written by hand (``lost_folder``) or told by seed (``story_cast``, ``story_state``,
``scenes``, ``plots``, ``director``, ``stories``), is staged (``room_plans``, ``staging``), drawn (``canvas``, ``figures``,
``furniture``, ``rooms``, ``renderer``), given sound (``voices``, ``sound``) and encoded (``encoder``); ``truth`` and ``facts``
say what is true of it. ``films`` and ``sample`` make the files, ``perception`` measures worlds that are built from them.
"""

from eval.sandbox.encoder import Subtitle, write_mp4, write_srt
from eval.sandbox.facts import (
    Cause,
    Event,
    Fact,
    FilmFacts,
    Person,
    Place,
    Relation,
    Thing,
    Visit,
    Written,
    read_facts,
    write_facts,
)
from eval.sandbox.films import FilmFiles, encode_film, make_film, work_folder
from eval.sandbox.lost_folder import cast, lost_folder, questions
from eval.sandbox.renderer import frames
from eval.sandbox.room_plans import GIVING_APART, giving_place, plan_of
from eval.sandbox.sample import DEFAULT_SEED, SampleFiles, make_sample
from eval.sandbox.script import (
    HEIGHT,
    WIDTH,
    Actor,
    Card,
    Carry,
    Film,
    Gesture,
    GestureKind,
    Line,
    Look,
    Opening,
    Performance,
    Prop,
    Resting,
    Room,
    RoomKind,
    Shot,
    Walk,
    Wear,
)
from eval.sandbox.sound import SAMPLE_RATE, soundtrack
from eval.sandbox.stories import Story, tell, video_id
from eval.sandbox.truth import Naming, TruthWriter, subtitles_of
from eval.sandbox.voices import SpokenLines, installed_voices

__all__ = [
    "DEFAULT_SEED", "GIVING_APART", "HEIGHT", "SAMPLE_RATE", "WIDTH", "Actor", "Card", "Carry", "Cause", "Event", "Fact", "Film",
    "FilmFacts", "FilmFiles", "Gesture", "GestureKind", "Line", "Look", "Naming", "Opening", "Performance", "Person", "Place",
    "Prop", "Relation", "Resting", "Room", "RoomKind", "SampleFiles", "Shot", "SpokenLines", "Story", "Subtitle", "Thing",
    "TruthWriter", "Visit", "Walk", "Wear", "Written", "cast", "encode_film", "frames", "giving_place", "installed_voices",
    "lost_folder", "make_film", "make_sample", "plan_of", "questions", "read_facts", "soundtrack", "subtitles_of", "tell",
    "video_id", "work_folder", "write_facts", "write_mp4", "write_srt",
]  # fmt: skip
