"""Films with exact truth, drawn and encoded by the project itself.

A script (``script``) is fixed (``sample``) or made from a seed: ``story_world`` contains people, things and their
state, ``plots`` and ``scenes`` their actions; ``stories`` interleaves the plots. ``room_plans`` has the positions of
furniture; ``canvas``, ``figures``, ``rooms`` and ``renderer`` draw, ``sound`` adds voices, ``films`` encodes and writes
the truth and the facts of a film (``facts``: everything that questions can be about). ``perception`` measures worlds
that are built from such films.
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
from eval.sandbox.plots import ADMISSION_PLOTS, PLOTS
from eval.sandbox.room_plans import plan_of
from eval.sandbox.sample import DEFAULT_SEED, SampleFiles, cast, lost_folder, make_sample, questions
from eval.sandbox.sound import SAMPLE_RATE, SpokenLines, Synthesiser, installed_voices, soundtrack
from eval.sandbox.stories import Story, tell, video_id
from eval.sandbox.story_world import ADMISSION_THEMES, THEMES
