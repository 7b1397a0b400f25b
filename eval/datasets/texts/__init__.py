"""Dialogues in place of videos: their words, and the worlds that are written from them."""
