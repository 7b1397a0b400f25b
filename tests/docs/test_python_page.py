"""The page on Python and the first notebook run as they are, from the first block to the last."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_readme import draw_film
from tests.support.cells import python_blocks, run_cells

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "first-notebook.ipynb"


def notebook() -> list[dict[str, Any]]:
    return list(json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"])


@pytest.mark.media
def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    draw_film(tmp_path / "my.mp4")
    shutil.copy(ROOT / "toollibs" / "examples" / "people.json", tmp_path / "tools.json")
    shown = run_cells(python_blocks(ROOT / "docs" / "python.md"), tmp_path)
    assert "World 'my' in worlds: 0:06.0 of video" in shown
    assert "did you mean 'detect_objects'?" in shown
    assert "(320, 192)" in shown


@pytest.mark.media
def test_every_cell_of_the_notebook_runs(tmp_path: Path) -> None:
    """Of a short film; the nightly test makes the sample film itself."""
    (tmp_path / "demo").mkdir()
    draw_film(tmp_path / "demo" / "sample.mp4")
    shown = run_cells(["".join(cell["source"]) for cell in notebook() if cell["cell_type"] == "code"], tmp_path)
    assert shown.count("vw-card") >= 6
    assert "plumbing, not a result" in shown


@pytest.mark.nightly
@pytest.mark.media
def test_the_notebook_runs_on_the_sample_film(tmp_path: Path) -> None:
    shown = run_cells(["".join(cell["source"]) for cell in notebook() if cell["cell_type"] == "code"], tmp_path)
    assert "person in red and black" in shown


def test_the_notebook_has_no_outputs() -> None:
    assert [cell["id"] for cell in notebook() if cell.get("outputs") or cell.get("execution_count")] == []
