"""Films as files: pictures and sound encoded along as they are made, with their truth, their facts and their questions."""

from eval.sandbox.making.facts_file import read_facts
from eval.sandbox.making.films import FilmFiles, Progress, make_film, work_folder
from eval.sandbox.making.questions_file import add_questions

__all__ = ["FilmFiles", "Progress", "add_questions", "make_film", "read_facts", "work_folder"]
