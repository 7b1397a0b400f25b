"""What a scorer says of one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Score:
    """``correct`` is what accuracy counts; ``score`` (0 to 1) is finer; ``details`` are the figures behind it, by name.

    ``scorer`` names who scored, with a version: ``interval/1``. An episode without an answer is wrong, with score 0.
    """

    correct: bool
    score: float
    scorer: str
    details: Mapping[str, Any] = field(default_factory=dict)
