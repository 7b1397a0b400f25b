"""A run with its film, and its report, shared by the tests that only look."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eval.report import WrittenReport, write_report
from tests.support.numbered_film import encode
from tests.support.reports import run_with_film


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute in which every frame says its number."""
    return encode(tmp_path_factory.mktemp("film") / "film.mp4")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, film: Path) -> Path:
    """The folder of a finished run; not to be written into."""
    return run_with_film(tmp_path_factory.mktemp("run"), film)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> WrittenReport:
    """Its report; only to be looked at."""
    return write_report(finished, tmp_path_factory.mktemp("report"))


@pytest.fixture
def own_run(finished: Path, written: WrittenReport, tmp_path: Path) -> Path:
    """The run for a test to change, with the pictures that its report was made of. Its worlds stay where they are."""
    assert written.pictures
    return Path(shutil.copytree(finished, tmp_path / "run"))
