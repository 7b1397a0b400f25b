"""Films as files: pictures and sound encoded along as they are made, with their truth, their facts and their questions."""

from eval.sandbox.making.facts_file import read_facts
from eval.sandbox.making.films import FilmFiles, Progress, make_film

__all__ = ["FilmFiles", "Progress", "make_film", "read_facts"]
