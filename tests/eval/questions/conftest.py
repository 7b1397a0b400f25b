"""Stories and their questions, made once for all tests of this folder."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from eval.questions import questions_of
from eval.sandbox import FilmFacts, tell
from tool_induction.domains import SplitName


@lru_cache(maxsize=400)
def told(seed: int, minutes: float, split: SplitName) -> FilmFacts:
    return tell(seed, minutes, split=split).facts


@lru_cache(maxsize=400)
def asked(seed: int, minutes: float, split: SplitName) -> tuple[Any, ...]:
    return questions_of(told(seed, minutes, split), seed=seed, split=split)


@pytest.fixture(scope="session")
def film() -> object:
    """Tells a story: ``film(seed, minutes, split)``."""
    return told


@pytest.fixture(scope="session")
def questions() -> object:
    """Asks about a story: ``questions(seed, minutes, split)``."""
    return asked
