"""The page about inducing: its domain loads, its commands run, its lists are complete."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest

from tool_induction.domains import AnswerType, load_domain
from tool_induction.inducer import ENDINGS, Ending, Problem

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "induction.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Any) -> Path:
    """A folder with the page's domain and an answer of a chat."""
    (tmp_path / "kitchen.yaml").write_text(block("yaml"), encoding="utf-8")
    answer = tools.said([tools.searching(), tools.faulty("find_others")])["choices"][0]["message"]["content"]
    (tmp_path / "answer.txt").write_text(f"Certainly! {answer}\nShall I go on?", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_domain_on_the_page_loads(desk: Path) -> None:
    domain = load_domain(desk / "kitchen.yaml")
    assert (domain.name, len(domain.examples)) == ("kitchen_safety", 1)


def test_the_commands_on_the_page_run(desk: Path, cli: Any) -> None:
    for line in block("sh").splitlines():
        outcome = cli(*shlex.split(line)[1:], store=None)
        assert outcome.status == 0, (line, outcome.err)
    assert (desk / "toollibs" / "kitchen_chat" / "report.md").exists()


def test_the_python_on_the_page_says_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python"), "docs/induction.md", "exec"), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out == "template induction\n"


def test_every_note_and_type_of_answer_is_told() -> None:
    assert [name for name in (*get_args(Problem), *get_args(AnswerType)) if name not in PAGE] == []
    assert set(ENDINGS) == set(get_args(Ending))


def test_every_file_that_is_written_is_told(desk: Path, cli: Any) -> None:
    assert cli(*shlex.split(block("sh").splitlines()[2])[1:], store=None).status == 0
    written = {path.name for path in (desk / "toollibs" / "kitchen_chat").iterdir()}
    assert written == {"library.json", "manifest.json", "unpruned", "log.jsonl", "report.md"}
    assert all(f"OUT/{name}" in PAGE for name in (*written, "recording.jsonl"))
