"""Goldens: texts that change only on purpose. Rewrite them with ``UPDATE_GOLDENS=1 make test``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "golden"


@pytest.fixture
def check_golden() -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name, or write it when UPDATE_GOLDENS=1 is set."""

    def check(name: str, text: str) -> None:
        path = FOLDER / name
        if os.environ.get("UPDATE_GOLDENS") == "1":
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{name} changed; if on purpose: UPDATE_GOLDENS=1 make test"

    return check
