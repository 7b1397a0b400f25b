"""Runs the command line in a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from videoworld import main


class Outcome(NamedTuple):
    """What a command left: exit status, stdout, stderr."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], make_world: Any) -> Cli:
    """Runs ``videoworld`` with ``--store`` set to a store that holds the made minute."""
    make_world()

    def run(*arguments: str, store: Path | None = make_world.store) -> Outcome:
        given = [*arguments, *(["--store", str(store)] if store else [])]
        status = 0
        try:
            main(given)
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 1
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Outcome(status, out, err)

    return run
