"""The first guides are carried out as they are printed, in their order, on the sample film."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_first_ablation import run_command

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^ +- (.+): (\S+\.md)$", re.MULTILINE)


def _commands(page: str) -> list[str]:
    return [line for block in _BLOCK.findall((DOCS / page).read_text(encoding="utf-8")) for line in block.splitlines()]


@pytest.mark.media
def test_install_first_world_and_first_question_run_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(tmp_path / "models"))
    pages = ("install.md", "first-world.md", "first-question.md")
    printed = {line: run_command(line, capsys) for page in pages for line in _commands(page)}
    assert len(printed) >= 16
    dog = printed['videoworld call search_segments_by_text --video sample query="a dog" top_k=3']
    assert "not_judged" in dog
    before_twenty = printed["videoworld call list_entities --video sample --as-of 20"]
    assert before_twenty.count('"entity_id"') < 7
    assert printed["videoworld replay episodes"].count("identical") == 2
    assert Path("sample.html").is_file()
    assert Path("frames/sample-12.0.jpg").is_file()


def test_every_page_of_the_documentation_is_in_the_navigation_of_the_site() -> None:
    listed = {page for _, page in _ITEM.findall((DOCS.parent / "properdocs.yml").read_text(encoding="utf-8"))}
    assert listed == {page.name for page in DOCS.glob("*.md")}
