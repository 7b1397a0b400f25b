"""How well a world tells what was drawn: its scenes, people, texts and speech against a film's truth."""

from eval.sandbox.perceived.measuring import Perceived, PersonPerceived, measure

__all__ = ["Perceived", "PersonPerceived", "measure"]
