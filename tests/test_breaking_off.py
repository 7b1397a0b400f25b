"""Ctrl-C: exit status 130 and no traceback, whenever it comes; and the version, installed or not."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.command_line import Cli
from videoworld import command
from world_api.installation import project_version, version_of_source

ROOT = Path(__file__).resolve().parents[1]


def test_ctrl_c_while_the_command_line_is_imported(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "videoworld", "--help"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_ctrl_c_outside_of_a_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "app", broken_off)
    assert cli("worlds") == (130, "", "")


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project is run from its source."""

    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", unknown)
    project_version.cache_clear()


@pytest.mark.usefixtures("not_installed")
def test_the_version_is_known_without_an_installation(cli: Cli) -> None:
    outcome = cli("--version", store=None)
    project_version.cache_clear()
    assert outcome.status == 0
    assert outcome.out.startswith("video-world-api 0.")
    assert outcome.out.endswith("+source\n")


@pytest.mark.parametrize("content", [None, "", "no toml", "[project]\nname = 'other'\nversion = '9'\n"])
def test_another_project_around_the_source_gives_no_version(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "pyproject.toml").write_text(content, encoding="utf-8")
    assert version_of_source(tmp_path) == "unknown"
