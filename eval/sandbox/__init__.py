"""Films with exact truth, drawn and encoded by the project itself.

A script (``script``) is fixed (``sample``) or made from a seed: ``story_world`` holds its people, things and
state, ``plots`` and ``scenes`` let them act, ``stories`` weaves the plots. ``room_plans`` says where things are; ``canvas``,
``figures``, ``rooms`` and ``renderer`` draw, ``sound`` adds voices, ``films`` encodes and writes what is true of the film
(``facts``: everything that can be asked about it). ``perception`` measures worlds that are built from such films.
"""

from eval.sandbox.facts import FilmFacts, read_facts, write_facts
from eval.sandbox.films import (
    FilmFiles,
    Subtitle,
    TruthWriter,
    encode_film,
    make_film,
    subtitles_of,
    work_folder,
    write_mp4,
    write_srt,
)
from eval.sandbox.room_plans import plan_of
from eval.sandbox.sample import DEFAULT_SEED, SampleFiles, cast, lost_folder, make_sample, questions
from eval.sandbox.sound import SAMPLE_RATE, SpokenLines, Synthesiser, installed_voices, soundtrack
from eval.sandbox.stories import Story, tell, video_id

__all__ = [
    "DEFAULT_SEED", "SAMPLE_RATE", "FilmFacts", "FilmFiles", "SampleFiles", "SpokenLines", "Story", "Subtitle",
    "Synthesiser", "TruthWriter", "cast", "encode_film", "installed_voices", "lost_folder", "make_film", "make_sample",
    "plan_of", "questions", "read_facts", "soundtrack", "subtitles_of", "tell", "video_id", "work_folder", "write_facts",
    "write_mp4", "write_srt",
]  # fmt: skip
