"""Stages that see the picture as a whole: shots, scenes, looks, key frames."""
