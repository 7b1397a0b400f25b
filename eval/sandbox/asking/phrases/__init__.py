"""How people, things, rooms, events and times are put into words, in English and in Chinese."""

from eval.sandbox.asking.phrases import parts
from eval.sandbox.asking.phrases.chinese import Chinese
from eval.sandbox.asking.phrases.english import English
from eval.sandbox.asking.phrases.wording import Say, Unsayable, Wording

__all__ = ["Chinese", "English", "Say", "Unsayable", "Wording", "parts"]
