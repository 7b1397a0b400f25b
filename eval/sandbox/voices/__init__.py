"""Voices: lines of a script spoken by a speech synthesiser, where one is installed."""

from eval.sandbox.voices.speaking import SpokenLines, installed_voices
from eval.sandbox.voices.synthesisers import Synthesiser

__all__ = ["SpokenLines", "Synthesiser", "installed_voices"]
