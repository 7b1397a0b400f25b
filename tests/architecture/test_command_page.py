"""The page of commands is what the commands themselves print."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "write_commands.py"))


def test_the_page_of_commands_is_up_to_date() -> None:
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == page()["commands_page"](), "run `make docs`"


def test_every_command_and_group_has_its_section() -> None:
    from videoworld.command import COMMANDS

    text = page()["commands_page"]()
    assert all(f"`videoworld {name}`" in text for name in COMMANDS)
    assert "`videoworld tools run`" in text
