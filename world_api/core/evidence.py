"""Evidence: where a claim can be looked at again."""

from __future__ import annotations

from typing import Literal

Source = Literal["speech", "screen_text", "detector", "tracker", "caption", "memory", "scene_graph", "look", "metadata"]
